package calltree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/proftest"
)

func TestSidebar(t *testing.T) {
	p := proftest.Columns(`
		@0             @1         @3         @4  @5
		A[cat:Other]   A          A          ·   E
		B[cat:JS/Ion]  B[cat:JS]  C[cat:DOM]
		               D[cat:DOM]
	`)
	p.Interval = 1e6
	v := calltree.NewViewer(p)
	s := mustShow(t, v, calltree.View{Transforms: transforms("merge-function:D")})
	at := func(path ...string) int32 {
		n, ok := s.FindPath(path)
		if !ok {
			t.Fatalf("no %q", path)
		}
		return n
	}
	third := 1 / 3.0
	want := calltree.Sidebar{
		Self: calltree.Amount{Value: 2, Categories: []calltree.CategoryAmount{
			{Name: "JS", Value: 1, Share: 0.5, Sub: []calltree.CategoryAmount{{Name: "Ion", Value: 1, Share: 0.5}}},
			{Name: "DOM", Value: 1, Share: 0.5}}},
		Total: calltree.Amount{Value: 2, Categories: []calltree.CategoryAmount{
			{Name: "JS", Value: 1, Share: 0.5, Sub: []calltree.CategoryAmount{{Name: "Ion", Value: 1, Share: 0.5}}},
			{Name: "DOM", Value: 1, Share: 0.5}}},
		RootTotal: 4, SampleTotal: 4,
		Traced: &calltree.TracedTime{Self: 3e6, Total: 3e6, Root: 5e6},
	}
	if diff := cmp.Diff(want, s.Sidebar(at("A", "B"))); diff != "" {
		t.Errorf("A;B: %s", diff)
	}
	got := s.Sidebar(at("A"))
	if got.Self.Value != 0 || got.Self.Categories != nil || got.Total.Value != 3 {
		t.Errorf("A: %+v", got)
	}
	if diff := cmp.Diff([]calltree.CategoryAmount{
		{Name: "DOM", Value: 2, Share: 2 * third},
		{Name: "JS", Value: 1, Share: third, Sub: []calltree.CategoryAmount{{Name: "Ion", Value: 1, Share: third}}},
	}, got.Total.Categories); diff != "" {
		t.Errorf("A: %s", diff)
	}
	inv := s.Invert()
	h, _ := inv.FindPath([]string{"B"})
	if got := s.InvertedSidebar(inv, h); got.Self.Value != 2 || got.Self.Categories != nil || got.Total.Value != 2 ||
		len(got.Total.Categories) != 2 {
		t.Errorf("B inverted: %+v", got)
	}
	h, _ = inv.FindPath([]string{"B", "A"})
	if got := s.InvertedSidebar(inv, h); got.Self.Value != 0 || got.Total.Value != 2 || got.Traced.Total != 3e6 {
		t.Errorf("B, A inverted: %+v", got)
	}
}

// TestSidebarDenominators tells the two sums of 100% apart: +2 and -1 in one
// node are 1 in the tree and 3 in the sidebar.
func TestSidebarDenominators(t *testing.T) {
	v := calltree.NewViewer(proftest.Columns(`
		×2  ×-1  ×4  ×8
		A   A    B   ·
	`))
	s := mustShow(t, v, calltree.View{})
	if got := s.Sidebar(0); got.RootTotal != 5 || got.SampleTotal != 7 || got.Total.Value != 1 || got.Traced != nil ||
		got.Total.Categories != nil {
		t.Errorf("%+v", got)
	}
}
