package detection

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
)

// Native is the method as a user sets it for stable programs: the simulator has no
// compiler that decides otherwise in every run.
var Native = regression.Options{Impact: 0.25}

// Outcome is what came out of one simulated history.
type Outcome struct {
	Plan     Plan
	Truth    Truth
	Answers  []Answer
	Ranked   []string // functions: of the answers, then of the rest by score
	Impact   float64  // estimated, of the answer that is right
	PathOK   bool     // its path is a planted one
	Totals   *Totals
	K        int
	Improved bool // an improvement of an accepted function was found
}

// Hit reports whether an answer names an accepted function.
func (o *Outcome) Hit() bool { return o.right() >= 0 }

func (o *Outcome) right() int {
	return slices.IndexFunc(o.Answers, func(a Answer) bool { return hits(&a, o.Truth.Accepted) })
}

func hits(a *Answer, accepted []string) bool {
	return a.strict(accepted) || !a.Wide && accepts(accepted, a.Caller)
}

// Observe simulates a plan and gives it to the default method, the last k runs
// tested as one. Totals are for the other methods; nil without them.
func Observe(plan Plan, k int, o regression.Options, totals bool) (*Outcome, bool) {
	s, ok := Simulate(plan)
	if !ok {
		return nil, false
	}
	hist, tested := s.Split(k)
	a, err := s.Rows().Compare(hist, tested, o)
	if err != nil {
		panic(err) // plans have enough runs
	}
	out := &Outcome{Plan: plan, Truth: s.Truth, Answers: costsOf(answers(a.Findings)), K: k}
	if totals {
		out.Totals = s.totals()
	}
	for _, f := range a.Findings {
		if name := f.Function; f.Kind.Costs() {
			if len(f.Parts) > 0 && accepts(s.Truth.Accepted, f.Parts[0].Function) { // as in strict
				name = f.Parts[0].Function
			}
			out.Ranked = append(out.Ranked, name)
		}
		out.Improved = out.Improved || f.Kind == regression.Improvement && accepts(s.Truth.Accepted, f.Function)
	}
	for _, c := range a.Ranked {
		if !slices.Contains(out.Ranked, c.Function) {
			out.Ranked = append(out.Ranked, c.Function)
		}
	}
	if i := out.right(); i >= 0 {
		out.judge(a.Findings[i])
	}
	return out, true
}

// judge compares the right finding with the planted change. Findings that cost come
// first, so it has the index of its answer.
func (o *Outcome) judge(f regression.Finding) {
	o.Impact = f.Delta.Share
	for _, p := range o.Truth.Paths {
		n := min(len(p), len(f.Path))
		o.PathOK = o.PathOK || slices.Equal(p[:n], f.Path[:n])
	}
}

// totals returns the function totals of every run.
func (s *Simulated) totals() *Totals {
	t := &Totals{Runs: make([]float64, len(s.Vectors))}
	for i := range s.Table.Functions {
		t.Functions = append(t.Functions, s.Table.Functions[i].Name)
		t.Values = append(t.Values, make([]float64, len(s.Vectors)))
	}
	for run, v := range s.Vectors {
		self := make([]int64, s.Table.Len())
		for i, n := range v.Nodes {
			self[n] = v.Self[i]
			t.Runs[run] += float64(v.Self[i])
		}
		for _, r := range calltree.NewTree(s.Table, s.Profiles[run].Type, self).FunctionRows() {
			t.Values[r.Func][run] = float64(r.Total)
		}
	}
	return t
}

// cross returns the plans of all combinations, reps of each, with seeds from seed
// on.
func cross(seed uint64, kinds []string, impacts []float64, samples, runs, ks []int, reps int) []Plan {
	var list []Plan
	for _, kind := range kinds {
		for _, impact := range impacts {
			for _, n := range samples {
				for _, t := range runs {
					for _, k := range ks {
						for range reps {
							seed++
							i := len(list)
							list = append(list, Plan{Seed: seed * 1_000_003, Nodes: []int{2000, 5000}[i%2], Runs: t, K: k, Samples: n, FixedWork: i/2%2 == 1,
								Kind: kind, Impact: impact})
						}
					}
				}
			}
		}
	}
	return list
}

// observeAll observes plans on the cores at hand; one that finds no place for its
// change is tried with other seeds. The order is the plans'.
func observeAll(plans []Plan, k int, o regression.Options, totals bool) []*Outcome {
	list := make([]*Outcome, len(plans))
	onCores(len(plans), func(i int) {
		p, ok := plans[i], false
		for try := 0; try < 20 && !ok; try++ {
			list[i], ok = Observe(p, cmp.Or(k, p.K), o, totals)
			p.Seed++
		}
	})
	return slices.DeleteFunc(list, func(o *Outcome) bool { return o == nil })
}

// onCores calls f for 0 … n-1 on the cores at hand.
func onCores(n int, f func(i int)) {
	_ = regression.Parallel(context.Background(), n, func(_ context.Context, i int) error { // f does not fail
		f(i)
		return nil
	})
}

