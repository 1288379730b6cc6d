package calltree

import "github.com/dendroprof/dendro/profile"

// FunctionsNamed returns the functions of that exact name. When there is none, the
// name may be one with a place behind it that tells functions of one name apart:
// `name (file)` or `name (module)`.
func (t *Table) FunctionsNamed(name string) []int32 { return functionsNamed(t.Functions, name) }

func functionsNamed(functions []profile.Function, name string) []int32 {
	var exact, placed []int32
	for i := range functions {
		f := &functions[i]
		switch {
		case f.Name == name:
			exact = append(exact, int32(i))
		case len(f.Name) < len(name) && name[:len(f.Name)] == f.Name:
			if place := name[len(f.Name):]; place == " ("+f.File+")" || place == " ("+f.Module+")" {
				placed = append(placed, int32(i))
			}
		}
	}
	if exact != nil {
		return exact
	}
	return placed
}

// setNamed returns the functions of a name as a set; false when there are none.
func setNamed(functions []profile.Function, name string) (functionSet, bool) {
	ids := functionsNamed(functions, name)
	set := make(functionSet, len(functions))
	for _, id := range ids {
		set[id] = true
	}
	return set, len(ids) > 0
}

// Node returns the node of a call node path of functions, root first.
func (t *Table) Node(path []int32) (int32, bool) {
	n := NoNode
	for _, fn := range path {
		c, ok := t.childOf(n, func(f int32) bool { return f == fn })
		if !ok {
			return NoNode, false
		}
		n = c
	}
	return n, n != NoNode
}

// FindPath returns the node of a call node path of names, root first. Of several
// functions of a name the first one that the node calls is taken.
func (t *Table) FindPath(names []string) (int32, bool) {
	n := NoNode
	for _, name := range names {
		set, _ := setNamed(t.Functions, name)
		c, ok := t.childOf(n, func(f int32) bool { return set[f] })
		if !ok {
			return NoNode, false
		}
		n = c
	}
	return n, n != NoNode
}

// childOf returns the first child of n, or first root, whose function is wanted.
func (t *Table) childOf(n int32, wanted func(fn int32) bool) (int32, bool) {
	end := int32(t.Len())
	if n != NoNode {
		end = t.End[n]
	}
	for c := n + 1; c < end; c = t.End[c] {
		if wanted(t.Func[c]) {
			return c, true
		}
	}
	return NoNode, false
}

// FunctionPath returns the functions from the root to node n.
func (t *Table) FunctionPath(n int32) []int32 {
	path := make([]int32, t.Depth[n]+1)
	for ; n != NoNode; n = t.Parent[n] {
		path[t.Depth[n]] = t.Func[n]
	}
	return path
}
