package mem

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// interner is a forest that merges attributes of functions.
type interner struct {
	*calltree.Forest
	code *int64 // store.Verdicts.Code
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
			if store.OtherCode(have, merged) && f.code != nil {
				*f.code++
			}
		}
	}
	return id
}
