package calltree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// TestLinesAreThoseOfSamples compares the lines with what each sample counts for.
func TestLinesAreThoseOfSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile.New(nil)
		s := p.Symbols
		samples := profile.Samples{Type: profile.NamedType(profile.Wall)}
		want := map[string]map[int32]calltree.LineAmount{}
		calls := map[int32]int64{} // of a to b, by line
		for range rapid.IntRange(0, 10).Draw(t, "samples") {
			st, value := profile.NoStack, int64(rapid.IntRange(0, 3).Draw(t, "value"))
			counted, called, caller := map[calltree.LineAmount]bool{}, map[int32]bool{}, profile.Frame{}
			depth := rapid.IntRange(1, 6).Draw(t, "depth")
			for i := range depth {
				name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "function")
				f := profile.Frame{Function: s.Function(profile.Function{Name: name}), Line: int32(rapid.IntRange(0, 2).Draw(t, "line"))}
				st = s.Stack(st, s.Frame(f))
				if i > 0 && s.Functions[caller.Function].Name == "a" && name == "b" && caller.Line > 0 && !called[caller.Line] {
					called[caller.Line] = true
					calls[caller.Line] += value
				}
				caller = f
				if want[name] == nil {
					want[name] = map[int32]calltree.LineAmount{}
				}
				at := want[name][f.Line]
				at.Line = f.Line
				if key := (calltree.LineAmount{Line: f.Line, Self: int64(f.Function)}); !counted[key] {
					counted[key] = true
					at.Total += value
				}
				if i == depth-1 {
					at.Self += value
				}
				want[name][f.Line] = at
			}
			samples.Add(st, value)
		}
		p.Tables = []profile.Samples{samples}
		shown, err := calltree.NewViewer(p).Show(calltree.View{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]map[int32]calltree.LineAmount{}
		for _, f := range shown.Lines(func(*profile.Function) bool { return true }) {
			got[f.Function.Name] = map[int32]calltree.LineAmount{}
			for _, l := range f.Lines {
				got[f.Function.Name][l.Line] = l
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("lines (-want +got):\n%s", diff)
		}
		of := map[int32]int64{}
		for _, l := range shown.CallLines("a", "b") {
			of[l.Line] = l.Total
		}
		if diff := cmp.Diff(calls, of); diff != "" {
			t.Fatalf("lines of calls (-want +got):\n%s", diff)
		}
	})
}
