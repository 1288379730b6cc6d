package regression

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// bench is a benchmark in the making: runs as lists of "a;b;c" → count.
type bench struct {
	group, name string
	typ         profile.ValueType
	runs        []map[string]int64
	metrics     []float64                  // by run; 0: none
	edit        func(i int, f *store.File) // changes what is put
}

var samples = profile.ValueType{Name: profile.CPUSamples, Unit: "count"}

// put stores benchmarks and returns the store.
func put(t testing.TB, benches ...*bench) store.Store {
	t.Helper()
	st := mem.New()
	forest := &calltree.Forest{}
	var files []*store.File
	for _, b := range benches {
		if b.typ.Name == "" {
			b.typ = samples
		}
		for i, run := range b.runs {
			self := runtest.Vector(forest, run)
			key := fmt.Sprintf("r%03d", i)
			f := &store.File{Name: key, Benchmark: testrun.Benchmark{Group: b.group, Name: b.name},
				Run: testrun.Run{Key: key, Date: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Commit: fmt.Sprintf("%040x", i)},
				Records: []*store.Record{{Type: b.typ, Forest: forest, Self: self, Samples: self.Sum(),
					Hash: profile.Hash{byte(i), byte(len(files)), byte(len(files) >> 8)}}}}
			if i < len(b.metrics) && b.metrics[i] != 0 {
				f.Metrics = []testrun.Metric{{Name: "time", Mean: b.metrics[i], Unit: "ms/op", Better: testrun.Lower, Primary: true}}
			}
			if b.edit != nil {
				b.edit(i, f)
			}
			files = append(files, f)
		}
	}
	runtest.Put(t, st, files...)
	return st
}

// shop is a program of some functions; grown multiplies the expected samples of a
// path in the last k runs.
func shop(seed uint64, runs, k int, grown map[string]float64) *bench {
	r := rand.New(rand.NewPCG(seed, 1))
	expect := map[string]float64{"main;load;parse": 300, "main;load;parse;token": 220, "main;load;read": 250, "main;load": 20,
		"main;query;plan": 150, "main;query;scan": 520,
		"main;query;scan;filter": 310, "main;query;join": 330, "main;query;join;hash": 190, "main;write;encode": 260, "main;write;flush": 120,
		"main;write;encode;copy": 150, "main;log;format": 90, "main;log": 60, "main;gc": 70, "main;query;scan;token": 100}
	b := &bench{group: "g", name: "b"}
	for i := range runs {
		run := map[string]int64{}
		sum := 0.0
		for _, path := range slices.Sorted(maps.Keys(expect)) {
			m := expect[path] * math.Exp(0.03*r.NormFloat64())
			if f, ok := grown[path]; ok && i >= runs-k {
				m *= f
			}
			sum += m
			run[path] = int64(math.Max(0, math.Round(m+math.Sqrt(m)*r.NormFloat64())))
		}
		if f := grown["main;query;new"]; f > 0 && i >= runs-k {
			run["main;query;new"] = int64(f)
			sum += f
		}
		b.runs = append(b.runs, run)
		b.metrics = append(b.metrics, sum/100*math.Exp(0.01*r.NormFloat64()))
	}
	return b
}

// newest tests the newest k runs together.
func newest(k int) Request { return Request{Tests: history.Tests{K: k}} }

func find(t testing.TB, st store.Reader, req Request) *Result {
	t.Helper()
	res, err := Find(t.Context(), st, store.Query{}, req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(res); err != nil { // NaN and infinities are no JSON
		t.Fatal(err)
	}
	return res
}

func costs(list []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(list), func(f Finding) bool { return !f.Kind.Costs() || f.Status == Transient })
}

