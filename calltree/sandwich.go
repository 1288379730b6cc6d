package calltree

// Callers returns the callers of the functions, upside down. Its roots are the
// functions, with their totals of the function list. Below them are the callers of
// their outermost calls, so that a sample counts once however often a function recurs.
func (t *Tree) Callers(functions []int32) *Inverted {
	wanted := t.set(functions)
	self := make([]int64, t.Len())
	outermost := NewOutermost(len(t.Functions))
	for n, fn := range t.Func {
		if wanted[fn] && outermost.Enter(int32(n), fn, t.End[n]) {
			self[n] = t.Total[n]
		}
	}
	return NewTree(t.Table, t.Type, self).Invert()
}

// Callees returns the callees of the functions: the subtrees of their outermost calls
// merged, so that a sample counts once however often a function recurs. A sample with
// several of the functions counts below the outermost.
func (t *Tree) Callees(functions []int32) *Tree {
	s := t.stacks()
	e := s.focusFunction(t.set(functions))
	table, node := e.layout()
	self := make([]int64, table.Len())
	for n, v := range t.Self {
		if node[n] != NoNode {
			self[node[n]] += v
		}
	}
	return NewTree(table, t.Type, self)
}

func (t *Table) set(functions []int32) functionSet {
	set := make(functionSet, len(t.Functions))
	for _, fn := range functions {
		set[fn] = true
	}
	return set
}

// stacks returns the call nodes as stacks; their frames are the functions.
func (t *Table) stacks() *stacks {
	s := &stacks{parent: t.Parent, frame: t.Func, function: make([]int32, len(t.Functions)), functions: t.Functions}
	for fn := range s.function {
		s.function[fn] = int32(fn)
	}
	if t.Category != nil {
		s.category, s.kinds = t.Category, NewCategories(t.Categories)
	}
	return s
}
