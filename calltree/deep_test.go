package calltree_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
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

// TestDeepFunctions shows a stack of many functions, of which each has samples: neither the time
// nor the memory of a view may be the product of a stack's or a path's length and the functions.
func TestDeepFunctions(t *testing.T) {
	const depth = 60_000
	p := profile.New(nil)
	samples := profile.Samples{Type: profile.NamedType(profile.CPUSamples)}
	names, st := make([]string, depth), profile.NoStack
	for i := range names {
		names[i] = fmt.Sprintf("f%d", i)
		fn := p.Symbols.Function(profile.Function{Name: names[i]})
		st = p.Symbols.Stack(st, p.Symbols.Frame(profile.Frame{Function: fn, Line: int32(i + 1)}))
		samples.Add(st, 1)
	}
	p.Tables = []profile.Samples{samples}
	v := calltree.NewViewer(p)
	s := mustShow(t, v, calltree.View{Transforms: transforms("collapse-recursion:*")})
	if s.Len() != depth {
		t.Errorf("%d nodes", s.Len())
	}
	lines := s.Lines(func(*profile.Function) bool { return true })
	if len(lines) != depth || lines[0].Total != depth || lines[0].Self != 1 ||
		lines[depth-1].Lines[0] != (calltree.LineAmount{Line: depth, Self: 1, Total: 1}) {
		t.Errorf("%d functions with lines", len(lines))
	}
	if got := s.CallLines(names[1], names[2]); len(got) != 1 || got[0] != (calltree.LineAmount{Line: 2, Total: depth - 2}) {
		t.Errorf("lines of calls: %v", got)
	}
	path := calltree.FormatPath(names)
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for what, f := range map[string]func(){
		"stack-prefix": func() { mustShow(t, v, calltree.View{Transforms: transforms("filter:stack-prefix:" + path)}) },
		"find": func() {
			if n, ok := s.FindPath(names); !ok || n != depth-1 {
				t.Errorf("node %d of the longest path", n)
			}
		},
	} {
		if n := allocated(f); n > 2000*depth {
			t.Errorf("%s: %d bytes for a path of %d names", what, n, depth)
		}
	}
}