func TestPlantedRegression(t *testing.T) {
	for seed := range uint64(5) {
		res := find(t, put(t, shop(seed, 20, 2, map[string]float64{"main;load;parse": 1.8})), Request{})
		list := costs(res.Findings)
		if len(list) != 1 {
			t.Fatalf("seed %d: %d findings: %+v", seed, len(list), list)
		}
		f := list[0]
		if f.Function != "parse" || f.Status != Confirmed || f.Kind != Regression || f.Since.Run != "r018" || f.Since.LastGood != "r017" ||
			strings.Join(f.Path, ";") != "main;load;parse" {
			t.Errorf("seed %d: %+v", seed, f)
		}
		if share := f.Delta.Share; math.Abs(share-240.0/3140) > 0.03 {
			t.Errorf("seed %d: share %.3f, planted %.3f", seed, share, 240.0/3140)
		}
		if e := f.Delta.Time; e == nil || e.Unit != "ms/op" || !(e.Low < 2.4 && 2.4 < e.High && e.Low < e.Value && e.Value < e.High) {
			t.Errorf("seed %d: time %+v, planted 2.4 ms/op", seed, e)
		}
		if len(f.RuledOut) == 0 || len(f.ID) != 16 {
			t.Errorf("seed %d: %+v", seed, f)
		}
	}
}

func TestNewAndVanishedFunctions(t *testing.T) {
	res := find(t, put(t, shop(1, 15, 2, map[string]float64{"main;query;new": 150})), Request{})
	if list := costs(res.Findings); len(list) != 1 || list[0].Function != "new" || list[0].Presence != New || list[0].Caller != "query" {
		t.Errorf("new function: %+v", list)
	}
	res = find(t, put(t, shop(2, 15, 2, map[string]float64{"main;query;join": 0})), Request{})
	if len(costs(res.Findings)) != 0 {
		t.Errorf("an improvement costs: %+v", res.Findings)
	}
	i := slices.IndexFunc(res.Findings, func(f Finding) bool { return f.Kind == Improvement && f.Function == "join" })
	if i < 0 || res.Findings[i].Delta.Samples >= 0 {
		t.Errorf("improvement: %+v", res.Findings)
	}
}

// Of a chain of new functions the outermost is what somebody called.
func TestNewChainIsNamedAfterItsTop(t *testing.T) {
	b := shop(1, 15, 0, nil)
	for i := 13; i < 15; i++ {
		b.runs[i]["main;query;compile"] = 8
		b.runs[i]["main;query;compile;inner;deep"] = 150 + int64(i)
		b.runs[i]["main;query;compile;inner"] = 6
	}
	list := costs(find(t, put(t, b), Request{}).Findings)
	if len(list) != 1 || list[0].Function != "compile" || list[0].Caller != "query" || list[0].Presence != New || len(list[0].Parts) == 0 ||
		!slices.Contains(list[0].Parts[0].Path, "inner") {
		t.Errorf("%+v", list)
	}
}

// A function that jumps by a quarter from run to run is not slower when it is once
// more a third above its mean.
func TestJitterIsNoise(t *testing.T) {
	b := shop(9, 20, 0, nil)
	for i, f := range []float64{1, 1.3, 0.8, 1.25, 0.7, 1, 1.35, 0.75, 1.2, 0.9, 1.3, 0.7, 1.1, 0.8, 1.3, 1, 0.75, 1.2, 1.3, 1.35} {
		b.runs[i]["main;query;scan"] = int64(520 * f)
	}
	b.metrics = nil
	if list := costs(find(t, put(t, b), Request{}).Findings); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestStatuses(t *testing.T) {
	b := shop(3, 20, 1, map[string]float64{"main;load;parse": 1.8})
	st := put(t, b)
	if list := costs(find(t, st, Request{}).Findings); len(list) != 1 || list[0].Status != Suspect || list[0].Since.Run != "r019" {
		t.Errorf("newest run only: %+v", list)
	}
	b.runs[19], b.runs[18] = b.runs[18], b.runs[19]
	b.metrics = nil
	res := find(t, put(t, b), Request{})
	if len(costs(res.Findings)) != 0 || !slices.ContainsFunc(res.Findings,
		func(f Finding) bool { return f.Status == Transient && f.Function == "parse" }) {
		t.Errorf("run before only: %+v", res.Findings)
	}
}

func TestAcknowledged(t *testing.T) {
	st := put(t, shop(1, 20, 2, map[string]float64{"main;load;parse": 1.8}))
	ack := func(a Acknowledgement) bool {
		list := costs(find(t, st, Request{Acknowledged: []Acknowledgement{a}, Now: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}).Findings)
		return len(list) == 1 && list[0].Acknowledged != nil
	}
	id := costs(find(t, st, Request{}).Findings)[0].ID
	for _, c := range []struct {
		a    Acknowledgement
		want bool
	}{
		{Acknowledgement{ID: id}, true},
		{Acknowledgement{Function: "pa*"}, true},
		{Acknowledgement{Function: "pa*", Benchmark: "g/b"}, true},
		{Acknowledgement{Function: "pa*", Benchmark: "other"}, false},
		{Acknowledgement{ID: id, Until: time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC)}, false},
		{Acknowledgement{ID: id, UpTo: 0.01}, false},
		{Acknowledgement{ID: id, UpTo: 0.07}, true},
	} {
		if got := ack(c.a); got != c.want {
			t.Errorf("%+v: acknowledged %t", c.a, got)
		}
	}
	// An id is of one benchmark: its run begins no histories of others.
	other := shop(2, 20, 0, nil)
	other.name = "other"
	both := put(t, shop(1, 20, 2, map[string]float64{"main;load;parse": 1.8}), other)
	for _, b := range find(t, both, Request{Acknowledged: []Acknowledgement{{ID: id, Since: "r018"}}}).Benchmarks {
		if len(b.Analyses) == 0 {
			t.Errorf("%s: %s", b.Benchmark.Name, b.Reason)
		}
	}
	// A history begins anew at an accepted change.
	res := find(t, st, Request{Acknowledged: []Acknowledgement{{Function: "parse", Since: "r018"}}})
	if len(res.Benchmarks[0].Analyses) != 0 || !strings.Contains(res.Benchmarks[0].Reason, "too few runs") {
		t.Errorf("%+v", res.Benchmarks[0])
	}
}

