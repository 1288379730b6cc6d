package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// recorded puts nights of benchmark a as runs of a pair: those of the head are slow.
func recorded(t *testing.T, st store.Store, pair, branch string, slow bool) {
	t.Helper()
	for i := range 8 {
		side, on, night0 := pair+"-base", "main", i
		if i%2 == 1 { // in turns
			side, on, night0 = pair+"-head", branch, i
			if slow {
				night0 = 8 + i/2
			}
		}
		f := night("a", night0, byte(len(pair)), func(f *store.File) {
			f.Run.Key, f.Run.Branch, f.Run.Commit = fmt.Sprintf("%s-%d", side, i), on, on+"0123456789abcdef"
			f.Run.Date = f.Run.Date.AddDate(0, len(pair), i-night0)
			f.Run.Attributes = map[string]string{"side": side}
			f.Records[0].Hash[3] = byte(i + 100)
			f.Records[0].Hash[4] = pair[0]
		})
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "test"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
}

// TestRecordedPairs: what a check of runs that were recorded in turns finds, all surfaces list as the
// difference of these commits, with the same id's finding and size, whether the benchmark has other runs or
// not, until the head's branch is recorded again. The runs are in no history.
func TestRecordedPairs(t *testing.T) {
	for _, nightly := range []bool{false, true} {
		st := mem.New()
		if nightly {
			for i := range 8 {
				f := night("a", i, 0, func(f *store.File) { f.Run.Branch = "main" })
				if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "test"}); err != nil || out[0].Err != nil {
					t.Fatal(err, out)
				}
			}
		}
		recorded(t, st, "pr", "topic", true)
		check, err := Check(t.Context(), st, withDefaults[CheckRequest](t,
			map[string]string{"base": "attr.side=pr-base", "head": "attr.side=pr-head"}))
		if err != nil || !check.Verdict.Failed || len(check.Changes) != 1 {
			t.Fatalf("check: %+v %v", check, err)
		}
		want := check.Changes[0].Finding
		list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
		if err != nil || len(list.Findings) != 1 || len(list.Benchmarks) != 1 {
			t.Fatalf("nightly %t: %+v %v", nightly, list, err)
		}
		agrees := func(surface string, f *regression.Finding) {
			t.Helper()
			if f.Function != want.Function || f.Delta.Share != want.Delta.Share || !strings.HasPrefix(f.ID, want.ID) || f.Since != want.Since ||
				f.Status != want.Status ||
				f.Change.Pair != "topic against main, recorded in turns" || !strings.HasSuffix(f.Note, f.Change.Pair) || f.Change.Branch != "" ||
				len(f.Sides.Base) != 4 || len(f.Sides.Head) != 4 {
				t.Errorf("%s, nightly %t: %+v %+v, check has %+v", surface, nightly, f, f.Change, want)
			}
		}
		agrees("regressions", &list.Findings[0])
		for _, parameters := range []map[string]string{nil, {"candidates": "0", "max-depth": "0", "changed": "true"}} {
			doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, parameters))
			if err != nil || len(doc.Changes) != 1 || strings.Contains(doc.Headline(), "without a verdict") ||
				strings.Contains(fmt.Sprint(doc.Parameters), "at most 0 runs") {
				t.Fatalf("report: %q %+v %v", doc.Headline(), doc, err)
			}
			agrees("report", &doc.Changes[0].Finding)
		}
		overview, err := Overview(t.Context(), st, withDefaults[OverviewRequest](t, nil))
		if err != nil || overview.Benchmarks[0].Outcome.Status != report.Slower || overview.Benchmarks[0].Outcome.Share != want.Delta.Share ||
			overview.Benchmarks[0].Outcome.Says != "slower (1 open change: topic against main, recorded in turns)" {
			t.Errorf("overview: %+v %v", overview, err)
		}
		for values, n := range map[[2]string]int{{"branch", "topic"}: 1, {"branch", "main"}: 0, {"new", "2"}: 1, {"new", "2026-12-01"}: 0} {
			if values == [2]string{"branch", "main"} && !nightly {
				continue // no run but half a pair
			}
			if res, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, map[string]string{values[0]: values[1]})); err != nil ||
				len(res.Findings) != n {
				t.Errorf("nightly %t, %s: %+v %v", nightly, values, res, err)
			}
		}
		plain, err := Check(t.Context(), st, withDefaults[CheckRequest](t, map[string]string{"branch": "main"}))
		if err != nil || plain.Verdict.Failed {
			t.Errorf("nightly %t: %+v %v", nightly, plain, err)
		}
		// The newest runs are judged by those before: what was recorded in turns is neither.
		if plain, err = Check(t.Context(), st, withDefaults[CheckRequest](t, nil)); err != nil || plain.Verdict.Failed ||
			plain.Verdict.Tested != nightly || len(plain.Benchmarks) != 1 {
			t.Fatalf("nightly %t: %+v %v", nightly, plain, err)
		}
		const ask = "it has topic against main, recorded in turns only: --base attr.side=pr-base --head attr.side=pr-head"
		if b := &plain.Benchmarks[0]; !nightly && b.Reason != ask ||
			nightly && strings.Contains(fmt.Sprint(b.Analyses[0].Tested, b.Analyses[0].History), "pr-") {
			t.Errorf("nightly %t: %q %+v", nightly, b.Reason, b.Analyses)
		}
		recorded(t, st, "other", "another", false) // an older and another one stay beside it
		if list, err = Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil)); err != nil || len(list.Findings) != 1 {
			t.Errorf("nightly %t, beside another: %+v %v", nightly, list, err)
		}
		recorded(t, st, "repair", "topic", false)
		if list, err = Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil)); err != nil || len(list.Findings) != 0 ||
			!strings.HasPrefix(list.Benchmarks[0].Outcome.Says, "unchanged: would have seen") {
			t.Errorf("nightly %t, repaired: %+v %v", nightly, list, err)
		}
	}
}

// TestFewRunsOfPair: two runs of each side that leave doubt are no verdict, on any surface; that nothing changed is not
// said of them.
func TestFewRunsOfPair(t *testing.T) {
	st := mem.New()
	for i := range 4 {
		f := night("a", i, 0, func(f *store.File) {
			f.Run.Branch, f.Run.Attributes = []string{"main", "topic"}[i/2], map[string]string{"side": []string{"pr-base", "pr-head"}[i/2]}
		})
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "test"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	const want = "too few runs: 2 of the base and 2 of the head of pr, at least 3 and 1 are needed"
	list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
	if err != nil || len(list.Findings) > 0 || list.Benchmarks[0].Outcome.Says != want || list.Benchmarks[0].Reason != want {
		t.Errorf("%+v %v", list, err)
	}
	doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, nil))
	if err != nil || doc.Benchmarks[0].Outcome.Says != want || doc.Headline() != "nothing tested; 1 benchmark without a verdict" {
		t.Errorf("%q %+v %v", doc.Headline(), doc.Benchmarks[0].Outcome, err)
	}
	check, err := Check(t.Context(), st, withDefaults[CheckRequest](t,
		map[string]string{"base": "attr.side=pr-base", "head": "attr.side=pr-head"}))
	if err != nil || check.Verdict.Tested {
		t.Errorf("%+v %v", check.Verdict, err)
	}
}
