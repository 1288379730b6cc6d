package mem

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// translation maps the functions and paths of one forest onto those of another,
// each once, as they are asked for: paths that no stored profile uses stay out.
type translation struct {
	to        *calltree.Forest
	functions []int32 // plus one; 0 is not yet known
	paths     []int32 // likewise
	stack     []int32
}

func newTranslation(to *calltree.Forest) *translation { return &translation{to: to} }

// vector translates a vector over from. The result ascends.
func (tr *translation) vector(from *calltree.Forest, v calltree.Vector) calltree.Vector {
	tr.grow(from)
	order := make([]int, len(v.Nodes))
	nodes := make([]int32, len(v.Nodes))
	for i, p := range v.Nodes {
		order[i], nodes[i] = i, tr.path(from, p)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(nodes[a], nodes[b]) })
	w := calltree.Vector{Nodes: make([]int32, 0, len(nodes)), Self: make([]int64, 0, len(nodes))}
	for _, i := range order {
		w.Nodes, w.Self = append(w.Nodes, nodes[i]), append(w.Self, v.Self[i])
	}
	return w
}

// grow makes room for what from has by now.
func (tr *translation) grow(from *calltree.Forest) {
	tr.paths = extend(tr.paths, from.Paths.Len())
	tr.functions = extend(tr.functions, len(from.Functions))
}

func extend(column []int32, n int) []int32 {
	return append(column, make([]int32, max(0, n-len(column)))...)
}

func (tr *translation) path(from *calltree.Forest, p int32) int32 {
	tr.stack = tr.stack[:0]
	for ; p != calltree.NoNode && tr.paths[p] == 0; p = from.Paths.Parent[p] {
		tr.stack = append(tr.stack, p)
	}
	here := calltree.NoNode
	if p != calltree.NoNode {
		here = tr.paths[p] - 1
	}
	for _, p := range slices.Backward(tr.stack) {
		here = tr.to.Path(here, tr.function(from, from.Paths.Item[p]))
		tr.paths[p] = here + 1
	}
	return here
}

func (tr *translation) function(from *calltree.Forest, fn int32) int32 {
	if tr.functions[fn] == 0 {
		tr.functions[fn] = intern(tr.to, from.Functions[fn]) + 1
	}
	return tr.functions[fn] - 1
}

// intern returns the id of a function. Attributes that the forest does not have
// yet are merged by the rule of calltree.Merge, in a copy of the table: snapshots
// may be reading the old one.
func intern(f *calltree.Forest, fn profile.Function) int32 {
	id := f.Function(fn)
	if have := f.Functions[id]; have != fn {
		if merged := calltree.MergeAttributes(have, fn); merged != have {
			f.Functions = slices.Clone(f.Functions)
			f.Functions[id] = merged
		}
	}
	return id
}

// translations remembers the translations of the forests that importers fill,
// the one used last at the end.
type translations struct {
	list []remembered
}

type remembered struct {
	origin *calltree.Forest
	*translation
}

// warmForests is for how many importers at once a translation is remembered.
// Each keeps its forest alive, so there has to be an end.
const warmForests = 8

// of returns the translation of a forest into to.
func (t *translations) of(from, to *calltree.Forest) *translation {
	origin := from.Origin()
	i := slices.IndexFunc(t.list, func(r remembered) bool { return r.origin == origin })
	r := remembered{origin, newTranslation(to)}
	switch {
	case i >= 0:
		r = t.list[i]
		t.list = slices.Delete(t.list, i, i+1)
	case len(t.list) == warmForests:
		t.list = slices.Delete(t.list, 0, 1)
	}
	t.list = append(t.list, r)
	return r.translation
}
