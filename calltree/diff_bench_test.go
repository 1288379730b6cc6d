package calltree_test

import (
	"testing"

	"github.com/dendroprof/dendro/calltree"
)

// BenchmarkCompare diffs two trees of 6.3 million nodes each: two runs of one
// program, which share most paths, and two that share few.
func BenchmarkCompare(b *testing.B) {
	const stacks = 7_700_000 // which make 6.3 million nodes
	p := wide(stacks, 1)
	run := calltree.FromProfile(p, 0)
	for i := range p.Tables[0].Value {
		if i%10 == 0 {
			p.Tables[0].Value[i]++
		}
		if i%16 == 0 {
			p.Tables[0].Stack[i] = p.Tables[0].Stack[i/2]
		}
	}
	for _, x := range []struct {
		name  string
		other *calltree.Tree
	}{
		{"similar", calltree.FromProfile(p, 0)},
		{"different", calltree.FromProfile(wide(stacks, 2), 0)},
	} {
		b.Run("other="+x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := calltree.Compare([]*calltree.Tree{run}, []*calltree.Tree{x.other}); err != nil {
					b.Fatal(err)
				}
			}
			perNode(b, run.Len()+x.other.Len())
			b.ReportMetric(float64(run.Len()+x.other.Len()), "nodes")
		})
	}
}
