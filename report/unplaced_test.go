package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/metrics"
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
				Stacks: fmt.Sprintf("main;load %d, main;sort %d, main;plan %d, main;join %d", 500+3*(i%2)+5*n/6, 300+n/2-2*(i%3), 200+n/3+i%2,
					150+n/4)})
		}
		res, err := regression.Find(t.Context(), runtest.Store(t, runs...), store.Query{}, regression.Request{})
		if err != nil {
			t.Fatal(err)
		}
		o := Outcomes(res)[testrun.Benchmark{Group: "g", Name: "b"}]
		if o.Status != c.want || (o.Reason != "") != (c.want == Unknown) {
			t.Errorf("%s: %+v", c.name, o)
		}
		brief := New(res, nil, gate.Group(res.Findings), nil).Brief(0).String()
		if said := strings.Contains(brief, "beyond its history"); said != (c.want == Unknown) {
			t.Errorf("%s: %q", c.name, brief)
		}
	}
}

// TestDetectsOfTested: the smallest change printed is that of the runs that were tested together.
func TestDetectsOfTested(t *testing.T) {
	of := func(runs []string, change float64) *regression.Analysis {
		return &regression.Analysis{History: []string{"1", "2", "3", "4"}, Tested: runs,
			Detectable: regression.Detectable{Changes: []regression.DetectableChange{{Share: 0.05, Change: change}}, Whole: 4 * change}}
	}
	b := &Benchmark{Benchmark: &regression.Benchmark{Analyses: []*regression.Analysis{of([]string{"6"}, 0.085), of([]string{"5", "6"}, 0.06),
		of([]string{"5"}, 0.085)}}}
	if got := b.detectable(); got != "2 runs against 4: detects changes of at least 6.0% of the program in a function that uses 5% of it, and of 24.0% in one that is nearly all of it" {
		t.Error(got)
	}
}

// TestLevels: a row that is not significant although its p is as small as that of one that is
// says at which level it would be.
func TestLevels(t *testing.T) {
	r := New(&regression.Result{}, nil, nil, nil)
	r.Metrics = &metrics.Table{Level: 0.025, Others: 0.0125,
		Rows: []metrics.Row{{Metric: "cpu/op", P: 0.013, Significant: true}, {Metric: "time/op", P: 0.013}}}
	if got := r.metricsSummary(); got != "1 of 2 changed significantly; significant is p ≤ 0.025 of the metric that judges a benchmark, p ≤ 0.0125 of others, because 2 are compared" {
		t.Error(got)
	}
	r.Metrics.Rows[1].P = 0.2
	if got := r.metricsSummary(); got != "1 of 2 changed significantly" {
		t.Error(got)
	}
}
