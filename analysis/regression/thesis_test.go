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
		res, err := Thesis(t.Context(), st, store.Query{}, m, 0)
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
	res, err := Thesis(t.Context(), put(t, shop(1, 2, 0, nil)), store.Query{}, Total, 0)
	if err != nil || len(res.Rows) != 0 || len(res.Warnings) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := Thesis(t.Context(), put(t, shop(1, 9, 0, nil)), store.Query{}, Total, 1); err == nil {
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
