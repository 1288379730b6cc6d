package regression

import (
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
	Also      []string  `json:"also,omitempty"`      // ids of the other findings of one cause, accepted with it
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
	// Since is the key of the first run with the change, at which histories begin. With an id
	// it needs the benchmark: an id is of one, and does not say of which.
	Since string `json:"since,omitempty"`
}

// returnFactor is the factor by which a change may exceed the acknowledged size.
const returnFactor = 1.5

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
	case !a.Covers(f.Of()):
		return false
	case a.ID != "":
		return a.ID == f.ID || slices.Contains(a.Also, f.ID)
	}
	return a.Function != "" && (f.Function != "" && matches(a.Function, f.Function) ||
		f.Headline != nil && f.Headline.Own && matches(a.Function, f.Headline.Function))
}

// Begins reports whether Since says where histories of the covered benchmarks begin.
func (a *Acknowledgement) Begins() bool { return a.Since != "" && (a.ID == "" || a.Benchmark != "") }

// Covers reports whether it may be about a benchmark.
func (a *Acknowledgement) Covers(b testrun.Benchmark) bool {
	return a.Benchmark == "" || matches(a.Benchmark, b.Name) || matches(a.Benchmark, b.String())
}

func matches(glob, text string) bool { return glob == text || callpath.Glob(glob)(text) }

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
