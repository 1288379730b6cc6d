package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// TestJudgeMetrics: a metric fails that is significantly worse by at least the minimum, and metrics that cannot fail
// are counted, worse or not.
func TestJudgeMetrics(t *testing.T) {
	slower := metrics.Row{Change: .1, Significant: true}
	table := &metrics.Table{Rows: []metrics.Row{slower, {Change: .0999, Significant: true}, {Change: -.2, Significant: true},
		{Change: -.2, Better: testrun.Higher, Significant: true}, {Change: .3, Reason: metrics.TooFew, Needed: 4, Base: metrics.Side{Values: 9}},
		{Change: .3}}}
	v := &Verdict{Why: "before"}
	v.JudgeMetrics(table, .1)
	var fails []int
	for i, r := range table.Rows {
		if r.Fails {
			fails = append(fails, i)
		}
	}
	const few = "1 of 6 metrics cannot fail: too few values, and 1 is worse by at least 10%; record 4 runs of the head (dendro bench --count 4)"
	if fmt.Sprint(fails) != "[0 3]" || v.FailingMetrics != 2 || !v.Failed || !v.Tested ||
		v.Why != "before" || v.FewValues != few || v.NoMetricCanFail {
		t.Errorf("%v %+v", fails, v)
	}
	v = &Verdict{}
	v.JudgeMetrics(&metrics.Table{Rows: []metrics.Row{{Reason: metrics.TooFew, Needed: 5, Base: metrics.Side{Values: 4}}}}, .1)
	if v.Failed || v.Tested || !v.NoMetricCanFail || v.FewValues != "no metric can fail: too few values; record 5 runs of each side (dendro bench --count 5)" {
		t.Errorf("%+v", v)
	}
	for _, isNew := range []bool{false, true} { // without rows
		v = &Verdict{}
		v.JudgeMetrics(&metrics.Table{New: isNew}, .1)
		if v.NoMetricCanFail == isNew || v.FewValues != "no metric can fail: none has values of both sides" {
			t.Errorf("new %t: %+v", isNew, v)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for text, want := range map[string]Policy{
		"regression":                       {},
		"regression:0":                     {},
		"regression:5%":                    {Share: 0.05},
		"regression:0.25,suspect":          {Share: 0.25, Suspects: true},
		"regression, slowdown,suspect":     {Suspects: true, Slowdowns: true},
		"regression:1 %,suspect, slowdown": {Share: 0.01, Suspects: true, Slowdowns: true},
	} {
		got, err := ParsePolicy(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := ParsePolicy(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which reads as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "suspect", "regression:", "regression:2", "regression:-1%", "regression:NaN", "regression,regression",
		"regression,suspect:1", "all"} {
		if p, err := ParsePolicy(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, p)
		}
	}
}

// A suspect of one run fails if chance practically never makes it, in a suite of that
// size; a change of a library needs a change of the user's function.
func TestSureSuspects(t *testing.T) {
	for _, c := range []struct {
		status     regression.Status
		kind       regression.Kind
		chance     float64
		benchmarks int
		policy     Policy
		fails      bool
	}{
		{regression.Suspect, regression.Regression, 1e-7, 1, Policy{}, true},
		{regression.Suspect, regression.Regression, 1e-5, 1, Policy{}, false},
		{regression.Suspect, regression.Regression, 1e-5, 1, Policy{Suspects: true}, true},
		{regression.Suspect, regression.Regression, 1e-7, 100, Policy{}, false},
		{regression.Suspect, regression.Regression, 1e-10, 100, Policy{}, true},
		{regression.Suspect, regression.Regression, 1e-10, 1, Policy{Share: 0.2}, false},
		{regression.Suspect, regression.Widespread, 1e-10, 1, Policy{}, false},
		{regression.Transient, regression.Regression, 1e-10, 1, Policy{}, false},
		{regression.Suspect, regression.Regression, 0, 1, Policy{}, false}, // unknown
		{regression.Confirmed, regression.Regression, 1e-4, 1, Policy{}, true},
		{regression.Confirmed, regression.Regression, 0.3, 1, Policy{}, false},
		{regression.Confirmed, regression.Regression, 0.0051, 1, Policy{}, false},
	} {
		f := regression.Finding{Kind: c.kind, Status: c.status, Chance: c.chance, FunctionChance: c.chance, Function: "f",
			Delta: regression.Delta{Share: 0.1}}
		v := Judge(&regression.Result{Benchmarks: make([]regression.Benchmark, c.benchmarks)}, Group([]regression.Finding{f}), c.policy)
		if v.Failed != c.fails || (v.Why == "") != (c.fails || c.status == regression.Transient) {
			t.Errorf("%+v: failed %v, %q", c, v.Failed, v.Why)
		}
	}
}

// TestDoubtless: a slowdown without a place that no machine makes fails in a suite of any size.
func TestDoubtless(t *testing.T) {
	f := regression.Finding{Kind: regression.Slowdown, Status: regression.Confirmed, Chance: 0.01, PlaceChance: 0.01,
		Delta: regression.Delta{Share: 149}}
	for _, doubtless := range []bool{false, true} {
		f.Doubtless = doubtless
		v := Judge(&regression.Result{Benchmarks: make([]regression.Benchmark, 100)}, Group([]regression.Finding{f}), Policy{})
		if v.Failed != doubtless {
			t.Errorf("%v: %+v", doubtless, v)
		}
	}
}

// TestOfService: of releases, exactly those changes fail that dendro watch posts.
func TestOfService(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []regression.Finding
		for i := range rapid.IntRange(0, 8).Draw(t, "n") {
			f := finding(fmt.Sprintf("%s %s %s %s 9 0.%d", rapid.SampledFrom([]string{"cpu", "alloc"}).Draw(t, "type"),
				rapid.SampledFrom([]string{"regression", "widespread", "slowdown", "improvement", "moved"}).Draw(t, "kind"),
				rapid.SampledFrom([]string{"suspect", "confirmed", "transient", "acknowledged"}).Draw(t, "status"),
				rapid.SampledFrom([]string{"f", "g", "-"}).Draw(t, "function"), i))
			f.PlaceChance, f.Chance, f.Unmeasured = rapid.Float64Range(0, 1).Draw(t, "chance"), rapid.Float64Range(0, 1).Draw(t, "chance"),
				rapid.Bool().Draw(t, "unmeasured")
			list = append(list, f)
		}
		suspects := rapid.Bool().Draw(t, "suspects")
		changes := Group(list)
		v := Judge(&regression.Result{Benchmarks: make([]regression.Benchmark, 3)}, changes, Policy{Service: true, Suspects: suspects})
		for _, c := range changes {
			stands := slices.ContainsFunc(c.All(), func(f regression.Finding) bool { return f.Stands(suspects) })
			if c.Fails != stands {
				t.Fatalf("%s %s fails: %v, is posted: %v", c.Status, c.Kind, c.Fails, stands)
			}
		}
		if v.Failed != slices.ContainsFunc(list, func(f regression.Finding) bool { return f.Stands(suspects) }) {
			t.Fatalf("%+v", v)
		}
	})
}

// TestSuiteDecides: the larger the suite, the less probable by chance a change must be to
// fail; it stays in the result, which says why it passed.
func TestSuiteDecides(t *testing.T) {
	for benchmarks, fails := range map[int]bool{1: true, 2: false, 100: false} {
		f := regression.Finding{Kind: regression.Slowdown, Status: regression.Confirmed, Function: "hot", Score: 3.4, Chance: 0.002,
			PlaceChance: 0.002, Delta: regression.Delta{Share: 0.1}}
		v := Judge(&regression.Result{Benchmarks: make([]regression.Benchmark, benchmarks)}, Group([]regression.Finding{f}), Policy{})
		if v.Failed != fails || v.Warning+v.Failing != 1 || fails == strings.Contains(v.Why, "1 change is too near to noise to fail a suite of") {
			t.Errorf("%d benchmarks: %+v", benchmarks, v)
		}
	}
}

func TestAlphaIsDivided(t *testing.T) {
	if a, b := (Policy{}).Alpha(1), (Policy{}).Alpha(100); a <= 100*b || b <= 0 {
		t.Error(a, b)
	}
	if (Policy{Suspects: true}).Alpha(4) >= (Policy{}).Alpha(4) {
		t.Error("one run alone needs the lower error probability")
	}
}

// finding makes one from "benchmark kind status function score share", with - for
// nothing.
func finding(text string) regression.Finding {
	var f regression.Finding
	var kind, status string
	if _, err := fmt.Sscan(text, &f.Benchmark, &kind, &status, &f.Function, &f.Score, &f.Delta.Share); err != nil {
		panic(err)
	}
	f.Kind, f.ID = regression.Kind(kind), text
	if f.Function == "-" {
		f.Function = ""
	}
	if status == "acknowledged" {
		f.Acknowledged, status = &regression.Excuse{}, "confirmed"
	}
	f.Status = regression.Status(status)
	return f
}

func TestGroupAndJudge(t *testing.T) {
	list := []regression.Finding{
		finding("a regression suspect parse 9 0.3"),
		finding("b regression confirmed parse 5 0.02"),
		finding("c widespread confirmed parse 6 0.1"),
		finding("a regression acknowledged parse 4 0.1"),
		finding("a regression suspect lex 4 0.1"),
		finding("a slowdown confirmed - 7 0.2"),
		finding("b slowdown confirmed - 8 0.2"),
		finding("a improvement confirmed parse -9 -0.3"),
		finding("a moved confirmed parse 9 0.3"),
		finding("d regression transient lex 9 0.3"),
	}
	for _, c := range []struct{ policy, want string }{
		{"regression", "-:b+a  parse:c+a+b!  lex:a  parse:a?  parse:a-  parse:a~  lex:d"},
		{"regression:20%", "-:b+a  parse:c+a+b  lex:a  parse:a?  parse:a-  parse:a~  lex:d"},
		{"regression:20%,suspect", "-:b+a  parse:c+a+b!  lex:a  parse:a?  parse:a-  parse:a~  lex:d"},
		{"regression,suspect,slowdown", "-:b+a!  parse:c+a+b!  lex:a!  parse:a?  parse:a-  parse:a~  lex:d"},
	} {
		changes := Group(list)
		p, _ := ParsePolicy(c.policy)
		v := Judge(&regression.Result{Benchmarks: []regression.Benchmark{{}, {Reason: "too few runs"}}}, changes, p)
		var got []string
		failing := 0
		for _, x := range changes {
			var in []string
			for _, f := range x.All() {
				in = append(in, f.Benchmark)
			}
			name := x.Function
			if name == "" {
				name = "-"
			}
			s := name + ":" + strings.Join(in, "+")
			switch {
			case x.Acknowledged != nil:
				s += "?"
			case x.Kind == regression.Improvement:
				s += "-"
			case x.Kind == regression.Moved:
				s += "~"
			}
			if x.Fails {
				failing++
				s += "!"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "  "); s != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.policy, s, c.want)
		}
		if v.Failed != (failing > 0) || v.Failing != failing || v.Warning != 3-failing || v.Acknowledged != 1 || v.Judged != 1 ||
			len(v.Unjudged) != 1 {
			t.Errorf("%s: %+v", c.policy, v)
		}
	}
}

