// Package gate decides whether a change passes: it applies a policy to findings.
//
//	regression.Result ──Group──▶ Changes ──Judge──▶ Verdict
//
// Three rules keep false alarms rare:
//
//   - The error probability holds for the whole suite (Policy.Alpha): a finding of a
//     larger suite must be less probable by chance to fail. The findings are those of
//     `dendro regressions`, whatever the suite.
//   - One function that is slower in many benchmarks is one Change, and so is one call in the
//     user's code, and what all code took longer since one run (group.go).
//   - Uncertain results are reported but do not fail: a suspect (seen in one run
//     only) unless chance practically never makes it, a machine on which everything is slower, a history that is too short.
//
// Of releases of a service, what stands fails: the rule of dendro watch (Policy.Service).
//
// An acknowledged finding never fails; package regression marks them. Compare compares
// the runs of a head with those of a base, for pull requests (compare.go).
package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/internal/words"
)

// Policy decides which changes fail. The zero value fails on every confirmed regression,
// and on suspects that chance practically never makes.
type Policy struct {
	Share     float64 // minimum share of the program that fails
	Suspects  bool    // changes seen only in the newest run fail too
	Slowdowns bool    // slowdowns of everything fail too
	// Service is set for releases of a service: every finding that stands fails, as dendro
	// watch posts it. The noise between instances is that of the threshold already, and no
	// later run confirms anything.
	Service bool
}

// ParsePolicy reads `regression[:share][,suspect][,slowdown]`; a share is 5% or
// 0.05.
func ParsePolicy(text string) (Policy, error) {
	var p Policy
	for i, word := range strings.Split(text, ",") {
		name, share, has := strings.Cut(strings.TrimSpace(word), ":")
		switch {
		case i == 0 && name == "regression":
			if has {
				var err error
				if p.Share, err = words.ParseShare(share); err != nil {
					return p, err
				}
			}
		case i > 0 && name == "suspect" && !has:
			p.Suspects = true
		case i > 0 && name == "slowdown" && !has:
			p.Slowdowns = true
		default:
			return p, fmt.Errorf("%q is not regression[:share][,suspect][,slowdown], like regression:5%%", text)
		}
	}
	return p, nil
}

// String writes the policy as ParsePolicy reads it.
func (p Policy) String() string {
	s := "regression:" + strconv.FormatFloat(p.Share, 'g', -1, 64)
	if p.Suspects {
		s += ",suspect"
	}
	if p.Slowdowns {
		s += ",slowdown"
	}
	return s
}

// Error probabilities of a suite. The noise of profiles has heavier tails than the
// model: a hundredth of the probability causes a sixth of the false failures, not a
// hundredth (measured: test/detection/RESULTS.md), so m benchmarks divide it by m^1.5. A
// suite begins lower than a single benchmark, which has 0.01. For one tested run it is
// lower still: no second run shows whether, say, the compiler decided differently.
const (
	suiteAlpha        = 0.005
	suiteAlphaSuspect = 0.0025
	tailExponent      = 1.5

	// sureAlpha is the chance of a suspect that fails by itself: on real histories no
	// clean run had one, and most regressions did (test/detection/RESULTS.md).
	sureAlpha = 1e-6
	// sureRate and sureShare are, for a suspect with a place as sure as that, the greatest
	// chance of the program's change per operation, and its least size.
	sureRate  = 0.01
	sureShare = 0.5
)

// Alpha returns the largest error probability of a finding that fails, in a suite of that
// size.
func (p Policy) Alpha(benchmarks int) float64 {
	alpha := suiteAlpha
	if p.Suspects {
		alpha = suiteAlphaSuspect
	}
	return alpha / math.Pow(float64(max(1, benchmarks)), tailExponent)
}

// Verdict is the result of a gate.
type Verdict struct {
	Policy string `json:"policy"` // as ParsePolicy reads it
	Failed bool   `json:"failed"`
	// Numbers of changes that are costs.
	Failing      int `json:"failing"`
	Warning      int `json:"warning"` // suspects, slow machines, and changes below the policy's share
	Acknowledged int `json:"acknowledged"`

	// FailOnMetric is the minimum relative change for the worse of metrics that fail; 0:
	// metrics do not fail.
	FailOnMetric   float64 `json:"failOnMetric,omitempty"`
	FailingMetrics int     `json:"failingMetrics"`
	// FewValues says how many metrics cannot fail, whatever they are, and how many runs they need; NoMetricCanFail, that
	// none can although the base has some of the head's.
	FewValues       string `json:"fewValues,omitempty"`
	NoMetricCanFail bool   `json:"noMetricCanFail,omitempty"`

	// Tested reports whether something was compared; NewHistory, if nothing was, that the
	// base has no run of any benchmark, also none that does not compare.
	Tested     bool `json:"tested"`
	NewHistory bool `json:"newHistory,omitempty"`
	// NotHead is the commit that should have been tested, if the head was not named and has no runs: the
	// newest others were tested.
	NotHead string `json:"notHead,omitempty"`

	Judged int `json:"judged"` // benchmarks with a verdict
	// Runs are the numbers of runs that were compared, the fewest and the most of all
	// benchmarks.
	HeadRuns [2]int     `json:"headRuns"`
	BaseRuns [2]int     `json:"baseRuns"`
	Why      string     `json:"why,omitempty"` // it passed although there are costs
	Unjudged []Unjudged `json:"unjudged"`
}

