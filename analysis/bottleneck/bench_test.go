package bottleneck_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// suite puts runs of benchmarks into a store: profiles of nodes call nodes, over a
// forest of five times as many and 2,000 functions.
func suite(b *testing.B, st store.Store, benchmarks, runs, nodes int) {
	b.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	forest := &calltree.Forest{}
	functions := make([]int32, 2000)
	for i := range functions {
		functions[i] = forest.Function(profile.Function{Name: fmt.Sprintf("org.example.p%d.C%d.m%d", i%20, i%300, i)})
	}
	paths := []int32{forest.Path(calltree.NoNode, functions[0])}
	for len(paths) < 5*nodes {
		paths = append(paths, forest.Path(paths[max(0, len(paths)-1-rnd.IntN(40))], functions[rnd.IntN(len(functions))]))
	}
	for bench := range benchmarks {
		var files []*store.File
		for run := range runs {
			var self calltree.Vector
			from := rnd.IntN(4 * nodes)
			for p := from; p < from+nodes; p++ {
				if rnd.IntN(3) > 0 {
					self.Nodes = append(self.Nodes, int32(p))
					self.Self = append(self.Self, int64(1+rnd.IntN(20)))
				}
			}
			files = append(files, &store.File{Name: fmt.Sprint(bench, run), Benchmark: testrun.Benchmark{Group: "g", Name: fmt.Sprint("b", bench)},
				Run:     testrun.Run{Key: fmt.Sprintf("%03d", run)},
				Metrics: []testrun.Metric{{Name: "m", Mean: 1 + rnd.Float64(), Unit: "ms", Better: testrun.Lower, Primary: true}},
				Records: []*store.Record{{Type: profile.NamedType(profile.CPUSamples), Hash: profile.Hash{byte(bench), byte(run), byte(run >> 8)},
					Forest: forest, Self: self}}})
		}
		runtest.Put(b, st, files...)
	}
}

func BenchmarkFind(b *testing.B) {
	for _, size := range []struct{ benchmarks, runs, nodes int }{{10, 100, 10_000}, {100, 30, 3_000}} {
		for _, engine := range []string{"duckdb", "mem"} {
			var st store.Store = mem.New()
			if engine == "duckdb" {
				var err error
				if st, err = duckdb.Open(b.Context(), filepath.Join(b.TempDir(), "b.duckdb"), duckdb.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			suite(b, st, size.benchmarks, size.runs, size.nodes)
			for name, o := range map[string]bottleneck.Options{
				"self":        {Rows: 25},
				"contexts":    {Rows: 25, Contexts: 3},
				"subtree5":    {Rank: bottleneck.Subtree, Degree: 5, Rows: 25},
				"samples5":    {Rank: bottleneck.Subtree, Degree: 5, Rows: 25, Weight: store.BySamples},
				"correlation": {Rank: bottleneck.Correlation, Rows: 25},
				"spearman":    {Rank: bottleneck.Correlation, Rows: 25, Correlating: bottleneck.Correlating{Ranks: true}},
			} {
				b.Run(fmt.Sprintf("%s/profiles=%d/nodes=%d/%s", engine, size.benchmarks*size.runs, size.nodes, name), func(b *testing.B) {
					for b.Loop() {
						if _, err := bottleneck.Find(context.Background(), st, store.Query{}, o); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			if err := st.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
