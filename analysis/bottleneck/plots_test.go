package bottleneck

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestPlotsAreBounded: plots have no more points than are counted before, whatever the number of rows.
func TestPlotsAreBounded(t *testing.T) {
	defer func(most int) { mostPoints = most }(mostPoints)
	run := runtest.Run{Benchmark: "a", Stacks: "A 4, B 3, C 2, D 1"}
	st := runtest.Store(t, run, run)
	for _, c := range []struct{ most, plotted, warnings int }{{8, 4, 0}, {5, 2, 1}, {1, 0, 1}} {
		mostPoints = c.most
		r, err := Find(t.Context(), st, store.Query{}, Options{Plots: 1})
		if err != nil {
			t.Fatal(err)
		}
		plotted := 0
		for i := range r.Rows {
			plotted += len(r.Rows[i].Plots)
		}
		if len(r.Rows) != 4 || plotted != c.plotted || strings.Count(strings.Join(r.Warnings, "\n"), "have plots") != c.warnings {
			t.Errorf("at most %d points: %d rows, %d with plots, warnings %v", c.most, len(r.Rows), plotted, r.Warnings)
		}
	}
}