// TestGroupKeepsAll: grouping loses no finding, and its answer does not depend on
// the order of what costs.
func TestGroupKeepsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []regression.Finding
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			list = append(list, finding(fmt.Sprintf("%s %s %s %s %d %d.%d", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "benchmark"),
				rapid.SampledFrom([]string{"regression", "slowdown", "improvement", "widespread"}).Draw(t, "kind"),
				rapid.SampledFrom([]string{"suspect", "confirmed", "transient", "acknowledged"}).Draw(t, "status"),
				rapid.SampledFrom([]string{"f", "g", "-"}).Draw(t, "function"), rapid.IntRange(1, 9).Draw(t, "score"), 0, i)))
			if own := rapid.SampledFrom([]string{"h", "i", ""}).Draw(t, "headline"); own != "" {
				list[i].Headline = &regression.Headline{Function: own, Own: true}
			}
		}
		count := func(changes []Change) (ids []string) {
			for _, c := range changes {
				for _, f := range c.All() {
					ids = append(ids, f.ID)
				}
			}
			slices.Sort(ids)
			return ids
		}
		var want []string
		for _, f := range list {
			want = append(want, f.ID)
		}
		slices.Sort(want)
		if got := count(Group(list)); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		causes := func(list []regression.Finding) (groups []string) {
			for _, c := range Group(list) {
				groups = append(groups, strings.Join(count([]Change{c}), ";"))
			}
			slices.Sort(groups)
			return groups
		}
		if a, b := causes(list), causes(rapid.Permutation(list).Draw(t, "order")); !slices.Equal(a, b) {
			t.Fatalf("in another order %q, not %q", b, a)
		}
	})
}

