package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/testrun"
)

// Status says what is known of a benchmark: one of a change.Standing.
type Status = change.Status

// The statuses of a comparison.
const (
	Slower    = change.Slower    // costs
	Faster    = change.Faster    // improvements, no costs
	Unchanged = change.Unchanged // neither; Outcome.Detectable would have been seen
	Unknown   = change.Unknown   // not compared, for Outcome.Reason

	// Accepted is unchanged but for changes that somebody accepted.
	Accepted Status = "accepted"
)

// statuses are all of them, in the order of a summary.
var statuses = []Status{Slower, Faster, Accepted, Unchanged, change.Machine, change.NotAtHead, change.Gone, change.New,
	change.TooFew, Unknown}

// Outcome is what a store says of a benchmark: one status, one size, one onset, and what they
// rest on. All documents and pages show this one, whose finding is the benchmark's most
// important one.
type Outcome struct {
	Status Status `json:"status"`
	Says   string `json:"says"`             // the status and what it rests on, as people read it
	Reason string `json:"reason,omitempty"` // why there is no comparison, or what limits it
	NotAt  string `json:"notAt,omitempty"`  // commit or run of the head that has no run of the benchmark
	// Detectable is the smallest change that would have been seen in 80% of cases, as a share of
	// the program, in a function of 5%; 0: nothing was compared.
	Detectable float64 `json:"detectable,omitempty"`
	// Finding is the id of the finding; empty: none. The other fields are the finding's.
	Finding   string               `json:"finding,omitempty"`
	Type      string               `json:"type,omitempty"`
	Certainty regression.Status    `json:"certainty,omitempty"`
	Title     string               `json:"title,omitempty"` // Label, or the note
	Share     float64              `json:"share,omitempty"` // of the program's cost before
	Time      *regression.Estimate `json:"time,omitempty"`
	Since     *regression.Since    `json:"since,omitempty"`
	More      int                  `json:"more,omitempty"` // further costs of the benchmark; of faster ones, further improvements
	Branch    string               `json:"branch,omitempty"`
	Tested    int                  `json:"tested,omitempty"`     // runs
	BaseRuns  int                  `json:"baseRuns,omitempty"`   // runs that they were compared with
	Base      string               `json:"baseBranch,omitempty"` // branch of the newest of those
}

// judged is what a result has of one benchmark.
type judged struct {
	types    []*regression.Benchmark // by value type
	findings []*regression.Finding
}

// outcome returns the outcome of one benchmark, of all its value types that a result has.
// Accepted, past and moved changes do not count; a cost comes before an improvement, and then
// the order of the result decides, which is that of importance.
func (j *judged) outcome() Outcome {
	o := Outcome{Status: Unknown}
	for _, b := range j.types {
		if b.Reason != "" {
			if o.Reason == "" && slices.Contains(unjudged, o.Status) {
				o.Status, o.Reason = unjudgedStatus(b), b.Reason
				if at := b.NotAt; at != nil {
					o.NotAt = cmp.Or(words.Commit(at.Commit), at.Key)
				}
			}
			continue
		}
		if slices.Contains(unjudged, o.Status) {
			o = Outcome{Status: Unchanged, Tested: b.Tested, BaseRuns: len(b.Profiles) - b.Tested}
		}
		o.detects(b.Detectable())
		if n := len(b.Profiles); n > 0 {
			o.Branch = b.Profiles[n-1].Run.Branch
			if b.Tested > 0 && b.Tested < n {
				o.Base = b.Profiles[n-b.Tested-1].Run.Branch
			}
		}
	}
	for _, f := range j.findings {
		o.add(f)
	}
	if o.Status == Unchanged {
		if slices.ContainsFunc(j.types, unplaced) {
			o.Status, o.Reason = Unknown, "the metric "+beyondHistory
		}
		for _, b := range j.types {
			if text := uncounted(b); text != "" {
				o.Status, o.Reason = Unknown, text
			} else if o.Status == Unchanged && len(b.Analyses) > 0 {
				o.Reason = cmp.Or(o.Reason, differing(b.Analyses[0].Differ))
			}
		}
	}
	o.Says = o.says()
	return o
}

