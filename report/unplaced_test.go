package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// TestMetricBeyondHistory: a benchmark without operations whose metric changed is not called
// steady because no function shows it.
func TestMetricBeyondHistory(t *testing.T) {
	for _, c := range []struct {
		name   string
		metric float64 // of the newest runs; 100 before
		want   Status
	}{{"slower by the metric only", 139, Slower}, {"faster by the metric only", 70, Unknown}, {"as before", 100, Unchanged}} {
		var runs []runtest.Run
		for i := range 10 {
			m := 100.0
			if i >= 8 {
				m = c.metric
			}
			n := int(6 * (m - 100)) // the profile is longer too, so that the machine is as fast
			runs = append(runs, runtest.Run{Benchmark: "b", Branch: "main", Metric: m + float64(i%3)/2,
				Stacks: fmt.Sprintf("main;load %d, main;sort %d, main;plan %d, main;join %d", 500+3*(i%2)+5*n/6, 300+n/2-2*(i%3), 200+n/3+i%2, 150+n/4)})
		}
		res, err := regression.Find(t.Context(), runtest.Store(t, runs...), store.Query{}, regression.Request{})
		if err != nil {
			t.Fatal(err)
		}
		o := Outcomes(res)[testrun.Benchmark{Group: "g", Name: "b"}]
		if o.Status != c.want || (o.Reason != "") != (c.want == Unknown) {
			t.Errorf("%s: %+v", c.name, o)
		}
		brief := New(res, nil, gate.Group(res.Findings), nil).Brief(0)
		if said := strings.Contains(strings.Join(brief.Silent, "\n"), "beyond its history"); said != (c.want == Unknown) {
			t.Errorf("%s: %q", c.name, brief.Silent)
		}
	}
}