// TestGroupByHeadline: a call in the user's code is one cause, wherever in it the samples are.
func TestGroupByHeadline(t *testing.T) {
	of := func(benchmark, function, headline string) regression.Finding {
		f := finding(benchmark + " regression confirmed " + function + " 9 0.3")
		f.Headline = &regression.Headline{Function: headline, Calls: "lower", Own: true}
		return f
	}
	for want, list := range map[int][]regression.Finding{
		1: {of("a", "less", "less"), of("b", "lower", "less"), of("c", "lower", "sort")}, // less, which lower joins
		2: {of("a", "less", "less"), of("c", "lower", "sort")},
	} {
		if got := Group(list); len(got) != want || len(got[0].All()) != len(list)-want+1 {
			t.Errorf("%d changes, want %d: %+v", len(got), want, got)
		}
	}
}

// put stores a run of a benchmark in which main calls a, b, … with these values.
func put(t *testing.T, st store.Store, benchmark string, run testrun.Run, values ...int64) {
	t.Helper()
	putMeasured(t, st, benchmark, run, nil, values...)
}

// putMeasured is put, with the metrics of the run.
func putMeasured(t *testing.T, st store.Store, benchmark string, run testrun.Run, metrics []testrun.Metric, values ...int64) {
	t.Helper()
	counts := map[string]int64{}
	for i, x := range values {
		counts["main;"+string(rune('a'+i))] = x
	}
	f := &calltree.Forest{}
	rec := &store.Record{Type: profile.NamedType(profile.CPUSamples), Samples: 1, Forest: f, Self: runtest.Vector(f, counts),
		Hash: profile.Hash{byte(len(run.Key)) + run.Key[len(run.Key)-1], benchmark[0]}}
	runtest.Put(t, st, &store.File{Name: run.Key, Benchmark: testrun.Benchmark{Group: "g", Name: benchmark}, Run: run,
		Metrics: metrics, Records: []*store.Record{rec}})
}

