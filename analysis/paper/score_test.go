package paper

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// bench is a benchmark with the samples of its runs by call path.
type bench struct {
	runs []map[string]int64
	edit func(i int, f *store.File) // changes what is put
}

// put stores a benchmark and returns the store.
func put(t testing.TB, b *bench) store.Store {
	t.Helper()
	st, forest := mem.New(), &calltree.Forest{}
	var files []*store.File
	for i, run := range b.runs {
		self, key := runtest.Vector(forest, run), fmt.Sprintf("r%03d", i)
		f := &store.File{Name: key, Benchmark: testrun.Benchmark{Group: "g", Name: "b"},
			Run: testrun.Run{Key: key, Date: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)},
			Records: []*store.Record{{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count"}, Forest: forest, Self: self,
				Samples: self.Sum(), Hash: profile.Hash{byte(i)}}}}
		if b.edit != nil {
			b.edit(i, f)
		}
		files = append(files, f)
	}
	runtest.Put(t, st, files...)
	return st
}

// shop has runs that differ by a sample.
func shop(runs int) *bench {
	b := &bench{}
	for i := range runs {
		b.runs = append(b.runs, map[string]int64{"main;work": 100 + int64(i%2), "main": 10})
	}
	return b
}

// The two candidates of the thesis's appendix B: ten runs with one sample in one of
// them and 7 now, and with one sample in two of them and 8 now.
func TestScoresGoldens(t *testing.T) {
	b := &bench{}
	for i := range 11 {
		run := map[string]int64{"main": 100 + int64(i)}
		switch {
		case i == 10:
			run["main;rare"], run["main;twice"], run["main;new"] = 7, 8, 9
		case i == 3:
			run["main;rare"], run["main;twice"] = 1, 1
		case i == 7:
			run["main;twice"] = 1
		}
		b.runs = append(b.runs, run)
	}
	st := put(t, b)
	for _, m := range []Measure{Total, Self, {potential: true, degree: 3}} {
		res, err := Scores(t.Context(), st, store.Query{}, ScoreRequest{Measure: m})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			function        string
			score, expected float64
			status          string
		}{{"rare", 21.8197, 0.1, ""}, {"twice", 18.4993, 0.2, ""}, {"new", 0, 0, "+"}} {
			i := slices.IndexFunc(res.Rows, func(r ScoreRow) bool { return r.Function == want.function })
			if i < 0 {
				t.Fatalf("no row of %s", want.function)
			}
			if r := res.Rows[i]; math.Abs(r.Score-want.score) > 1e-4 || math.Abs(r.Expected-want.expected) > 1e-12 || r.Status != want.status {
				t.Errorf("%v: %+v, want %+v", m, r, want)
			}
		}
		if res.Rows[0].Function != "rare" || res.Rows[1].Function != "twice" {
			t.Errorf("order: %s, %s", res.Rows[0].Function, res.Rows[1].Function)
		}
	}
}

func TestScoresNeedsTwoRunsBefore(t *testing.T) {
	res, err := Scores(t.Context(), put(t, shop(2)), store.Query{}, ScoreRequest{Measure: Total})
	if err != nil || len(res.Rows) != 0 || len(res.Warnings) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := Scores(t.Context(), put(t, shop(9)), store.Query{},
		ScoreRequest{Tests: history.Tests{Window: 1}, Measure: Total}); err == nil {
		t.Error("a window of one run")
	}
}

// A(0) → {A(1), B(1)}: potentials count a sample once per function.
func TestPotentials(t *testing.T) {
	b := &bench{runs: []map[string]int64{{"A;A": 1, "A;B": 1}}}
	st := put(t, b)
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for degree, want := range []float64{1, 2, 2} {
		values, err := measure(t.Context(), st, list, Measure{potential: true, degree: degree})
		if err != nil || values["A"][0] != want {
			t.Errorf("degree %d: %v %v, want %v", degree, values["A"], err, want)
		}
	}
}

func TestParseMeasure(t *testing.T) {
	for _, bad := range []string{"potential:", "potential:-1", "potential:x", "totals"} {
		if _, err := ParseMeasure(bad); err == nil {
			t.Errorf("%q is no measure", bad)
		}
	}
	if m, err := ParseMeasure("potential:2"); err != nil || m.degree != 2 || !m.potential {
		t.Errorf("%+v %v", m, err)
	}
}

// The history is the runs of the tested one's branch and machine, unless it is named.
func TestScoresHistory(t *testing.T) {
	b := &bench{edit: func(i int, f *store.File) {
		f.Run.Branch = []string{"main", "side"}[i%2]
		if i < 4 {
			f.Run.Machine = "old"
		}
	}}
	for i := range 15 { // main: 0, 2 … 14 with 10 or 11 samples, side: 1, 3 … 13 with 90
		b.runs = append(b.runs, map[string]int64{"work": []int64{10, 90, 11, 90}[i%4]})
	}
	b.runs[14] = map[string]int64{"work": 14}
	st := put(t, b)
	for _, c := range []struct {
		name     string
		tests    history.Tests
		expected float64
		series   int
	}{
		{"the run's own", history.Tests{}, 10.4, 6},
		{"window", history.Tests{Window: 3}, 31.0 / 3, 6},
		{"any branch", history.Tests{AnyBranch: true}, 50.2, 11},
		{"named branch", history.Tests{Filter: &store.Query{Branches: []string{"side"}}}, 90, 6},
		{"named machines", history.Tests{Filter: &store.Query{Branches: []string{"main"}, Machines: []string{"*"}}}, 73.0 / 7, 8},
	} {
		res, err := Scores(t.Context(), st, store.Query{}, ScoreRequest{Tests: c.tests, Measure: Total})
		if err != nil || len(res.Rows) != 1 || len(res.Series) != 1 {
			t.Fatalf("%s: %+v, %v", c.name, res, err)
		}
		if got := res.Rows[0].Expected; math.Abs(got-c.expected) > 1e-9 || len(res.Series[0].Profiles) != c.series {
			t.Errorf("%s: expected %v of %d runs, want %v of %d", c.name, got, len(res.Series[0].Profiles), c.expected, c.series)
		}
	}
	res, err := Scores(t.Context(), st, store.Query{},
		ScoreRequest{Measure: Total, Tests: history.Tests{Filter: &store.Query{Branches: []string{"nonexistent"}}}})
	if err != nil || len(res.Rows) != 0 || len(res.Warnings) != 1 {
		t.Errorf("a history of no run: %+v, %v", res, err)
	}
}