// Unjudged is a benchmark without a verdict.
type Unjudged struct {
	Group     string `json:"group,omitempty"`
	Benchmark string `json:"benchmark"`
	Type      string `json:"type"`
	Reason    string `json:"reason"` // the missing data
}

// Judge applies the policy: it marks the changes and the metrics that fail and counts.
func Judge(res *regression.Result, changes []Change, p Policy) *Verdict {
	v := &Verdict{Policy: p.String(), Unjudged: []Unjudged{}}
	before := false // the base has runs
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		before = before || len(b.Base)+len(b.LeftOut) > 0
		if b.Reason == "" {
			v.count(b)
			continue
		}
		v.Unjudged = append(v.Unjudged, Unjudged{b.Benchmark.Group, b.Benchmark.Name, b.Type.Name, b.Reason})
	}
	for i := range changes {
		c := &changes[i]
		switch {
		case !c.Kind.Costs() || c.Status == regression.Transient:
		case c.Acknowledged != nil:
			v.Acknowledged++
		default:
			c.Fails = slices.ContainsFunc(c.All(), func(f regression.Finding) bool { return p.fails(&f, v.Judged) })
			if c.Fails {
				v.Failing++
			} else {
				v.Warning++
			}
		}
	}
	v.Failed = v.Failing > 0
	v.Tested = v.Judged > 0
	v.NewHistory = !v.Tested && !before
	v.Why = v.why(p, changes)
	return v
}

// JudgeMetrics lets the verdict fail if a metric is significantly worse by at least
// minimum, marks those that are, and says which cannot be: a gate that cannot fail is none.
func (v *Verdict) JudgeMetrics(table *metrics.Table, minimum float64) {
	v.FailOnMetric = minimum
	worse := 0 // with too few values
	for i := range table.Rows {
		r := &table.Rows[i]
		v.Tested = v.Tested || r.Reason != metrics.TooFew
		switch {
		case r.Worse() < minimum:
		case r.Significant:
			r.Fails = true
			v.FailingMetrics++
			v.Failed = true
		case r.Reason == metrics.TooFew:
			worse++
		}
	}
	few, runs, side := table.Few()
	v.NoMetricCanFail = few == len(table.Rows) && !table.New
	switch {
	case len(table.Rows) == 0:
		v.FewValues = "no metric can fail: none has values of both sides"
		return
	case few == 0:
		return
	case few == len(table.Rows):
		v.FewValues = "no metric can fail: too few values"
	default:
		v.FewValues = fmt.Sprintf("%d of %d metrics cannot fail: too few values", few, len(table.Rows))
	}
	if worse > 0 {
		v.FewValues += fmt.Sprintf(", and %d %s worse by at least %g%%", worse, words.Plural(worse, "is", "are"), 100*minimum)
	}
	if runs > 0 {
		v.FewValues += fmt.Sprintf("; record %d runs of %s (dendro bench --count %[1]d)", runs, side)
	}
}

// count adds the runs of a benchmark with a verdict.
func (v *Verdict) count(b *regression.Benchmark) {
	v.Judged++
	most := regression.Most(b.Analyses)
	if most == nil {
		return
	}
	for _, side := range []struct {
		of *[2]int
		n  int
	}{{&v.HeadRuns, len(most.Tested)}, {&v.BaseRuns, len(most.History)}} {
		if side.of[1] == 0 {
			side.of[0] = side.n
		}
		side.of[0], side.of[1] = min(side.of[0], side.n), max(side.of[1], side.n)
	}
}

// missing says how many runs would decide whether a change is one: its score grows with the
// square root of the runs of both sides.
func (v *Verdict) missing(chance, limit float64) string {
	const most = 30
	head, base := v.HeadRuns[0], v.BaseRuns[0]
	now, needed := stat.ScoreOfTail(chance/chanceTests), stat.ScoreOfTail(limit/chanceTests)
	factor := needed / math.Max(now, 0.5)
	factor *= factor
	if n, k := int(math.Ceil(factor*float64(base))), int(math.Ceil(factor*float64(head))); head > 0 && n <= most {
		return fmt.Sprintf("%d runs of the base and %d of the head would decide (now %d and %d)", n, k, base, head)
	}
	return "more runs of both sides, or longer ones, would decide (dendro bench --count)"
}

