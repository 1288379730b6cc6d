package calltree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// picture is a drawing of samples, a view of it, and the drawing of what it shows.
// The view is a line of words: a transform, `kind=`, `search=`, `range=`,
// `preview=`, `type=`, `thread=` or `no-idle`; blanks in a word are written `_`.
type picture struct{ name, samples, view, want string }

func (c picture) check(t *testing.T, draw func(s *calltree.Shown) string) {
	t.Run(c.name, func(t *testing.T) {
		p := proftest.Columns(c.samples)
		p.Interval = 1_000_000
		v := calltree.NewViewer(p)
		s, err := v.Show(viewOf(t, v, c.view))
		if err != nil {
			t.Fatal(err)
		}
		proftest.CheckTree(t, s.Tree)
		if s.Unknown != nil {
			t.Errorf("unknown: %q", s.Unknown)
		}
		if diff := cmp.Diff(trim(c.want), draw(s)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func viewOf(t testing.TB, v *calltree.Viewer, text string) calltree.View {
	var view calltree.View
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, w := range strings.Fields(text) {
		var err error
		key, value, _ := strings.Cut(strings.ReplaceAll(w, "_", " "), "=")
		switch key {
		case "kind":
			view.Kind, err = calltree.ParseKindFilter(value)
		case "search":
			view.Search = value
		case "range":
			view.Range, err = calltree.ParseRange(value)
		case "preview":
			view.Preview, err = calltree.ParseRange(value)
		case "type":
			view.Table, view.Weights, err = v.ParseType(value)
		case "thread":
			view.Threads = append(view.Threads, v.FindThreads(value)...)
		case "no-idle":
			view.NoIdle = true
		default:
			view.Transforms = append(view.Transforms, transforms(strings.ReplaceAll(w, "_", " "))...)
		}
		must(err)
	}
	return view
}

func drawTree(s *calltree.Shown) string { return proftest.Draw(s.Tree) }

// TestFilters has a picture per step of a view, and for their order.
func TestFilters(t *testing.T) {
	for _, c := range []picture{
		{"kind js keeps JavaScript and its labels", `
			A[kind:js]  A[kind:js]         x
			x           dom[kind:js-label]  y
			B[kind:js]  y
		`, "kind=js", `
			- A (total: 2, self: —)
			  - B (total: 1, self: 1)
			  - dom (total: 1, self: 1)
		`},
		{"kind cpp drops JavaScript and nameless code", `
			A[kind:js]  A[kind:js]         x              J[kind:java]
			x           dom[kind:js-label]  0x12
			B[kind:js]  y                  0x34[lib:xu]
		`, "kind=cpp", `
			- x (total: 2, self: 1)
			  - 0x34 (total: 1, self: 1)
			- dom (total: 1, self: —)
			  - y (total: 1, self: 1)
		`},
		{"any other kind", `
			A[kind:java]  A[kind:java]
			x             B[kind:java]
		`, "kind=java", `
			- A (total: 2, self: 1)
			  - B (total: 1, self: 1)
		`},
		{"search keeps matching samples whole; every word must match", `
			main  main  main
			foo   FooB  bar
			bar         x
		`, "search=foo,_bar", `
			- main (total: 1, self: —)
			  - foo (total: 1, self: —)
			    - bar (total: 1, self: 1)
		`},
		{"search looks at files and modules", `
			main           main            main
			f[file:ABC.c]  g[lib:libAB]  h
		`, "search=ab", `
			- main (total: 2, self: —)
			  - f (total: 1, self: 1)
			  - g (total: 1, self: 1)
		`},
		{"search sees what the kind filter left", `
			A[kind:js]  A[kind:js]
			needle      B[kind:js]
		`, "kind=js search=needle", ``},
		{"transforms see what the kind filter takes out", `
			A[kind:js]  A[kind:js]
			x           B[kind:js]
			C[kind:js]
		`, "kind=js drop-function:x", `
			- A (total: 1, self: —)
			  - B (total: 1, self: 1)
		`},
		{"search sees what transforms left", `
			A  A
			B  C
		`, "merge-function:B search=B", ``},
		{"a range is half open", `
			@0  @1  @2  @3
			A   B   C   D
		`, "range=1..3", `
			- B (total: 1, self: 1)
			- C (total: 1, self: 1)
		`},
		{"a range without an end", `
			@0  @1  @2.5
			A   B   C
		`, "range=1..", `
			- B (total: 1, self: 1)
			- C (total: 1, self: 1)
		`},
		{"a preview is inside the range", `
			@0  @1  @2  @3
			A   B   C   D
		`, "range=1..4 preview=0..2", `
			- B (total: 1, self: 1)
		`},
		{"threads", `
			#main  #w  #main  #w2
			A      B   C      D
		`, "thread=main thread=w2", `
			- A (total: 1, self: 1)
			- C (total: 1, self: 1)
			- D (total: 1, self: 1)
		`},
		{"idle is told by the innermost frame as recorded", `
			A[cat:Other]  A[cat:Other]  A[cat:Other]
			B[cat:Idle]   C             B[cat:Idle]
			                            D[cat:JS]
		`, "no-idle merge-function:D", `
			- A (total: 2, self: —)
			  - B (total: 1, self: 1)
			  - C (total: 1, self: 1)
		`},
		{"weights negative and null stacks", `
			×5  ×-2  ×100
			A   A    ·
			B   C
		`, "merge-function:B", `
			- A (total: 3, self: 5)
			  - C (total: -2, self: -2)
		`},
	} {
		c.check(t, drawTree)
	}
}

// TestMarkers selects samples by what happened meanwhile.
func TestMarkers(t *testing.T) {
	p := proftest.Columns(`
		#main  #main  #w  #main  #main  #main
		@0     @1     @2  @3     @4     @5
		A      B      C   D      E      F
	`)
	dom := p.Symbols.Category(profile.Category{Name: "DOM", Color: "blue"})
	p.Markers = []profile.Marker{
		{Name: "GC", Start: 1e6, End: 3e6, Thread: 1},
		{Name: "load", Category: dom, Start: 2e6, End: 4e6, Thread: 1, Fields: []profile.Label{{Key: "url", Text: "http://x"}}},
		{Name: "GC on another thread", Start: 0, End: 1e6, Thread: 2},
		{Name: "GC instant", Start: 5e6, End: 5e6, Thread: 1},
	}
	v := calltree.NewViewer(p)
	for _, c := range []struct{ view, want string }{
		{"filter:marker-search:gc", "A B C"},
		{"thread=main filter:marker-search:gc", "B"},
		{"thread=main filter:outside-marker:gc", "A D E F"},
		{"thread=main filter:marker-search:gc,load", "B D"},
		{"filter:marker-search:cat:dom", "C D"},
		{"filter:marker-search:url:X", "C D"},
		{"filter:marker-search:name:load", "C D"},
		{"filter:marker-search:-name:GC", "C D"},
		{"filter:marker-search:nothing", ""},
		{"filter:outside-marker:nothing", "A B C D E F"},
		{"range=2.. filter:marker-search:load drop-function:C", "D"},
	} {
		s, err := v.Show(viewOf(t, v, c.view))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		s.Walk(func(n int32) bool { got = append(got, s.Name(n)); return true })
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s: %s, want %s", c.view, g, c.want)
		}
	}
}

// TestAllocations has a picture per strategy.
func TestAllocations(t *testing.T) {
	const samples = `
		×10  ×20  ×-10  ×7  ×5  ×-5  ×-3  ×4
		&1   &2   &1    &3  &3  &3   &9   &1
		@0   @1   @2    @3  @4  @5   @6   @7
		A    A    F     C   D   F    F    E
		B
	`
	for _, c := range []picture{
		{"as recorded", samples, "", `
			- A (total: 30, self: 20)
			  - B (total: 10, self: 10)
			- F (total: -18, self: -18)
			- C (total: 7, self: 7)
			- D (total: 5, self: 5)
			- E (total: 4, self: 4)
		`},
		{"allocations", samples, "type=cpu-samples:allocations", `
			- A (total: 30, self: 20)
			  - B (total: 10, self: 10)
			- C (total: 7, self: 7)
			- D (total: 5, self: 5)
			- E (total: 4, self: 4)
		`},
		{"sites of deallocations", samples, "type=cpu-samples:deallocations-sites", `
			- F (total: -18, self: -18)
		`},
		{"deallocated memory counts where it was allocated, unmatched releases nowhere", samples, "type=cpu-samples:deallocations-memory", `
			- A (total: -10, self: —)
			  - B (total: -10, self: -10)
			- D (total: -5, self: -5)
		`},
		{"retained: an address used again keeps what it held before", samples, "type=cpu-samples:retained-allocations", `
			- A (total: 20, self: 20)
			- C (total: 7, self: 7)
			- E (total: 4, self: 4)
		`},
		{"retained within the range only", samples, "type=cpu-samples:retained-allocations range=0..2", `
			- A (total: 30, self: 20)
			  - B (total: 10, self: 10)
		`},
		{"a release of what was allocated before the range", samples, "type=cpu-samples:deallocations-memory range=1..", `
			- D (total: -5, self: -5)
		`},
		{"the preview range comes before the matching too", samples, "type=cpu-samples:retained-allocations preview=3..5", `
			- C (total: 7, self: 7)
			- D (total: 5, self: 5)
		`},
		{"a transform moves an allocation, the release follows", samples, "type=cpu-samples:deallocations-memory merge-function:B", `
			- A (total: -10, self: -10)
			- D (total: -5, self: -5)
		`},
	} {
		c.check(t, drawTree)
	}
}

func TestTraced(t *testing.T) {
	for _, c := range []picture{
		{"time until the next sample, the last one lasts an interval", `
			@0  @1  @4  @6
			A   A   ·   A
			B   C       B
		`, "type=traced", `
			- A (total: 5000000, self: —)
			  - C (total: 3000000, self: 3000000)
			  - B (total: 2000000, self: 2000000)
		`},
		{"in a preview range", `
			@0  @1  @4  @6
			A   A   ·   A
			B   C       B
		`, "type=traced preview=0..2", `
			- A (total: 2000000, self: —)
			  - B (total: 1000000, self: 1000000)
			  - C (total: 1000000, self: 1000000)
		`},
		{"threads are one line of time", `
			@0  @4  @1  @2
			#m  #m  #w  #w
			A   A   B   C
		`, "type=traced", `
			- A (total: 2000000, self: 2000000)
			- C (total: 2000000, self: 2000000)
			- B (total: 1000000, self: 1000000)
		`},
	} {
		c.check(t, drawTree)
	}
}

func TestViewErrors(t *testing.T) {
	p := proftest.Columns("×1  ×2\nA  B")
	v := calltree.NewViewer(p)
	for _, c := range []struct {
		view calltree.View
		want string
	}{
		{calltree.View{Range: calltree.Range{End: 1}}, "no times"},
		{calltree.View{Preview: calltree.Range{End: 1}}, "no times"},
		{calltree.View{Weights: calltree.Traced}, "no times, or weights"},
		{calltree.View{Weights: calltree.Retained}, "no addresses"},
		{calltree.View{Threads: []profile.ThreadID{1}}, "no threads"},
		{calltree.View{Table: 1}, "value type 1 of 1"},
		{calltree.View{Transforms: transforms("filter:marker-search:x")}, "no times"},
		{calltree.View{Transforms: transforms("focus-category:x")}, "no categories"},
	} {
		if _, err := v.Show(c.view); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.view, err, c.want)
		}
	}
	s, err := v.Show(calltree.View{Transforms: transforms("drop-function:nobody", "collapse-resource:nothing")})
	if err != nil || fmt.Sprint(s.Unknown) != "[nobody nothing]" || s.RootTotal() != 3 {
		t.Errorf("names that nothing has: %v, %v", err, s.Unknown)
	}
	if _, err := s.StackChart(calltree.ChartOptions{}); err == nil {
		t.Error("a stack chart without times")
	}
}

// TestCollapsedModuleKind asks whether the function that stands for a module is
// JavaScript: what the format says of the module decides before its functions do.
func TestCollapsedModuleKind(t *testing.T) {
	for _, c := range []struct {
		scripts map[string]bool
		kinds   [2]profile.Kind
		js      bool
	}{
		{nil, [2]profile.Kind{profile.KindJS, profile.KindJS}, true},
		{nil, [2]profile.Kind{profile.KindJS, profile.KindNative}, false},
		{map[string]bool{"m": true}, [2]profile.Kind{profile.KindJS, profile.KindNative}, true},
		{map[string]bool{"m": true}, [2]profile.Kind{profile.KindNative, profile.KindNative}, true},
		{map[string]bool{"m": false}, [2]profile.Kind{profile.KindJS, profile.KindJS}, false},
		{map[string]bool{"n": true}, [2]profile.Kind{profile.KindJS, profile.KindNative}, false},
	} {
		p := profile.New(nil)
		for name, script := range c.scripts {
			p.Symbols.Scripts[name] = script
		}
		p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
		st := profile.NoStack
		for i, kind := range c.kinds {
			st = p.Symbols.Stack(st, p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(
				profile.Function{Name: string(rune('A' + i)), Module: "m", Kind: kind})}))
		}
		p.Tables[0].Add(st, 1)
		tr, err := calltree.ParseTransform("collapse-resource:m")
		if err != nil {
			t.Fatal(err)
		}
		shown, err := calltree.NewViewer(p).Show(calltree.View{Transforms: []calltree.Transform{tr}, Kind: calltree.JS})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown.RootTotal() == 1; got != c.js {
			t.Errorf("%v, %v: in the view of JavaScript %v, want %v", c.scripts, c.kinds, got, c.js)
		}
	}
}

// TestAllocationsAreNotIdle leaves out idle samples, but not the allocations that
// were sampled in the same place.
func TestAllocationsAreNotIdle(t *testing.T) {
	p := profile.New(nil)
	fn := p.Symbols.Function(profile.Function{Name: "A"})
	st := p.Symbols.Stack(profile.NoStack, p.Symbols.Frame(profile.Frame{Function: fn,
		Category: p.Symbols.Category(profile.Category{Name: "Idle", Color: "grey"})}))
	for _, name := range []string{"samples", "native-allocations", "js-allocations"} {
		p.Tables = append(p.Tables, profile.Samples{Type: profile.ValueType{Name: name, Unit: "bytes"}})
		p.Tables[len(p.Tables)-1].Add(st, 8)
	}
	v := calltree.NewViewer(p)
	for _, c := range []struct {
		typ  string
		want int64
	}{{"samples", 0}, {"native-allocations", 8}, {"js-allocations", 8}, {"samples:allocations", 8}} {
		table, weights, err := v.ParseType(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustShow(t, v, calltree.View{Table: table, Weights: weights, NoIdle: true}).RootTotal(); got != c.want {
			t.Errorf("%s: %d, want %d", c.typ, got, c.want)
		}
	}
}
