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

func TestInverted(t *testing.T) {
	for _, c := range []picture{
		{"roots are where samples end, the heaviest first", `
			A  A  A
			B  B  C
			D  D  B
		`, "", `
			- D (total: 2, self: 2)
			  - B (total: 2, self: —)
			    - A (total: 2, self: —)
			- B (total: 1, self: 1)
			  - C (total: 1, self: —)
			    - A (total: 1, self: —)
		`},
		{"roots of equal size: by where they are first in the tree", `
			A  B  A
			Z  C  C
		`, "", `
			- C (total: 2, self: 2)
			  - A (total: 1, self: —)
			  - B (total: 1, self: —)
			- Z (total: 1, self: 1)
			  - A (total: 1, self: —)
		`},
		{"not by function: Y is first in the profile, P first in the tree", `
			Y  B
			A  Y
			P
		`, "", `
			- P (total: 1, self: 1)
			  - A (total: 1, self: —)
			    - Y (total: 1, self: —)
			- Y (total: 1, self: 1)
			  - B (total: 1, self: —)
		`},
		{"a path that ends is no child", `
			×2  ×1  ×4
			A   B   C
			    A   A
		`, "", `
			- A (total: 7, self: 7)
			  - C (total: 4, self: —)
			  - B (total: 1, self: —)
		`},
		{"recursion", `
			A  A
			A  B
			A
		`, "", `
			- A (total: 1, self: 1)
			  - A (total: 1, self: —)
			    - A (total: 1, self: —)
			- B (total: 1, self: 1)
			  - A (total: 1, self: —)
		`},
		{"a root that cancels stays, for its parts differ", `
			×2  ×-2  ×1
			A   B    A
			C   C    D
		`, "", `
			- D (total: 1, self: 1)
			  - A (total: 1, self: —)
			- C (total: —, self: —)
			  - A (total: 2, self: —)
			  - B (total: -2, self: —)
		`},
		{"a child that cancels and has nothing behind it goes", `
			×2  ×-2
			A   A
			C   C
			D   E
		`, "merge-function:D merge-function:E", ``},
	} {
		c.check(t, func(s *calltree.Shown) string { return proftest.DrawInverted(s.Invert()) })
	}
}

func TestSandwich(t *testing.T) {
	tree := proftest.Tree(`
		×1  ×2  ×4  ×8
		A   B   A   A
		f   f   C   f
		g       f   g
		f       h   h
		h
	`)
	f := tree.FunctionsNamed("f")
	want := proftest.Trim(`
		- f (total: 15, self: 15)
		  - A (total: 9, self: —)
		  - C (total: 4, self: —)
		    - A (total: 4, self: —)
		  - B (total: 2, self: —)
	`)
	if diff := cmp.Diff(want, proftest.DrawInverted(tree.Callers(f))); diff != "" {
		t.Errorf("callers: -want +got:\n%s", diff)
	}
	want = proftest.Trim(`
		- f (total: 15, self: 2)
		  - g (total: 9, self: —)
		    - h (total: 8, self: 8)
		    - f (total: 1, self: —)
		      - h (total: 1, self: 1)
		  - h (total: 4, self: 4)
	`)
	callees := tree.Callees(f)
	proftest.CheckTree(t, callees)
	if diff := cmp.Diff(want, proftest.Draw(callees)); diff != "" {
		t.Errorf("callees: -want +got:\n%s", diff)
	}
}

func TestFlame(t *testing.T) {
	for _, c := range []picture{
		{"siblings by name, one behind the other; self is the gap on the right", `
			×4  ×2  ×1  ×1
			A   A   A   Z
			z   B
		`, "", `
			A [0, 0.875) self 0.125 | Z [0.875, 1) self 0.125
			B [0, 0.25) self 0.25 | z [0.25, 0.75) self 0.5
		`},
		{"names by UTF-16 units: beyond the basic plane comes before U+E000", "\ue000  \U00010000  a\n", "", "a [0, 0.3333) self 0.3333 | \U00010000 [0.3333, 0.6667) self 0.3333 | \ue000 [0.6667, 1) self 0.3333\n"},
		{"equal names in order of functions", `
			×1           ×2
			A            A
			f[file:b.c]  f[file:a.c]
		`, "", `
			A [0, 1)
			f [0, 0.3333) self 0.3333 | f [0.3333, 1) self 0.6667
		`},
		{"negative totals are as wide as positive ones", `
			×3  ×-1
			A   B
		`, "", `
			A [0, 0.75) self 0.75 | B [0.75, 1) self 0.25
		`},
		{"what is below a node that cancels is drawn where the node would be", `
			×2  ×2  ×-2
			A   R   R
			x   y   z
		`, "", `
			A [0, 0.3333)
			x [0, 0.3333) self 0.3333 | y [0.3333, 0.6667) self 0.3333 | z [0.6667, 1) self 0.3333
		`},
		{"nothing", ``, "", ``},
	} {
		c.check(t, func(s *calltree.Shown) string { return proftest.DrawBoxes(s.Functions, s.Flame(0)) })
	}
	inverted := picture{"upside down", `
		×3  ×1  ×4
		A   B   B
		C   C
	`, "", `
		B [0, 0.5) self 0.5 | C [0.5, 1) self 0.5
		A [0.5, 0.875) | B [0.875, 1)
	`}
	inverted.check(t, func(s *calltree.Shown) string { return proftest.DrawBoxes(s.Functions, s.Invert().Flame(0)) })
	narrow := picture{"narrow boxes keep their place", `
		×1  ×3  ×4
		A   B   C
	`, "", `
		B [0.125, 0.5) self 0.375 | C [0.5, 1) self 0.5
	`}
	narrow.check(t, func(s *calltree.Shown) string { return proftest.DrawBoxes(s.Functions, s.Flame(0.2)) })
}