// detects takes the change that one more comparison would have seen, if it is smaller; 0: unknown.
func (o *Outcome) detects(change float64) {
	if o.Detectable == 0 || change > 0 && change < o.Detectable {
		o.Detectable = change
	}
}

// unjudged lists the statuses of benchmarks that a comparison could not judge.
var unjudged = []Status{Unknown, change.NotAtHead, change.New, change.TooFew}

// unjudgedStatus says why a benchmark has no verdict.
func unjudgedStatus(b *regression.Benchmark) Status {
	switch {
	case b.NotAt != nil:
		return change.NotAtHead
	case len(b.Base) == 0 && len(b.Head) > 0:
		return change.New
	case b.TooFew:
		return change.TooFew
	}
	return Unknown
}

// uncounted is sharesOnly of a comparison.
func uncounted(b *regression.Benchmark) string {
	if len(b.Analyses) == 0 {
		return ""
	}
	return sharesOnly(b.Analyses[0].Uncounted, b.Analyses[0].Shifted)
}

// sharesOnly says by how much the samples per run of a benchmark, or the shares of its few functions,
// changed, if that may be a cost that shares do not show; empty if not.
func sharesOnly(by, shifted float64) string {
	switch {
	case by == 0 && shifted == 0:
		return ""
	case by == 0:
		return fmt.Sprintf("a share rose by %s; of so few functions shares do not tell which became slower: "+countWork, words.Percent(shifted))
	}
	how := "rose"
	if by < 0 {
		how, by = "fell", -by
	}
	return fmt.Sprintf("samples per run %s by %s, which shares do not show: %s", how, words.Percent(by), countWork)
}

// countWork says what tells how much work the samples of a run are for.
const countWork = "record with dendro bench, or import with --operations or --metric"

// differing says by which factor the runs differ that were compared with; empty: by none worth a word.
func differing(factor float64) string {
	if factor == 0 {
		return ""
	}
	return fmt.Sprintf("runs of the base differ by a factor of %.1f per operation", factor)
}

// tooEarly says that the first runs of a history differ from those after them, of which no change is made; empty: none does.
func tooEarly(runs int) string {
	if runs == 0 {
		return ""
	}
	first := "run differs"
	if runs > 1 {
		first = fmt.Sprintf("%d runs differ", runs)
	}
	return "but the first " + first + " from those after: a change needs 3 runs before it"
}

// beyondHistory says that a metric changed and no finding does.
const beyondHistory = "is beyond its history: no place is certain"

// LeastWorse is the change of a metric from which on it is stated without a finding.
const LeastWorse = 0.05

// unplaced reports whether the metric of a benchmark whose operations are unknown changed
// beyond its history, and no finding shows it.
func unplaced(b *regression.Benchmark) bool {
	if len(b.Analyses) == 0 || !silent(b) {
		return false
	}
	a := b.Analyses[0]
	return a.Program == nil && a.Metric != nil && a.Metric.Base > 0 && math.Abs(a.Metric.Head/a.Metric.Base-1) >= LeastWorse &&
		math.Abs(a.Metric.Score) >= a.Threshold
}

// silent reports whether no finding says what became of a benchmark.
func silent(b *regression.Benchmark) bool {
	return !slices.ContainsFunc(b.Findings, func(f regression.Finding) bool { return Shown(&f) && f.Kind != regression.Environment })
}

// ofSmall states a detectable change: which one that is depends on the function.
func ofSmall(change float64) string {
	return words.Percent(change) + " of the program in a function that uses 5% of it"
}

// says returns the status of a comparison with what it rests on.
func (o *Outcome) says() string {
	s := string(o.Status)
	switch {
	case o.Status == Slower || o.Status == Faster:
		if o.Certainty == regression.Suspect {
			s += ", suspect"
		}
		n := 1 + o.More
		return fmt.Sprintf("%s (%s)", s, words.Counted(n, "change"))
	case o.Status == Unchanged && o.Detectable > 0:
		return s + ": would have seen " + ofSmall(o.Detectable) + strings.TrimSuffix(", "+o.Reason, ", ")
	case o.NotAt != "":
		return "not run at " + words.Clean(o.NotAt)
	case o.Status == change.TooFew: // the reason begins with it
		return o.Reason
	case o.Reason != "":
		return s + ": " + o.Reason
	}
	return s
}