// TestCompare: a head that was measured before its base, on two machines.
func TestCompare(t *testing.T) {
	st := mem.New()
	noise := []int64{3, -7, 11, -2, 5, -9, 1, 8}
	for i, x := range noise {
		day := time.Date(2026, 3, 10+i, 0, 0, 0, 0, time.UTC)
		put(t, st, "b", testrun.Run{Key: fmt.Sprintf("base-%d", i), Date: day, Branch: "main", Machine: "m"}, 800+x, 900-x, 1000+2*x, 1100,
			1200-x, 700+x)
	}
	put(t, st, "b", testrun.Run{Key: "base-x", Date: time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC), Branch: "main", Machine: "other"}, 10, 10,
		10, 10, 10, 10)
	put(t, st, "b", testrun.Run{Key: "head-0", Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Branch: "topic", Machine: "m"}, 1600, 900,
		1000, 1100, 1200, 700)
	put(t, st, "b", testrun.Run{Key: "head-1", Branch: "topic", Machine: "m"}, 1580, 905, 1003, 1090, 1190, 702)
	ctx := context.Background()
	side := func(branch string) []store.Profile {
		list, err := st.Profiles(ctx, store.Query{Branches: []string{branch}})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	c, err := Compare(ctx, st, Sides{Base: side("main"), Head: side("topic")}, regression.Request{Options: regression.Options{Alpha: 0.02}})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Benchmarks) != 1 || len(c.Benchmarks[0].Analyses) != 1 {
		t.Fatalf("%+v", c.Result)
	}
	a := c.Benchmarks[0].Analyses[0]
	if len(a.History) != len(noise) || len(a.Tested) != 2 || a.History[len(noise)-1] != "base-7" {
		t.Errorf("history %q, tested %q", a.History, a.Tested)
	}
	if want := []history.LeftOut{{Reason: "another machine", Runs: 1}}; !slices.Equal(c.Benchmarks[0].LeftOut, want) {
		t.Errorf("left out %+v", c.Benchmarks[0].LeftOut)
	}
	found := slices.DeleteFunc(slices.Clone(c.Findings), func(f regression.Finding) bool { return !f.Kind.Costs() })
	if len(found) != 1 || found[0].Function != "a" || found[0].Status != regression.Confirmed {
		t.Errorf("findings %+v", found)
	}
	if _, err := Compare(ctx, st, Sides{Base: side("main")}, regression.Request{}); err == nil {
		t.Error("no head, and no error")
	}
}

