package calltree_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

func BenchmarkFromProfile(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("stacks=%d", n), func(b *testing.B) {
			p := proftest.Wide(n, 1)
			b.ReportAllocs()
			for b.Loop() {
				calltree.FromProfile(p, 0)
			}
			perNode(b, n)
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	// A thousand runs of one benchmark: most of their paths are the same.
	trees := make([]*calltree.Tree, 1000)
	nodes := 0
	for i := range trees {
		trees[i] = calltree.FromProfile(proftest.Wide(5000, uint64(i%20)), 0)
		nodes += trees[i].Len()
	}
	b.Run("trees=1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := calltree.Merge(trees...); err != nil {
				b.Fatal(err)
			}
		}
		perNode(b, nodes)
	})
}

func BenchmarkFunctionRows(b *testing.B) {
	tree := calltree.FromProfile(proftest.Wide(1_000_000, 1), 0)
	b.ReportAllocs()
	for b.Loop() {
		tree.FunctionRows()
	}
	perNode(b, tree.Len())
}

func BenchmarkPattern(b *testing.B) {
	tree := calltree.FromProfile(proftest.Wide(1_000_000, 1), 0)
	for _, text := range []string{"*.a;**;*.b", "com.acme.shop.module*;*;*.c", "/Class.*[0-4]/;**;*.d;$"} {
		b.Run("pattern="+text, func(b *testing.B) {
			p, err := callpath.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Spans(tree.Table)
			}
			perNode(b, tree.Len())
		})
	}
}

func BenchmarkProjection(b *testing.B) {
	p := proftest.Wide(100_000, 1)
	for _, warm := range []bool{false, true} {
		b.Run(fmt.Sprintf("warm=%v", warm), func(b *testing.B) {
			var f calltree.Forest
			pr := calltree.NewProjection(p.Symbols, &f, calltree.NoNode, nil)
			pr.Vector(&p.Tables[0], nil)
			b.ReportAllocs()
			for b.Loop() {
				if !warm {
					f = calltree.Forest{}
					pr = calltree.NewProjection(p.Symbols, &f, calltree.NoNode, nil)
				}
				pr.Vector(&p.Tables[0], nil)
			}
			perNode(b, p.Tables[0].Len())
		})
	}
}

func BenchmarkCut(b *testing.B) {
	p := proftest.Wide(1_000_000, 1)
	var f calltree.Forest
	v := calltree.NewProjection(p.Symbols, &f, calltree.NoNode, nil).Vector(&p.Tables[0], nil)
	snap := f.Snapshot()
	for _, share := range []int{1, 100} {
		b.Run(fmt.Sprintf("share=1/%d", share), func(b *testing.B) {
			b.ReportAllocs()
			var nodes int
			for b.Loop() {
				cut := snap.Cut(v.Nodes[:len(v.Nodes)/share])
				calltree.NewTree(cut.Table, profile.ValueType{}, cut.Self(calltree.Vector{Nodes: v.Nodes[:len(v.Nodes)/share], Self: v.Self}))
				nodes = cut.Len()
			}
			perNode(b, nodes)
		})
	}
}

// BenchmarkAddVectors adds the values of a profile in no order, as databases hand
// them out, beside the same by a map.
func BenchmarkAddVectors(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var v calltree.Vector
	for _, n := range r.Perm(160_000)[:12_000] {
		v.Nodes, v.Self = append(v.Nodes, int32(n)), append(v.Self, 1+r.Int64N(100))
	}
	byMap := func(v calltree.Vector) calltree.Vector {
		sum := map[int32]int64{}
		for i, n := range v.Nodes {
			sum[n] += v.Self[i]
		}
		out := calltree.Vector{Nodes: slices.Sorted(maps.Keys(sum))}
		for _, n := range out.Nodes {
			out.Self = append(out.Self, sum[n])
		}
		return out
	}
	for _, way := range []struct {
		name string
		add  func(calltree.Vector) calltree.Vector
	}{
		{"radix", func(v calltree.Vector) calltree.Vector { return calltree.AddVectors(v) }},
		{"map", byMap},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				way.add(v)
			}
			perNode(b, v.Len())
		})
	}
}

// perNode reports the time per node, which stays the same when sizes change.
func perNode(b *testing.B, nodes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
}
