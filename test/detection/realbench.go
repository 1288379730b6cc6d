package detection

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dendroprof/dendro/analysis/regression"
)

// Detector answers whether the tested runs of a subject differ from its history.
type Detector func(s *Subject, hist, tested []int) []Answer

// Default is the product's default method.
func Default(o regression.Options) Detector {
	return func(s *Subject, hist, tested []int) []Answer {
		a, err := s.Rows.Compare(hist, tested, o)
		if err != nil {
			panic(err) // the bench gives enough runs
		}
		return answers(a.Findings)
	}
}

// Tally counts what a detector answered on one kind of runs.
type Tally struct {
	Runs, Findings         int
	Located, Strict, First int
	WithFindings           int
	Gains                  int // runs reported as faster somewhere
	Named, Sized           int // of those located
}

// add counts the answers for one choice of tested runs; nil: no change.
func (t *Tally) add(list []Answer, test *Test, size float64) {
	var accepted []string
	if test != nil {
		accepted = test.Accepted
	}
	t.Runs++
	if slices.ContainsFunc(list, func(a Answer) bool { return a.Gain }) {
		t.Gains++
	}
	list = costsOf(list)
	if i := slices.IndexFunc(list, func(a Answer) bool { return a.located(accepted) }); i >= 0 {
		if list[i].named(test.Function) {
			t.Named++
		}
		if math.Abs(list[i].Share-size) <= sizeError*size {
			t.Sized++
		}
	}
	t.Findings += len(list)
	if len(list) > 0 {
		t.WithFindings++
		if list[0].located(accepted) {
			t.First++
		}
	}
	if slices.ContainsFunc(list, func(a Answer) bool { return a.located(accepted) }) {
		t.Located++
	}
	if slices.ContainsFunc(list, func(a Answer) bool { return a.strict(accepted) }) {
		t.Strict++
	}
}

func (t *Tally) sum(o Tally) {
	t.Runs += o.Runs
	t.Findings += o.Findings
	t.Located += o.Located
	t.Strict += o.Strict
	t.First += o.First
	t.WithFindings += o.WithFindings
	t.Gains += o.Gains
	t.Named += o.Named
	t.Sized += o.Sized
}

// costsOf drops the answers about improvements.
func costsOf(list []Answer) []Answer {
	return slices.DeleteFunc(slices.Clone(list), func(a Answer) bool { return a.Gain })
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// RealResult is the tallies by kind of run; "history" is every history run
// tested as if it were new.
type RealResult map[string]*Tally

// regressionKinds are the kinds of runs with a planted regression.
var regressionKinds = []string{"A05", "A20", "B10", "B40"}

// refactoredKinds are the kinds of runs with other code and the same work.
var refactoredKinds = []string{"renamed", "moved", "inline"}

// Of sums the tallies of kinds.
func (r RealResult) Of(kinds ...string) Tally {
	var sum Tally
	for _, k := range kinds {
		if t := r[k]; t != nil {
			sum.sum(*t)
		}
	}
	return sum
}

// RunReal gives every run of every subject to a detector, k at a time. Trace, if
// not nil, gets a line per run with findings or without an expected one.
func RunReal(subjects []*Subject, detect Detector, k int, trace io.Writer) RealResult {
	res := RealResult{}
	tally := func(kind string) *Tally {
		if res[kind] == nil {
			res[kind] = &Tally{}
		}
		return res[kind]
	}
	for _, s := range subjects {
		hist := s.History()
		for at := 0; at+k <= len(hist); at += k {
			rest := slices.Concat(hist[:at], hist[at+k:])
			list := detect(s, rest, hist[at:at+k])
			tally("history").add(list, nil, 0)
			traceRun(trace, s, "history", hist[at], list, nil)
		}
		for _, t := range s.Tests {
			for _, tested := range groups(t.Runs, k) {
				list := detect(s, hist, tested)
				tally(t.Kind).add(list, &t, t.sizeOf(tested))
				traceRun(trace, s, t.Kind, tested[0], list, t.Accepted)
			}
		}
	}
	return res
}

// sizeOf returns the mean size of the change in some runs of a test.
func (t *Test) sizeOf(tested []int) float64 {
	sum := 0.0
	for _, run := range tested {
		if i := slices.Index(t.Runs, run); i < len(t.Sizes) {
			sum += t.Sizes[i] / float64(len(tested))
		}
	}
	return sum
}

// groups returns the runs one by one, or the first k together.
func groups(runs []int, k int) [][]int {
	if k == 1 {
		var list [][]int
		for i := range runs {
			list = append(list, runs[i:i+1])
		}
		return list
	}
	if len(runs) < k {
		return nil
	}
	return [][]int{runs[:k]}
}

func traceRun(w io.Writer, s *Subject, kind string, run int, list []Answer, accepted []string) {
	if w == nil {
		return
	}
	planted := slices.Contains(regressionKinds, kind)
	costs := costsOf(list)
	if planted == (len(list) > 0) && (!planted || len(costs) == 1 && costs[0].located(accepted)) {
		return
	}
	var items []string
	for _, a := range list {
		mark := ""
		if a.located(accepted) {
			mark = "*"
		}
		if a.Gain {
			mark += "gain "
		}
		items = append(items, fmt.Sprintf("%s%s<%s (%s %+.1f%% %.1g)", mark, a.Function, a.Caller, a.Headline, 100*a.Share, a.Chance))
	}
	fmt.Fprintf(w, "%s %s %s %s: %s\n", s.Name, s.State, kind, s.Runs[run], strings.Join(items, " | "))
}

// PrintReal prints one line per result.
func PrintReal(w io.Writer, names []string, results []RealResult) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "method\thistory\tclean\tlocated\tstrict\tfirst\tper regression\tB40\tB10\tA20\tA05\trenamed\tmoved\tinline\tjit\tgains\tnamed\tsized")
	for i, r := range results {
		reg, moved := r.Of(regressionKinds...), r.Of(refactoredKinds...)
		f := func(kind string) string { t := r.Of(kind); return fmt.Sprintf("%.3f", ratio(t.Findings, t.Runs)) }
		loc := func(kind string) string { t := r.Of(kind); return fmt.Sprintf("%.2f", ratio(t.Located, t.Runs)) }
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\n", names[i], f("history"), f("clean"),
			ratio(reg.Located, reg.Runs), ratio(reg.Strict, reg.Runs), ratio(reg.First, reg.Runs), ratio(reg.Findings, reg.Runs),
			loc("B40"), loc("B10"), loc("A20"), loc("A05"), f("renamed"), f("moved"), f("inline"), f("jit"), ratio(moved.Gains, moved.Runs),
			ratio(reg.Named, reg.Located), ratio(reg.Sized, reg.Located))
	}
	tw.Flush()
}

// leastReversed is the minimum number of changed runs that are a history.
const leastReversed = 3

// Reversed tests every run of unchanged code against the runs with a planted regression,
// which then is an improvement: the runs of all states of the machine, because one has only
// two of a kind. It counts the runs in which an improvement is located.
func Reversed(subjects []*Subject, detect Detector) (located, runs int) {
	for _, s := range subjects {
		for i := range s.Tests {
			t := &s.Tests[i]
			if !slices.Contains(regressionKinds, t.Kind) || len(t.Runs) < leastReversed {
				continue
			}
			for _, run := range s.clean() {
				runs++
				if slices.ContainsFunc(detect(s, t.Runs, []int{run}), func(a Answer) bool { return a.Gain && a.located(t.Accepted) }) {
					located++
				}
			}
		}
	}
	return located, runs
}