// Standing is what the ledger of changes has of a benchmark.
type Standing struct {
	Lines []Line
	Open  []*regression.Finding // changes, the most important one first, accepted ones last
	Worse *metrics.Row          // the primary metric, if it is significantly worse in the newest runs
}

// Line is the standing of a benchmark by one of its value types.
type Line struct {
	change.Standing
	Branch string
}

// order is that of a summary, but for what says most of a benchmark with several value types: that it is not there.
var order = slices.Concat([]Status{change.Gone, change.NotAtHead}, statuses)

// Outcome returns what the ledger says of the benchmark.
func (s *Standing) Outcome() Outcome {
	var o Outcome
	open, accepted := s.Open, []*regression.Finding(nil)
	if n := slices.IndexFunc(s.Open, func(f *regression.Finding) bool { return f.Acknowledged != nil }); n >= 0 {
		open, accepted = s.Open[:n], s.Open[n:]
	}
	for i := range s.Lines {
		l := &s.Lines[i]
		if i == 0 || slices.Index(order, l.Status) < slices.Index(order, o.Status) {
			o.Status, o.Reason, o.Branch, o.Base, o.Says = l.Status, l.Reason, l.Branch, l.Branch, l.Says()
		}
		o.detects(l.Detectable)
	}
	if o.Status == Unchanged && len(accepted) > 0 {
		o.Status, o.Says = Accepted, standsFor(accepted)
	}
	if o.Status == Unchanged {
		for i := range s.Lines {
			if text := sharesOnly(s.Lines[i].Uncounted, s.Lines[i].Shifted); text != "" {
				o.Status, o.Reason, o.Says = Unknown, text, string(Unknown)+": "+text
			}
		}
	}
	status, says := o.Status, o.Says
	for _, f := range open {
		o.add(f)
	}
	switch {
	case status == change.Gone || status == change.NotAtHead:
		o.Status, o.Says = status, says
	case o.Status == Slower || o.Status == Faster: // of all value types
		n, suspect := 1+o.More, ""
		if o.Certainty == regression.Suspect {
			suspect = ", suspect"
		}
		o.Says = fmt.Sprintf("%s%s (%s%s)", o.Status, suspect, words.Counted(n, "open change"), pair(open))
	case o.Status == Unchanged && o.Detectable > 0:
		for i := range s.Lines {
			o.Reason = cmp.Or(o.Reason, tooEarly(s.Lines[i].Before), differing(s.Lines[i].Differ))
		}
		o.Says = o.says()
	}
	quiet := o.Status == Unchanged && o.Detectable > 0 || o.Status == Accepted
	if w := s.Worse; w != nil && quiet { // no place is certain, and no surface may say that nothing is worse
		o.Says += fmt.Sprintf(", but %s %s, p %.2g", words.Clean(w.Metric), words.SignedPercent(w.Change), w.P)
	}
	if n := len(accepted); n > 0 && o.Status != Accepted {
		o.Says += ", " + words.Counted(n, "accepted change")
	}
	return o
}

// standsFor says what was accepted: the first of the changes, by whom and why, and how many more.
func standsFor(accepted []*regression.Finding) string {
	f, status, why := accepted[0], Slower, ""
	if !f.Kind.Costs() {
		status = Faster
	}
	if x := f.Acknowledged; x.By != "" {
		why = "by " + x.By
	}
	if r := f.Acknowledged.Reason; r != "" {
		why = strings.TrimPrefix(why+": "+r, ": ")
	}
	s := fmt.Sprintf("%s: %s %s since %s", Accepted, status, words.SignedPercent(f.Delta.Share), words.Clean(f.Since.Run))
	if why != "" {
		s += " (" + words.Clean(why) + ")"
	}
	if n := len(accepted) - 1; n > 0 {
		s += fmt.Sprintf(", %d more", n)
	}
	return s
}

