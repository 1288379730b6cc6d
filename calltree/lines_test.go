package calltree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// A sample counts once for a line and once for a function, whatever recursion does, and
// its leaf's line has it as self.
func TestLines(t *testing.T) {
	p := profile.New(nil)
	s := p.Symbols
	f := s.Function(profile.Function{Name: "f", File: "f.go"})
	g := s.Function(profile.Function{Name: "leaf"})
	samples := profile.Samples{Type: profile.NamedType(profile.Wall)}
	add := func(value int64, frames ...profile.Frame) {
		st := profile.NoStack
		for _, fr := range frames {
			st = s.Stack(st, s.Frame(fr))
		}
		samples.Add(st, value)
	}
	add(1, profile.Frame{Function: f, Line: 3}, profile.Frame{Function: g, Line: 9})
	add(2, profile.Frame{Function: f, Line: 3}, profile.Frame{Function: f, Line: 3})
	add(4, profile.Frame{Function: f, Line: 3}, profile.Frame{Function: f, Line: 5})
	add(8, profile.Frame{Function: f})
	add(16, profile.Frame{Function: g, Line: 1})
	p.Tables = []profile.Samples{samples}
	shown := mustShow(t, calltree.NewViewer(p), calltree.View{})
	got := shown.Lines(func(fn *profile.Function) bool { return fn.Name == "f" })
	want := []calltree.FunctionLines{{Function: s.Functions[f], Self: 14, Total: 15,
		Lines: []calltree.LineAmount{{Line: 0, Self: 8, Total: 8}, {Line: 3, Self: 2, Total: 7}, {Line: 5, Self: 4, Total: 4}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The lines of calls: a recursive call is one of f to f; without a callee the function's own.
	for callee, want := range map[string][]calltree.LineAmount{"leaf": {{Line: 3, Total: 1}}, "f": {{Line: 3, Total: 6}},
		"": {{Line: 3, Total: 2}, {Line: 5, Total: 4}}, "none": nil} {
		if diff := cmp.Diff(want, shown.CallLines("f", callee)); diff != "" {
			t.Errorf("calls of %q: %s", callee, diff)
		}
	}
	// A search decides which samples count.
	shown = mustShow(t, calltree.NewViewer(p), calltree.View{Search: "leaf"})
	if got := shown.Lines(func(fn *profile.Function) bool { return fn.Name == "f" }); len(got) != 1 || got[0].Total != 1 || got[0].Self != 0 {
		t.Errorf("%+v", got)
	}
}
