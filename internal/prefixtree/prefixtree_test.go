package prefixtree

import (
	"math/rand/v2"
	"testing"
)

func TestChildFindsWhatItAdded(t *testing.T) {
	var tree Tree
	type pair struct{ parent, item int32 }
	want := map[pair]int32{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		p := pair{Root, int32(r.IntN(500))}
		if n := tree.Len(); n > 0 && r.IntN(10) > 0 {
			p.parent = int32(r.IntN(n))
		}
		n := tree.Child(p.parent, p.item)
		if old, ok := want[p]; ok && old != n {
			t.Fatalf("Child(%v) = %d, was %d", p, n, old)
		}
		want[p] = n
	}
	if tree.Len() != len(want) {
		t.Fatalf("%d nodes, want %d", tree.Len(), len(want))
	}
	var loaded Tree
	loaded.Load(tree.Parent, tree.Item)
	for p, n := range want {
		for _, tr := range []*Tree{&tree, &loaded} {
			if got, ok := tr.Find(p.parent, p.item); !ok || got != n {
				t.Fatalf("Find(%v) = %d, %v, want %d", p, got, ok, n)
			}
		}
		if p.parent >= n {
			t.Fatalf("node %d has parent %d", n, p.parent)
		}
	}
	if _, ok := tree.Find(0, 1<<30); ok {
		t.Fatal("found an item that was never added")
	}
}

func TestZeroValue(t *testing.T) {
	var tree Tree
	if _, ok := tree.Find(Root, 0); ok {
		t.Fatal("found a node in an empty tree")
	}
	if n := tree.Child(Root, 0); n != 0 {
		t.Fatalf("first node is %d", n)
	}
}

func BenchmarkChildWarm(b *testing.B) {
	var tree Tree
	r := rand.New(rand.NewPCG(1, 2))
	for tree.Len() < 50_000 {
		parent := Root
		if n := tree.Len(); n > 0 {
			parent = int32(r.IntN(n))
		}
		tree.Child(parent, int32(r.IntN(2000)))
	}
	parents, items := tree.Parent, tree.Item
	b.ReportAllocs()
	for b.Loop() {
		for n := range parents {
			tree.Child(parents[n], items[n])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(parents)), "ns/lookup")
}
