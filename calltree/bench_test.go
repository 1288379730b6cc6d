package calltree_test

import (
	"fmt"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

func BenchmarkFromProfile(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("stacks=%d", n), func(b *testing.B) {
			p := wide(n, 1)
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
		trees[i] = calltree.FromProfile(wide(5000, uint64(i%20)), 0)
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
	tree := calltree.FromProfile(wide(1_000_000, 1), 0)
	b.ReportAllocs()
	for b.Loop() {
		tree.FunctionRows()
	}
	perNode(b, tree.Len())
}

func BenchmarkPattern(b *testing.B) {
	tree := calltree.FromProfile(wide(1_000_000, 1), 0)
	for _, text := range []string{"*.a;**;*.b", "com.acme.shop.module*;*;*.c", "/Class.*[0-4]/;**;*.d;$"} {
		b.Run("pattern="+text, func(b *testing.B) {
			p, err := calltree.ParsePattern(text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Find(tree)
			}
			perNode(b, tree.Len())
		})
	}
}

func BenchmarkProjection(b *testing.B) {
	p := wide(100_000, 1)
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
	p := wide(1_000_000, 1)
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

// perNode reports the time per node, which stays the same when sizes change.
func perNode(b *testing.B, nodes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
}