// The kinds of planted changes.
var (
	plantedKinds = []string{"self", "context", "calls", "new"}
	hardKinds    = []string{"slow", "extract", "rename", "sibling", "inline", "uninline", "improve", "spikes"}
)

// Check is one required figure.
type Check struct {
	Name     string
	Value    float64
	Required string
	OK       bool
}

// AtMost requires that a figure is not above a limit.
func AtMost(name string, v, limit float64) Check {
	return Check{name, v, fmt.Sprintf("≤ %.3g", limit), v <= limit+1e-9}
}

// AtLeast requires that a figure is not below a limit.
func AtLeast(name string, v, limit float64) Check {
	return Check{name, v, fmt.Sprintf("≥ %.3g", limit), v >= limit-1e-9}
}

// PrintChecks prints figures and reports whether all hold.
func PrintChecks(w io.Writer, checks []Check) bool {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	all := true
	for _, c := range checks {
		mark := ""
		if !c.OK {
			mark, all = "FAILS", false
		}
		fmt.Fprintf(tw, "%s\t%.3f\t%s\t%s\n", c.Name, c.Value, c.Required, mark)
	}
	tw.Flush()
	return all
}

func findingsPerRun(list []*Outcome) float64 {
	n := 0
	for _, o := range list {
		n += len(o.Answers)
	}
	return ratio(n, len(list))
}

func share(list []*Outcome, ok func(o *Outcome) bool) float64 {
	n := 0
	for _, o := range list {
		if ok(o) {
			n++
		}
	}
	return ratio(n, len(list))
}

func where(list []*Outcome, ok func(o *Outcome) bool) []*Outcome {
	var some []*Outcome
	for _, o := range list {
		if ok(o) {
			some = append(some, o)
		}
	}
	return some
}

// RunSimulated simulates and checks Q1 to Q9, Q11 and RR10. Size 1 is the full
// bench; 0.1 a tenth of it.
func RunSimulated(w io.Writer, size float64, seed uint64) []Check {
	reps := func(n int) int { return max(1, int(math.Round(size*float64(n)))) }
	var checks []Check
	hit := (*Outcome).Hit

	clean := observeAll(cross(seed, []string{"none"}, []float64{0}, []int{5000, 20000}, []int{15, 30}, []int{1}, reps(100)), 1, Native, true)
	checks = append(checks, AtMost(fmt.Sprintf("Q1  findings per clean run (%d)", len(clean)), findingsPerRun(clean), 0.05))

	bad := observeAll(cross(seed+1e6, plantedKinds, []float64{0.005, 0.01, 0.02, 0.05}, []int{2000, 5000, 10000, 20000, 50000}, []int{15, 30},
		[]int{1}, reps(4)), 1, Native, true)
	found := where(bad, hit)
	checks = append(checks,
		AtLeast(fmt.Sprintf("Q2  found, one bad run, 0.5-5%% (%d)", len(bad)), share(bad, hit), 0.57),
		AtLeast("Q3  first when found", share(found, func(o *Outcome) bool { return o.right() == 0 }), 0.95))
	checks = append(checks, ranking(where(bad, func(o *Outcome) bool { return o.Plan.Samples == 10000 || o.Plan.Samples == 20000 }))...)

	fresh := observeAll(cross(seed+2e6, []string{"new"}, []float64{0.005, 0.01}, []int{10000, 50000}, []int{15, 30}, []int{1}, reps(8)), 1,
		Native, false)
	fresh = append(fresh, observeAll(cross(seed+3e6, []string{"new"}, []float64{0.0025}, []int{50000}, []int{15, 30}, []int{1}, reps(8)), 1,
		Native, false)...)
	checks = append(checks, AtLeast(fmt.Sprintf("Q5  new function found (%d)", len(fresh)), share(fresh, hit), 0.9))

	three := observeAll(cross(seed+4e6, plantedKinds, []float64{0.01}, []int{20000}, []int{20}, []int{3}, reps(16)), 3, Native, false)
	checks = append(checks, AtLeast(fmt.Sprintf("Q6  found, three bad runs of 1%% (%d)", len(three)), share(three, hit), 0.75))

	for _, kind := range hardKinds {
		list := observeAll(cross(seed+5e6, []string{kind}, []float64{0.01, 0.02, 0.05}, []int{20000}, []int{20}, []int{1}, reps(20)), 1, Native,
			false)
		limit := 0.2
		if kind == "rename" {
			limit = 0.1
		}
		checks = append(checks, AtMost(fmt.Sprintf("Q7  findings per run, %s (%d)", kind, len(list)), placed(list), limit))
	}
	checks = append(checks, AtLeast("Q8  call path right when found", share(found, func(o *Outcome) bool { return o.PathOK }), 0.92))
	var impacts []float64
	for _, o := range found {
		impacts = append(impacts, o.Impact/o.Truth.Impact)
	}
	median := stat.Median(impacts)
	checks = append(checks, AtLeast("Q9  estimated / planted impact, median", median, 0.9), AtMost("Q9  the same", median, 1.15))
	checks = append(checks, against(w, clean, bad)...)

	middle := where(bad, func(o *Outcome) bool { return o.Plan.Samples >= 5000 && o.Plan.Samples <= 20000 })
	checks = append(checks, AtMost("RR10 findings per clean run", findingsPerRun(clean), 0.03),
		AtLeast(fmt.Sprintf("RR10 found at 5k to 20k samples (%d)", len(middle)), share(middle, hit), 0.62))
	printBySize(w, bad)
	return checks
}

