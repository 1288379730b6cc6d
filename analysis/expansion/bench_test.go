package expansion_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// suite is runs of benchmarks over one forest of 15,000 call nodes and 1,000
// functions, some of them everywhere; a profile has about 3,000 nodes.
func suite(b *testing.B, benchmarks, runs int) store.Reader {
	b.Helper()
	st := mem.New()
	rnd := rand.New(rand.NewPCG(1, 2))
	forest := &calltree.Forest{}
	paths := []int32{calltree.NoNode}
	for len(paths) < 15_000 {
		up := paths[max(0, len(paths)-1-rnd.IntN(40))]
		paths = append(paths, forest.Path(up, forest.Function(profile.Function{Name: fmt.Sprintf("f%d", int(1000*rnd.Float64()*rnd.Float64()))})))
	}
	for bench := range benchmarks {
		from := rnd.IntN(12_000)
		for run := range runs {
			var self calltree.Vector
			for p := from; p < from+3000 && p < forest.Paths.Len(); p++ {
				if rnd.IntN(3) > 0 {
					self.Nodes = append(self.Nodes, int32(p))
					self.Self = append(self.Self, int64(1+rnd.IntN(20)))
				}
			}
			f := &store.File{Name: fmt.Sprint(bench, run), Benchmark: testrun.Benchmark{Group: "g", Name: fmt.Sprint("b", bench)},
				Run:     testrun.Run{Key: fmt.Sprintf("%03d", run)},
				Metrics: []testrun.Metric{{Name: "m", Mean: 1 + rnd.Float64(), Unit: "ms", Better: testrun.Lower, Primary: true}},
				Records: []*store.Record{{Type: profile.NamedType(profile.CPUSamples), Hash: profile.Hash{byte(bench), byte(run)}, Forest: forest,
					Self: self}}}
			runtest.Put(b, st, f)
		}
	}
	return st
}

func BenchmarkExpand(b *testing.B) {
	var candidates []expansion.Candidate
	for i := range 10 {
		candidates = append(candidates, expansion.Candidate{Function: fmt.Sprintf("f%d", i*3)})
	}
	for _, size := range []struct{ benchmarks, runs int }{{1, 31}, {100, 30}} {
		st := suite(b, size.benchmarks, size.runs)
		name := fmt.Sprintf("benchmarks=%d/runs=%d/", size.benchmarks, size.runs)
		b.Run(name+"load", func(b *testing.B) {
			for b.Loop() {
				load(b, st)
			}
		})
		d := load(b, st)
		for selection, sel := range map[string]expansion.Selection{"greedy": expansion.Greedy(expansion.Counting(1)),
			"correlation": expansion.Correlated(d, bottleneck.Correlating{}, false)} {
			b.Run(name+selection, func(b *testing.B) {
				for b.Loop() {
					expansion.Expand(d, candidates, sel, expansion.Options{})
				}
			})
		}
	}
}
