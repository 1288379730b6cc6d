package trees

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// A diff compares amounts per operation if the operations of all profiles are known and
// grow with the values.
func TestDiffByOperation(t *testing.T) {
	base, head := runtest.Run{Benchmark: "a", Stacks: "main;load 60, main;query 20", Operations: 20},
		runtest.Run{Benchmark: "a", Stacks: "main;load 30, main;query 20", Operations: 10}
	unknown := runtest.Run{Benchmark: "a", Stacks: "main;load 5"}
	for name, tt := range map[string]struct {
		runs []runtest.Run
		typ  string
		by   string
		want string
		root [2]float64
		err  string
	}{
		"default":        {runs: []runtest.Run{base, head}, want: "operation", root: [2]float64{4, 5}},
		"several runs":   {runs: []runtest.Run{base, base, head}, want: "operation", root: [2]float64{4, 5}},
		"by profile":     {runs: []runtest.Run{base, head}, by: "profile", want: "profile", root: [2]float64{80, 50}},
		"one is unknown": {runs: []runtest.Run{base, unknown, head}, want: "profile", root: [2]float64{42.5, 50}},
		"a heap":         {runs: []runtest.Run{base, head}, typ: "live", want: "profile", root: [2]float64{80, 50}},
		"asked in vain":  {runs: []runtest.Run{base, unknown}, by: "operation", err: "--operations N"},
	} {
		for i := range tt.runs {
			tt.runs[i].Type = tt.typ
		}
		r := &DiffRequest{By: tt.by}
		r.Selection.Last = 1
		got, err := Diff(t.Context(), runtest.Store(t, tt.runs...), r)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		root := [2]float64{got.RootTotal.Base.Value(), got.RootTotal.Head.Value()}
		notes := strings.Join(got.Notes, "; ")
		if got.By != tt.want || root != tt.root || strings.Contains(notes, "compared per operation") != (tt.want == "operation") {
			t.Errorf("%s: by %s, root %v, notes %s", name, got.By, root, notes)
		}
	}
}

// TestDiffOfTwoTypes: the time that a function waits is what it takes more of wall time than
// of CPU time; what only waits is new, and no renamed function.
func TestDiffOfTwoTypes(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Type: "cpu", Stacks: "main;parse 600, main;poll 150", Operations: 10},
		runtest.Run{Benchmark: "a", Type: "wall", Stacks: "main;parse 610, main;read 160, main;lock 900", Operations: 10},
		runtest.Run{Benchmark: "a", Type: "alloc", Stacks: "main;parse 7"},
	)
	r := &DiffRequest{Base: Side{Type: "cpu"}, Head: Side{Type: "wall"}}
	d, err := Diff(t.Context(), st, r)
	if err != nil {
		t.Fatal(err)
	}
	waits := map[string]float64{}
	for row := range d.Rows.All() {
		waits[row.Function] = row.Total.Delta.Value()
		if row.BaseName != "" {
			t.Errorf("%s was %s", row.Function, row.BaseName)
		}
	}
	want := map[string]float64{"main": 92, "parse": 1, "poll": -15, "read": 16, "lock": 90}
	if !maps.Equal(waits, want) || d.Type != "cpu against wall" || d.By != byOperation {
		t.Errorf("%s by %s: %v, want %v", d.Type, d.By, waits, want)
	}
	for name, tt := range map[string]struct {
		r    DiffRequest
		want string
	}{
		"other units": {DiffRequest{Base: Side{Type: "cpu"}, Head: Side{Type: "alloc"}}, "cannot be compared"},
		"no such":     {DiffRequest{Base: Side{Type: "cpu"}, Head: Side{Type: "live"}}, "live"},
		"a band":      {DiffRequest{Base: Side{Type: "cpu"}, Head: Side{Type: "wall"}, Against: "history"}, "--type in place of"},
	} {
		if _, err := Diff(t.Context(), st, &tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestDiffKnowsRenamesOfSiblings: a rename that another benchmark of the same sides shows is
// one of a benchmark with few samples.
func TestDiffKnowsRenamesOfSiblings(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "small", Branch: "main", Stacks: "main;push 4, main;sort 9"},
		runtest.Run{Benchmark: "small", Branch: "pull", Stacks: "main;pushValue 5, main;sort 9"},
		runtest.Run{Benchmark: "large", Branch: "main", Stacks: "main;push 400, main;sort 900"},
		runtest.Run{Benchmark: "large", Branch: "pull", Stacks: "main;pushValue 400, main;sort 900"},
	)
	r := &DiffRequest{Base: Side{Branches: []string{"main"}}, Head: Side{Branches: []string{"pull"}}}
	r.Benchmarks = []string{"small"}
	d, err := Diff(t.Context(), st, r)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for i := range d.Rows.Len() {
		row := d.Rows.At(i)
		found = found || row.Function == "pushValue" && row.BaseName == "push" && row.Presence == ""
	}
	if !found || len(d.Notes) == 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "push → pushValue") {
		t.Errorf("%+v, notes %q", d.Rows, d.Notes)
	}
}

// TestDiffKnowsInlinedOfSiblings: a function that another benchmark of the same sides shows to
// be inlined is so in a benchmark with few samples, and where nothing vanished nothing is said.
func TestDiffKnowsInlinedOfSiblings(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "small", Branch: "main", Stacks: "main;sort 9, main;sort;less 3"},
		runtest.Run{Benchmark: "small", Branch: "pull", Stacks: "main;sort 12"},
		runtest.Run{Benchmark: "other", Branch: "main", Stacks: "main;read 30"},
		runtest.Run{Benchmark: "other", Branch: "pull", Stacks: "main;read 40"},
		runtest.Run{Benchmark: "large", Branch: "main", Stacks: "main;sort 500, main;sort;less 400"},
		runtest.Run{Benchmark: "large", Branch: "pull", Stacks: "main;sort 910"},
	)
	for benchmark, want := range map[string]bool{"small": true, "large": true, "other": false} {
		r := &DiffRequest{Base: Side{Branches: []string{"main"}}, Head: Side{Branches: []string{"pull"}}}
		r.Benchmarks = []string{benchmark}
		d, err := Diff(t.Context(), st, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(d.Notes, "\n"), "less into sort"); got != want {
			t.Errorf("%s: notes %q", benchmark, d.Notes)
		}
	}
}

// TestDiffOfTheFirstRun has nothing to compare with: that is no failure of a server.
func TestDiffOfTheFirstRun(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "main 5"})
	_, err := Diff(t.Context(), st, &DiffRequest{Against: "history"})
	if !errors.Is(err, store.ErrNothing) || !strings.Contains(err.Error(), "none before") {
		t.Errorf("error %v", err)
	}
}
