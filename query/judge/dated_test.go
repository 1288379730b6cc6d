package judge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestAcceptedStepBeginsAHistory: comparisons begin at an accepted change however far back it is, as
// soon as enough runs are since; what comes after it is found against these.
func TestAcceptedStepBeginsAHistory(t *testing.T) {
	accepted := facts.Acknowledgements{{Function: "parse", Reason: "checked input"}}
	for _, branch := range []string{"main", "pr"} { // of the tested runs
		for _, since := range []int{4, 6, 8, 13, 18} { // runs with the accepted step
			r := rand.New(rand.NewPCG(1, uint64(since)))
			var runs []runtest.Run
			for i := range 24 {
				parse, join, on := 600.0, 330.0, "main"
				if i >= 24-since {
					parse *= 1.8
				}
				if i >= 22 {
					join, on = join+300, branch
				}
				of := func(n float64) int { return int(n * (1 + 0.02*r.NormFloat64())) }
				runs = append(runs, runtest.Run{Benchmark: "b", Branch: on,
					Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d, main;sort %d, main;encode %d", of(parse), of(500), of(700), of(join), of(650), of(900))})
			}
			from := "01" // too few are left
			if since > 4 {
				from = fmt.Sprintf("%02d", 24-since+1)
			}
			st := runtest.Store(t, runs...)
			q := withDefaults[RegressionsRequest](t, map[string]string{"last": "2"})
			if branch == "pr" {
				q = withDefaults[RegressionsRequest](t, map[string]string{"base": "main", "head": "pr"})
			}
			q.Acknowledged = accepted
			res, err := Regressions(t.Context(), st, q)
			if err != nil {
				t.Fatal(err)
			}
			costs := slices.DeleteFunc(slices.Clone(res.Findings), func(f regression.Finding) bool { return !f.Stands(true) })
			if len(costs) != 1 || costs[0].Function != "join" || costs[0].Sides.Base[0] != from {
				t.Errorf("%s, %d runs since: %+v, want join against runs from %s", branch, since, res.Findings, from)
			}
			for _, no := range []regression.Acknowledgement{{Function: "token"}, {Function: "parse", Benchmark: "other"},
				{Function: "parse", UpTo: 0.01}} {
				q.Acknowledged = facts.Acknowledgements{no}
				if branch == "pr" && from != "01" {
					continue // runs of a base begin with any change that lasts
				}
				if res, err = Regressions(t.Context(), st, q); err != nil || len(res.Findings) > 0 && res.Findings[0].Sides.Base[0] != "01" {
					t.Errorf("%s, %d runs since: %+v begins a history: %+v, %v", branch, since, no, res, err)
				}
			}
		}
	}
}

// TestLevels: a head is compared with the newest level of its base, whatever was before: what it costs more than a base that
// became slower, or a gain that it takes back, fails a check.
func TestLevels(t *testing.T) {
	for _, c := range []struct{ before, level, head float64 }{{1, 1.6, 2.1}, {1.6, 1, 1.5}, {1, 1.6, 1.6}, {1.6, 1, 1}} {
		for _, branch := range []string{"main", "pr"} {
			r := rand.New(rand.NewPCG(1, 2))
			var runs []runtest.Run
			for i := range 18 {
				parse, on := c.before, "main"
				if i >= 10 {
					parse = c.level
				}
				if i >= 16 {
					parse, on = c.head, branch
				}
				of := func(n float64) int { return int(n * (1 + 0.02*r.NormFloat64())) }
				runs = append(runs, runtest.Run{Benchmark: "b", Branch: on,
					Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d, main;sort %d, main;encode %d", of(600*parse), of(500), of(700), of(330), of(650), of(900))})
			}
			q := withDefaults[CheckRequest](t, nil)
			if branch == "pr" {
				q = withDefaults[CheckRequest](t, map[string]string{"base": "main", "head": "branch=pr"})
			}
			doc, err := Check(t.Context(), runtest.Store(t, runs...), q)
			if err != nil || doc.Verdict.Failed != (c.head > c.level) {
				t.Errorf("%+v on %s: %s, %v", c, branch, doc.Headline(), err)
			}
		}
	}
}
