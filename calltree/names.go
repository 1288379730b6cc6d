package calltree

import (
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// FunctionsNamed returns the functions with exactly that name. If there are none, the
// name may have a suffix that distinguishes functions of one name: `name (file)` or
// `name (module)`.
func (t *Table) FunctionsNamed(name string) []int32 {
	return pathNamed(t.Functions, []string{name}).steps[0]
}

// A functionPath has the functions of each step of a path. Steps of one name share them, so that a
// path takes as much memory as it has names and the tree has functions.
type functionPath struct {
	steps [][]int32   // in ascending order; nil: no function has the name
	any   functionSet // of any step
}

// has reports whether a function is one of a step.
func (p functionPath) has(step, fn int32) bool {
	_, ok := slices.BinarySearch(p.steps[step], fn)
	return ok
}

// pathNamed returns the functions of each name.
func pathNamed(functions []profile.Function, names []string) functionPath {
	exact, placed := make(map[string][]int32, len(names)), map[string][]int32{}
	for _, name := range names {
		exact[name] = nil
	}
	for i := range functions {
		if ids, wanted := exact[functions[i].Name]; wanted {
			exact[functions[i].Name] = append(ids, int32(i))
		}
	}
	for name, ids := range exact {
		if ids == nil {
			placed[name] = nil
		}
	}
	var key []byte
	for i := range functions {
		if len(placed) == 0 {
			break
		}
		f := &functions[i]
		for _, place := range [...]string{f.File, f.Module} {
			key = append(append(append(append(key[:0], f.Name...), " ("...), place...), ')')
			if ids, wanted := placed[string(key)]; wanted && !slices.Contains(ids[max(0, len(ids)-1):], int32(i)) {
				placed[string(key)] = append(ids, int32(i))
			}
		}
	}
	path := functionPath{make([][]int32, len(names)), make(functionSet, len(functions))}
	for i, name := range names {
		if path.steps[i] = exact[name]; path.steps[i] == nil {
			path.steps[i] = placed[name]
		}
	}
	for _, named := range [...]map[string][]int32{exact, placed} {
		for _, ids := range named {
			for _, id := range ids {
				path.any[id] = true
			}
		}
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
	path := pathNamed(t.Functions, names)
	return t.descend(len(names), func(i int, fn int32) bool { return path.has(int32(i), fn) })
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