func TestStackChart(t *testing.T) {
	const samples = `
		@0  @1  @3  @4  @5  @6
		A   A   A   ·   A   A
		B   B   C       B   B
		    D               D
	`
	for _, c := range []struct {
		picture
		same bool
	}{
		{picture{"a box lasts while its node is below all samples", samples, "", `
			A [0, 4) | A [5, 7)
			B [0, 3) self 1 | C [3, 4) self 1 | B [5, 7) self 1
			D [1, 3) self 2 | D [6, 7) self 1
		`}, false},
		{picture{"one width for each stack", samples, "", `
			A [0, 3) | A [4, 6)
			B [0, 2) self 1 | C [2, 3) self 1 | B [4, 6) self 1
			D [1, 2) self 1 | D [5, 6) self 1
		`}, true},
		{picture{"equal stacks are one box", `
			@0  @1  @2
			A   A   A
		`, "", `
			A [0, 3) self 3
		`}, false},
		{picture{"the committed range, not the preview", `
			@0  @1  @2
			A   B   B
		`, "range=1.. preview=2..", `
			B [1, 3) self 2
		`}, false},
		{picture{"nothing", `
			@0
			·
		`, "", ``}, false},
	} {
		c.check(t, func(s *calltree.Shown) string {
			boxes, err := s.StackChart(calltree.ChartOptions{SameWidth: c.same})
			if err != nil {
				t.Fatal(err)
			}
			return proftest.DrawBoxes(s.Functions, boxes)
		})
	}
}

// TestNodeCategories draws trees with the categories of their nodes.
func TestNodeCategories(t *testing.T) {
	draw := func(s *calltree.Shown) string {
		var b strings.Builder
		s.Walk(func(n int32) bool {
			c := s.Categories[s.Category[n]]
			fmt.Fprintf(&b, "%s- %s %s/%s\n", strings.Repeat("  ", int(s.Depth[n])), s.Name(n), c.Name, c.Subcategory)
			return true
		})
		return b.String()
	}
	for _, c := range []picture{
		{"own, inherited, and the grey one at the root", `
			A  B[cat:JS]
			x  y
		`, "", `
			- A Other/
			  - x Other/
			- B JS/
			  - y JS/
		`},
		{"stacks that disagree make the grey one", `
			A[cat:JS]  A[cat:JS]  A[cat:DOM]
			B          C          B
		`, "", `
			- A Other/
			  - B Other/
			  - C JS/
		`},
		{"subcategories that disagree make the group", `
			A[cat:JS/Ion]  A[cat:JS/Baseline]
			B              C
		`, "", `
			- A JS/
			  - B JS/Ion
			  - C JS/Baseline
		`},
		{"stacks outside of the range count", `
			@0         @1
			A[cat:JS]  A[cat:DOM]
		`, "range=..1", `
			- A Other/
		`},
		{"what a frame inherited stays when its caller is merged", `
			A[cat:JS]  D
			B[cat:DOM]
			C
		`, "merge-function:B", `
			- A JS/
			  - C DOM/
			- D Other/
		`},
		{"nodes that a transform unites may disagree", `
			A[cat:JS]   A
			B[cat:DOM]  C
			C
		`, "merge-function:B", `
			- A Other/
			  - C Other/
		`},
	} {
		c.check(t, draw)
	}
	inverted := picture{"upside down: all call nodes that end so, with a self value or without", `
		@0         @1         @2
		A[cat:JS]  B[cat:JS]  B[cat:DOM]
		f[cat:JS]  f[cat:JS]  f[cat:DOM]
		           g[cat:JS]
	`, "range=..1", `
		- f Other
		  - A JS
	`}
	inverted.check(t, func(s *calltree.Shown) string {
		var b strings.Builder
		v := s.Invert()
		v.Walk(func(h int32) bool {
			fmt.Fprintf(&b, "%s- %s %s\n", strings.Repeat("  ", int(v.Depth(h))), v.Name(h), v.CategoryName(h))
			return true
		})
		return b.String()
	})
}

func TestParseType(t *testing.T) {
	p := proftest.Columns("A")
	p.Tables[0].Type.Name = "samples"
	for _, name := range []string{"native-allocations", "js-allocations", "malloc"} {
		p.Tables = append(p.Tables, profile.Samples{Type: profile.ValueType{Name: name}})
	}
	v := calltree.NewViewer(p)
	for _, c := range []struct {
		text    string
		table   int
		weights calltree.Weights
	}{
		{"", 0, calltree.AsRecorded}, {"samples", 0, calltree.AsRecorded}, {"traced", 0, calltree.Traced},
		{"native-allocations", 1, calltree.Allocations}, {"native-deallocations-sites", 1, calltree.DeallocationSites},
		{"native-deallocations-memory", 1, calltree.DeallocatedMemory}, {"native-retained-allocations", 1, calltree.Retained},
		{"js-allocations", 2, calltree.AsRecorded}, {"malloc", 3, calltree.AsRecorded}, {"malloc:retained-allocations", 3, calltree.Retained},
	} {
		if table, w, err := v.ParseType(c.text); table != c.table || w != c.weights || err != nil {
			t.Errorf("%s: %d, %d, %v", c.text, table, w, err)
		}
	}
	if _, _, err := v.ParseType("nothing"); err == nil {
		t.Error("no error")
	}
}
