package judge

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/test/runtest"
)

// The history of a function has amounts beside shares.
func TestHistoryOfFunctionHasAmounts(t *testing.T) {
	for name, tt := range map[string]struct {
		run  runtest.Run
		want string // value, unit, cost, its unit, share
	}{
		"a heap":              {runtest.Run{Type: "live", Stacks: "main;put 300, main 100", Metric: 8, Operations: 5}, "300 bytes <nil>  0.75"},
		"CPU per operation":   {runtest.Run{Type: "cpu", Stacks: "main;put 300, main 100", Metric: 8, Operations: 100}, "0.75 share 3 ns/op <nil>"},
		"bytes per operation": {runtest.Run{Type: "alloc", Stacks: "main;put 300, main 100", Operations: 100}, "0.75 share 3 B/op <nil>"},
		"of the metric":       {runtest.Run{Type: "cpu", Stacks: "main;put 300, main 100", Metric: 8}, "0.75 share 6 ms <nil>"},
		"without a metric":    {runtest.Run{Type: "cpu", Stacks: "main;put 300, main 100"}, "0.75 share 300 nanoseconds <nil>"},
		"without, of a count": {runtest.Run{Type: "lock-samples", Stacks: "main;put 300, main 100"}, "0.75 share 300 lock-samples <nil>"},
	} {
		tt.run.Benchmark = "a"
		res, err := History(t.Context(), runtest.Store(t, tt.run), &HistoryRequest{Function: "put", Window: 10})
		if err != nil || len(res.Series) != 1 {
			t.Fatalf("%s: %v, %+v", name, err, res)
		}
		text := func(v *float64) string {
			if v == nil {
				return "<nil>"
			}
			return fmt.Sprint(*v)
		}
		s := &res.Series[0]
		x := &s.Runs[0]
		if got := fmt.Sprintf("%s %s %s %s %s", text(x.Value), s.Unit, text(x.Cost), s.CostUnit, text(x.Share)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// The changes of a history are those of the list: of a function those on whose call path it is. A
// function whose share grows while its cost per operation does not is not slower.
func TestHistoryHasTheChanges(t *testing.T) {
	var runs []runtest.Run
	for i := range 14 {
		plan := 60
		if i >= 8 {
			plan = 20
		}
		n := i % 3
		runs = append(runs, runtest.Run{Benchmark: "a", Operations: 100, Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d, main;sort %d", 1000+n, 1000-n, 100*plan+n, 700+2*n, 500-2*n)})
	}
	st := runtest.Store(t, runs...)
	list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
	if err != nil || len(list.Findings) != 1 || list.Findings[0].Function != "plan" || list.Findings[0].Kind.Costs() {
		t.Fatalf("%+v %v", list, err)
	}
	for function, n := range map[string]int{"": 1, "plan": 1, "main": 1, "parse": 0, "load": 0} {
		res, err := History(t.Context(), st, &HistoryRequest{Function: function, Amount: function == "", Window: 10})
		if err != nil || len(res.Series) != 1 {
			t.Fatal(res, err)
		}
		s := &res.Series[0]
		if len(s.Changes) != n || n > 0 && (s.Changes[0].ID != list.Findings[0].ID || s.Changes[0].Delta.Share != list.Findings[0].Delta.Share) {
			t.Errorf("%q: %+v", function, s.Changes)
		}
		last := &s.Runs[len(s.Runs)-1]
		if function == "parse" && (!s.CostBand || *last.Value < 1.5**s.Runs[0].Value || math.Abs(*last.Cost/last.CostMean-1) > 0.01) {
			t.Errorf("the share of parse grows, and its cost does not: %+v", last)
		}
	}
}

// The text of a history says of a change that one run shows that it is a suspect, as all surfaces do.
func TestHistoryOfSuspects(t *testing.T) {
	for _, slow := range []int{1, 3} {
		var runs []runtest.Run
		for i := range 14 {
			plan := 200 + i%3
			if i >= 14-slow {
				plan *= 3
			}
			runs = append(runs, runtest.Run{Benchmark: "a", Operations: 100,
				Stacks: fmt.Sprintf("main;load 1000, main;plan %d, main;join 700, main;sort 500", plan)})
		}
		res, err := History(t.Context(), runtest.Store(t, runs...), &HistoryRequest{Amount: true, Window: 10})
		if err != nil || len(res.Series) != 1 {
			t.Fatal(res, err)
		}
		var b strings.Builder
		if err := res.Table(true).Print(&table.Output{W: &b, Err: io.Discard, Format: "tsv"}); err != nil {
			t.Fatal(err)
		}
		want := map[int]string{1: "\tslower, suspect\t", 3: "\tslower\t"}[slow]
		if strings.Count(b.String(), "\tslower") != 1 || !strings.Contains(b.String(), want) {
			t.Errorf("%d slow runs: no %q in\n%s", slow, want, &b)
		}
	}
}

// The amount of a value type is per operation where the operations are known.
func TestHistoryOfAmounts(t *testing.T) {
	for name, tt := range map[string]struct {
		run  runtest.Run
		want string
	}{
		"a heap":              {runtest.Run{Type: "live", Stacks: "main 400", Metric: 8, Operations: 5}, "live 400 bytes"},
		"bytes per operation": {runtest.Run{Type: "alloc", Stacks: "main 400", Metric: 8, Operations: 100}, "alloc/op 4 B/op"},
		"bytes per run":       {runtest.Run{Type: "alloc", Stacks: "main 400"}, "alloc 400 bytes"},
		"a count":             {runtest.Run{Type: "goroutines", Stacks: "main 4"}, "goroutines 4 goroutines"},
	} {
		tt.run.Benchmark = "a"
		res, err := History(t.Context(), runtest.Store(t, tt.run), &HistoryRequest{Amount: true, Window: 10})
		if err != nil || len(res.Series) != 1 {
			t.Fatalf("%s: %v, %+v", name, err, res)
		}
		s := &res.Series[0]
		if got := fmt.Sprintf("%s %v %s", s.Metric, *s.Runs[0].Value, s.Unit); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	if _, err := History(t.Context(), runtest.Store(t, runtest.Run{Benchmark: "a", Type: "cpu", Stacks: "main 1"}),
		&HistoryRequest{Amount: true, Function: "main"}); err == nil {
		t.Error("a function beside the whole program is accepted")
	}
}

// A glob names one function; what is not in the series is in a note, with the branches.
func TestHistoryOfGlobs(t *testing.T) {
	run := func(branch string) runtest.Run {
		return runtest.Run{Branch: branch, Benchmark: "a", Type: "cpu", Stacks: "main;cart.total 3, main;cart.tax 1"}
	}
	st := runtest.Store(t, run("main"), run("topic"), run("main"))
	res, err := History(t.Context(), st, &HistoryRequest{Function: "cart.to*", Window: 10})
	if err != nil || res.Function != "cart.total" || len(res.Series) != 1 || len(res.Series[0].Runs) != 2 {
		t.Fatalf("%v, %+v", err, res)
	}
	if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "runs omitted: 1 of another branch (topic; --branch selects one)") {
		t.Errorf("notes %q", res.Notes)
	}
	if _, err := History(t.Context(), st, &HistoryRequest{Function: "cart.*", Window: 10}); err == nil ||
		!strings.Contains(err.Error(), "matches 2 functions, name one: cart.tax, cart.total") {
		t.Errorf("several: %v", err)
	}
	if _, err := History(t.Context(), st, &HistoryRequest{Function: "nothing*", Window: 10}); err == nil {
		t.Error("a glob without a function is accepted")
	}
}
