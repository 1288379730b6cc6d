package diff_test

import (
	"runtime"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// TestParallelCompare diffs large trees, and two of which one is a single deep
// stack for the most part, on several cores.
func TestParallelCompare(t *testing.T) {
	deep := func(seed uint64) *calltree.Tree {
		p := proftest.Wide(100_000, seed)
		st := profile.NoStack
		for i := range 150_000 {
			st = p.Symbols.Stack(st, profile.FrameID(i%50))
		}
		p.Tables[0].Add(st, 5)
		return calltree.FromProfile(p, 0)
	}
	one, two := calltree.FromProfile(proftest.Wide(200_000, 1), 0), calltree.FromProfile(proftest.Wide(200_000, 2), 0)
	empty := calltree.NewTree(&calltree.Table{}, one.Type, nil)
	for i, sides := range [][2]*calltree.Tree{{one, two}, {one, one}, {deep(3), deep(4)}, {deep(3), one}, {empty, one}, {one, empty}} {
		var want *diff.Diff
		for _, cores := range []int{1, 2, 3, 7} {
			before := runtime.GOMAXPROCS(cores)
			d, err := diff.Compare(sides[:1], sides[1:])
			runtime.GOMAXPROCS(before)
			if err != nil {
				t.Fatal(err)
			}
			if cores == 1 {
				want = d
			}
			for s, side := range []diff.Side{d.Base, d.Head} {
				tree := &calltree.Tree{Table: d.Table, Type: d.Type, Self: side.Self, Total: side.Total}
				proftest.CheckTree(t, tree)
				if w := []diff.Side{want.Base, want.Head}[s]; !proftest.Same(tree,
					&calltree.Tree{Table: want.Table, Type: want.Type, Self: w.Self, Total: w.Total}) {
					t.Errorf("case %d, side %d: %d cores disagree with one", i, s, cores)
				}
			}
		}
	}
}