// placed counts the findings per run that name a place: that a slow machine made
// everything slower is reported once, correctly.
func placed(list []*Outcome) float64 {
	n := 0
	for _, o := range list {
		for _, a := range o.Answers {
			if !a.Wide || a.Function != "" {
				n++
			}
		}
	}
	return ratio(n, len(list))
}

// ranking checks Q4 over the ranked lists.
func ranking(list []*Outcome) []Check {
	mrr, top := 0.0, 0
	for _, o := range list {
		i := slices.IndexFunc(o.Ranked, func(f string) bool { return accepts(o.Truth.Accepted, f) })
		if i >= 0 {
			mrr += 1 / float64(i+1)
		}
		if i >= 0 && i < 5 {
			top++
		}
	}
	return []Check{AtLeast(fmt.Sprintf("Q4  ranked list, mean reciprocal rank (%d)", len(list)), mrr/math.Max(1, float64(len(list))), 0.78),
		AtLeast("Q4  among the first five", ratio(top, len(list)), 0.82)}
}

// against compares with the other methods at the false findings of the default
// method (at least one in 20 runs): the threshold of each is set on the clean runs.
func against(w io.Writer, clean, bad []*Outcome) []Check {
	methods := []struct {
		name  string
		score Scorer
		share bool
	}{{"thesis", ThesisScorer, false}, {"Welch", WelchScorer, true}, {"E-divisive", EDivisiveScorer, true}}
	ours := share(bad, (*Outcome).Hit)
	fmt.Fprintf(w, "found at 0.05 false findings per run: default %.3f", ours)
	var checks []Check
	for _, m := range methods {
		threshold := calibrate(clean, m.score, m.share, 0.05)
		found := share(bad, func(o *Outcome) bool {
			hist, tested := split(o)
			for _, s := range o.Totals.Rank(m.score, m.share, hist, tested) {
				if s.Score > threshold && accepts(o.Truth.Accepted, s.Function) {
					return true
				}
			}
			return false
		})
		fmt.Fprintf(w, ", %s %.3f (threshold %.2f)", m.name, found, threshold)
		if m.name == "thesis" {
			checks = append(checks, AtLeast("Q11 found, times the thesis's", ours/math.Max(found, 1e-9), 3))
		}
	}
	fmt.Fprintln(w)
	return checks
}

// split returns the indexes of an outcome's history and tested runs.
func split(o *Outcome) (hist, tested []int) {
	n := len(o.Totals.Runs)
	for t := range n {
		if t < n-o.K {
			hist = append(hist, t)
		} else {
			tested = append(tested, t)
		}
	}
	return hist, tested
}

// calibrate returns the threshold at which a scorer has so many false findings per
// clean run.
func calibrate(clean []*Outcome, s Scorer, share bool, perRun float64) float64 {
	var scores []float64
	for _, o := range clean {
		hist, tested := split(o)
		for i, f := range o.Totals.Rank(s, share, hist, tested) {
			if i == 20 {
				break
			}
			scores = append(scores, f.Score)
		}
	}
	return threshold(scores, int(perRun*float64(len(clean))))
}

// threshold is the score that only n of the scores exceed.
func threshold(scores []float64, n int) float64 {
	slices.SortFunc(scores, func(a, b float64) int { return -int(math.Copysign(1, a-b)) })
	if n >= len(scores) {
		return math.Inf(-1)
	}
	return scores[n]
}

// printBySize prints the share found by samples and size of the change.
func printBySize(w io.Writer, list []*Outcome) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "found, %\t0.5%\t1%\t2%\t5%\tself\tcontext\tcalls\tnew")
	for _, n := range []int{2000, 5000, 10000, 20000, 50000} {
		cells := []string{fmt.Sprintf("%d samples", n)}
		for _, impact := range []float64{0.005, 0.01, 0.02, 0.05} {
			some := where(list, func(o *Outcome) bool { return o.Plan.Samples == n && o.Plan.Impact == impact })
			cells = append(cells, fmt.Sprintf("%.0f", 100*share(some, (*Outcome).Hit)))
		}
		for _, kind := range plantedKinds {
			some := where(list, func(o *Outcome) bool { return o.Plan.Samples == n && o.Plan.Kind == kind })
			cells = append(cells, fmt.Sprintf("%.0f", 100*share(some, (*Outcome).Hit)))
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	tw.Flush()
}
