package calltree

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/dendroprof/dendro/profile"
)

// Merge returns the sum of trees: every path of any of them, with self values added.
// Functions are equal if their names are. Functions and siblings are in byte order of
// names, so the result does not depend on the order of the trees. All trees must have
// the same value type; a sum outside the int64 range is an error. Merging nothing gives
// an empty tree.
//
// Large inputs are merged on several cores, with the same result.
func Merge(trees ...*Tree) (*Tree, error) {
	if err := Addable(trees); err != nil {
		return nil, err
	}
	workers := min(runtime.GOMAXPROCS(0), len(trees)/2)
	if workers < 2 || nodes(trees) < 1<<16 {
		return mergeAll(trees), nil
	}
	parts := make([]*Tree, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { parts[w] = mergeAll(trees[w*len(trees)/workers : (w+1)*len(trees)/workers]) })
	}
	wg.Wait()
	return mergeAll(parts), nil
}

// Addable returns an error unless the trees have one value type and a sum that fits.
func Addable(trees []*Tree) error {
	var sum uint64
	for _, t := range trees {
		if a, b := trees[0].Type.AddKey(), t.Type.AddKey(); a != b {
			return fmt.Errorf("value types %s and %s do not add", a, b)
		}
		for _, v := range t.Self {
			// The smallest int64 stays negative and is far over the limit.
			if sum += uint64(abs(v)); sum > math.MaxInt64 {
				return fmt.Errorf("%w: the sum of the trees exceeds 63 bits", profile.ErrMalformed)
			}
		}
	}
	return nil
}

func nodes(trees []*Tree) int {
	n := 0
	for _, t := range trees {
		n += t.Len()
	}
	return n
}

func mergeAll(trees []*Tree) *Tree {
	var f Forest
	var self []int64
	var typ profile.ValueType
	for i, t := range trees {
		if i == 0 {
			typ = t.Type
		}
		typ = MergeTypes(typ, t.Type)
		fn := make([]int32, len(t.Functions)) // in the forest, plus one; 0: not known yet
		path := make([]int32, t.Len())
		for n, p := range t.Parent {
			up := NoNode
			if p != NoNode {
				up = path[p]
			}
			id := t.Func[n]
			if fn[id] == 0 {
				at := f.Function(t.Functions[id])
				f.Functions[at] = MergeAttributes(f.Functions[at], t.Functions[id])
				fn[id] = at + 1
			}
			path[n] = f.Path(up, fn[id]-1)
			if int(path[n]) == len(self) {
				self = append(self, 0)
			}
			self[path[n]] += t.Self[n]
		}
	}
	return f.Tree(typ, self)
}

// MergeTypes returns the type of a sum of two types with one key. Of the attributes
// outside the key the smaller one stays, so that the result does not depend on the
// order.
func MergeTypes(a, b profile.ValueType) profile.ValueType {
	a.PeriodUnit = smaller(a.PeriodUnit, b.PeriodUnit)
	a.PeriodName = smaller(a.PeriodName, b.PeriodName)
	a.Original = smaller(a.Original, b.Original)
	if a.Period != b.Period {
		a.Period, a.PeriodUnit, a.PeriodName = 0, "", ""
	}
	return a
}

// Tree returns the whole forest as a tree; self has one value per path.
func (f *Forest) Tree(typ profile.ValueType, self []int64) *Tree {
	t, paths := f.build(f.allPaths(), f.Paths.Parent)
	return NewTree(t, typ, Gather(self, paths))
}

// Gather returns the values of rows, 0 for NoNode.
func Gather(values []int64, rows []int32) []int64 {
	out := make([]int64, len(rows))
	for i, n := range rows {
		if n != NoNode {
			out[i] = values[n]
		}
	}
	return out
}
