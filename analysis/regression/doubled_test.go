package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// TestDoubledIsFound: however much the runs of the history differ, a benchmark of which the
// tested runs have twice as many samples per operation as the slowest of them has a cost.
// With much noise it is a suspect.
func TestDoubledIsFound(t *testing.T) {
	suspects := 0
	for _, noise := range []float64{0, 0.1, 0.2, 0.4, 0.8} {
		for seed := range uint64(20) {
			for k := range 3 {
				r := rand.New(rand.NewPCG(seed, uint64(100*noise)))
				const history = 4
				var levels []float64
				for range history {
					levels = append(levels, math.Exp(noise*r.NormFloat64()))
				}
				_, base := extremes(levels)
				for range k + 1 {
					levels = append(levels, 2.05*base)
				}
				b := atLevels(r, levels)
				list := costs(find(t, put(t, b), newest(k+1)).Findings)
				name := fmt.Sprintf("noise %.1f, seed %d, %d runs", noise, seed, k+1)
				if len(list) == 0 {
					t.Errorf("%s: nothing found of levels %.2f", name, levels)
					continue
				}
				if list[0].Status == Suspect && k > 0 {
					suspects++
				}
			}
		}
	}
	if suspects == 0 {
		t.Error("no history was noisy enough to make a suspect of several runs")
	}
}

// atLevels returns a benchmark of which each run has so much of the usual samples per
// operation.
func atLevels(r *rand.Rand, levels []float64) *bench {
	b := &bench{group: "g", name: "doubled"}
	for _, level := range levels {
		run := map[string]int64{}
		for _, f := range []string{"parse", "render", "write"} {
			run["testing.(*B).runN;shop.BenchmarkAll;shop.All;shop."+f] = int64(60*level*math.Exp(0.05*r.NormFloat64())) + 1
		}
		b.runs = append(b.runs, run)
	}
	b.edit = func(_ int, f *store.File) { f.Metrics = append(f.Metrics, testrun.NewOperations(1000, false)) }
	return b
}

// extremes returns the smallest and the largest value.
func extremes(values []float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		least, most = math.Min(least, v), math.Max(most, v)
	}
	return least, most
}
