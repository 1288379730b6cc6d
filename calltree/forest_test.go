package calltree_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// grow adds the stacks of samples to a forest and returns their vector.
func grow(f *calltree.Forest, list []proftest.Sample) calltree.Vector {
	p := proftest.ToProfile(nil, "x", list)
	return calltree.NewProjection(p.Symbols, f, calltree.NoNode, nil).Vector(&p.Tables[0], nil)
}

// dense spreads a vector over all paths of a forest.
func dense(f *calltree.Forest, v calltree.Vector) []int64 {
	self := make([]int64, f.Paths.Len())
	for i, p := range v.Nodes {
		self[p] = v.Self[i]
	}
	return self
}

func TestForestInternsFunctionsByName(t *testing.T) {
	var f calltree.Forest
	a := f.Function(profile.Function{Name: "A", File: "first"})
	b := f.Function(profile.Function{Name: "B"})
	again := f.Function(profile.Function{Name: "A", File: "second"})
	if a != 0 || b != 1 || again != a || f.Functions[a].File != "first" {
		t.Errorf("%d, %d, %d, %+v", a, b, again, f.Functions)
	}
	if id, ok := f.FindFunction("B"); !ok || id != b {
		t.Errorf("B: %d, %v", id, ok)
	}
	if _, ok := f.FindFunction("C"); ok {
		t.Error("found C")
	}
	if _, ok := (&calltree.Forest{}).FindFunction("A"); ok {
		t.Error("found A in nothing")
	}
}

func TestForestNames(t *testing.T) {
	var f calltree.Forest
	path := calltree.NoNode
	for _, name := range []string{"A", "B", "A", "C"} {
		path = f.Path(path, f.Function(profile.Function{Name: name}))
	}
	if diff := cmp.Diff([]string{"A", "B", "A"}, f.Names(2)); diff != "" {
		t.Error(diff)
	}
}

func TestForestLoad(t *testing.T) {
	var f, g calltree.Forest
	v := grow(&f, []proftest.Sample{{Stack: []string{"B", "A"}, Value: 1}, {Stack: []string{"B", "C"}, Value: 2}})
	g.Function(profile.Function{Name: "what was there before"})
	g.Load(slices.Clone(f.Functions), slices.Clone(f.Paths.Parent), slices.Clone(f.Paths.Item))
	if diff := cmp.Diff(f.Tree(profile.ValueType{}, dense(&f, v)), g.Tree(profile.ValueType{}, dense(&g, v))); diff != "" {
		t.Error(diff)
	}
	// It goes on growing where it was.
	more := grow(&g, []proftest.Sample{{Stack: []string{"B", "A"}, Value: 5}, {Stack: []string{"B", "A", "D"}, Value: 7}})
	if !slices.Equal(more.Nodes, []int32{1, 3}) {
		t.Errorf("%+v", more)
	}
}

func TestCutPicture(t *testing.T) {
	var f calltree.Forest
	v := grow(&f, []proftest.Sample{
		{Stack: []string{"main", "parse"}, Value: 3},
		{Stack: []string{"main", "sort", "swap"}, Value: 2},
		{Stack: []string{"idle"}, Value: 9},
		{Stack: []string{"main", "alloc"}, Value: 4},
	})
	// Of the forest's paths, in order of appearance: main, main;parse,
	// main;sort, main;sort;swap, idle, main;alloc.
	cut := f.Cut([]int32{3, 1})
	if err := cut.Check(); err != nil {
		t.Fatal(err)
	}
	part := calltree.Vector{Nodes: []int32{1, 3}, Self: []int64{3, 2}}
	want := proftest.Trim(`
		- main (total: 5, self: —)
		  - parse (total: 3, self: 3)
		  - sort (total: 2, self: —)
		    - swap (total: 2, self: 2)
	`)
	tree := calltree.NewTree(cut.Table, profile.ValueType{}, cut.Self(part))
	if diff := cmp.Diff(want, proftest.Draw(tree)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int32{0, 1, 2, 3}, cut.Paths); diff != "" {
		t.Error(diff)
	}
	if _, ok := cut.Node(4); ok {
		t.Error("the cut has idle, which nobody asked for")
	}
	grow(&f, []proftest.Sample{{Stack: []string{"main", "late"}, Value: 1}})
	if _, ok := cut.Node(int32(f.Paths.Len() - 1)); ok {
		t.Error("the cut has a path that came after it")
	}
	if v.Sum() != 18 || v.Len() != 4 {
		t.Errorf("sum %d of %d nodes", v.Sum(), v.Len())
	}
	if empty := f.Cut(nil); empty.Len() != 0 || empty.Check() != nil {
		t.Errorf("a cut of nothing has %d nodes", empty.Len())
	}
}

func TestCutOfAllIsTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f calltree.Forest
		grow(&f, proftest.Samples(1).Draw(t, "first"))
		v := grow(&f, proftest.Samples(-6).Draw(t, "second"))
		all := make([]int32, f.Paths.Len())
		for i := range all {
			all[i] = int32(i)
		}
		cut := f.Cut(rapid.Permutation(all).Draw(t, "order"))
		if err := cut.Check(); err != nil {
			t.Fatal(err)
		}
		tree := f.Tree(profile.ValueType{}, dense(&f, v))
		proftest.CheckTree(t, tree)
		if diff := cmp.Diff(tree, calltree.NewTree(cut.Table, profile.ValueType{}, cut.Self(v))); diff != "" {
			t.Fatalf("tree (-) and cut (+):\n%s", diff)
		}
	})
}

func TestCutHasExactlyTheClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f calltree.Forest
		grow(&f, proftest.Samples(1).Draw(t, "samples"))
		n := int32(f.Paths.Len())
		if n == 0 {
			t.Skip("no paths")
		}
		paths := rapid.SliceOfDistinct(rapid.Int32Range(0, n-1), rapid.ID[int32]).Draw(t, "paths")
		want := map[int32]bool{}
		for _, p := range paths {
			for ; p != calltree.NoNode; p = f.Paths.Parent[p] {
				want[p] = true
			}
		}
		cut := f.Cut(paths)
		if err := cut.Check(); err != nil {
			t.Fatal(err)
		}
		if cut.Len() != len(want) || len(cut.Paths) != len(want) {
			t.Fatalf("%d nodes for %d paths", cut.Len(), len(want))
		}
		v := calltree.Vector{}
		for p := range n {
			node, ok := cut.Node(p)
			if ok != want[p] {
				t.Fatalf("path %d: in the cut: %v, want %v", p, ok, want[p])
			}
			if ok {
				if diff := cmp.Diff(f.Names(p), cut.Path(node)); diff != "" || cut.Paths[node] != p {
					t.Fatalf("path %d is node %d is path %d: %s", p, node, cut.Paths[node], diff)
				}
				v.Nodes, v.Self = append(v.Nodes, p), append(v.Self, int64(p)+1)
			}
		}
		// Sparse and dense translation agree.
		self := cut.Self(v)
		for i, node := range cut.Vector(v).Nodes {
			if self[node] != v.Self[i] {
				t.Fatalf("node %d: %d, want %d", node, self[node], v.Self[i])
			}
		}
	})
}

func TestCutOfManyPaths(t *testing.T) {
	// More than the few that are sorted by comparing.
	p := proftest.Wide(20_000, 1)
	var f calltree.Forest
	v := calltree.NewProjection(p.Symbols, &f, calltree.NoNode, nil).Vector(&p.Tables[0], nil)
	cut := f.Cut(v.Nodes)
	if err := cut.Check(); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(v.Nodes) || v.Len() < 5000 {
		t.Errorf("%d nodes, ascending: %v", v.Len(), slices.IsSorted(v.Nodes))
	}
	whole := f.Tree(p.Tables[0].Type, dense(&f, v))
	part := calltree.NewTree(cut.Table, p.Tables[0].Type, cut.Self(v))
	if whole.RootTotal() != part.RootTotal() || part.RootTotal() != p.Tables[0].Total() {
		t.Errorf("%d, %d, %d", whole.RootTotal(), part.RootTotal(), p.Tables[0].Total())
	}
}

func TestSnapshotStaysWhileTheForestGrows(t *testing.T) {
	var f calltree.Forest
	v := grow(&f, []proftest.Sample{{Stack: []string{"B", "A"}, Value: 1}, {Stack: []string{"B"}, Value: 2}})
	snap := f.Snapshot()
	again := snap.Snapshot()
	want := proftest.Draw(f.Tree(profile.ValueType{}, dense(&f, v)))

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				got := proftest.Draw(snap.Tree(profile.ValueType{}, dense(snap, v)))
				if id, ok := snap.FindFunction("A"); !ok || snap.Functions[id].Name != "A" || got != want {
					t.Errorf("the snapshot changed: %v, %v\n%s", id, ok, got)
				}
				if cut := snap.Cut(v.Nodes); cut.Len() != 2 {
					t.Errorf("%d nodes", cut.Len())
				}
			}
		})
	}
	for i := range 2000 {
		grow(&f, []proftest.Sample{{Stack: []string{"B", strings.Repeat("x", i%50), "C"}, Value: 1}})
	}
	wg.Wait()

	if _, ok := snap.FindFunction("C"); ok {
		t.Error("the snapshot knows a function that came after it")
	}
	if f.Origin() != &f || snap.Origin() != &f || again.Origin() != &f {
		t.Error("ids mean the same in the forest and in snapshots of snapshots, so they have one origin")
	}
	if empty := (&calltree.Forest{}).Snapshot(); empty.Paths.Len() != 0 {
		t.Error("a snapshot of nothing has paths")
	}
	if _, ok := (&calltree.Forest{}).Snapshot().FindFunction("A"); ok {
		t.Error("found A in nothing")
	}
}

func TestAddVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few nodes meet often; many are sorted another way than few.
		nodes, most := rapid.SampledFrom([]int32{8, 5000}).Draw(t, "highest"), rapid.SampledFrom([]int{4, 200}).Draw(t, "most")
		var vectors []calltree.Vector
		want := map[int32]int64{}
		for range rapid.IntRange(0, 4).Draw(t, "vectors") {
			var v calltree.Vector
			for _, n := range rapid.SliceOfN(rapid.Int32Range(0, nodes), 0, most).Draw(t, "nodes") {
				self := rapid.SampledFrom([]int64{-2, -1, 1, 2}).Draw(t, "self")
				v.Nodes, v.Self = append(v.Nodes, n), append(v.Self, self)
				want[n] += self
			}
			vectors = append(vectors, v)
		}
		maps.DeleteFunc(want, func(_ int32, self int64) bool { return self == 0 })
		before := fmt.Sprint(vectors)
		sum := calltree.AddVectors(vectors...)
		got := map[int32]int64{}
		for i, n := range sum.Nodes {
			if got[n] = sum.Self[i]; i > 0 && sum.Nodes[i-1] >= n {
				t.Fatalf("nodes that do not ascend: %+v", sum)
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if after := fmt.Sprint(vectors); after != before {
			t.Fatalf("the vectors were changed: %s, before %s", after, before)
		}
	})
}
