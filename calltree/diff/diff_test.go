package diff_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

type trees = []*calltree.Tree

func compare(t interface{ Fatalf(string, ...any) }, base, head trees) *diff.Diff {
	d, err := diff.Compare(base, head)
	if err != nil {
		t.Fatalf("Compare: %v", err)
	}
	if err := d.Check(); err != nil {
		t.Fatalf("Compare: %v", err)
	}
	return d
}

// drawDiff draws the shown nodes of a diff in display order, total and self as
// base→head.
func drawDiff(d *diff.Diff) string {
	var b strings.Builder
	d.Walk(func(n int32) bool {
		total, self := d.Total(n), d.Self(n)
		fmt.Fprintf(&b, "%s- %s (total: %d→%d, self: %d→%d)", strings.Repeat("  ", int(d.Depth[n])), d.Name(n), total.Base, total.Head, self.Base,
			self.Head)
		if p := total.Presence(); p != diff.OnBoth {
			fmt.Fprintf(&b, " %s", p)
		}
		b.WriteByte('\n')
		return true
	})
	return b.String()
}

// The two profiles of weak point 5: in both, R takes four samples in A's place
// and one elsewhere, and A cancels.
var (
	weakBase = `
		×2 ×1
		R  R
		A  B
		x`
	weakNew = `
		×2 ×2
		R  R
		A  C
		y`
)

// Each of the seven ways in which a diff of net values misleads is one test.

