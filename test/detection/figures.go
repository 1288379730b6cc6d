package detection

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
)

// RealFigures runs the default method for one and for two tested runs, and the
// other methods, over real histories, prints their tables and returns RR1 to RR9,
// RR11 to RR17.
func RealFigures(w io.Writer, subjects []*Subject, trace io.Writer) []Check {
	method := Default(regression.Options{})
	one := RunReal(subjects, method, 1, trace)
	two := RunReal(subjects, method, 2, trace)
	names := []string{"default, one run", "default, two runs"}
	results := []RealResult{one, two}
	for _, m := range []struct {
		name  string
		score Scorer
		share bool
	}{{"thesis at .05", ThesisScorer, false}, {"Welch at .05", WelchScorer, true}, {"E-divisive at .05", EDivisiveScorer, true}} {
		names = append(names, m.name)
		results = append(results, RunReal(subjects, scoring(subjects, m.score, m.share, 0.05), 1, nil))
	}
	PrintReal(w, names, results)

	reg, reg2 := one.Of(regressionKinds...), two.Of(regressionKinds...)
	located := func(r RealResult, kinds ...string) float64 { t := r.Of(kinds...); return ratio(t.Located, t.Runs) }
	perRun := func(r RealResult, kinds ...string) float64 { t := r.Of(kinds...); return ratio(t.Findings, t.Runs) }
	checks := []Check{
		AtMost("RR1  findings per clean run, history and clean", perRun(one, "history", "clean"), 0.03),
		AtLeast("RR2  located", ratio(reg.Located, reg.Runs), 0.80),
		AtLeast("RR3  located, two runs", ratio(reg2.Located, reg2.Runs), 0.92),
		AtLeast("RR3  strict, two runs", ratio(reg2.Strict, reg2.Runs), 0.87),
		AtLeast("RR3  located A05, two runs", located(two, "A05"), 0.60),
		AtLeast("RR4  located B40", located(one, "B40"), 0.90),
		AtLeast("RR4  located B10", located(one, "B10"), 0.85),
		AtLeast("RR4  located A20", located(one, "A20"), 0.80),
		AtLeast("RR4  located A05", located(one, "A05"), 0.50),
		AtLeast("RR5  strict", ratio(reg.Strict, reg.Runs), 0.75),
		AtLeast("RR6  first item right when located", ratio(reg.First, reg.Located), 0.97),
		AtMost("RR7  findings per regression run", ratio(reg.Findings, reg.Runs), 1.15),
		AtMost("RR8  findings per run, renamed", perRun(one, "renamed"), 0.10),
		AtMost("RR8  findings per run, inline", perRun(one, "inline"), 0.15),
		AtMost("RR8  findings per run, moved", perRun(one, "moved"), 0.15),
		AtMost("RR8  findings per run, jit", perRun(one, "jit"), 0.40),
	}
	for i, name := range []string{"thesis", "Welch"} {
		other := results[2+i].Of(regressionKinds...)
		checks = append(checks, AtLeast("RR9  located, times that of "+name,
			ratio(reg.Located, reg.Runs)/math.Max(1e-9, ratio(other.Located, other.Runs)), 1.9))
	}
	gateOne, gateTwo := RunReal(subjects, Gated(gate.Policy{}, 1), 1, nil), RunReal(subjects, Gated(gate.Policy{}, 1), 2, nil)
	hundred := RunReal(subjects, Gated(gate.Policy{}, 100), 1, nil)
	failing := func(r RealResult, kinds ...string) float64 { t := r.Of(kinds...); return ratio(t.WithFindings, t.Runs) }
	moved := one.Of(refactoredKinds...)
	checks = append(checks,
		AtMost("RR13 false gains, renamed, moved or inlined", ratio(moved.Gains, moved.Runs), 0.10),
		AtMost("RR13 false costs, renamed, moved or inlined", ratio(moved.WithFindings, moved.Runs), 0.10),
		AtLeast("RR14 headline in the right source, of located", ratio(reg.Named, reg.Located), 0.90),
		AtLeast("RR15 size within 30%, of located", ratio(reg.Sized, reg.Located), 0.80),
		AtMost("RR16 clean pairs that fail the gate", failing(gateTwo, "history", "clean"), 0.01),
		AtLeast("RR16 regressions of two runs that fail the gate", failing(gateTwo, regressionKinds...), 0.75),
		AtMost("RR17 clean runs that fail the gate alone", failing(gateOne, "history", "clean"), 0.005),
		AtLeast("RR17 B40 of one run that fail the gate", failing(gateOne, "B40"), 0.60),
		AtLeast("RR17 regressions of one run that fail the gate", failing(gateOne, regressionKinds...), 0.50),
		AtMost("RR17 clean runs that fail in a suite of 100", failing(hundred, "history", "clean"), 0.0005))
	return append(checks,
		AtMost("RR11 findings per clean pair, history and clean", perRun(two, "history", "clean"), 0.03),
		AtMost("RR12 clean suites of 100 benchmarks that fail", cleanSuites(subjects, 100, 100), 0.05))
}

