package change

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// grown multiplies the samples of a path in a night.
type grown func(night int, path string) float64

// steps returns a picture of changes: path, factor, first night, first night after.
func steps(list ...step) grown {
	return func(night int, path string) float64 {
		factor := 1.0
		for _, s := range list {
			if s.path == path && night >= s.from && (s.to == 0 || night < s.to) {
				factor *= s.factor
			}
		}
		return factor
	}
}

type step struct {
	path     string
	factor   float64
	from, to int
}

// files are the nights of a program, with operations and a metric.
func files(seed uint64, nights int, g grown) []*store.File {
	r := rand.New(rand.NewPCG(seed, 1))
	expect := map[string]float64{"main;load;parse": 300, "main;load;parse;token": 220, "main;load;read": 250, "main;load": 20,
		"main;query;plan": 150, "main;query;scan": 520,
		"main;query;scan;filter": 310, "main;query;join": 330, "main;query;join;hash": 190, "main;write;encode": 260, "main;write;flush": 120,
		"main;write;encode;copy": 150, "main;log;format": 90, "main;log": 60, "main;gc": 70, "main;query;scan;token": 100}
	forest := &calltree.Forest{}
	for _, path := range slices.Sorted(maps.Keys(expect)) { // paths do not depend on the order of imports
		runtest.Vector(forest, map[string]int64{path: 1})
	}
	var list []*store.File
	for i := range nights {
		run := map[string]int64{}
		machine, sum := math.Exp(0.02*r.NormFloat64()), 0.0
		for _, path := range slices.Sorted(maps.Keys(expect)) {
			x := expect[path] * machine * math.Exp(0.03*r.NormFloat64()) * g(i, path)
			x += math.Sqrt(x) * r.NormFloat64()
			run[path] = int64(max(0, x))
			sum += x
		}
		self := runtest.Vector(forest, run)
		key := fmt.Sprintf("n%03d", i)
		f := &store.File{Name: key, Benchmark: testrun.Benchmark{Group: "g", Name: "b"},
			Run: testrun.Run{Key: key, Date: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Commit: fmt.Sprintf("%040x", i)},
			Metrics: []testrun.Metric{{Name: "time", Mean: sum / 10, Unit: "ns/op", Better: testrun.Lower, Primary: true},
				testrun.NewOperations(1000, false)},
			Records: []*store.Record{{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count"}, Forest: forest, Self: self,
				Samples: self.Sum(), Hash: profile.Hash{byte(i), byte(seed)}}}}
		list = append(list, f)
	}
	return list
}

