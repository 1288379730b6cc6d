package calltree_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// TestParallel compares what one core computes with what several do, and the
// totals with the sum from the leaves.
func TestParallel(t *testing.T) {
	p := wide(400_000, 7)
	for i := range p.Tables[0].Value {
		p.Tables[0].Value[i] -= 4 // some cancel
		p.Tables[0].Time = append(p.Tables[0].Time, int64(i))
	}
	f := p.Symbols.Functions[17].Name
	for _, view := range []calltree.View{
		{}, {Range: calltree.Range{Start: 100, End: 150_000}}, {Search: "module,class"},
		{Transforms: transforms("merge-function:" + f)},
	} {
		var want *calltree.Shown
		var functions []calltree.FunctionRow
		for _, cores := range []int{1, 2, 3, 5} {
			before := runtime.GOMAXPROCS(cores)
			s := mustShow(t, calltree.NewViewer(p), view)
			rows := s.FunctionRows()
			runtime.GOMAXPROCS(before)
			if cores == 1 {
				check(t, s.Tree)
				want, functions = s, rows
				total := slices.Clone(s.Self)
				for n := s.Len() - 1; n >= 0; n-- {
					if up := s.Parent[n]; up != calltree.NoNode {
						total[up] += total[n]
					}
				}
				if !slices.Equal(total, s.Total) {
					t.Errorf("%+v: totals are not the sums of self values", view)
				}
			}
			if !same(want.Tree, s.Tree) || !slices.Equal(functions, rows) {
				t.Errorf("%+v: %d cores disagree with one", view, cores)
			}
		}
	}
}

// TestStepsAreKept goes back and forth in a list of transforms: the shape is made
// again only where the list differs.
func TestStepsAreKept(t *testing.T) {
	v := calltree.NewViewer(wide(5000, 3))
	name := func(i int) string { return mustShow(t, v, calltree.View{}).Functions[i].Name }
	a, b := "merge-function:"+name(1), "focus-function:"+name(2)
	none := mustShow(t, v, calltree.View{})
	one := mustShow(t, v, calltree.View{Transforms: transforms(a)})
	two := mustShow(t, v, calltree.View{Transforms: transforms(a, b)})
	undone := mustShow(t, v, calltree.View{Transforms: transforms(a), Search: "class"})
	if one.Table == none.Table || two.Table == one.Table {
		t.Error("a transform that moves stacks has the table of before")
	}
	if undone.Table != one.Table || mustShow(t, v, calltree.View{Search: "x"}).Table != none.Table {
		t.Error("undoing lays the table out again")
	}
	drop := mustShow(t, v, calltree.View{Transforms: transforms("drop-function:" + name(3))})
	if drop.Table != none.Table {
		t.Error("dropping samples lays the table out again")
	}
	again := mustShow(t, calltree.NewViewer(wide(5000, 3)), calltree.View{Transforms: transforms(a, b)})
	if !same(again.Tree, mustShow(t, v, calltree.View{Transforms: transforms(a, b)}).Tree) {
		t.Error("a viewer with a past shows something else")
	}
}

// TestParallelCompare diffs large trees, and two of which one is a single deep
// stack for the most part, on several cores.
func TestParallelCompare(t *testing.T) {
	deep := func(seed uint64) *calltree.Tree {
		p := wide(100_000, seed)
		st := profile.NoStack
		for i := range 150_000 {
			st = p.Symbols.Stack(st, profile.FrameID(i%50))
		}
		p.Tables[0].Add(st, 5)
		return calltree.FromProfile(p, 0)
	}
	one, two := calltree.FromProfile(wide(200_000, 1), 0), calltree.FromProfile(wide(200_000, 2), 0)
	empty := calltree.NewTree(&calltree.Table{}, one.Type, nil)
	for i, sides := range [][2]*calltree.Tree{{one, two}, {one, one}, {deep(3), deep(4)}, {deep(3), one}, {empty, one}, {one, empty}} {
		var want *calltree.Diff
		for _, cores := range []int{1, 2, 3, 7} {
			before := runtime.GOMAXPROCS(cores)
			d, err := calltree.Compare(sides[:1], sides[1:])
			runtime.GOMAXPROCS(before)
			if err != nil {
				t.Fatal(err)
			}
			if cores == 1 {
				want = d
			}
			for s, side := range []calltree.Side{d.Base, d.New} {
				tree := &calltree.Tree{Table: d.Table, Type: d.Type, Self: side.Self, Total: side.Total}
				check(t, tree)
				if w := []calltree.Side{want.Base, want.New}[s]; !same(tree,
					&calltree.Tree{Table: want.Table, Type: want.Type, Self: w.Self, Total: w.Total}) {
					t.Errorf("case %d, side %d: %d cores disagree with one", i, s, cores)
				}
			}
		}
	}
}
