package regression

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/testrun"
)

// Acknowledgement accepts a known change: a finding by its id, or by function in the
// matching benchmarks, until a date, and up to a size.
type Acknowledgement struct {
	ID        string    `json:"id,omitempty"`        // of the change, or of the finding: all changes at its place
	Function  string    `json:"function,omitempty"`  // glob of the function or of the own one in the headline; instead of the id
	Benchmark string    `json:"benchmark,omitempty"` // glob over group/name or name; empty: all
	Until     time.Time `json:"until,omitzero"`      // end of the acknowledgement
	UpTo      float64   `json:"upTo,omitempty"`      // share of the program; 0: any size
	Reason    string    `json:"reason,omitempty"`
	By        string    `json:"by,omitempty"` // who accepted it
	At        time.Time `json:"at,omitzero"`  // when
	// Stored: the store keeps it. What the user's repository says of the same finding holds
	// in its place.
	Stored bool `json:"-"`
	// Since is the key of the first run with the change, at which histories begin.
	// Without it, or with an id and no benchmark, they begin where a scan finds the
	// change: an id is of one benchmark, and does not say of which.
	Since string `json:"since,omitempty"`
}

// Excuse is the acknowledgement of a finding.
type Excuse struct {
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// returnFactor is the factor by which a change may exceed the acknowledged size.
const returnFactor = 1.5

// Acknowledge marks the findings that are acknowledged at the time now.
func Acknowledge(findings []Finding, list []Acknowledgement, now time.Time) {
	for i := range findings {
		f := &findings[i]
		filed := slices.ContainsFunc(list, func(a Acknowledgement) bool { return !a.Stored && a.concerns(f) })
		for j := range list {
			if a := &list[j]; a.holds(f, now) && !(a.Stored && filed) {
				f.Acknowledged = &Excuse{a.Reason, a.Until, a.By, a.At}
				break
			}
		}
	}
}

func (a *Acknowledgement) holds(f *Finding, now time.Time) bool {
	switch {
	case !a.Until.IsZero() && !now.IsZero() && !now.Before(a.Until):
		return false
	case a.UpTo > 0 && math.Abs(f.Delta.Share) > returnFactor*a.UpTo:
		return false
	}
	return a.concerns(f)
}

// concerns reports whether it is about the finding, whatever its size and the time.
func (a *Acknowledgement) concerns(f *Finding) bool {
	switch {
	case !a.covers(testrun.Benchmark{Group: f.Group, Name: f.Benchmark}):
		return false
	case a.ID != "":
		return a.ID == f.ID
	}
	return a.Function != "" && (f.Function != "" && matches(a.Function, f.Function) || f.Headline != nil && f.Headline.Own && matches(a.Function, f.Headline.Function))
}

// acceptedSince returns the index of runs at which the history begins: the first run of
// the newest confirmed and accepted change before the tested runs, which are the last
// of runs. It is 0 if there is none, or if too few runs follow for a history; until
// then the change stays an accepted finding.
//
// A scan goes back only to its oldest age, so older changes are searched for from
// earlier runs.
func (b *Benchmark) acceptedSince(rows *Rows, runs []int, tested int, req *Request) (int, error) {
	accepted := slices.DeleteFunc(slices.Clone(req.Acknowledged), func(a Acknowledgement) bool { return a.begins() || !a.covers(b.Benchmark) })
	if len(accepted) == 0 {
		return 0, nil
	}
	o := Request{Options: req.Options}
	o.Alpha = 0 // the default, not that of a gate: findings in the history fail nothing
	for end := len(runs) - tested; end > leastBefore; end -= oldestAge {
		before := &Benchmark{}
		if err := before.scan(rows, runs[:end], &o); err != nil {
			return 0, err
		}
		Acknowledge(before.Findings, accepted, req.Now)
		from := 0
		for i := range before.Findings {
			f := &before.Findings[i]
			if f.Acknowledged == nil || f.Status != Confirmed || !f.Kind.Costs() {
				continue
			}
			at := slices.IndexFunc(runs, func(t int) bool { return rows.sp.matrix.Runs[t].Profile.Run.Key == f.Since.Run })
			if len(runs)-tested-at >= leastHistory {
				from = max(from, at)
			}
		}
		if from > 0 {
			b.Warnings = append(b.Warnings, fmt.Sprintf("the history begins at %s, with an accepted change", rows.sp.matrix.Runs[runs[from]].Profile.Run.Key))
			return from, nil
		}
	}
	return 0, nil
}

// begins reports whether Since says where histories of the covered benchmarks begin.
func (a *Acknowledgement) begins() bool { return a.Since != "" && (a.ID == "" || a.Benchmark != "") }

func (a *Acknowledgement) covers(b testrun.Benchmark) bool {
	return a.Benchmark == "" || matches(a.Benchmark, b.Name) || matches(a.Benchmark, b.String())
}

func matches(glob, text string) bool { return glob == text || callpath.Glob(glob)(text) }