// What is no sound history gets a statement, and never a finding.
func TestBadHistories(t *testing.T) {
	equal := shop(1, 1, 0, nil)
	for range 11 {
		equal.runs = append(equal.runs, equal.runs[0])
	}
	empty := shop(1, 10, 0, nil)
	empty.runs[9] = map[string]int64{}
	holes := shop(1, 12, 0, nil)
	holes.runs[3], holes.runs[5] = map[string]int64{}, map[string]int64{}
	all := shop(1, 6, 0, nil)
	for i := range all.runs {
		all.runs[i] = map[string]int64{}
	}
	giant := &bench{name: "giant"}
	for i := range 12 {
		giant.runs = append(giant.runs, map[string]int64{"main;loop": int64(5000 + 100*i%700), "main": 20})
	}
	lone := &bench{name: "lone"}
	for range 8 {
		lone.runs = append(lone.runs, map[string]int64{"main": 1})
	}
	renamed := shop(1, 10, 0, nil)
	renamed.edit = func(i int, f *store.File) {
		if i >= 8 {
			f.Benchmark.Name = "renamed"
		}
	}
	negative := shop(1, 10, 0, nil)
	for _, run := range negative.runs {
		run["main;log"] = -5
	}
	rates := shop(1, 10, 0, nil)
	rates.edit = func(i int, f *store.File) {
		if f.Records[0].Type.Name = profile.CPU; i >= 8 {
			f.Records[0].Type.Period = 1
		}
		f.Records[0].Type.Unit = "nanoseconds"
	}
	undated := shop(1, 10, 0, nil)
	undated.edit = func(i int, f *store.File) {
		if i%2 == 0 {
			f.Run.Date = time.Time{}
		}
	}
	machines := shop(1, 10, 0, nil)
	machines.edit = func(i int, f *store.File) { f.Run.Machine = fmt.Sprint(i / 9) }
	for _, c := range []struct {
		name string
		b    *bench
		want string // in a reason or warning of some benchmark; empty: a verdict
	}{
		{"equal runs", equal, ""},
		{"newest without samples", empty, "the newest run, r009, has no samples"},
		{"runs without samples", holes, "2 of 12 runs have no samples"},
		{"no samples at all", all, "has no samples"},
		{"one run", shop(1, 1, 0, nil), "too few runs: 0 before"},
		{"three runs", shop(1, 3, 0, nil), "too few runs: 2 before"},
		{"four runs", shop(1, 4, 0, nil), ""},
		{"one giant function", giant, ""},
		{"one sample a run", lone, ""},
		{"renamed benchmark", renamed, "too few runs: 1 before"},
		{"negative values", negative, ""},
		{"other sample rate", rates, "another sample rate or unit"},
		{"some without a date", undated, "5 of 10 runs have no date"},
		{"newest on another machine", machines, "another machine"},
	} {
		res := find(t, put(t, c.b), Request{})
		if list := costs(res.Findings); len(list) > 0 {
			t.Errorf("%s: findings out of nothing: %+v", c.name, list)
		}
		said := ""
		for _, b := range res.Benchmarks {
			said += b.Reason + "|" + strings.Join(b.Warnings, "|") + fmt.Sprint(b.LeftOut)
			if b.Reason == "" && len(b.Analyses) == 0 {
				t.Errorf("%s: neither verdict nor reason", c.name)
			}
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s: said %q, not %q", c.name, said, c.want)
		}
	}
}