// chanceTests is about the number of tests that chances of findings count for.
const chanceTests = 20

// confirms says what would confirm a suspect.
func (v *Verdict) confirms(p Policy) string {
	switch {
	case p.Service:
		return "more windows of the release decide"
	case v.HeadRuns[1] > 1:
		return "more runs of the head decide, or longer ones (dendro bench --count)"
	}
	return "a second run of the head decides (dendro bench --count 2)"
}

// why explains which costs do not fail; empty without any.
func (v *Verdict) why(p Policy, changes []Change) string {
	var parts []string
	judged := v.Judged
	suspects, slowdowns, small, unsure, improbable, unmeasured, missing := 0, 0, 0, 0, 0, 0, ""
	var functions []string // of the user, that are not slower as a whole
	for i := range changes {
		switch c := &changes[i]; {
		case c.Fails || !c.Kind.Costs() || c.Status == regression.Transient || c.Acknowledged != nil:
		case c.Delta.Share < p.Share:
			small++
		case p.Service:
			suspects++
		case c.Unmeasured && c.Kind != regression.Regression:
			unmeasured++
		case c.PlaceChance > p.Alpha(judged):
			improbable++
			missing = v.missing(c.PlaceChance, p.Alpha(v.Judged))
		case c.Kind == regression.Regression && c.FunctionChance > suiteAlpha:
			unsure++
			if h := c.Headline; h != nil && !slices.Contains(functions, h.Function) {
				functions = append(functions, h.Function)
			}
			missing = v.missing(c.FunctionChance, suiteAlpha)
		case c.Kind == regression.Slowdown && c.Function == "":
			slowdowns++
		default:
			suspects++
		}
	}
	if suspects > 0 {
		parts = append(parts, fmt.Sprintf("%d %s not fail: %s, or --fail-on regression,suspect",
			suspects, words.Plural(suspects, "suspect does", "suspects do"), v.confirms(p)))
	}
	if unmeasured > 0 {
		parts = append(parts, fmt.Sprintf("%d %s not fail: no metric and no samples per operation show that the program became slower",
			unmeasured, words.Plural(unmeasured, "change of many functions does", "changes of many functions do")))
	}
	if improbable > 0 {
		parts = append(parts, fmt.Sprintf("%d %s too near to noise to fail a suite of %d: %s",
			improbable, words.Plural(improbable, "change is", "changes are"), judged, missing))
	}
	if unsure > 0 {
		name := strings.Join(functions[:min(3, len(functions))], ", ")
		parts = append(parts, fmt.Sprintf("%d %s not fail yet: %s as a whole, with all that it calls, is not slower beyond its noise; %s",
			unsure, words.Plural(unsure, "change does", "changes do"), cmp.Or(name, "the program"), missing))
	}
	if slowdowns > 0 {
		parts = append(parts, "slowdowns without a certain place fail with --fail-on regression,slowdown, "+
			"or if both sides are recorded in turns (dendro bench --base)")
	}
	if small > 0 {
		parts = append(parts, fmt.Sprintf("changes below %g%% do not fail (--fail-on)", 100*p.Share))
	}
	return strings.Join(parts, "; ")
}

// sure reports whether chance practically never makes a suspect like this in a suite: by
// the score of the place and of the user's function, or because the place and the program's
// samples per operation, which are measured apart, show a large change both.
func sure(f *regression.Finding, benchmarks int) bool {
	least := sureAlpha / math.Pow(float64(max(1, benchmarks)), tailExponent)
	switch {
	case f.Status != regression.Suspect || f.Kind != regression.Regression:
		return false
	case f.Chance > 0 && f.Chance <= least:
		return true
	}
	return f.PlaceChance <= least && f.RateChance > 0 && f.RateChance <= sureRate && f.Delta.Share >= sureShare
}

// fails reports whether one finding of a suite of so many benchmarks fails.
func (p Policy) fails(f *regression.Finding, benchmarks int) bool {
	switch {
	case p.Service:
		return f.Stands(p.Suspects) && f.Delta.Share >= p.Share
	case f.Delta.Share < p.Share, f.Unmeasured && f.Kind != regression.Regression:
		return false
	case f.Status == regression.Confirmed && f.Doubtless, sure(f, benchmarks):
		return true
	case f.PlaceChance > p.Alpha(benchmarks), f.Kind == regression.Regression && f.FunctionChance > suiteAlpha:
		return false
	case f.Status != regression.Confirmed && !(p.Suspects && f.Status == regression.Suspect):
		return false
	}
	return f.Kind != regression.Slowdown || f.Function != "" || p.Slowdowns || f.Sides != nil && f.Sides.Pair != ""
}
