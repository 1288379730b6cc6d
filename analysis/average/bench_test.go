package average_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dendroprof/dendro/analysis/average"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// BenchmarkOf averages runs of about 10,000 call nodes each over a forest of 20,000.
func BenchmarkOf(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	forest := &calltree.Forest{}
	paths := []int32{calltree.NoNode}
	for len(paths) < 20_000 {
		paths = append(paths, forest.Path(paths[max(0, len(paths)-1-rnd.IntN(40))],
			forest.Function(profile.Function{Name: fmt.Sprint("f", rnd.IntN(2000))})))
	}
	for _, runs := range []int{30, 300} {
		st := mem.New()
		for run := range runs {
			var self calltree.Vector
			for p := range int32(forest.Paths.Len()) {
				if rnd.IntN(3) == 0 {
					self.Nodes = append(self.Nodes, p)
					self.Self = append(self.Self, int64(1+rnd.IntN(20)))
				}
			}
			f := &store.File{Name: fmt.Sprint(run), Benchmark: testrun.Benchmark{Name: "b"}, Run: testrun.Run{Key: fmt.Sprintf("%03d", run)},
				Records: []*store.Record{{Type: profile.NamedType(profile.CPUSamples), Hash: profile.Hash{byte(run), byte(run >> 8)}, Forest: forest,
					Self: self}}}
			runtest.Put(b, st, f)
		}
		b.Run(fmt.Sprintf("average/runs=%d", runs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				band, err := average.Of(context.Background(), st, store.Query{}, store.BySamples)
				if err != nil {
					b.Fatal(err)
				}
				band.Tree(average.Median)
			}
		})
		b.Run(fmt.Sprintf("compare/runs=%d", runs), func(b *testing.B) {
			for b.Loop() {
				if _, err := average.Compare(context.Background(), st, store.Query{Runs: []string{"000"}}, store.Query{}, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