func TestOneHotFunctionIsASlowdown(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	b := &bench{name: "hot"}
	for i := range 20 {
		b.runs = append(b.runs, map[string]int64{"main;loop": 5000 + r.Int64N(100), "main": 30})
		m := 10 + 0.1*r.NormFloat64()
		if i >= 18 {
			m *= 1.5
		}
		b.metrics = append(b.metrics, m)
	}
	list := costs(find(t, put(t, b), Request{}).Findings)
	if len(list) != 1 || list[0].Kind != Slowdown || list[0].Function != "loop" || math.Abs(list[0].Delta.Share-0.5) > 0.1 {
		t.Errorf("%+v", list)
	}
}

func TestSlowMachineIsSaidOnce(t *testing.T) {
	b := shop(5, 20, 0, nil)
	for i := 18; i < 20; i++ {
		b.metrics[i] *= 1.6
	}
	list := costs(find(t, put(t, b), Request{}).Findings)
	if len(list) != 1 || list[0].Kind != Slowdown || list[0].Function != "" {
		t.Errorf("%+v", list)
	}
}

func TestMovedWork(t *testing.T) {
	b := shop(6, 20, 0, nil)
	for i := 18; i < 20; i++ { // plan was extracted into a callee of its own
		b.runs[i]["main;query;plan;step"] = b.runs[i]["main;query;plan"] * 3 / 4
		b.runs[i]["main;query;plan"] /= 4
		b.runs[i]["main;query;hashJoin"] = b.runs[i]["main;query;join"] // renamed
		b.runs[i]["main;query;hashJoin;hash"] = b.runs[i]["main;query;join;hash"]
		delete(b.runs[i], "main;query;join")
		delete(b.runs[i], "main;query;join;hash")
	}
	res := find(t, put(t, b), Request{})
	if list := costs(res.Findings); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if !slices.ContainsFunc(res.Findings, func(f Finding) bool { return f.Kind == Moved }) {
		t.Error("nothing is said to have moved")
	}
}

