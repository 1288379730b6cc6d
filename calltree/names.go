package calltree

import "github.com/dendroprof/dendro/profile"

// FunctionsNamed returns the functions with exactly that name. If there are none, the
// name may have a suffix that distinguishes functions of one name: `name (file)` or
// `name (module)`.
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

// setNamed returns the functions of a name as a set; false if there are none.
func setNamed(functions []profile.Function, name string) (functionSet, bool) {
	ids := functionsNamed(functions, name)
	set := make(functionSet, len(functions))
	for _, id := range ids {
		set[id] = true
	}
	return set, len(ids) > 0
}

// setsNamed returns the functions of each name.
func setsNamed(functions []profile.Function, names []string) functionPath {
	path := make(functionPath, len(names))
	for i, name := range names {
		path[i], _ = setNamed(functions, name)
	}
	return path
}

// Node returns the node of a call node path of functions, root first.
func (t *Table) Node(path []int32) (int32, bool) {
	return t.descend(len(path), func(i int, fn int32) bool { return fn == path[i] })
}

// FindPath returns the node of a call node path of names, root first. Of several
// functions of one name it takes the first that the node calls.
func (t *Table) FindPath(names []string) (int32, bool) {
	sets := setsNamed(t.Functions, names)
	return t.descend(len(names), func(i int, fn int32) bool { return sets[i][fn] })
}

// descend goes down from the roots, at each step to the first child whose function is
// selected.
func (t *Table) descend(steps int, selects func(step int, fn int32) bool) (int32, bool) {
	n := NoNode
descent:
	for i := range steps {
		for c := range t.ByFunction(n) {
			if selects(i, t.Func[c]) {
				n = c
				continue descent
			}
		}
		return NoNode, false
	}
	return n, n != NoNode
}

// FunctionPath returns the functions from the root to node n.
func (t *Table) FunctionPath(n int32) []int32 {
	path := make([]int32, t.Depth[n]+1)
	for ; n != NoNode; n = t.Parent[n] {
		path[t.Depth[n]] = t.Func[n]
	}
	return path
}
