package calltree

import "slices"

// A selection is a call node path: the functions from the root to a node, or in
// an inverted tree from the leaf. Numbers of nodes change with every transform,
// paths only where the transform says so.

// RewritePath returns what becomes of a path of the view when t is added to its
// transforms: the path to select in the next view, or an empty one when nothing is
// left of it. Paths of the inverted tree are rewritten by the same rules.
func (s *Shown) RewritePath(path []int32, t Transform) []int32 {
	functions := s.Functions
	named := func(i int) functionSet {
		set, _ := setNamed(functions, t.Args[i])
		return set
	}
	switch t.Kind {
	case MergeFunction:
		f := named(0)
		return slices.DeleteFunc(slices.Clone(path), func(fn int32) bool { return f[fn] })
	case MergeNode:
		if n := len(t.Args); s.beginsWith(path, t.Args) {
			return slices.Delete(slices.Clone(path), n-1, n)
		}
		return path
	case DropFunction:
		if indexIn(path, named(0)) >= 0 {
			return nil
		}
		return path
	case FocusFunction:
		if i := indexIn(path, named(0)); i >= 0 {
			return path[i:]
		}
		return nil
	case FocusSubtree, FocusSubtreeInverted:
		if s.beginsWith(path, t.Args) {
			return path[len(t.Args)-1:]
		}
		return nil
	case FocusSelf:
		if i := indexIn(path, named(0)); i >= 0 {
			return path[i : i+1]
		}
		return nil
	case FocusCategory:
		return s.pathOfCategory(path, t.Args[0])
	case CollapseFunction:
		if i := indexIn(path, named(0)); i >= 0 {
			return path[:i+1]
		}
		return path
	case CollapseDirectRecursion:
		return withoutRuns(path, named(0))
	case CollapseRecursion:
		f := named(0)
		first := indexIn(path, f)
		if first < 0 {
			return path
		}
		last := first
		for i, fn := range path {
			if f[fn] {
				last = i
			}
		}
		return slices.Concat(path[:first], path[last:])
	case CollapseResource:
		return s.pathOfResource(path, t.Args[0])
	}
	return path // the filters select samples
}

// beginsWith reports whether a path begins with functions of these names.
func (s *Shown) beginsWith(path []int32, names []string) bool {
	if len(path) < len(names) {
		return false
	}
	for i, name := range names {
		if set, _ := setNamed(s.Functions, name); !set[path[i]] {
			return false
		}
	}
	return true
}

func indexIn(path []int32, f functionSet) int {
	return slices.IndexFunc(path, func(fn int32) bool { return f[fn] })
}

// withoutRuns leaves one function of every run of functions of f.
func withoutRuns(path []int32, f functionSet) []int32 {
	var out []int32
	for i, fn := range path {
		if i == 0 || !f[fn] || !f[path[i-1]] {
			out = append(out, fn)
		}
	}
	return out
}

// pathOfCategory keeps the functions whose nodes on the path have the category.
func (s *Shown) pathOfCategory(path []int32, name string) []int32 {
	var out []int32
	for i, fn := range path {
		if n, ok := s.Node(path[:i+1]); ok && s.CategoryName(n) == name {
			out = append(out, fn)
		}
	}
	return out
}

// pathOfResource puts the module's function in place of its functions.
func (s *Shown) pathOfResource(path []int32, module string) []int32 {
	i := slices.Index(s.viewer.modules, module)
	if i < 0 {
		return path
	}
	one := int32(len(s.viewer.profile.Symbols.Functions) + i)
	set := make(functionSet, len(s.Functions))
	set[one] = true
	out := slices.Clone(path)
	for i, fn := range out {
		if s.Functions[fn].Module == module {
			out[i] = one
		}
	}
	return withoutRuns(out, set)
}

// SelectInverted returns the path, leaf first, to select in the inverted tree when
// node n was selected in this one: from the heaviest node by self value in its
// subtree up to n itself, the first one of equals.
func (t *Tree) SelectInverted(n int32) []int32 {
	heaviest := n
	for x := n; x < t.End[n]; x++ {
		if abs(t.Self[x]) > abs(t.Self[heaviest]) {
			heaviest = x
		}
	}
	path := t.FunctionPath(heaviest)[t.Depth[n]:]
	slices.Reverse(path)
	return path
}

// SelectUpright returns the path, root first, to select in the tree when node h
// was selected in the inverted one: from the root down to h's function, along the
// heaviest of the call nodes that h stands for.
func (v *Inverted) SelectUpright(h int32) []int32 {
	row := &v.nodes[h]
	heaviest := NoNode
	for _, n := range v.order[row.from:row.to] {
		if heaviest == NoNode || abs(v.tree.Self[n]) > abs(v.tree.Self[heaviest]) {
			heaviest = n
		}
	}
	path := v.tree.FunctionPath(heaviest)
	return path[:int32(len(path))-row.depth]
}