// The same runs in another order of import, and with the benchmarks side by side,
// give the same bytes.
func TestSameInputSameBytes(t *testing.T) {
	grown := map[string]float64{"main;load;parse": 1.6, "main;query;join": 0.6}
	a, b := shop(7, 20, 2, grown), shop(8, 20, 2, grown)
	b.name = "c"
	text := func(benches ...*bench) string {
		out, err := json.Marshal(find(t, put(t, benches...), Request{}).Findings)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	first := text(a, b)
	for range 3 {
		if got := text(b, a); got != first {
			t.Fatalf("other order, other answer:\n%s\n%s", first, got)
		}
	}
}

func TestNoSelection(t *testing.T) {
	if _, err := Find(context.Background(), mem.New(), store.Query{}, Request{}); err == nil {
		t.Error("nothing is selected, and no error")
	}
}

// The naive reference of the rows: every sum by its definition.
func TestRowsAreTheirDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		forest := &calltree.Forest{}
		var runs []calltree.Vector
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			counts := map[int32]int64{}
			for range rapid.IntRange(1, 12).Draw(t, "stacks") {
				at := calltree.NoNode
				for range rapid.IntRange(1, 7).Draw(t, "depth") {
					at = forest.Path(at, forest.Function(profile.Function{Name: string(rune('a' + rapid.IntRange(0, 3).Draw(t, "f")))}))
				}
				counts[at] += int64(rapid.IntRange(2, 20).Draw(t, "n"))
			}
			var v calltree.Vector
			for p := range counts {
				v.Nodes = append(v.Nodes, p)
			}
			slices.Sort(v.Nodes)
			for _, p := range v.Nodes {
				v.Self = append(v.Self, counts[p])
			}
			runs = append(runs, v)
		}
		var all []int32
		for _, v := range runs {
			all = append(all, v.Nodes...)
		}
		slices.Sort(all)
		cut := forest.Cut(slices.Compact(all))
		for i := range runs {
			runs[i] = cut.Vector(runs[i])
		}
		m := history.NewMatrix(cut.Table, make([]store.Profile, len(runs)), runs)
		sp := row.NewSpace(m)
		for slot := row.None + 1; int(slot) < len(sp.Kind); slot++ {
			for run := range m.Runs {
				want := 0.0
				for i, n := range m.Runs[run].Nodes {
					if contains(sp, slot, n) {
						want += m.Runs[run].Count[i]
					}
				}
				if got := sp.Values(slot)[run]; got != want {
					t.Fatalf("row %d (kind %d, item %d) in run %d: %v, want %v", slot, sp.Kind[slot], sp.Item[slot], run, got, want)
				}
			}
			var nodes []int32
			sp.NodesOf(slot, func(n int32) { nodes = append(nodes, n) })
			for n := range int32(sp.Table.Len()) {
				if in, root := contains(sp, slot, n), sp.RootOf(slot, n); in != slices.Contains(nodes, n) || in != (root != calltree.NoNode) ||
					in && !slices.Contains(sp.Roots(slot), root) {
					t.Fatalf("node %d in row %d: contains %t, nodesOf %t, root %d", n, slot, in, slices.Contains(nodes, n), root)
				}
			}
		}
	})
}

// contains reports whether a node belongs to a row, by the functions on its path.
func contains(sp *row.Space, slot, n int32) bool {
	is := func(q int32) bool {
		switch sp.Kind[slot] {
		case row.NodeSelf, row.NodeTotal:
			return q == sp.Item[slot]
		case row.FunctionSelf, row.FunctionTotal:
			return sp.Table.Func[q] == sp.Item[slot]
		}
		return sp.EdgeOf[q] == sp.Item[slot]
	}
	for q := n; q != calltree.NoNode; q = sp.Table.Parent[q] {
		if is(q) {
			return true
		} else if !sp.Kind[slot].Total() {
			break
		}
	}
	return false
}

// Pure noise of many kinds of programs: findings stay within their level.
func TestNoiseGivesNoFindings(t *testing.T) {
	n, findings := 60, 0
	for seed := range uint64(n) {
		b := shop(100+seed, 16, 0, nil)
		b.metrics = nil
		findings += len(costs(find(t, put(t, b), Request{}).Findings))
	}
	if findings > 3 {
		t.Errorf("%d findings in %d clean benchmarks", findings, n)
	}
}

// Numbers of objects that are estimated from sizes are compared with a warning.
func TestWarnOfEstimates(t *testing.T) {
	numbers, sizes := service(8, nil), service(8, nil)
	numbers.typ = profile.ValueType{Name: profile.AllocSamples, Unit: "count"}
	sizes.typ = profile.ValueType{Name: profile.Alloc, Unit: "bytes", Period: 512 << 10}
	for i := range sizes.runs {
		for path := range sizes.runs[i] {
			sizes.runs[i][path] *= 512 << 10 / 100 // a hundredth of a sample for each object
		}
	}
	for name, st := range map[string]store.Store{"with sizes": put(t, numbers, sizes), "alone": put(t, numbers)} {
		q := store.Query{Types: []string{profile.AllocSamples}}
		res, err := Find(t.Context(), st, q, Request{})
		if err != nil || len(res.Benchmarks) != 1 {
			t.Fatal(res, err)
		}
		warned := slices.ContainsFunc(res.Benchmarks[0].Warnings, func(w string) bool { return strings.Contains(w, "estimated") })
		if warned != (name == "with sizes") {
			t.Errorf("%s: %q", name, res.Benchmarks[0].Warnings)
		}
	}
}
