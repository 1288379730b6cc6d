package change

import (
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
)

// Accept returns the verdict as it stands at a time, if these changes are accepted: by the id of
// the change, by that of its finding, which accepts it from whatever run on, or by function. The
// verdict itself does not change.
func (v *Verdict) Accept(list []regression.Acknowledgement, now time.Time) *Verdict {
	accepted := *v
	accepted.Changes = slices.Clone(v.Changes)
	for i := range accepted.Changes {
		c := &accepted.Changes[i]
		if !c.State.Open() {
			continue
		}
		both := []regression.Finding{c.Finding, c.Finding}
		both[1].ID = c.ID
		regression.Acknowledge(both, list, now)
		for _, f := range both {
			if f.Acknowledged != nil && c.State != Accepted {
				c.State, c.Finding.Acknowledged = Accepted, f.Acknowledged
			}
		}
	}
	accepted.status()
	return &accepted
}

// Now returns the weather of the newest run, or that of the newest passing change; nil: none.
func (v *Verdict) Now() *Weather {
	if v.Weather != nil {
		return v.Weather
	}
	for i := range v.Changes {
		if c := &v.Changes[i]; c.State == Passing {
			return &Weather{c.Onset.Run, 1 + c.Finding.Delta.Share}
		}
	}
	return nil
}

// The statuses of a benchmark that its own runs do not tell.
const (
	New       Status = "new"             // the newest run is its first
	NotAtHead Status = "not run at HEAD" // the newest run is without it
	Gone      Status = "gone"            // several runs are without it
)

// leastGone is the number of newest runs without a benchmark from which on it is gone.
const leastGone = 3

// Standing is the state of a benchmark, and what it rests on.
type Standing struct {
	Status Status `json:"status"`
	// Costs and Gains are the numbers of open changes of the last run that are not accepted.
	Costs int `json:"costs,omitempty"`
	Gains int `json:"gains,omitempty"`
	// Largest is the share of the largest of the costs, or of the gains if there are none.
	Largest float64 `json:"largest,omitempty"`
	// Detectable is the size that would have been seen; of Unchanged.
	Detectable        float64  `json:"detectable,omitempty"`
	regression.Untold          // of Unchanged, see Verdict
	Before            int      `json:"before,omitempty"`  // likewise
	Last              *Run     `json:"last,omitempty"`    // the last run with it; of NotAtHead and Gone
	Since             *Run     `json:"since,omitempty"`   // the first run without it; of Gone
	Runs              int      `json:"runs,omitempty"`    // of TooFew
	Needed            int      `json:"needed,omitempty"`  // of TooFew
	Reason            string   `json:"reason,omitempty"`  // of Unknown, and of TooFew in place of Needed
	Weather           *Weather `json:"weather,omitempty"` // of Machine
}

// Standing returns the state of the benchmark among the runs that it may be in, oldest first: those
// of its group, branch and machine.
func (v *Verdict) Standing(runs []Run) Standing {
	s := Standing{Status: v.Status}
	gain := 0.0
	for _, c := range v.Open() {
		switch share := c.Finding.Delta.Share; {
		case c.State == Accepted:
		case c.Costs():
			s.Costs++
			s.Largest = max(s.Largest, share)
		default:
			s.Gains++
			gain = min(gain, share)
		}
	}
	if s.Costs == 0 {
		s.Largest = gain
	}
	at := slices.IndexFunc(runs, func(r Run) bool { return r.Run == v.Newest.Run })
	if without := len(runs) - 1 - at; at >= 0 && without > 0 {
		last, since := v.Newest, runs[at+1]
		s.Status, s.Last = NotAtHead, &last
		if without >= leastGone {
			s.Status, s.Since = Gone, &since
		}
		return s
	}
	switch s.Status {
	case TooFew:
		if v.Runs == 1 && len(runs) > 1 {
			s.Status = New
		}
		if s.Runs, s.Needed = v.Walk.Judged, v.Needed; v.Key.Pair != "" { // it needs them on both sides
			s.Runs, s.Needed, s.Reason = 0, 0, v.Reason
		}
	case Unknown:
		s.Reason = v.Reason
	case Machine:
		s.Weather = v.Now()
	case Unchanged:
		s.Detectable, s.Untold, s.Before = v.Detectable, v.Untold, v.Before
	}
	return s
}
