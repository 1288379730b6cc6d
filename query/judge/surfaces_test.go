package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// TestSurfacesAgree walks what every surface is made of, of one store, and compares every
// statement about each benchmark: its state, its changes, their ids, sizes and first runs.
func TestSurfacesAgree(t *testing.T) {
	st := mem.New()
	put := func(f *store.File) {
		t.Helper()
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "test"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	for i := range 13 { // slower from night 8 on, for so long that the newest runs look like those before
		for _, name := range []string{"a", "bb"} {
			put(night(name, i, 0, nil))
		}
		if i < 12 {
			put(night("ccc", i, 0, nil)) // not run by the newest
		}
		if i < 7 {
			put(night("dddd", i, 0, nil)) // gone
		}
		if i > 10 {
			put(night("eeeee", i, 0, nil)) // too few
		}
	}
	list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Findings) != 1 || list.Findings[0].Since.Run != "n08" || list.Findings[0].Benchmark != "a" ||
		list.Findings[0].Status != regression.Confirmed {
		t.Fatalf("%+v", list.Findings)
	}
	found := list.Findings[0]
	of := map[testrun.Benchmark]report.Outcome{}
	for _, b := range list.Benchmarks {
		of[testrun.Benchmark{Group: b.Group, Name: b.Benchmark}] = b.Outcome
	}
	for name, want := range map[string]string{"a": "slower (1 open change)", "bb": "unchanged: would have seen ",
		"ccc": "not run at HEAD (last: n11)", "dddd": "gone since n07", "eeeee": "too few runs (2 of 4)"} {
		if got := of[testrun.Benchmark{Group: "g", Name: name}].Says; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	agrees := func(surface string, b testrun.Benchmark, o *report.Outcome) {
		t.Helper()
		if want := of[b]; o == nil || o.Says != want.Says || o.Status != want.Status || o.Finding != want.Finding || o.Share != want.Share ||
			o.More != want.More {
			t.Errorf("%s says of %s: %+v; the list says %+v", surface, b, o, want)
		}
	}
	overview, err := Overview(t.Context(), st, withDefaults[OverviewRequest](t, nil))
	if err != nil || len(overview.Benchmarks) != len(of) {
		t.Fatal(overview, err)
	}
	for _, b := range overview.Benchmarks {
		agrees("overview", testrun.Benchmark{Group: b.Group, Name: b.Name}, b.Outcome)
	}
	for _, parameters := range []map[string]string{nil, {"candidates": "0", "max-depth": "0", "changed": "true"}} {
		doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, parameters))
		if err != nil {
			t.Fatal(err)
		}
		for i := range doc.Benchmarks {
			agrees("report", doc.Benchmarks[i].Benchmark.Benchmark, &doc.Benchmarks[i].Outcome)
		}
		costs := doc.Costs()
		if len(costs) != 1 || costs[0].ID != found.ID || costs[0].Delta.Share != found.Delta.Share || costs[0].Since != found.Since {
			t.Errorf("the report has %+v, the list %+v", costs, found)
		}
	}
	check, err := Check(t.Context(), st, withDefaults[CheckRequest](t, nil))
	if err != nil || check.Verdict.Failed || !slices.Contains(check.Notes, "1 older change is open: dendro regressions") {
		t.Errorf("a check of what the newest runs brought: %+v, notes %q, %v", check.Verdict, check.Notes, err)
	}
	history, err := History(t.Context(), st, withDefaults[HistoryRequest](t, map[string]string{"metric": ""}))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range history.Series {
		agrees("history", testrun.Benchmark{Group: s.Group, Name: s.Benchmark}, s.Outcome)
	}
	// New since, and ended, are parts of one list.
	for text, n := range map[string]int{"1": 0, "5": 1, "2026-01-09": 1, "2026-01-11": 0} {
		r := withDefaults[RegressionsRequest](t, nil)
		r.New = text
		if res, err := Regressions(t.Context(), st, r); err != nil || len(res.Findings) != n {
			t.Errorf("new since %s: %v, %v", text, res, err)
		}
	}
}