// pair says which commits were recorded in turns if all open changes are between these.
func pair(open []*regression.Finding) string {
	pair := ""
	for i, f := range open {
		if f.Change == nil || f.Change.Pair == "" || i > 0 && f.Change.Pair != pair {
			return ""
		}
		pair = f.Change.Pair
	}
	return ": " + pair
}

// Says returns the standing of a line with what it rests on.
func (l *Line) Says() string {
	s := string(l.Status)
	switch {
	case l.Status == change.NotAtHead && l.Largest != 0:
		return fmt.Sprintf("%s (last: %s, %s)", s, words.Clean(l.Last.Run), words.SignedPercent(l.Largest))
	case l.Status == change.NotAtHead:
		return fmt.Sprintf("%s (last: %s)", s, words.Clean(l.Last.Run))
	case l.Status == change.Gone:
		return s + " since " + words.Clean(l.Since.Run)
	case l.Needed > 0:
		return fmt.Sprintf("%s (%d of %d)", s, l.Runs, l.Needed)
	case l.Status == change.TooFew: // the reason begins with it
		return words.Clean(l.Reason)
	case l.Weather != nil:
		return fmt.Sprintf("%s: all code took %.2f times as long", s, l.Weather.Factor)
	case l.Reason != "":
		return s + ": " + words.Clean(l.Reason)
	}
	return s
}

// add counts a finding of the benchmark.
func (o *Outcome) add(f *regression.Finding) {
	status := Faster
	switch {
	case f.Acknowledged != nil || !Shown(f):
		return
	case f.Kind.Costs():
		status = Slower
	case f.Kind != regression.Improvement:
		return
	}
	switch {
	case o.Finding == "" || status == Slower && o.Status == Faster:
		o.Status, o.Finding, o.Type, o.Certainty, o.Title, o.Share, o.Time, o.Since, o.More = status, f.ID, f.Type, f.Status, Title(f),
			f.Delta.Share, f.Delta.Time, new(f.Since), 0
	case o.Status == status && f.ID != o.Finding:
		o.More++
	}
}

// Count is the number of benchmarks of one status.
type Count struct {
	Status     Status `json:"status"`
	Says       string `json:"says"` // the status, and at which commit a benchmark was not run
	Benchmarks int    `json:"benchmarks"`
}

// Tally counts the benchmarks by what their outcomes say: before any of them is left out. A verdict that rests only on
// shares where every cost may have risen alike has tested nothing.
func (r *Report) Tally() {
	if v := r.Verdict; v != nil && v.Tested {
		v.Tested = slices.ContainsFunc(r.Benchmarks, func(b Benchmark) bool {
			return b.Reason == "" && (uncounted(b.Benchmark) == "" || !silent(b.Benchmark))
		})
	}
	of, says, seen := map[Status]int{}, map[Status]string{}, map[testrun.Benchmark]bool{}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		if seen[b.Benchmark.Benchmark] {
			continue
		}
		seen[b.Benchmark.Benchmark] = true
		o := &b.Outcome
		of[o.Status]++
		says[o.Status] = string(o.Status)
		if o.NotAt != "" {
			says[o.Status] = o.Says
		}
	}
	r.Counts = nil
	for _, status := range statuses {
		if of[status] > 0 {
			r.Counts = append(r.Counts, Count{status, says[status], of[status]})
		}
	}
}

// Outcomes returns the outcome of every benchmark of a result.
func Outcomes(res *regression.Result) map[testrun.Benchmark]Outcome {
	all := map[testrun.Benchmark]*judged{}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		if all[b.Benchmark] == nil {
			all[b.Benchmark] = &judged{}
		}
		all[b.Benchmark].types = append(all[b.Benchmark].types, b)
	}
	for i := range res.Findings {
		f := &res.Findings[i]
		if j := all[f.Of()]; j != nil {
			j.findings = append(j.findings, f)
		}
	}
	list := make(map[testrun.Benchmark]Outcome, len(all))
	for b, j := range all {
		list[b] = j.outcome()
	}
	return list
}
