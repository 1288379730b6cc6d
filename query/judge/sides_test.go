package judge

import (
	"slices"
	"testing"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/test/runtest"
)

// Runs recorded in turns have two sides only if they are named.
func TestRegressionsOfSides(t *testing.T) {
	base := runtest.Run{Benchmark: "a", Branch: "main", Stacks: "main;load 1000, main;query 1000"}
	head := runtest.Run{Benchmark: "a", Branch: "fix", Stacks: "main;load 1000, main;query 2000"}
	var runs []runtest.Run
	for i := range 6 {
		noise := []string{"", ", main;load 9", ", main;query 11"}[i%3]
		b, h := base, head
		b.Stacks, h.Stacks = b.Stacks+noise, h.Stacks+noise
		runs = append(runs, b, h)
	}
	ask := func(s Sides, last int) *RegressionsResult {
		t.Helper()
		r := &RegressionsRequest{Sides: s, Selection: query.Selection{Last: last}}
		r.Judging.MinShare = 0.001
		res, err := Regressions(t.Context(), runtest.Store(t, runs...), r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := ask(Sides{Base: "main", Head: "fix"}, 0)
	if len(res.Findings) != 1 || res.Findings[0].Function != "query" || len(res.Notes) == 0 {
		t.Errorf("findings of named sides: %+v, notes %q", res.Findings, res.Notes)
	}
	res = ask(Sides{Base: "main", Head: "fix"}, 2) // of the head
	if a := res.Benchmarks[0].Analyses; len(a) != 1 || len(a[0].Tested) != 2 || len(a[0].History) != 6 {
		t.Errorf("the newest two runs of the head are not tested against all of the base: %+v, notes %q", a, res.Notes)
	}
	if res := ask(Sides{}, 0); len(res.Findings) > 0 {
		t.Errorf("findings of the head's own branch: %+v", res.Findings)
	}
	runs = append(slices.Repeat([]runtest.Run{base}, 8), head)
	if res := ask(Sides{}, 0); len(res.Benchmarks) != 1 || res.Benchmarks[0].Outcome.Status != report.Unchanged ||
		res.Benchmarks[0].Outcome.Branch != "main" {
		t.Errorf("a run of another branch hides the changes of main: %+v", res.Benchmarks)
	}
	if err := (&Sides{Head: "fix"}).check(&query.Selection{}, &Judging{}, ""); err == nil {
		t.Error("a head without a base is accepted")
	}
}
