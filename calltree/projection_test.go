package calltree_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestProjectionOfWarmSymbols decodes several profiles into one Symbols and
// projects each onto one forest: every tree must be what a reader with tables of
// its own would have got.
func TestProjectionOfWarmSymbols(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		symbols := profile.NewSymbols()
		var f calltree.Forest
		pr := calltree.NewProjection(symbols, &f, calltree.NoNode, nil)
		for range 4 {
			list := proftest.Samples(1).Draw(t, "samples")
			p := proftest.ToProfile(symbols, "x", list)
			v := pr.Vector(&p.Tables[0], nil)
			cut := f.Cut(v.Nodes)
			warm := calltree.NewTree(cut.Table, p.Tables[0].Type, cut.Self(v))
			proftest.CheckTree(t, warm)
			if diff := cmp.Diff(merge(t, proftest.ToTree("x", list)), warm); diff != "" {
				t.Fatalf("alone (-) and warm (+):\n%s", diff)
			}
			if !slices.IsSorted(v.Nodes) {
				t.Fatalf("nodes do not ascend: %v", v.Nodes)
			}
		}
	})
}

func TestProjectionRenames(t *testing.T) {
	p := proftest.Columns(`
		A$1  A$2  B
		x    x    x
	`)
	var f calltree.Forest
	pr := calltree.NewProjection(p.Symbols, &f, calltree.NoNode, func(fn profile.Function) int32 {
		fn.Name, _, _ = strings.Cut(fn.Name, "$")
		return f.Function(fn)
	})
	v := pr.Vector(&p.Tables[0], nil)
	want := proftest.Trim(`
		- A (total: 2, self: —)
		  - x (total: 2, self: 2)
		- B (total: 1, self: —)
		  - x (total: 1, self: 1)
	`)
	if diff := cmp.Diff(want, proftest.Draw(f.Tree(profile.ValueType{}, dense(&f, v)))); diff != "" {
		t.Error(diff)
	}
}

func TestProjectionBelowARoot(t *testing.T) {
	p := proftest.Columns("A  B")
	var f calltree.Forest
	root := f.Path(calltree.NoNode, f.Function(profile.Function{Name: "[worker-*]"}))
	v := calltree.NewProjection(p.Symbols, &f, root, nil).Vector(&p.Tables[0], nil)
	want := proftest.Trim(`
		- [worker-*] (total: 2, self: —)
		  - A (total: 1, self: 1)
		  - B (total: 1, self: 1)
	`)
	if diff := cmp.Diff(want, proftest.Draw(f.Tree(profile.ValueType{}, dense(&f, v)))); diff != "" {
		t.Error(diff)
	}
}

func TestVectorSumsAndKeeps(t *testing.T) {
	p := proftest.Columns(`
		×5  ×-5  ×2  ×0  ×7  ×4
		A   A    A   Z   ·   B
	`)
	var f calltree.Forest
	pr := calltree.NewProjection(p.Symbols, &f, calltree.NoNode, nil)
	for range 2 { // the second time with what the first left behind
		v := pr.Vector(&p.Tables[0], nil)
		if diff := cmp.Diff(calltree.Vector{Nodes: []int32{0, 1}, Self: []int64{2, 4}}, v); diff != "" {
			t.Errorf("5 - 5 + 2 on A: %s", diff)
		}
		v = pr.Vector(&p.Tables[0], func(i int) bool { return i < 2 })
		if v.Len() != 0 {
			t.Errorf("5 - 5 is nothing: %+v", v)
		}
	}
	if _, ok := f.FindFunction("Z"); ok {
		t.Error("a sample of zero made a path")
	}
}

// TestDeepStacks takes one stack of a million frames through everything: no
// recursion on depth, no quadratic pass.
func TestDeepStacks(t *testing.T) {
	const depth = 1_000_000
	start := readtest.CPUTime()
	p := proftest.Deep(depth)
	tree := calltree.FromProfile(p, 0)
	proftest.CheckTree(t, tree)
	merged := merge(t, tree, tree)
	if merged.Len() != depth || merged.Total[0] != 2 || merged.Self[depth-1] != 2 {
		t.Errorf("%d nodes, total %d", merged.Len(), merged.Total[0])
	}
	if rows := tree.FunctionRows(); len(rows) != 3 || rows[2].Total != 1 {
		t.Errorf("%+v", rows)
	}
	visited := 0
	tree.Walk(func(int32) bool { visited++; return true })
	if visited != depth || len(tree.Path(depth-1)) != depth {
		t.Errorf("%d visited", visited)
	}
	var f calltree.Forest
	v := calltree.NewProjection(p.Symbols, &f, calltree.NoNode, nil).Vector(&p.Tables[0], nil)
	if cut := f.Cut(v.Nodes); cut.Len() != depth || len(f.Names(depth-1)) != depth {
		t.Errorf("%d nodes", cut.Len())
	}
	if took := readtest.CPUTime() - start; took > 2*time.Minute {
		t.Errorf("took %v: something is not linear", took)
	}
}

func TestTreeProfileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := proftest.ToTree("x", proftest.Samples(1).Draw(t, "samples"))
		p := tree.Profile()
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		again := calltree.FromProfile(p, 0)
		if diff := cmp.Diff(tree, again); diff != "" {
			t.Fatalf("tree (-) and tree of its profile (+):\n%s", diff)
		}
	})
}
