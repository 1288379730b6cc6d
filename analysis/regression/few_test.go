package regression_test

import (
	"fmt"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestFewFunctions: in a program of four functions one that takes three times as many samples is
// a regression, and no work that moved, where operations or a metric are known: the shares of
// the others fall, their costs do not.
func TestFewFunctions(t *testing.T) {
	for _, c := range []struct {
		slow               int
		operations, metric float64
	}{{1, 1000, 0}, {2, 1000, 0}, {1, 0, 10}, {2, 0, 10}} {
		var runs []runtest.Run
		for i := range 8 + c.slow {
			parse, metric := 200+3*(i%3), c.metric
			if i >= 8 {
				parse, metric = 600, 1.57*metric
			}
			runs = append(runs, runtest.Run{Benchmark: "b", Operations: c.operations, Metric: metric,
				Stacks: fmt.Sprintf("main;parse %d, main;sort %d, main;send %d, main %d", parse, 300+2*(i%4), 150+i%5, 50+i%2)})
		}
		res, err := regression.Find(t.Context(), runtest.Store(t, runs...), store.Query{}, regression.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Findings) != 1 || res.Findings[0].Kind != regression.Regression || res.Findings[0].Function != "parse" {
			t.Errorf("%+v: %+v", c, res.Findings)
		}
	}
}
