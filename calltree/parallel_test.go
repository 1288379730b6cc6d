package calltree_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/proftest"
)

// TestParallel compares what one core computes with what several do, and the
// totals with the sum from the leaves.
func TestParallel(t *testing.T) {
	p := proftest.Wide(400_000, 7)
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
				proftest.CheckTree(t, s.Tree)
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
			if !proftest.Same(want.Tree, s.Tree) || !slices.Equal(functions, rows) {
				t.Errorf("%+v: %d cores disagree with one", view, cores)
			}
		}
	}
}

// TestStepsAreKept goes back and forth in a list of transforms: the shape is made
// again only where the list differs.
func TestStepsAreKept(t *testing.T) {
	v := calltree.NewViewer(proftest.Wide(5000, 3))
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
	again := mustShow(t, calltree.NewViewer(proftest.Wide(5000, 3)), calltree.View{Transforms: transforms(a, b)})
	if !proftest.Same(again.Tree, mustShow(t, v, calltree.View{Transforms: transforms(a, b)}).Tree) {
		t.Error("a viewer with a past shows something else")
	}
}