func TestWeak1BaseNewDeltaAndRelative(t *testing.T) {
	d := compare(t, trees{proftest.Tree(weakBase)}, trees{proftest.Tree(weakNew)})
	want := proftest.Trim(`
		- R (total: 3→4, self: 0→0)
		  - C (total: 0→2, self: 0→2) new
		  - B (total: 1→0, self: 1→0) vanished
		  - A (total: 2→2, self: 0→0)
		    - x (total: 2→0, self: 2→0) vanished
		    - y (total: 0→2, self: 0→2) new`)
	if got := drawDiff(d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r := d.Total(0)
	rel, ok := d.Relative(r)
	if d.Delta(r) != 1 || !ok || math.Abs(rel-1.0/3) > 1e-12 {
		t.Errorf("R: delta %v, relative %v %v", d.Delta(r), rel, ok)
	}
	if _, ok := d.Relative(diff.Pair{Head: 2}); ok {
		t.Error("something new has a relative change")
	}
}

func TestWeak2HundredPercentIsTheSideItself(t *testing.T) {
	base, other := proftest.Tree(weakBase), proftest.Tree(weakNew)
	for _, head := range []*calltree.Tree{other, base} {
		if got := compare(t, trees{base}, trees{head}).RootTotal(); got.Base != 3 || got.Head != head.RootTotal() {
			t.Errorf("root total %v", got)
		}
	}
}

func TestWeak3SharesAndUnitsOfWork(t *testing.T) {
	d := compare(t, trees{proftest.Tree("×3 ×1\nA  B")}, trees{proftest.Tree("×6 ×2\nA  B")})
	a := d.Total(0)
	if d.Delta(a) != 3 || !d.Exact() {
		t.Errorf("by value: %v", d.Delta(a))
	}
	d.ByShare()
	if d.Delta(a) != 0 || d.Exact() {
		t.Errorf("by share: %v", d.Delta(a))
	}
	d.PerUnit(10, 20)
	if b, n := d.Values(a); math.Abs(b-0.3) > 1e-12 || math.Abs(n-0.3) > 1e-12 {
		t.Errorf("per unit: %v, %v", b, n)
	}
}

func TestWeak4MoreAndLessApart(t *testing.T) {
	d := compare(t, trees{proftest.Tree("×9 ×1 ×5 ×2\nA  B  C  D")}, trees{proftest.Tree("×1 ×5 ×5 ×5\nA  B  C  D")})
	names := func(rows []diff.FunctionChange) (s string) {
		for _, r := range rows {
			s += d.Functions[r.Func].Name
		}
		return s
	}
	more, less, same := d.MoreAndLess(d.FunctionRows(), func(r diff.FunctionChange) diff.Pair { return r.Total })
	if names(more) != "BD" || names(less) != "A" || names(same) != "C" {
		t.Errorf("more %s, less %s, same %s", names(more), names(less), names(same))
	}
}

func TestWeak5WhatCancelsHasItsPlaceInTheFlameGraph(t *testing.T) {
	d := compare(t, trees{proftest.Tree(weakBase)}, trees{proftest.Tree(weakNew)})
	width := d.Widths().Total
	got := map[string]int64{}
	for n := range int32(d.Len()) {
		got[strings.Join(d.Path(n), ";")] = width[n]
	}
	for path, want := range map[string]int64{"R": 7, "R;A": 4, "R;A;x": 2, "R;A;y": 2, "R;B": 1, "R;C": 2} {
		if got[path] != want {
			t.Errorf("%s is %v wide, want %v", path, got[path], want)
		}
	}
}

func TestWeak6FunctionsThatCancelAreListed(t *testing.T) {
	d := compare(t, trees{proftest.Tree(weakBase)}, trees{proftest.Tree(weakNew)})
	for _, r := range d.FunctionRows() {
		if d.Functions[r.Func].Name == "A" {
			if r.Total != (diff.Pair{Base: 2, Head: 2}) {
				t.Errorf("A: %v", r.Total)
			}
			return
		}
	}
	t.Error("A is not listed")
}

func TestWeak7AnyValueTypeIsCompared(t *testing.T) {
	heap := func(drawing string) *calltree.Tree {
		p := proftest.Columns(drawing)
		p.Tables[0].Type = profile.NamedType(profile.Live)
		return calltree.FromProfile(p, 0)
	}
	base, head := heap("×4096 ×-1024\nA     B"), heap("×8192 ×-2048\nA     B")
	d := compare(t, trees{base}, trees{head})
	if d.Type.Unit != "bytes" || d.Delta(d.Total(0)) != 4096 || d.Delta(d.Total(1)) != -1024 {
		t.Errorf("%s: %v, %v", d.Type, d.Delta(d.Total(0)), d.Delta(d.Total(1)))
	}
	if rel, _ := d.Relative(d.Total(1)); rel != -1 {
		t.Errorf("twice as much freed is %v", rel)
	}
	if _, err := diff.Compare(trees{base}, trees{proftest.Tree("A")}); err == nil {
		t.Error("bytes were compared with samples")
	}
}

func TestOfEqualDeltasTheLargerIsFirst(t *testing.T) {
	d := compare(t, trees{proftest.Tree("×1 ×5 ×7\nA  B  C")}, trees{proftest.Tree("×2 ×6 ×9\nA  B  C")})
	want := "- C (total: 7→9, self: 7→9)\n- B (total: 5→6, self: 5→6)\n- A (total: 1→2, self: 1→2)\n"
	if got := drawDiff(d); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNodesKeepTheirCategories(t *testing.T) {
	with := func(name, category string) *calltree.Tree {
		p := profile.New(nil)
		p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
		c := p.Symbols.Category(profile.Category{Name: category, Color: "blue"})
		f := profile.Frame{Function: p.Symbols.Function(profile.Function{Name: name}), Category: c}
		p.Tables[0].Add(p.Symbols.Stack(profile.NoStack, p.Symbols.Frame(f)), 1)
		shown, err := calltree.NewViewer(p).Show(calltree.View{})
		if err != nil {
			t.Fatal(err)
		}
		return shown.Tree
	}
	d := compare(t, trees{with("A", "Layout")}, trees{with("B", "Graphics")})
	if a, b := d.CategoryName(0), d.CategoryName(1); a != "Layout" || b != "Graphics" {
		t.Errorf("categories %q and %q", a, b)
	}
	if c := compare(t, trees{with("A", "Layout")}, trees{with("A", "Layout")}).CategoryName(0); c != "Layout" {
		t.Errorf("of both sides %q", c)
	}
	net, err := diff.Net(with("A", "Layout"), with("B", "Graphics"))
	if err != nil || net.CategoryName(0) != "Layout" || net.CategoryName(1) != "Graphics" {
		t.Errorf("net: %q and %q, %v", net.CategoryName(0), net.CategoryName(1), err)
	}
	if c := d.Invert().CategoryName(0); c != "Layout" && c != "Graphics" {
		t.Errorf("upside down %q", c)
	}
}

func TestCompareFollowsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// One, two or three profiles on each side.
		side := func(name string) (trees, proftest.Numbers) {
			var ts trees
			var all []proftest.Sample
			for range rapid.IntRange(1, 3).Draw(t, name) {
				list := proftest.Samples(-3).Draw(t, "samples")
				ts = append(ts, proftest.ToTree("", list))
				all = append(all, list...)
			}
			return ts, proftest.Naive(all...)
		}
		base, wantBase := side("base")
		head, wantHead := side("head")
		d := compare(t, base, head)
		seen := map[string]bool{}
		for n := range int32(d.Len()) {
			path := strings.Join(d.Path(n), ";")
			if seen[path] {
				t.Fatalf("%s is there twice", path)
			}
			seen[path] = true
			b, w := wantBase[path], wantHead[path]
			if self, total := d.Self(n), d.Total(n); self != (diff.Pair{Base: b[0], Head: w[0]}) ||
				total != (diff.Pair{Base: b[1], Head: w[1]}) {
				t.Fatalf("%s: self %v, total %v; want %v and %v", path, self, total, b, w)
			}
		}
		for _, want := range []proftest.Numbers{wantBase, wantHead} {
			for path := range want {
				if !seen[path] {
					t.Fatalf("%s is missing", path)
				}
			}
		}
	})
}

func TestCompareIsAntisymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := proftest.ToTree("", proftest.Samples(-3).Draw(t, "a")), proftest.ToTree("", proftest.Samples(-3).Draw(t, "b"))
		ab, ba := compare(t, trees{a}, trees{b}), compare(t, trees{b}, trees{a})
		for _, choose := range []func(d *diff.Diff, x, y float64){
			func(d *diff.Diff, _, _ float64) { d.ByValue() },
			func(d *diff.Diff, _, _ float64) { d.ByShare() },
			func(d *diff.Diff, x, y float64) { d.PerUnit(x, y) },
		} {
			choose(ab, 3, 7)
			choose(ba, 7, 3)
			if drawn, mirrored := drawDiff(ab), mirror(drawDiff(ba)); drawn != mirrored {
				t.Fatalf("a→b\n%s\nmirror of b→a\n%s", drawn, mirrored)
			}
			for n := range int32(ab.Len()) {
				if ab.Delta(ab.Total(n)) != -ba.Delta(ba.Total(n)) {
					t.Fatalf("node %d: %v and %v", n, ab.Delta(ab.Total(n)), ba.Delta(ba.Total(n)))
				}
			}
		}
	})
}

// mirror swaps the sides of a drawing.
func mirror(drawing string) string {
	lines := strings.Split(drawing, "\n")
	for i, line := range lines {
		name, numbers, ok := strings.Cut(line, " (")
		if !ok {
			continue
		}
		var x [4]int64
		fmt.Sscanf(numbers, "total: %d→%d, self: %d→%d)", &x[0], &x[1], &x[2], &x[3])
		lines[i] = fmt.Sprintf("%s (total: %d→%d, self: %d→%d)", name, x[1], x[0], x[3], x[2])
		switch {
		case strings.HasSuffix(line, " new"):
			lines[i] += " vanished"
		case strings.HasSuffix(line, " vanished"):
			lines[i] += " new"
		}
	}
	return strings.Join(lines, "\n")
}

func TestDiffWithItselfIsZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := proftest.ToTree("a.js", proftest.Samples(-3).Draw(t, "a"))
		d := compare(t, trees{a}, trees{a})
		if d.Len() != a.Len() || len(d.Functions) > len(a.Functions) {
			t.Fatalf("%d nodes and %d functions became %d and %d", a.Len(), len(a.Functions), d.Len(), len(d.Functions))
		}
		for _, r := range d.FunctionRows() {
			if d.Delta(r.Self) != 0 || d.Delta(r.Total) != 0 {
				t.Fatalf("%s: %v, %v", d.Functions[r.Func].Name, r.Self, r.Total)
			}
		}
		net, err := diff.Net(a, a)
		if err != nil || net.RootTotal() != 0 || slices.Contains(net.Shown(), true) {
			t.Fatalf("net of a profile and itself: %d, %v", net.RootTotal(), err)
		}
	})
}

func TestFlameGraphOfADiff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := func(label string) trees { return trees{proftest.ToTree("", proftest.Samples(1).Draw(t, label))} }
		d := compare(t, drawn("a"), drawn("b"))
		if rapid.Bool().Draw(t, "share") {
			d.ByShare()
		}
		widths, seen := d.Widths(), map[int32]calltree.Box{}
		for _, b := range d.Flame(0) {
			if up := d.Parent[b.Node]; up != calltree.NoNode {
				if p := seen[up]; b.Start < p.Start-1e-9 || b.End > p.End+1e-9 {
					t.Fatalf("box %v is not over its parent's %v", b, p)
				}
			}
			for _, other := range seen {
				if other.Depth == b.Depth && other.Start < b.End-1e-9 && b.Start < other.End-1e-9 {
					t.Fatalf("boxes %v and %v overlap", b, other)
				}
			}
			seen[b.Node] = b
		}
		for n := range int32(d.Len()) {
			if _, ok := seen[n]; ok != (d.Total(n) != diff.Pair{}) {
				t.Fatalf("node %d with total %v: box %v", n, d.Total(n), ok)
			}
			if d.Exact() && float64(widths.Total[n]) < d.Larger(d.Total(n)) {
				t.Fatalf("node %d is %d wide, its total %v", n, widths.Total[n], d.Total(n))
			}
		}
	})
}