// preloading is an engine that reads many trees in one statement.
type preloading struct {
	store.Store
	profiles int
}

func (p *preloading) Aggregates() store.Aggregates {
	return store.Aggregates{Preload: func(_ context.Context, list []store.ProfileID) (func(), error) {
		p.profiles += len(list)
		return func() {}, nil
	}}
}

// TestCompareIsFast: a comparison reads its runs as fast as the engine can, though it gives them
// another order.
func TestCompareIsFast(t *testing.T) {
	st := &preloading{Store: mem.New()}
	for i := range 8 {
		branch, day := "main", time.Date(2026, 3, 10+i, 0, 0, 0, 0, time.UTC)
		if i > 5 {
			branch = "topic"
		}
		put(t, st, "b", testrun.Run{Key: fmt.Sprint("r", i), Date: day, Branch: branch}, 800+int64(i%3), 900)
	}
	var sides [2][]store.Profile
	for i, branch := range []string{"main", "topic"} {
		var err error
		if sides[i], err = st.Profiles(t.Context(), store.Query{Branches: []string{branch}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Compare(t.Context(), st, Sides{Base: sides[0], Head: sides[1]}, regression.Request{}); err != nil || st.profiles < 8 {
		t.Errorf("%d profiles were announced: %v", st.profiles, err)
	}
}

// TestCompareSuites: of each benchmark the runs are tested that its head has, and none
// of its base; a flagged run is on no side.
func TestCompareSuites(t *testing.T) {
	st := mem.New()
	day := func(n int) time.Time { return time.Date(2026, 3, 1+n, 0, 0, 0, 0, time.UTC) }
	for i, x := range []int64{3, -7, 11, -2, 5, -9, 1, 8} {
		for _, b := range []string{"two", "one"} {
			put(t, st, b, testrun.Run{Key: fmt.Sprintf("base-%d", i), Date: day(i), Branch: "main"}, 800+x, 900-x, 1000+2*x, 1100)
		}
	}
	put(t, st, "two", testrun.Run{Key: "head-0", Date: day(20), Branch: "topic"}, 800, 900, 1000, 1100)
	put(t, st, "two", testrun.Run{Key: "head-1", Date: day(21), Branch: "topic"}, 801, 900, 1000, 1100)
	put(t, st, "two", testrun.Run{Key: "head-2", Date: day(19), Branch: "topic",
		Attributes: map[string]string{history.FlaggedAttribute: "true"}}, 1, 900, 1, 1)
	put(t, st, "one", testrun.Run{Key: "head-1", Date: day(21), Branch: "topic"}, 801, 900, 1000, 1100)
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var sides Sides
	for _, p := range list {
		if p.Run.Branch == "main" {
			sides.Base = append(sides.Base, p)
		} else {
			sides.Head = append(sides.Head, p)
		}
	}
	c, err := Compare(t.Context(), st, sides, regression.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range c.Benchmarks {
		for _, a := range b.Analyses {
			got = append(got, fmt.Sprintf("%s: %s against %d %v", b.Benchmark.Name, strings.Join(a.Tested, " "), len(a.History), b.LeftOut))
		}
	}
	if want := []string{"one: head-1 against 8 []", "two: head-0 head-1 against 8 [{flagged 1}]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAbsent: benchmarks of the base that the head lacks have no verdict, and say so; those
// that the base's newest runs lack too are no longer missed.
func TestAbsent(t *testing.T) {
	st := mem.New()
	values := []int64{800, 900, 1000, 1100}
	for i := range 5 {
		run := testrun.Run{Key: fmt.Sprintf("base-%d", i), Date: time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC), Branch: "main"}
		for _, b := range []string{"kept", "gone"} {
			put(t, st, b, run, values...)
		}
		if i == 0 {
			put(t, st, "deleted", run, values...)
		}
		put(t, st, "old name", run, 1, 2, 3, 4, 500, 500)
		put(t, st, "alike", run, 1, 2, 3, 4, 500, 600) // as "old name", which has more in common with "new name"
	}
	head := testrun.Run{Key: "head-0", Date: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), Branch: "topic"}
	put(t, st, "kept", head, values...)
	put(t, st, "new name", head, 1, 2, 3, 4, 500, 480)
	side := func(branch string) []store.Profile {
		list, err := st.Profiles(t.Context(), store.Query{Branches: []string{branch}})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	c, err := Compare(t.Context(), st, Sides{Base: side("main"), Head: side("topic")}, regression.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range c.Benchmarks {
		got = append(got, b.Benchmark.Name+": "+b.Reason)
	}
	want := []string{"alike: in 5 runs of the base and in none of the head: not tested", "gone: in 5 runs of the base and in none of the head: not tested", "kept: ", "new name: too few runs: 0 before the tested run, at least 3 are needed; renamed from g/old name?",
		"old name: in 5 runs of the base and in none of the head: not tested; renamed to g/new name? that runs the same functions"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if v := Judge(c.Result, nil, Policy{}); !v.Tested || v.Judged != 1 || len(v.Unjudged) != 4 {
		t.Errorf("%+v", v)
	}
}

// TestTested: a verdict is one only if something was tested; a base without any run is a new
// history, one whose runs do not compare is none.
func TestTested(t *testing.T) {
	unjudged := regression.Benchmark{Reason: "too few runs"}
	elsewhere := unjudged
	elsewhere.LeftOut = []history.LeftOut{{Reason: "another machine", Runs: 5}}
	for _, c := range []struct {
		list       []regression.Benchmark
		tested, is bool
	}{
		{[]regression.Benchmark{unjudged}, false, true},
		{[]regression.Benchmark{unjudged, elsewhere}, false, false},
		{[]regression.Benchmark{unjudged, {Base: make([]store.Profile, 2), Reason: "too few runs"}}, false, false},
		{[]regression.Benchmark{unjudged, {}}, true, false},
	} {
		if v := Judge(&regression.Result{Benchmarks: c.list}, nil, Policy{}); v.Tested != c.tested || v.NewHistory != c.is || v.Failed {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

// TestPlaceAndRate: a single suspect fails if its place and its samples per operation both
// show a large change. A widespread change fails only if a measurement confirms it; the
// verdict says which is missing.
func TestPlaceAndRate(t *testing.T) {
	f := regression.Finding{Kind: regression.Regression, Status: regression.Suspect, Function: "f", Chance: 0.02, FunctionChance: 0.02,
		PlaceChance: 1e-9, RateChance: 0.002, Delta: regression.Delta{Share: 0.8}}
	small, unsure := f, f
	small.Delta.Share, unsure.RateChance = 0.3, 0.05
	wide := regression.Finding{Kind: regression.Widespread, Status: regression.Confirmed, Chance: 1e-9, PlaceChance: 1e-9, Unmeasured: true,
		Delta: regression.Delta{Share: 0.2}}
	for _, c := range []struct {
		name  string
		f     regression.Finding
		fails bool
		why   string
	}{
		{"large", f, true, ""},
		{"small", small, false, "runs of the base"},
		{"rate within noise", unsure, false, "runs of the base"},
		{"widespread", wide, false, "no metric and no samples per operation"},
	} {
		b := regression.Benchmark{Analyses: []*regression.Analysis{{Tested: []string{"h"}, History: []string{"1", "2", "3", "4"}}}}
		c.f.Headline = &regression.Headline{Function: "shop.Price"}
		v := Judge(&regression.Result{Benchmarks: []regression.Benchmark{b}}, Group([]regression.Finding{c.f}), Policy{})
		if strings.Contains(v.Why, "as a whole") && !strings.Contains(v.Why, "shop.Price as a whole") {
			t.Errorf("%s: the function has no name: %s", c.name, v.Why)
		}
		if v.Failed != c.fails || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// TestConfirms: a second run of the head is asked for only while there is one.
func TestConfirms(t *testing.T) {
	f := regression.Finding{Kind: regression.Regression, Status: regression.Suspect, Function: "shop.Price"}
	f.Delta.Share = 0.1
	for runs, want := range map[int]string{1: "a second run of the head decides", 4: "more runs of the head decide"} {
		b := regression.Benchmark{Analyses: []*regression.Analysis{{Tested: make([]string, runs), History: make([]string, 4)}}}
		v := Judge(&regression.Result{Benchmarks: []regression.Benchmark{b}}, Group([]regression.Finding{f}), Policy{})
		if !strings.Contains(v.Why, want) {
			t.Errorf("%d runs: %q", runs, v.Why)
		}
	}
}

// TestCompareInTurns: a slow last run of the base hides no regression of a head that was measured
// in turns with it; a base that had become slow before the head was measured does.
func TestCompareInTurns(t *testing.T) {
	for _, c := range []struct {
		name  string
		head  int // minutes from the run of the base of the same number to that of the head
		other bool
		found bool
	}{
		{"in turns", 1, false, true},
		{"in turns, another commit", 1, true, false},
		{"afterwards", 60, false, false},
	} {
		st := mem.New()
		start := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
		for i, x := range []int64{0, 3, -4, 2, 5, -3} {
			slow, commit := int64(0), "1111111"
			if i == 5 {
				slow = 1000
				if c.other {
					commit = "2222222"
				}
			}
			at := start.Add(time.Duration(2*i) * time.Minute)
			put(t, st, "b", testrun.Run{Key: fmt.Sprint("base-", i), Date: at, Branch: "main", Commit: commit}, 800+x+slow, 900-x, 1000+2*x, 1100)
			put(t, st, "b", testrun.Run{Key: fmt.Sprint("head-", i), Date: at.Add(time.Duration(c.head) * time.Minute), Branch: "topic",
				Commit: "3333333"}, 1800+x, 900-x, 1000-x, 1100)
		}
		got := compareBranches(t, st, "main", "topic")
		found := slices.ContainsFunc(got.Findings, func(f regression.Finding) bool { return f.Kind.Costs() && f.Function == "a" })
		if found != c.found || len(got.OnBase) > 0 == found {
			t.Errorf("%s: found %v, of the base %v", c.name, found, got.OnBase)
		}
	}
}

// TestHotLoop: a program that is one function takes a fifth more per operation. Recorded in turns, that fails with four
// runs of each side; against a history it warns, because the machine may be slower. Equal code passes.
func TestHotLoop(t *testing.T) {
	for _, c := range []struct {
		turns, slower, fails bool
		why                  string
	}{
		{true, true, true, ""},
		{false, true, false, "slowdowns without a certain place fail with"},
		{true, false, false, ""},
	} {
		st := mem.New()
		operations := []testrun.Metric{{Name: testrun.OperationsMetric, Mean: 1000}}
		noise := [2][]int64{{0, 11, -17, 8}, {-9, 14, 3, -12}}
		for side, name := range []string{"base", "head"} {
			for i, x := range noise[side] {
				run := testrun.Run{Key: fmt.Sprint(name, i), Date: time.Date(2026, 3, 10, 0, 2*i+side, 0, 0, time.UTC),
					Branch: name, Commit: strings.Repeat(name[:1], 7)}
				if c.turns {
					run.Attributes = map[string]string{history.SideAttribute: "x-" + name}
				}
				loop := 480 + x
				if c.slower && side == 1 {
					loop += loop / 5
				}
				putMeasured(t, st, "b", run, operations, loop, 9+x%3)
			}
		}
		got := compareBranches(t, st, "base", "head")
		v := Judge(got.Result, Group(got.Findings), Policy{})
		if v.Failed != c.fails || !strings.Contains(v.Why, c.why) {
			t.Errorf("in turns %v, slower %v: failed %v, %q, %+v", c.turns, c.slower, v.Failed, v.Why, got.Findings)
		}
	}
}

// compareBranches compares the runs of two branches.
func compareBranches(t *testing.T, st store.Store, base, head string) *Comparison {
	t.Helper()
	var sides [2][]store.Profile
	for i, branch := range []string{base, head} {
		var err error
		if sides[i], err = st.Profiles(t.Context(), store.Query{Branches: []string{branch}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Compare(t.Context(), st, Sides{Base: sides[0], Head: sides[1]}, regression.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
