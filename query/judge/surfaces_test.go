package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
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

// TestBranchAgrees: of a branch that is not the base's, the overview and the page of a benchmark say what the comparison
// with the base says, also where it has enough runs for a history of its own.
func TestBranchAgrees(t *testing.T) {
	var runs []runtest.Run
	for i := range 20 {
		for more, name := range []string{"same", "slower"} {
			branch, commit, parse := "main", fmt.Sprintf("c%02d", i), 400
			if i >= 12 {
				branch, commit, parse = "pr", "c12", 400+400*more
			}
			runs = append(runs, runtest.Run{Benchmark: name, Branch: branch, Commit: commit, Operations: 100, Metric: float64(parse),
				Stacks: fmt.Sprintf("main;load;parse %d, main;plan %d, main;join 900", parse+i%3, 500-i%2)})
		}
	}
	st := runtest.Store(t, runs...)
	doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, map[string]string{"base": "main", "head": "pr"}))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]report.Outcome{}
	for i := range doc.Benchmarks {
		of[doc.Benchmarks[i].Benchmark.Benchmark.Name] = doc.Benchmarks[i].Outcome
	}
	if of["slower"].Says != "slower (1 change)" || !strings.HasPrefix(of["same"].Says, "unchanged: would have seen") {
		t.Fatalf("%+v", of)
	}
	overview, err := Overview(t.Context(), st, withDefaults[OverviewRequest](t, map[string]string{"branch": "pr"}))
	if err != nil || len(overview.Benchmarks) != 2 {
		t.Fatal(overview, err)
	}
	for _, b := range overview.Benchmarks {
		if want := of[b.Name]; b.Outcome.Says != want.Says || b.Outcome.Finding != want.Finding || b.Outcome.Share != want.Share {
			t.Errorf("overview says of %s: %+v; the comparison says %+v", b.Name, b.Outcome, want)
		}
	}
	pages, err := History(t.Context(), st, withDefaults[HistoryRequest](t, map[string]string{"metric": "", "branch": "pr"}))
	if err != nil || len(pages.Series) != 2 {
		t.Fatal(pages, err)
	}
	for _, s := range pages.Series {
		if want := of[s.Benchmark]; s.Outcome == nil || s.Outcome.Says != want.Says {
			t.Errorf("the page says of %s: %+v; the comparison says %+v", s.Benchmark, s.Outcome, want)
		}
	}
	main, err := Overview(t.Context(), st, withDefaults[OverviewRequest](t, map[string]string{"branch": "main"}))
	if err != nil || !strings.HasPrefix(main.Benchmarks[1].Outcome.Says, "unchanged") {
		t.Errorf("of the base: %+v, %v", main, err)
	}
}

// TestAcceptsRow: one change of several benchmarks is accepted and withdrawn as one, in the store and in the file.
func TestAcceptsRow(t *testing.T) {
	var runs []runtest.Run
	for i := range 20 {
		for _, name := range []string{"a", "b", "c"} {
			parse := 400
			if i >= 12 {
				parse = 800
			}
			runs = append(runs, runtest.Run{Benchmark: name, Key: fmt.Sprintf("r%02d", i), Operations: 100,
				Stacks: fmt.Sprintf("main;load;parse %d, main;plan %d, main;join 900", parse+i%3, 500-i%2)})
		}
	}
	st := runtest.Store(t, runs...)
	list := func(of facts.Acknowledgements) (accepted, open int, row Cause) {
		t.Helper()
		r := withDefaults[RegressionsRequest](t, nil)
		r.Acknowledged = of
		res, err := Regressions(t.Context(), st, r)
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Findings {
			if res.Findings[i].Acknowledged != nil {
				accepted++
			} else {
				open++
			}
		}
		if len(res.Causes) != 1 || len(res.Causes[0].Also) != 2 {
			t.Fatalf("want one row of three benchmarks: %+v", res.Causes)
		}
		return accepted, open, res.Causes[0]
	}
	_, open, row := list(nil)
	if open != 3 {
		t.Fatalf("%d open changes", open)
	}
	if accepted, open, _ := list(facts.Acknowledgements{{ID: row.Finding, Also: row.Also}}); accepted != 3 || open != 0 {
		t.Errorf("by an entry of the file: %d accepted, %d open", accepted, open)
	}
	if _, err := Accept(t.Context(), st, &AcceptRequest{Finding: row.Finding, Also: append(row.Also, "")}); err == nil {
		t.Error("an empty id was accepted")
	}
	if _, open, _ := list(nil); open != 3 {
		t.Errorf("a refused row left %d open changes", open)
	}
	names := func(list []string) map[string]string {
		return map[string]string{row.Finding: list[0], row.Also[0]: list[1], row.Also[1]: list[2]}
	}
	for _, list := range [][]string{{"b", "c", "a"}, {"b", "", ""}} {
		r := &AcceptRequest{Finding: row.Finding, Also: row.Also, By: "Ada", Benchmark: strings.Fields(strings.Join(list, " "))}
		got, err := Accept(t.Context(), st, r)
		if err != nil || len(got.Rows) != 3 {
			t.Error(got, err)
		}
		for _, a := range got.Rows {
			if want := names(list)[a.Finding]; a.Benchmark != want {
				t.Errorf("%s has the benchmark %q, want %q", a.Finding, a.Benchmark, want)
			}
		}
	}
	if _, err := Accept(t.Context(), st, &AcceptRequest{Finding: row.Finding, Also: row.Also, Benchmark: []string{"a", "b"}}); err == nil {
		t.Error("three findings have two benchmarks")
	}
	if accepted, open, _ := list(nil); accepted != 3 || open != 0 {
		t.Errorf("by the store: %d accepted, %d open", accepted, open)
	}
	if got, err := Withdraw(t.Context(), st, &WithdrawRequest{Finding: row.Finding, Also: row.Also}); err != nil || len(got.Rows) != 0 {
		t.Error(got, err)
	}
}
