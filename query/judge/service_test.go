package judge

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// released returns a store with two releases of a service, in the newer of which one of ten
// functions takes so many times the time.
func released(t *testing.T, seed uint64, factor float64) *mem.Store {
	t.Helper()
	st := mem.New()
	release(t, st, "shop", seed, 1, factor)
	return st
}

// release pushes six hours of profiles of each release of a service; one of ten functions takes
// the release's factor of its time.
func release(t *testing.T, st continuous.Store, service string, seed uint64, factors ...float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	forest := &calltree.Forest{}
	var nodes []int32 // the handlers of two requests, which call a library
	for i := range 10 {
		node := calltree.NoNode
		for _, name := range []string{"main.main", fmt.Sprintf("main.handle%d", i%2), fmt.Sprintf("example.com/lib.f%d", i)} {
			node = forest.Path(node, forest.Function(profile.Function{Name: name}))
		}
		nodes = append(nodes, node)
	}
	var list []*continuous.Window
	for n, factor := range factors {
		for minute := range 360 {
			var self []int64
			for i := range nodes {
				samples := 20.0
				if i == 3 {
					samples *= factor
				}
				self = append(self, int64(samples*(1+0.2*r.NormFloat64()))*1e7)
			}
			list = append(list, &continuous.Window{Start: time.Date(2026, 11, 20, 6*n, minute, 0, 0, time.UTC), Length: time.Minute,
				Type: profile.NamedType("cpu"), Forest: forest, Hash: profile.Hash{byte(n), byte(minute), byte(minute >> 8)},
				Series: continuous.Series{Service: service, Type: continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds",
					PeriodType: "cpu", PeriodUnit: "nanoseconds"},
					Labels: continuous.Labels{{Name: "version", Value: fmt.Sprintf("v%d", n+1)}}},
				Self: calltree.Vector{Nodes: nodes, Self: self}})
		}
	}
	if _, err := st.PutWindows(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

// TestCheckOfService: a check of releases fails exactly if dendro watch posts something of them.
func TestCheckOfService(t *testing.T) {
	failed := 0
	for _, factor := range []float64{1, 1.05, 1.1, 1.3, 2} {
		for seed := range uint64(4) {
			st := released(t, seed, factor)
			found, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, map[string]string{"service": "shop"}))
			if err != nil {
				t.Fatal(err)
			}
			doc, err := Check(t.Context(), st, withDefaults[CheckRequest](t, map[string]string{"service": "shop"}))
			if err != nil {
				t.Fatal(err)
			}
			posted := slices.ContainsFunc(found.Findings, func(f regression.Finding) bool { return f.Stands(false) })
			if doc.Verdict.Failed != posted {
				t.Errorf("factor %g, seed %d: failed %v, posted %v: %s", factor, seed, doc.Verdict.Failed, posted, doc.Verdict.Why)
			}
			if posted {
				failed++
			} else if factor >= 1.1 {
				t.Errorf("factor %g, seed %d: nothing posted", factor, seed)
			}
		}
	}
	if failed == 20 {
		t.Error("every comparison fails")
	}
}

