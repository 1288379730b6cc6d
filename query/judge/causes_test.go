package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/test/runtest"
)

// toolchain returns a store of six benchmarks whose code takes so many times as long from night 12 on.
func toolchain(t *testing.T, times float64) store.Store {
	t.Helper()
	var runs []runtest.Run
	for b := range 6 {
		r := rand.New(rand.NewPCG(uint64(b), 1))
		weights := make([]float64, 20)
		for k := range weights {
			weights[k] = 50 + 500*r.ExpFloat64()
		}
		for i := range 18 {
			var stacks []string
			for k, w := range weights {
				if i >= 12 {
					w *= times
				}
				w *= 1 + 0.02*r.NormFloat64()
				stacks = append(stacks, fmt.Sprintf("main;run;m%d.f%d;m%d.g%d %d", b, k, b, k, int(w+r.NormFloat64()*5)))
			}
			runs = append(runs, runtest.Run{Benchmark: fmt.Sprint("b", b), Key: fmt.Sprintf("n%02d", i), Operations: 100,
				Stacks: strings.Join(stacks, ", ")})
		}
	}
	return runtest.Store(t, runs...)
}

// TestChangesHaveNames: a change of all code keeps its size and its note while later runs show places in which it
// is seen most.
func TestChangesHaveNames(t *testing.T) {
	list, err := Regressions(t.Context(), toolchain(t, 0.85), withDefaults[RegressionsRequest](t, nil))
	if err != nil || len(list.Findings) == 0 {
		t.Fatal(list, err)
	}
	for i := range list.Findings {
		if f := &list.Findings[i]; report.Label(f) == "" && (f.Note == "" || math.Abs(f.Delta.Share+0.15) > 0.01) {
			t.Errorf("%+v", f)
		}
	}
}

// TestToolchain: a compiler that makes all code slower, or faster, is one row of each surface, with the benchmarks
// below it, whatever each of them shows of it.
func TestToolchain(t *testing.T) {
	for name, times := range map[string]float64{"slower": 1.2, "faster": 0.85} {
		st := toolchain(t, times)
		list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
		if err != nil {
			t.Fatal(err)
		}
		rows := list.Rows()
		if len(rows) != 1 || len(rows[0].Also) != len(list.Findings)-1 || len(list.Findings) < 6 || rows[0].Since.Run != "n12" {
			t.Fatalf("%s: %d rows of %d findings: %+v", name, len(rows), len(list.Findings), list.Causes)
		}
		var text strings.Builder
		if err := list.Table(false).Write(&table.Output{W: &text, Format: "text"}); err != nil || strings.Count(text.String(), "\n") != 2 ||
			!strings.Contains(text.String(), " and 5 more") {
			t.Errorf("%s: %v\n%s", name, err, &text)
		}
		for _, parameters := range []map[string]string{nil, {"candidates": "0", "max-depth": "0", "changed": "true"}} {
			doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, parameters))
			if err != nil || len(doc.Changes) != 1 || doc.Changes[0].ID != rows[0].ID || !slices.EqualFunc(doc.Changes[0].Also, rows[0].Also,
				func(a, b regression.Finding) bool { return a.ID == b.ID }) {
				t.Errorf("%s: the report has %+v, %v", name, doc.Changes, err)
			}
		}
		check, err := Check(t.Context(), st, withDefaults[CheckRequest](t, nil))
		if older := slices.Contains(check.Notes, "1 older change is open: dendro regressions"); err != nil || older != (name == "slower") {
			t.Errorf("%s: a check notes %q, %v", name, check.Notes, err)
		}
		limited := withDefaults[RegressionsRequest](t, nil)
		limited.Rows = 3
		few, err := Regressions(t.Context(), st, limited)
		if err != nil || len(few.Findings) != 3 || len(few.Rows()) != 1 || few.Rows()[0].ID != rows[0].ID ||
			len(few.Causes[0].Also) != len(list.Findings)-1 {
			t.Errorf("%s: three findings are %+v, %v", name, few.Rows(), err)
		}
	}
}
