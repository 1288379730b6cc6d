package evidence

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// putHistory puts runs of a program in which main calls a (which calls itself), b and others;
// the last two runs call a new function below b.
func putHistory(t *testing.T, runs int) store.Store {
	t.Helper()
	st := mem.New()
	for i := range runs {
		f := &calltree.Forest{}
		counts := map[string]int64{"main": 100, "main;a": 200 + int64(i%3), "main;a;a": 300, "main;b": 400 - int64(i%2)}
		for _, name := range []string{"c", "d", "e", "f", "g", "h"} {
			counts["main;"+name] = 200
		}
		if i >= runs-2 {
			counts["main;b;new"] = 100
		}
		rec := &store.Record{Type: profile.ValueType{Name: "cpu-samples", Unit: "count"}, Samples: 1, Forest: f, Self: runtest.Vector(f, counts)}
		rec.Hash[0] = byte(i)
		run := testrun.Run{Key: fmt.Sprintf("r%02d", i), Commit: "c", Date: time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC)}
		file := &store.File{Name: run.Key, Benchmark: testrun.Benchmark{Name: "bench"}, Run: run, Records: []*store.Record{rec},
			Metrics: []testrun.Metric{{Name: "time", Mean: 5 + float64(i), Unit: "ms", Primary: true}}}
		runtest.Put(t, st, file)
	}
	return st
}

func TestGather(t *testing.T) {
	ctx := context.Background()
	st := putHistory(t, 12)
	res, err := regression.Find(ctx, st, store.Query{}, regression.Request{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := Gather(ctx, st, res, Options{Candidates: 3})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	b := list[0]
	if len(b.Runs) != 12 || b.Runs[9].Tested || !b.Runs[10].Tested || !b.Runs[11].Tested {
		t.Errorf("runs %+v", b.Runs)
	}
	if b.Metric == nil || b.Metric.Values[3] != 8 || b.Metric.Band[3].Mean != 6 {
		t.Errorf("metric %+v", b.Metric)
	}
	c := b.Candidates[0]
	if c.Function != "b" || c.Finding == "" || c.Status != "" || math.Abs(c.Expected-400.0/2200) > 0.01 ||
		math.Abs(c.Actual-500.0/2200) > 0.01 {
		t.Errorf("candidate %+v", c)
	}
	if c.Contexts == nil || len(c.Contexts.Parents) == 0 {
		t.Errorf("no contexts of %+v", c)
	}
	// Functions are plotted on request, if the benchmark has them.
	list, err = Gather(ctx, st, res, Options{Candidates: -1, Functions: []string{"a", "nothing"}})
	if err != nil || len(list[0].Candidates) != 1 {
		t.Fatal(list[0].Candidates, err)
	}
	if c := list[0].Candidates[0]; c.Function != "a" || !c.Requested || c.Levels[0] != 500.0/2200 || c.Score > -20 {
		t.Errorf("requested %+v", c)
	}
	// A recursive function counts once, its self without what it calls.
	g := gatherer{Benchmark: &res.Benchmarks[0]}
	g.Profiles = profiles(t, st)
	levels := []*Candidate{{Function: "a", Levels: make([]float64, 12)}, {Function: "a", Self: true, Levels: make([]float64, 12)},
		{Function: "main", Levels: make([]float64, 12)},
		{Function: "main", Self: true, Levels: make([]float64, 12)}}
	if err := g.programLevels(ctx, st, levels); err != nil {
		t.Fatal(err)
	}
	if got := levels[0].Levels[0]; got != 500.0/2200 {
		t.Errorf("level of a %v, want 500/2200", got)
	}
	if got := levels[1].Levels[0]; got != 500.0/2200 {
		t.Errorf("self level of a %v, want 500/2200", got)
	}
	if got := levels[2].Levels[0]; got != 1 {
		t.Errorf("level of main %v, want 1", got)
	}
	if got := levels[3].Levels[0]; got != 100.0/2200 {
		t.Errorf("self level of main %v, want 100/2200", got)
	}
	// The paper's levels are totals.
	totals := []*Candidate{{Absolute: true, Function: "a", Levels: make([]float64, 12)},
		{Absolute: true, Function: "main", Levels: make([]float64, 12)}}
	if err := g.totals(ctx, st, totals); err != nil {
		t.Fatal(err)
	}
	if totals[0].Levels[0] != 500 || totals[1].Levels[0] != 2200 {
		t.Errorf("%+v, want 500 and 2200", totals)
	}
}

func profiles(t *testing.T, st store.Store) []store.Profile {
	t.Helper()
	list, err := st.Profiles(context.Background(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestGatherWithoutVerdict(t *testing.T) {
	ctx := context.Background()
	st := putHistory(t, 2)
	res, err := regression.Find(ctx, st, store.Query{}, regression.Request{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := Gather(ctx, st, res, Options{})
	if err != nil || len(list) != 1 || len(list[0].Runs) != 0 || list[0].Metric != nil {
		t.Errorf("%+v %v", list, err)
	}
}

// TestBand compares with the definition, run by run.
func TestBand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Float64Range(0, 100)).Draw(t, "values")
		window := rapid.IntRange(1, 12).Draw(t, "window")
		counts := func(v float64) bool { return v >= 10 }
		for i, got := range Band(values, window, counts) {
			var before []float64
			for _, v := range values[:i] {
				if counts(v) {
					before = append(before, v)
				}
			}
			before = before[max(0, len(before)-window):]
			if len(before) == 0 && counts(values[i]) {
				before = values[i : i+1]
			}
			var want Level
			for _, v := range before {
				want.Mean += v / float64(len(before))
			}
			for _, v := range before {
				if len(before) > 1 {
					want.Deviation += (v - want.Mean) * (v - want.Mean) / float64(len(before)-1)
				}
			}
			want.Deviation = math.Sqrt(want.Deviation)
			if math.Abs(got.Mean-want.Mean) > 1e-9 || math.Abs(got.Deviation-want.Deviation) > 1e-6 {
				t.Fatalf("run %d: %+v, want %+v", i, got, want)
			}
		}
	})
}