// TestReleasesAreChanges: what releases of services brought is in the one list of all surfaces, with
// the id that a comparison of these releases has, until a later release takes it back.
func TestReleasesAreChanges(t *testing.T) {
	st := mem.New()
	for i := range 6 { // each slower with its newest release
		release(t, st, fmt.Sprintf("service%d", i), uint64(i), 1, 1.5+float64(i)/4)
	}
	release(t, st, "same", 7, 1, 1)
	release(t, st, "older", 8, 1, 2, 2) // since the release before the newest
	release(t, st, "over", 9, 1, 2, 1)
	release(t, st, "one", 10, 1)
	names := func(list []regression.Finding) string {
		var of []string
		for _, f := range list {
			if f.Headline == nil || f.Headline.Calls != "example.com/lib.f3" {
				t.Errorf("%+v", f)
			}
			of = append(of, fmt.Sprintf("%s %s %s", f.Group, f.Since.Run, f.Status))
		}
		slices.Sort(of)
		return strings.Join(of, ", ")
	}
	open := "older v2 confirmed, service0 v2 confirmed, service1 v2 confirmed, service2 v2 confirmed, service3 v2 confirmed, service4 v2 confirmed, service5 v2 confirmed"
	list := func(parameters map[string]string) *RegressionsResult {
		t.Helper()
		r := withDefaults[RegressionsRequest](t, nil)
		r.Groups, r.New, r.Ended, r.Service = nil, parameters["new"], parameters["ended"] != "", parameters["service"]
		if g := parameters["group"]; g != "" {
			r.Groups = []string{g}
		}
		res, err := Regressions(t.Context(), st, r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	found := list(nil)
	if got := names(found.Findings); got != open {
		t.Errorf("the list has %s", got)
	}
	if got := names(list(map[string]string{"ended": "true"}).Findings); got != "over v2 ended" {
		t.Errorf("ended: %s", got)
	}
	if got := list(map[string]string{"new": "1"}).Findings; len(got) != 6 {
		t.Errorf("new with the newest release: %s", names(got))
	}
	one := list(map[string]string{"group": "service3"})
	if len(one.Findings) != 1 || len(one.Benchmarks) != 1 || one.Benchmarks[0].Outcome.Says != "slower (1 open change)" {
		t.Errorf("of a service: %+v", one)
	}
	compared := list(map[string]string{"service": "service3"}).Findings
	if len(compared) != 1 || compared[0].ID != one.Findings[0].ID || compared[0].Delta.Share != one.Findings[0].Delta.Share ||
		*compared[0].Delta.Time != *one.Findings[0].Delta.Time || compared[0].Since != one.Findings[0].Since {
		t.Errorf("a comparison finds %+v, the list has %+v", compared, one.Findings)
	}
	// One of ten functions takes twice and a quarter of its time: the whole takes an eighth more, which this explains.
	for _, f := range []regression.Finding{one.Findings[0], compared[0]} {
		if unit := f.Delta.Time.Unit; unit != "ns/s" {
			t.Errorf("the cost is in %q", unit)
		}
		if p := f.Change.Program; p == nil || math.Abs(p.Value-0.125) > 0.01 || p.Low <= 0 || math.Abs(f.Change.Explains-1) > 0.1 {
			t.Errorf("the whole changed by %+v, of which this is %g", p, f.Change.Explains)
		}
	}
	for _, parameters := range []map[string]string{nil, {"candidates": "0", "max-depth": "0", "changed": "true"}} {
		doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, parameters))
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Costs()) != 7 || doc.Headline() != "7 regressions in 9 benchmarks" {
			t.Errorf("the report has %s: %+v", doc.Headline(), doc.Changes)
		}
	}
	overview, err := Overview(t.Context(), st, withDefaults[OverviewRequest](t, nil))
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, r := range overview.Releases {
		states[r.Service] = r.Last.Key + " " + r.Outcome.Says
	}
	for _, b := range found.Benchmarks {
		if got, _ := strings.CutPrefix(states[b.Group], states[b.Group][:3]); got != b.Outcome.Says {
			t.Errorf("%s is %q in the overview, %q in the list", b.Group, got, b.Outcome.Says)
		}
	}
	if len(states) != 9 || states["older"] != "v3 slower (1 open change)" ||
		!strings.HasPrefix(states["same"], "v2 unchanged: would have seen ") || !strings.HasPrefix(states["over"], "v3 unchanged") {
		t.Errorf("%q", states)
	}
	// What is kept is what is found from nothing, and is read as long as nothing was pushed.
	kept, err := st.Verdicts(t.Context(), []testrun.Benchmark{{}})
	if err != nil || len(kept.List) != 11 {
		t.Fatalf("%d verdicts, %v", len(kept.List), err)
	}
	for i := range kept.List {
		kept.List[i].Document = []byte(`{"types": []}`)
	}
	if err := st.KeepVerdicts(t.Context(), kept.List); err != nil {
		t.Fatal(err)
	}
	r := withDefaults[RegressionsRequest](t, nil)
	if _, err := Regressions(t.Context(), st, r); !errors.Is(err, store.ErrNothing) {
		t.Errorf("kept verdicts are not read: %v", err)
	}
	release(t, st, "same", 11, 1, 1, 1.4)
	if got := names(list(nil).Findings); got != "same v3 confirmed" {
		t.Errorf("after a release: %s", got)
	}
}

// TestJudgesPushed: bottlenecks, the history of a function and the overview of pushed profiles are
// those of blocks of time, whose labels select.
func TestJudgesPushed(t *testing.T) {
	st := released(t, 1, 3)
	of := map[string]string{"service": "shop", "labels": `{version="v2"}`}
	answer := func(view func() (any, error)) any {
		t.Helper()
		result, err := view()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	ranked := answer(func() (any, error) {
		return query.ViewOf(Bottlenecks).Answer(t.Context(), st, withDefaults[BottlenecksRequest](t, of))
	}).(*BottlenecksResult)
	if len(ranked.Rows) == 0 || ranked.Rows[0].Function != "example.com/lib.f3" ||
		!slices.Contains(ranked.Warnings, "a run is 15 min of all instances") {
		t.Errorf("bottlenecks: %+v", ranked)
	}
	of["function"] = "example.com/lib.f3"
	past := answer(func() (any, error) {
		return query.ViewOf(History).Answer(t.Context(), st, withDefaults[HistoryRequest](t, of))
	}).(*HistoryResult)
	if len(past.Series) != 1 || len(past.Series[0].Runs) != 24 {
		t.Errorf("history: %+v", past.Series)
	}
	delete(of, "function")
	all := answer(func() (any, error) {
		return query.ViewOf(Overview).Answer(t.Context(), st, withDefaults[OverviewRequest](t, of))
	}).(*OverviewResult)
	if all.Runs != 24 || len(all.Benchmarks) != 1 || all.Benchmarks[0].Group != "shop" {
		t.Errorf("overview: %+v", all)
	}
	of["base"], of["head"] = "v1", "v2"
	if _, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, of)); err == nil ||
		!strings.Contains(err.Error(), `no windows with version="v1"`) {
		t.Errorf("labels do not select what releases have: %v", err)
	}
}
