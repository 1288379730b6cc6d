package mem

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// translated returns a vector over from as one over another forest. The result
// ascends.
func translated(tr *calltree.Translation, from *calltree.Forest, v calltree.Vector) calltree.Vector {
	nodes := tr.Paths(from, v.Nodes, nil)
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(nodes[a], nodes[b]) })
	w := calltree.Vector{Nodes: make([]int32, 0, len(nodes)), Self: make([]int64, 0, len(nodes))}
	for _, i := range order {
		w.Nodes, w.Self = append(w.Nodes, nodes[i]), append(w.Self, v.Self[i])
	}
	return w
}

// interner is a forest that merges attributes of functions.
type interner struct {
	*calltree.Forest
	memory *store.Memory
}

// Function implements calltree.Interner. Attributes that the forest does not have
// yet are merged by the rule of calltree.Merge, in a copy of the table: snapshots
// may be reading the old one.
func (f interner) Function(fn profile.Function) int32 {
	id := f.Forest.Function(fn)
	if have := f.Functions[id]; have != fn {
		if merged := calltree.MergeAttributes(have, fn); merged != have {
			f.Functions = slices.Clone(f.Functions)
			f.Functions[id] = merged
			f.memory.Merged(have, merged)
		}
	}
	return id
}