func TestInvertedDiff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, head := proftest.Samples(-3).Draw(t, "base"), proftest.Samples(-3).Draw(t, "head")
		d := compare(t, trees{proftest.ToTree("", base)}, trees{proftest.ToTree("", head)})
		reversed := func(list []proftest.Sample) []proftest.Sample {
			out := slices.Clone(list)
			for i := range out {
				out[i].Stack = slices.Clone(out[i].Stack)
				slices.Reverse(out[i].Stack)
			}
			return out
		}
		// Self values that cancel within a call node are gone before the tree is
		// turned, so the reference is made of what the tree says.
		want := [2]proftest.Numbers{proftest.Naive(reversed(selfSamples(base))...), proftest.Naive(reversed(selfSamples(head))...)}
		v := d.Invert()
		var path []string
		v.Walk(func(n int32) bool {
			r := v.Row(n)
			path = append(path[:r.Depth], d.Functions[r.Func].Name)
			key := strings.Join(path, ";")
			if r.Total != (diff.Pair{Base: want[0][key][1], Head: want[1][key][1]}) {
				t.Fatalf("%s: %v, want %d→%d", key, r.Total, want[0][key][1], want[1][key][1])
			}
			delete(want[0], key)
			delete(want[1], key)
			return true
		})
		for _, side := range want {
			for key, left := range side {
				t.Fatalf("%s: %d is missing", key, left[1])
			}
		}
		for _, b := range v.Flame(0) {
			if r := v.Row(b.Node); r.Func != b.Func || r.Depth != b.Depth {
				t.Fatalf("box %v stands for row %v", b, r)
			}
		}
	})
}

// selfSamples returns one sample per call node with a self value.
func selfSamples(list []proftest.Sample) (out []proftest.Sample) {
	for path, v := range proftest.Naive(list...) {
		if v[0] != 0 {
			out = append(out, proftest.Sample{Stack: strings.Split(path, ";"), Value: v[0]})
		}
	}
	return out
}

func TestCallersInADiff(t *testing.T) {
	d := compare(t, trees{proftest.Tree("×2 ×1\nA  B\nF  F\nF")}, trees{proftest.Tree("×5 ×1\nA  C\nF  F")})
	v := d.Callers(d.FunctionsNamed("F"))
	got := ""
	v.Walk(func(n int32) bool {
		r := v.Row(n)
		got += fmt.Sprintf("%s%s %d→%d\n", strings.Repeat(" ", int(r.Depth)), d.Functions[r.Func].Name, r.Total.Base, r.Total.Head)
		return true
	})
	if want := "F 3→6\n A 2→5\n B 1→0\n C 0→1\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestDiffOfDeepStacks(t *testing.T) {
	a := calltree.FromProfile(proftest.Deep(1_000_000), 0)
	b := calltree.FromProfile(proftest.Deep(999_999), 0)
	d := compare(t, trees{a}, trees{b})
	if d.Len() != 1_000_000 || d.Delta(d.Total(0)) != 0 || d.Delta(d.Total(999_999)) != -1 {
		t.Errorf("%d nodes, delta %v at the end", d.Len(), d.Delta(d.Total(999_999)))
	}
	d.Walk(func(int32) bool { return true })
}

func TestPeriods(t *testing.T) {
	at := func(period int64, drawing string) *calltree.Tree {
		p := proftest.Columns(drawing)
		p.Tables[0].Type.Period, p.Tables[0].Type.PeriodUnit = period, "nanoseconds"
		return calltree.FromProfile(p, 0)
	}
	slow, fast := at(10_000_000, "×5\nA"), at(4_000_000, "×20\nA")
	d := compare(t, trees{slow}, trees{fast})
	if b, n := d.Values(d.Total(0)); b != 12.5 || n != 20 || len(d.Notes) != 1 {
		t.Errorf("5 samples of 10 ms and 20 of 4 ms: %v and %v, notes %q", b, n, d.Notes)
	}
	d.ByShare()
	if d.Delta(d.Total(0)) != 0 {
		t.Errorf("shares depend on the period: %v", d.Delta(d.Total(0)))
	}
	if d := compare(t, trees{slow}, trees{at(0, "A")}); len(d.Notes) != 1 || !d.Exact() {
		t.Errorf("one period unknown: %q", d.Notes)
	}
	net, err := diff.Net(slow, fast)
	if err != nil || net.Type.Scale != 1 || net.Self[0] != 75 {
		t.Errorf("net: %v, scale %d, %v", net.Self, net.Type.Scale, err)
	}
	third, err := diff.Net(at(3, "A"), at(10, "A"))
	if err != nil || third.Type.Scale != 9 || third.Self[0] != 2_333_333_333 {
		t.Errorf("a third: %v, scale %d, %v", third.Self, third.Type.Scale, err)
	}
}

