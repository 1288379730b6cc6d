package calltree_test

import (
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/proftest"
)

// TestDeepViews shows a stack of a million frames in every way: nothing may
// recurse on its depth or take time in its square.
func TestDeepViews(t *testing.T) {
	const depth = 1_000_000
	p := proftest.Deep(depth)
	p.Tables[0].Time = []int64{0}
	p.Interval = 1
	v := calltree.NewViewer(p)
	for _, text := range []string{"merge-function:A", "merge-node:A;B;C", "drop-function:none", "focus-function:B", "focus-subtree:A;B",
		"focus-subtree-inverted:A;C;B", "focus-self:A", "collapse-function:C", "collapse-direct-recursion:A", "collapse-recursion:B",
		"collapse-recursion:*",
		"filter:stack-prefix:A;B", "filter:stack-suffix:A", "filter:function-include:C"} {
		s := mustShow(t, v, calltree.View{Transforms: transforms(text)})
		proftest.CheckTree(t, s.Tree)
		if s.RootTotal() != 1 {
			t.Errorf("%s: root total %d", text, s.RootTotal())
		}
	}
	s := mustShow(t, v, calltree.View{})
	inv, rows := s.Invert(), 0
	inv.Walk(func(int32) bool { rows++; return true })
	boxes, err := s.StackChart(calltree.ChartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Callees([]int32{1})
	s.Callers([]int32{1})
	for name, n := range map[string]int{"nodes": s.Len(), "rows upside down": rows, "boxes of time": len(boxes), "boxes": len(s.Flame(0)),
		"boxes upside down": len(inv.Flame(0))} {
		if n != depth {
			t.Errorf("%d %s, want %d", n, name, depth)
		}
	}
	last := s.FunctionPath(depth - 1)
	if n, ok := s.Node(last); !ok || n != depth-1 {
		t.Errorf("node %d of the longest path", n)
	}
	if got := s.Sidebar(0); got.Total.Value != 1 || got.Self.Value != 0 {
		t.Errorf("%+v", got)
	}
}
