package regression

import (
	"math"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/testrun"
)

// Acknowledgement says that a change is known and accepted. A finding is
// acknowledged by its id or by function, in the benchmarks that match, until a
// date, and up to a size.
type Acknowledgement struct {
	ID        string    `json:"id,omitempty"`        // of the finding
	Function  string    `json:"function,omitempty"`  // glob; instead of the id
	Benchmark string    `json:"benchmark,omitempty"` // glob over group/name or name; empty: all
	Until     time.Time `json:"until,omitzero"`      // not acknowledged any more from then on
	UpTo      float64   `json:"upTo,omitempty"`      // share of the program; 0: any size
	Reason    string    `json:"reason,omitempty"`
	// Since is the key of the first run with the change: histories begin there.
	Since string `json:"since,omitempty"`
}

// Excuse is the acknowledgement that holds for a finding.
type Excuse struct {
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// returnFactor is how far a change may exceed the size that was acknowledged.
const returnFactor = 1.5

// Acknowledge marks the findings that an acknowledgement holds for at the time
// now.
func Acknowledge(findings []Finding, list []Acknowledgement, now time.Time) {
	for i := range findings {
		for j := range list {
			if list[j].holds(&findings[i], now) {
				findings[i].Acknowledged = &Excuse{list[j].Reason, list[j].Until}
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
	case !a.covers(testrun.Benchmark{Group: f.Group, Name: f.Benchmark}):
		return false
	case a.ID != "":
		return a.ID == f.ID
	}
	return a.Function != "" && f.Function != "" && matches(a.Function, f.Function)
}

func (a *Acknowledgement) covers(b testrun.Benchmark) bool {
	return a.Benchmark == "" || matches(a.Benchmark, b.Name) || matches(a.Benchmark, b.String())
}

func matches(glob, text string) bool { return glob == text || calltree.Glob(glob).MatchString(text) }
