package detection

import (
	"fmt"
	"testing"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// BenchmarkFind measures what `dendro regressions` computes of one benchmark of 10,000 call paths, with and
// without a change, of 30 and of 200 runs: the matrix, the rows and three comparisons. It reports the
// processor time.
func BenchmarkFind(b *testing.B) {
	for _, c := range []struct {
		runs, nodes int
		kind        string
	}{{30, 12000, "none"}, {30, 12000, "self"}, {200, 8500, "none"}, {200, 8500, "self"}} {
		b.Run(fmt.Sprintf("runs=%d/%s", c.runs, c.kind), func(b *testing.B) {
			s, ok := Simulate(Plan{Seed: 1, Nodes: c.nodes, Runs: c.runs - 2, K: 2, Samples: 50000, Kind: c.kind, Impact: 0.05})
			if !ok {
				b.Fatal("no place for the change")
			}
			st := mem.New()
			if err := s.put(b, st); err != nil {
				b.Fatal(err)
			}
			start := processorTime(b)
			for b.Loop() {
				res, err := regression.Find(b.Context(), st, store.Query{}, regression.Request{Tests: history.Tests{Window: c.runs}})
				if err != nil {
					b.Fatal(err)
				}
				if found := len(res.Benchmarks[0].Analyses[1].Findings) > 0; found != (c.kind == "self") {
					b.Fatalf("found: %v", found)
				}
			}
			b.ReportMetric((processorTime(b)-start)*1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(s.Table.Len()), "paths")
		})
	}
}
