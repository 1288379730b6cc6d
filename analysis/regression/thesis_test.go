package regression

import (
	"math"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/store"
)

// The two candidates of the thesis's appendix B: ten runs with one sample in one of
// them and 7 now, and with one sample in two of them and 8 now.
func TestThesisGoldens(t *testing.T) {
	b := &bench{group: "g", name: "b"}
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
		res, err := Thesis(t.Context(), st, store.Query{}, m, Request{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			function        string
			score, expected float64
			status          string
		}{{"rare", 21.8197, 0.1, ""}, {"twice", 18.4993, 0.2, ""}, {"new", 0, 0, "+"}} {
			i := slices.IndexFunc(res.Rows, func(r ThesisRow) bool { return r.Function == want.function })
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

func TestThesisNeedsTwoRunsBefore(t *testing.T) {
	res, err := Thesis(t.Context(), put(t, shop(1, 2, 0, nil)), store.Query{}, Total, Request{})
	if err != nil || len(res.Rows) != 0 || len(res.Warnings) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := Thesis(t.Context(), put(t, shop(1, 9, 0, nil)), store.Query{}, Total, Request{Window: 1}); err == nil {
		t.Error("a window of one run")
	}
}

// A(0) → {A(1), B(1)}: potentials count a sample once per function.
func TestPotentials(t *testing.T) {
	b := &bench{name: "b", runs: []map[string]int64{{"A;A": 1, "A;B": 1}}}
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
func TestThesisHistory(t *testing.T) {
	b := &bench{name: "b", edit: func(i int, f *store.File) {
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
		req      Request
		expected float64
		series   int
	}{
		{"the run's own", Request{}, 10.4, 6},
		{"window", Request{Window: 3}, 31.0 / 3, 6},
		{"any branch", Request{AnyBranch: true}, 50.2, 11},
		{"named branch", Request{History: &store.Query{Branches: []string{"side"}}}, 90, 6},
		{"named machines", Request{History: &store.Query{Branches: []string{"main"}, Machines: []string{"*"}}}, 73.0 / 7, 8},
	} {
		res, err := Thesis(t.Context(), st, store.Query{}, Total, c.req)
		if err != nil || len(res.Rows) != 1 || len(res.Series) != 1 {
			t.Fatalf("%s: %+v, %v", c.name, res, err)
		}
		if got := res.Rows[0].Expected; math.Abs(got-c.expected) > 1e-9 || len(res.Series[0].Profiles) != c.series {
			t.Errorf("%s: expected %v of %d runs, want %v of %d", c.name, got, len(res.Series[0].Profiles), c.expected, c.series)
		}
	}
	res, err := Thesis(t.Context(), st, store.Query{}, Total, Request{History: &store.Query{Branches: []string{"nonexistent"}}})
	if err != nil || len(res.Rows) != 0 || len(res.Warnings) != 1 {
		t.Errorf("a history of no run: %+v, %v", res, err)
	}
}