// line returns the only line of a store.
func line(t testing.TB, st store.Reader) *history.Series {
	t.Helper()
	list, err := st.Profiles(context.Background(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	lines := Lines(list)
	if len(lines) != 1 {
		t.Fatalf("%d lines", len(lines))
	}
	return &lines[0]
}

func stored(t testing.TB, list []*store.File) store.Store {
	t.Helper()
	st := mem.New()
	runtest.Put(t, st, list...)
	return st
}

func judgeAll(t testing.TB, st store.Reader, prev *Verdict) *Verdict {
	t.Helper()
	v, err := Judge(context.Background(), st, line(t, st), prev, regression.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// night judges the first n nights.
func night(t testing.TB, list []*store.File, n int) *Verdict {
	t.Helper()
	return judgeAll(t, stored(t, list[:n]), nil)
}

func TestLifeOfAChange(t *testing.T) {
	list := files(1, 40, steps(step{"main;query;scan;filter", 2, 15, 30}))
	v := night(t, list, 15)
	if v.Status != Unchanged || len(v.Changes) != 0 || v.Detectable <= 0 || v.Detectable > 0.1 {
		t.Fatalf("before: %+v", v)
	}
	v = night(t, list, 16)
	if v.Status != Slower || len(v.Changes) != 1 || v.Changes[0].State != Suspect {
		t.Fatalf("first night: %+v", v)
	}
	id := v.Changes[0].ID
	for n := 17; n <= 30; n++ {
		v = night(t, list, n)
		if v.Status != Slower || len(v.Changes) != 1 {
			t.Fatalf("night %d: %s %+v", n, v.Status, v.Changes)
		}
		c := v.Changes[0]
		if c.State != Confirmed || c.ID != id || c.Onset.Run.Run != "n015" || c.Onset.LastGood.Run != "n014" || c.Seen.Run != "n015" ||
			c.Runs != n-15 {
			t.Errorf("night %d: %+v", n, c)
		}
		if s := c.Finding.Delta.Share; s < 0.07 || s > 0.13 || c.Finding.Function != "filter" || c.Explains < 0.5 || c.Explains > 1.7 {
			t.Errorf("night %d: %s by %.3f, explains %.2f of %+v", n, c.Finding.Function, s, c.Explains, c.Program)
		}
	}
	v = night(t, list, 33)
	if v.Status != Unchanged || len(v.Open()) != 0 || len(v.Changes) != 1 || v.Changes[0].State != Ended || v.Changes[0].End.Run != "n030" ||
		v.Changes[0].ID != id {
		t.Errorf("three nights after: %s %+v", v.Status, v.Changes)
	}
	if v = night(t, list, 40); len(v.Changes) != 1 || v.Changes[0].End.Run != "n030" {
		t.Errorf("at the end: %+v", v.Changes)
	}
}

// TestSecondChange: one on top of another is found as its own, and its end leaves the first.
func TestSecondChange(t *testing.T) {
	list := files(2, 45, steps(step{"main;query;scan;filter", 2, 15, 0}, step{"main;write;encode", 2, 25, 35}))
	v := night(t, list, 30)
	if len(v.Open()) != 2 || v.Changes[0].Finding.Function != "encode" || v.Changes[0].Onset.Run.Run != "n025" ||
		v.Changes[1].Onset.Run.Run != "n015" {
		t.Fatalf("%+v", v.Changes)
	}
	v = night(t, list, 45)
	if len(v.Open()) != 1 || v.Changes[0].Finding.Function != "filter" || len(v.Changes) != 2 || v.Changes[1].End.Run != "n035" {
		t.Errorf("%+v", v.Changes)
	}
}

// TestOnTop: a second change on top of a first has its own onset and size, however soon it comes; sooner
// than a level has enough runs, changes of one place are one, named by the place of both.
func TestOnTop(t *testing.T) {
	const filter, scan = "main;query;scan;filter", "main;query;scan"
	for _, c := range []struct {
		second string
		nights int // between the onsets
		want   string
	}{
		{filter, 3, "filter +28% n012"},
		{filter, 5, "filter +18% n017, filter +10% n012"},
		{filter, 6, "filter +18% n018, filter +10% n012"},
		{filter, 12, "filter +18% n024, filter +10% n012"},
		{scan, 3, "scan +26% n012"},
		{scan, 5, "scan +14% n017, filter +10% n012"},
		{"main;write;encode", 1, "encode +9% n013, filter +8% n012"},
		{"main;write;encode", 5, "encode +6% n017, filter +10% n012"},
	} {
		v := night(t, files(1, 30, steps(step{filter, 2, 12, 0}, step{c.second, 2, 12 + c.nights, 0})), 30)
		var list []string
		for _, x := range v.Open() {
			list = append(list, fmt.Sprintf("%s %+.0f%% %s", x.Finding.Function, 100*x.Finding.Delta.Share, x.Onset.Run.Run))
		}
		if got := strings.Join(list, ", "); got != c.want {
			t.Errorf("%s after %d nights: %s, want %s", c.second, c.nights, got, c.want)
		}
	}
}

// TestOneNight: a suspect that the next run does not repeat is withdrawn.
func TestOneNight(t *testing.T) {
	list := files(3, 20, steps(step{"main;query;scan;filter", 2, 15, 16}))
	if v := night(t, list, 16); len(v.Open()) != 1 || v.Changes[0].State != Suspect {
		t.Fatalf("%+v", v.Changes)
	}
	if v := night(t, list, 17); len(v.Changes) != 0 || v.Status != Unchanged {
		t.Errorf("%+v", v.Changes)
	}
}

// TestGain: an improvement is open until it is lost, which is a regression of its own.
func TestGain(t *testing.T) {
	list := files(4, 40, steps(step{"main;query;scan;filter", 0.3, 15, 30}))
	if v := night(t, list, 20); v.Status != Faster || len(v.Open()) != 1 || v.Changes[0].Costs() || v.Changes[0].State != Confirmed {
		t.Fatalf("%s %+v", v.Status, v.Changes)
	}
	v := night(t, list, 35)
	if v.Status != Slower || len(v.Open()) != 1 || !v.Changes[0].Costs() || v.Changes[0].Onset.Run.Run != "n030" || len(v.Changes) != 2 ||
		v.Changes[1].End.Run != "n030" {
		t.Errorf("%s %+v", v.Status, v.Changes)
	}
}

// TestWeather: nights in which all code takes longer are the machine's, unless they last.
func TestWeather(t *testing.T) {
	slow := func(from, to int) []*store.File {
		list := files(6, 30, steps())
		for i, f := range list {
			f.Metrics = f.Metrics[:1] // without operations
			f.Metrics[0].Mean = 100 * (1 + 0.01*float64(i%3))
			if i >= from && i < to {
				f.Metrics[0].Mean *= 1.3
			}
		}
		return list
	}
	v := night(t, slow(20, 21), 21)
	if v.Status != Machine || v.Weather == nil || v.Weather.Factor < 1.2 || v.Weather.Factor > 1.4 || len(v.Open()) != 0 {
		t.Errorf("%s %+v %+v", v.Status, v.Weather, v.Changes)
	}
	v = night(t, slow(20, 21), 23)
	if v.Weather != nil || slices.ContainsFunc(v.Changes, func(c Change) bool { return c.Finding.Kind == regression.Slowdown }) {
		t.Errorf("after: %+v %+v", v.Weather, v.Changes)
	}
	v = night(t, slow(20, 30), 25)
	if v.Status != Slower || len(v.Open()) != 1 || v.Changes[0].Finding.Kind != regression.Slowdown || v.Changes[0].Onset.Run.Run != "n020" {
		t.Errorf("it lasts: %s %+v", v.Status, v.Changes)
	}
}

// TestAmounts: live bytes have changes of the whole amount, steps and growth.
func TestAmounts(t *testing.T) {
	live := func(of ...int64) []*store.File {
		list := files(7, len(of), steps())
		for i, f := range list {
			rec := f.Records[0]
			rec.Type = profile.NamedType(profile.Live)
			rec.Self = runtest.Vector(rec.Forest, map[string]int64{"main;load;parse": of[i], "main;log": 100000})
			rec.Samples = rec.Self.Sum()
		}
		return list
	}
	v := night(t, live(500000, 510000, 490000, 505000, 500000, 495000, 900000, 910000, 905000), 9)
	if v.Status != Slower || len(v.Open()) != 1 || v.Changes[0].State != Confirmed || v.Changes[0].Onset.Run.Run != "n006" ||
		v.Changes[0].Runs != 3 {
		t.Fatalf("a step: %s %+v", v.Status, v.Changes)
	}
	v = night(t, live(500000, 510000, 490000, 505000, 500000, 495000, 900000, 910000, 905000, 500000, 505000), 11)
	if v.Status != Unchanged || len(v.Changes) != 1 || v.Changes[0].End.Run != "n009" {
		t.Errorf("its end: %s %+v", v.Status, v.Changes)
	}
	grows := []int64{500001, 600007, 700003, 800009, 900001, 1000003, 1100009}
	v = night(t, live(grows...), 7)
	if v.Status != Slower || len(v.Open()) != 1 || !v.Changes[0].Drifts || v.Changes[0].State != Confirmed {
		t.Fatalf("growth: %s %+v", v.Status, v.Changes)
	}
	snapshots := func(of ...int64) []*store.File {
		list := live(of...)
		for _, f := range list {
			f.Run.Attributes = map[string]string{regression.ProcessAttribute: "7"}
		}
		return list
	}
	// Of unrelated runs this growth is not sure enough, of snapshots of one process it is.
	few := []int64{250000, 300000, 290000, 360000, 355000, 400000}
	if v = night(t, live(few...), 6); len(v.Open()) != 0 {
		t.Errorf("little growth of runs: %+v", v.Changes)
	}
	if v = night(t, snapshots(few...), 6); len(v.Open()) != 1 || v.Changes[0].State != Confirmed ||
		v.Changes[0].Finding.Kind != regression.Leak || !v.Changes[0].Drifts {
		t.Errorf("a leak: %+v", v.Changes)
	}
	v = night(t, live(grows...), 7)
	id := v.Changes[0].ID
	if v = night(t, live(append(grows, 1200000, 1300000)...), 9); len(v.Open()) != 1 || v.Changes[0].ID != id {
		t.Errorf("more growth: %+v", v.Changes)
	}
	if v = night(t, live(append(grows, 1200000, 500000)...), 9); len(v.Open()) != 0 || v.Changes[0].End.Run != "n008" {
		t.Errorf("the end of growth: %+v", v.Changes)
	}
}

func TestTooFew(t *testing.T) {
	list := files(5, 4, steps())
	if v := night(t, list, 3); v.Status != TooFew || v.Reason != "too few runs: 3 of 4" {
		t.Errorf("%+v", v)
	}
	if v := night(t, list, 4); v.Status != Unchanged {
		t.Errorf("%+v", v)
	}
}

// TestContinues: a verdict continued with the runs that came since, through JSON, equals that of all
// runs, and does not depend on the order of imports.
func TestContinues(t *testing.T) {
	paths := []string{"main;query;scan;filter", "main;write;encode", "main;load;parse", "main;log"}
	rapid.Check(t, func(t *rapid.T) {
		var changes []step
		nights := rapid.IntRange(5, 30).Draw(t, "nights")
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			from := rapid.IntRange(3, nights).Draw(t, "from")
			changes = append(changes, step{rapid.SampledFrom(paths).Draw(t, "path"), rapid.Float64Range(0.5, 2).Draw(t, "factor"), from,
				from + rapid.IntRange(1, 20).Draw(t, "lasts")})
		}
		list := files(rapid.Uint64Range(0, 200).Draw(t, "seed"), nights, steps(changes...))
		ctx := context.Background()
		put := func(list []*store.File) (store.Store, *history.Series) {
			st := mem.New()
			if _, err := st.Put(ctx, list, store.PutOptions{Rules: "test"}); err != nil {
				t.Fatal(err)
			}
			all, err := st.Profiles(ctx, store.Query{})
			if err != nil {
				t.Fatal(err)
			}
			return st, &Lines(all)[0]
		}
		shuffled := slices.Clone(list)
		rand.New(rand.NewPCG(uint64(nights), 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		st, s := put(shuffled)
		want, err := Judge(ctx, st, s, nil, regression.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var v *Verdict
		for n := 0; n < nights; {
			n = min(nights, n+rapid.IntRange(1, 6).Draw(t, "new nights"))
			st, s := put(list[:n])
			if v, err = Judge(ctx, st, s, v, regression.Options{}); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			v = &Verdict{}
			if err := json.Unmarshal(text, v); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := json.Marshal(v)
		all, _ := json.Marshal(want)
		if string(got) != string(all) {
			t.Fatalf("continued\n%s\nfrom nothing\n%s", got, all)
		}
		if !Current(v, s, regression.Options{}) || Current(v, s, regression.Options{Alpha: 0.1}) {
			t.Fatal("not current, or of other options too")
		}
	})
}

// TestVerdictAsJSON: nothing that continues a verdict is lost.
func TestVerdictAsJSON(t *testing.T) {
	v := night(t, files(1, 20, steps(step{"main;query;scan;filter", 2, 15, 30})), 20)
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back Verdict
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(text) || !reflect.DeepEqual(back.Walk, v.Walk) || len(back.Changes[0].Rows) == 0 {
		t.Errorf("%v\n%s\n%s", err, text, again)
	}
}

// TestFirstRuns: a step that too few runs are before is no change, and the verdict says which runs differ until they are
// compared with no more.
func TestFirstRuns(t *testing.T) {
	for _, at := range []int{0, 1, 2} {
		list := files(1, 12, steps(step{"main;query;scan;filter", 2, at, 0}))
		for n, want := range map[int]int{5: 0, 6: at, 12: at} {
			if v := night(t, list, n); v.Status != Unchanged || len(v.Changes) != 0 || v.Before != want || v.Standing(nil).Before != want {
				t.Errorf("step at run %d, after %d runs: %s, %d changes, %d first runs differ, want %d", at, n, v.Status, len(v.Changes), v.Before, want)
			}
		}
		if v := judgeAll(t, stored(t, list), night(t, list, 8)); v.Before != at {
			t.Errorf("step at run %d, continued: %d first runs differ", at, v.Before)
		}
	}
}
