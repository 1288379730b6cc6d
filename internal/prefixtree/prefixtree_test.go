package prefixtree

import (
	"math/rand/v2"
	"testing"
	"unsafe"
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

// BenchmarkStacks adds stacks of 40 frames as files bring them, to a Tree and to a
// map: half of each run is known, and a stack shares its beginning with the one
// before.
func BenchmarkStacks(b *testing.B) {
	const runs, stacks, frames = 20, 2000, 40
	r := rand.New(rand.NewPCG(1, 2))
	var list [runs * stacks][frames]int32
	for i := range list {
		if known := i - stacks; known >= 0 && i/200%2 == 0 {
			list[i] = list[known]
			continue
		}
		shared := 0
		if i > 0 {
			shared = r.IntN(frames)
			list[i] = list[i-1]
		}
		for k := shared; k < frames; k++ {
			list[i][k] = int32(r.IntN(3000))
		}
	}
	for _, way := range []struct {
		name string
		make func() (child func(parent, item int32) int32)
	}{
		{"tree", func() func(parent, item int32) int32 { return new(Tree).Child }},
		{"map", func() func(parent, item int32) int32 {
			nodes := map[[2]int32]int32{}
			return func(parent, item int32) int32 {
				n, ok := nodes[[2]int32{parent, item}]
				if !ok {
					n = int32(len(nodes))
					nodes[[2]int32{parent, item}] = n
				}
				return n
			}
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			nodes := 0
			for b.Loop() {
				child := way.make()
				for i := range list {
					node := Root
					for _, item := range list[i] {
						node = child(node, item)
					}
				}
				nodes += len(list) * frames
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(nodes), "ns/frame")
		})
	}
}

func TestGrow(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32, 33, 1000} {
		var tree Tree
		tree.Child(Root, 5)
		tree.Grow(n)
		slots := len(tree.slots)
		for i := range int32(n) {
			if tree.Child(0, i) != i+1 {
				t.Fatal(n, i)
			}
		}
		if len(tree.slots) != slots || tree.Child(Root, 5) != 0 {
			t.Errorf("room for %d nodes: %d slots became %d", n, slots, len(tree.slots))
		}
	}
}

// TestSize holds what a node takes, in bytes of slots: forests have millions.
func TestSize(t *testing.T) {
	var tree Tree
	for n := range int32(100_000) {
		tree.Child(n/2-1, n)
		if slots := len(tree.slots) * int(unsafe.Sizeof(slot{})); n > 100 && slots > 64*int(n) {
			t.Fatalf("%d nodes have %d bytes of slots", n, slots)
		}
	}
	if slots := len(tree.slots) * int(unsafe.Sizeof(slot{})); slots > 32*tree.Len() {
		t.Errorf("%d nodes have %d bytes of slots", tree.Len(), slots)
	}
}

// TestBytes: a node takes 11 to 22 bytes of slots, however many there are.
func TestBytes(t *testing.T) {
	var tree Tree
	for n := range int32(100_000) {
		if tree.Child(n/3-1, n); n < 100 {
			continue
		}
		if bytes := 8 * float64(len(tree.slots)) / float64(tree.Len()); bytes < 10 || bytes > 22 {
			t.Fatalf("%d nodes take %.1f bytes each", tree.Len(), bytes)
		}
	}
	var loaded, grown Tree
	loaded.Load(tree.Parent, tree.Item)
	grown.Grow(tree.Len())
	if len(loaded.slots) != len(tree.slots) || len(grown.slots) != len(tree.slots) {
		t.Errorf("%d slots if loaded, %d if known before, %d if one by one", len(loaded.slots), len(grown.slots), len(tree.slots))
	}
}
