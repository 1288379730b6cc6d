package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/testrun"
)

// Status says how the newest runs of a benchmark compare with those before.
type Status string

// The statuses.
const (
	Slower  Status = "slower"
	Faster  Status = "faster"
	Steady  Status = "steady"
	Unknown Status = "unknown" // too few runs to compare
)

// Outcome is what a comparison says of a benchmark: one status, one size, one onset. All
// documents and pages show this one, which is the benchmark's most important finding.
type Outcome struct {
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // why the status is unknown
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
	Before    int                  `json:"before,omitempty"`     // runs that they were compared with
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
			if o.Status == Unknown && o.Reason == "" {
				o.Reason = b.Reason
			}
			continue
		}
		if o.Status == Unknown {
			o = Outcome{Status: Steady, Tested: b.Tested, Before: len(b.Profiles) - b.Tested}
		}
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
	if o.Status != Steady {
		return o
	}
	if slices.ContainsFunc(j.types, unplaced) {
		o.Status, o.Reason = Unknown, "the metric "+beyondHistory
	}
	for _, b := range j.types {
		if text := uncounted(b); text != "" {
			o.Status, o.Reason = Unknown, text
		}
	}
	return o
}

// uncounted says by how much the samples per run of a benchmark changed, if that may be a cost
// that shares do not show; empty if not.
func uncounted(b *regression.Benchmark) string {
	if len(b.Analyses) == 0 || b.Analyses[0].Uncounted == 0 {
		return ""
	}
	how, by := "rose", b.Analyses[0].Uncounted
	if by < 0 {
		how, by = "fell", -by
	}
	return fmt.Sprintf("samples per run %s by %s; shares were compared: give --operations or a metric", how, words.Percent(by))
}

// beyondHistory says that a metric changed and no finding does.
const beyondHistory = "is beyond its history: no place is certain"

// unplaced reports whether the metric of a benchmark whose operations are unknown changed
// beyond its history, and no finding shows it.
func unplaced(b *regression.Benchmark) bool {
	const least = 0.05 // of the metric
	if len(b.Analyses) == 0 || slices.ContainsFunc(b.Findings, func(f regression.Finding) bool { return Shown(&f) && f.Kind != regression.Environment }) {
		return false
	}
	a := b.Analyses[0]
	return a.Program == nil && a.Metric != nil && a.Metric.Before > 0 && math.Abs(a.Metric.Now/a.Metric.Before-1) >= least && math.Abs(a.Metric.Score) >= a.Threshold
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
		c := Change{}
		c.Finding = *f
		since := f.Since
		o.Status, o.Finding, o.Type, o.Certainty, o.Title, o.Share, o.Time, o.Since, o.More = status, f.ID, f.Type, f.Status, c.label(), f.Delta.Share, f.Delta.Time, &since, 0
	case o.Status == status && f.ID != o.Finding:
		o.More++
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
		if j := all[testrun.Benchmark{Group: f.Group, Name: f.Benchmark}]; j != nil {
			j.findings = append(j.findings, f)
		}
	}
	list := make(map[testrun.Benchmark]Outcome, len(all))
	for b, j := range all {
		list[b] = j.outcome()
	}
	return list
}
