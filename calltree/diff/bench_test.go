package diff_test

import (
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/test/proftest"
)

// BenchmarkCompare diffs two trees of 6.3 million nodes each: two runs of one
// program, which share most paths, and two that share few.
func BenchmarkCompare(b *testing.B) {
	const stacks = 7_700_000 // which make 6.3 million nodes
	p := proftest.Wide(stacks, 1)
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
		{"different", calltree.FromProfile(proftest.Wide(stacks, 2), 0)},
	} {
		b.Run("other="+x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := diff.Compare([]*calltree.Tree{run}, []*calltree.Tree{x.other}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(run.Len()+x.other.Len()), "ns/node")
			b.ReportMetric(float64(run.Len()+x.other.Len()), "nodes")
		})
	}
}