// PrintSpeed prints Q10: how long one analysis of some 40,000 call nodes and 60 runs takes,
// rows included, without scan, own history and loading. It requires nothing: it
// depends on the machine.
func PrintSpeed(w io.Writer) error {
	s, ok := Simulate(Plan{Seed: 5, Nodes: 54_000, Runs: 59, K: 1, Samples: 100_000, Kind: "none"})
	if !ok {
		return fmt.Errorf("no program of 54,000 call nodes")
	}
	series := &history.Series{Benchmark: s.Profiles[0].Benchmark, Type: s.Profiles[0].Type, Profiles: s.Profiles}
	m := history.NewMatrix(s.Table, s.Profiles, s.Vectors)
	hist, tested := s.Split(1)
	start := time.Now()
	if _, err := regression.Prepare(series, m).Compare(hist, tested, regression.Options{SkipOwnHistory: true}); err != nil {
		return err
	}
	fmt.Fprintf(w, "Q10  %d call nodes × %d runs: %.3f s (asked for at 54,000: 0.5 s)\n", m.Table.Len(), len(m.Runs), time.Since(start).Seconds())
	return nil
}

// scoring makes a detector of a scorer of function totals, with the threshold at
// which it has so many false findings per history run.
func scoring(subjects []*Subject, score Scorer, share bool, perRun float64) Detector {
	rank := func(s *Subject, hist, tested []int) []Scored { return s.Totals.Rank(score, share, hist, tested) }
	var scores []float64
	runs := 0
	for _, s := range subjects {
		hist := s.History()
		for i := range hist {
			for _, f := range rank(s, slices.Concat(hist[:i], hist[i+1:]), hist[i:i+1]) {
				scores = append(scores, f.Score)
			}
			runs++
		}
	}
	limit := threshold(scores, int(perRun*float64(runs)))
	return func(s *Subject, hist, tested []int) []Answer {
		var list []Answer
		for _, f := range rank(s, hist, tested) {
			if f.Score > limit {
				list = append(list, Answer{Function: f.Function, Path: s.Totals.Paths[f.Function]})
			}
		}
		return list
	}
}

// cleanSuites returns the share of made-up clean suites that a gate would fail: each
// has so many benchmarks, every one a history of a subject with two of its own runs
// tested, drawn at random. A gate divides the error probability by the benchmarks.
func cleanSuites(subjects []*Subject, suites, benchmarks int) float64 {
	r := rand.New(rand.NewPCG(7, 7))
	o := regression.Options{Alpha: 0.02 / float64(benchmarks)}
	method := Default(o)
	known := map[string]bool{} // verdicts by subject and runs
	failed := 0
	for range suites {
		fails := false
		for range benchmarks {
			s := subjects[r.IntN(len(subjects))]
			pool := slices.Concat(s.History(), s.clean())
			at := r.IntN(len(pool) - 1)
			key := fmt.Sprint(s.Name, s.State, at)
			bad, ok := known[key]
			if !ok {
				tested := []int{pool[at], pool[at+1]}
				rest := slices.DeleteFunc(slices.Clone(pool), func(t int) bool { return slices.Contains(tested, t) })
				slices.Sort(tested)
				bad = len(costsOf(method(s, rest, tested))) > 0
				known[key] = bad
			}
			fails = fails || bad
		}
		if fails {
			failed++
		}
	}
	return ratio(failed, suites)
}

// clean returns the runs of the clean test.
func (s *Subject) clean() []int {
	for _, t := range s.Tests {
		if t.Kind == "clean" {
			return t.Runs
		}
	}
	return nil
}