func TestTimesOfSamples(t *testing.T) {
	counts, times := proftest.Columns("×5 ×2\nA  B"), proftest.Columns("×30000000\nA")
	times.Tables[0].Type = profile.ValueType{Name: "time", Unit: "nanoseconds", Period: 10_000_000, PeriodUnit: "nanoseconds"}
	c, s := calltree.FromProfile(counts, 0), calltree.FromProfile(times, 0)
	for _, sides := range [][2]*calltree.Tree{{c, s}, {s, c}} {
		d := compare(t, trees{sides[0]}, trees{sides[1]})
		b, n := d.Values(d.Total(0))
		if sides[0] == s {
			b, n = n, b
		}
		if b != 5 || n != 3 || d.Type.Unit != "count" || len(d.Notes) != 1 || d.Notes[0] != "time (nanoseconds) is compared as samples of 10 ms" {
			t.Errorf("%v and %v of %s, notes %q", b, n, d.Type, d.Notes)
		}
	}
	s.Type.Period = 0
	if _, err := diff.Compare(trees{c}, trees{s}); err == nil {
		t.Error("samples are compared with times of an unknown period")
	}
}

func TestNet(t *testing.T) {
	net, err := diff.Net(proftest.Tree(weakBase), proftest.Tree(weakNew))
	if err != nil {
		t.Fatal(err)
	}
	want := proftest.Trim(`
		- R (total: 1, self: —)
		  - C (total: 2, self: 2)
		  - B (total: -1, self: -1)
		  - A (total: —, self: —)
		    - x (total: -2, self: -2)
		    - y (total: 2, self: 2)`)
	if got := proftest.Draw(net); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNoise(t *testing.T) {
	d := compare(t, trees{proftest.Tree("×100\nA")}, trees{proftest.Tree("×125\nA")})
	if got, want := d.Noise(d.Total(0)), 1+1.96*15; math.Abs(got-want) > 1e-9 {
		t.Errorf("noise of 100 and 125 samples: %v, want %v", got, want)
	}
	d.PerUnit(10, 10)
	if got, want := d.Noise(d.Total(0)), 0.1+1.96*1.5; math.Abs(got-want) > 1e-9 {
		t.Errorf("per unit: %v, want %v", got, want)
	}
	// Of 10 runs one in two has a sample of B, so 2 runs without it are no surprise.
	d = compare(t, trees{proftest.Tree("×100  ×5\nA  B")}, trees{proftest.Tree("×20\nA")})
	d.PerUnit(10, 2)
	n, _ := d.FindPath([]string{"B"})
	if got, want := d.Noise(d.Total(n)), 0.3+1.96*math.Sqrt(0.25); math.Abs(got-want) > 1e-9 || math.Abs(d.Delta(d.Total(n))) > got {
		t.Errorf("missed by the short side: noise %v, want %v; delta %v", got, want, d.Delta(d.Total(n)))
	}
}

func TestCompareErrors(t *testing.T) {
	a := proftest.Tree("A")
	if _, err := diff.Compare(nil, trees{a}); err == nil {
		t.Error("a diff without a base")
	}
	big := proftest.Tree("×9000000000000000000\nA")
	if _, err := diff.Compare(trees{big}, trees{big}); err == nil {
		t.Error("a delta may not fit")
	}
	if _, err := diff.Net(big, big); err == nil {
		t.Error("a net value may not fit")
	}
}

func ExampleCompare() {
	before := proftest.Tree(`
		×6     ×4
		main   main
		parse  render`)
	after := proftest.Tree(`
		×6     ×7
		main   main
		parse  render`)
	d, err := diff.Compare(trees{before}, trees{after})
	if err != nil {
		fmt.Println(err)
		return
	}
	d.Walk(func(n int32) bool {
		total := d.Total(n)
		relative, _ := d.Relative(total)
		fmt.Printf("%s: %d → %d, %+.0f%%\n", d.Name(n), total.Base, total.Head, relative*100)
		return true
	})
	// Output:
	// main: 10 → 13, +30%
	// render: 4 → 7, +75%
	// parse: 6 → 6, +0%
}
