// Package change turns the runs of one benchmark and value type into its changes: places that
// take another amount from one run on, each from its first run to its last.
//
//	runs of a line ──Judge──▶ Verdict: the changes, and what the newest run says
//	   (Lines)                  │
//	                            └─ kept as JSON; Judge continues it with the runs that came since
//
// A Verdict is a function of the runs of its line alone (their profiles, order and metrics), and
// of regression.Options: the same for every order of imports. Judge(prev) with the verdict of the first runs
// equals Judge(nil) of all runs; it costs a few comparisons for each run that prev does not have.
// Verdicts say which Method made them. A store keeps them as JSON, and judges a line again when
// Current is false of what it has.
//
// Who accepted a change is no part of it: Verdict.Accept marks changes when they are read.
// Verdict.Standing says what a benchmark is in relation to the newest runs of a store.
//
// The walk asks package regression at each run, against the runs of the current level. A
// confirmed change begins a new level; its end leads back to the level before. The formulas are
// in docs/method/changes.md.
package change

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Method is the version of the method. A verdict of another version is computed again.
const Method = 5

// State is the stage of a change: stated once, sure, over, or accepted.
type State string

// The states. A suspect that the next run does not repeat is withdrawn: it leaves the list.
const (
	Suspect   State = "suspect"   // the newest runs show it, not surely enough
	Confirmed State = "confirmed" // it is there
	Ended     State = "ended"     // it was confirmed, and is over: runs are back at the level before
	Accepted  State = "accepted"  // open, and somebody accepted it; only Accept sets it
	// Passing: all code took longer in the newest runs, which is the machine unless it lasts. It is no
	// row of a list, but the machine's weather.
	Passing State = "passing"
)

// Open reports whether changes of this state are listed: they are there in the newest run.
func (s State) Open() bool { return s == Suspect || s == Confirmed || s == Accepted }

// pending reports whether the next run decides.
func (s State) pending() bool { return s == Suspect || s == Passing }

// Run is a run of a line.
type Run = regression.Moment

func runOf(r *testrun.Run) Run { return Run{Run: r.Key, Commit: r.Commit, Date: r.Date} }

// Onset is when a change began.
type Onset struct {
	Run           // the first run at the new level
	LastGood *Run `json:"lastGood,omitempty"` // the last one at the level before
}

// Change is a place that takes another amount from one run on.
type Change struct {
	// ID identifies the change on every surface: the id of its finding and a hash of its first
	// run, with a hyphen between.
	ID    string `json:"id"`
	State State  `json:"state"`
	Onset Onset  `json:"onset"`
	End   *Run   `json:"end,omitempty"` // the first run back at the level before; set if ended
	// Seen is the run at which the change was first stated, as a suspect or confirmed: what is
	// new since a date or run is seen since then.
	Seen Run `json:"seen"`
	// Finding is the place, its size and the evidence, of the runs since the onset against those
	// before. Finding.ID stays what it was when the change was first stated.
	Finding regression.Finding `json:"finding"`
	// Program is the change of the whole benchmark since the onset, as a share of the level
	// before: of its samples per operation where operations are known, else of its metric. Nil
	// if both are unknown.
	Program *regression.Estimate `json:"program,omitempty"`
	// Explains is the part of Program that this change is; 0 if Program is unknown or tells
	// nothing because its interval includes 0.
	Explains float64 `json:"explains,omitempty"`
	// Runs is the number of runs since the onset that the size is measured on.
	Runs int `json:"runs"`

	// Drifts: the amount grows from run to run since the onset, as that of a leak.
	Drifts bool `json:"drifts,omitempty"`

	// Rows, Base and Head continue the verdict: the sums of samples that changed, and the runs
	// of the level before and of the change, as indexes of the line's runs.
	Rows []regression.Row `json:"rows,omitempty"`
	Base []int            `json:"base"`
	Head []int            `json:"head"`
}

// Costs reports whether the program became slower by a change.
func (c *Change) Costs() bool { return c.Finding.Kind.Costs() }

// idOf returns the id of a change.
func idOf(f *regression.Finding, onset string) string {
	sum := sha256.Sum256([]byte(onset))
	return f.ID + "-" + hex.EncodeToString(sum[:4])
}

// Status is what the newest run of a line says.
type Status string

// The statuses.
const (
	Slower    Status = "slower"    // open costs
	Faster    Status = "faster"    // open improvements, no costs
	Unchanged Status = "unchanged" // none; Verdict.Detectable would have been seen
	Machine   Status = "machine"   // all code moved together; Verdict.Weather says by how much
	TooFew    Status = "too few runs"
	Unknown   Status = "unknown" // not compared, for Verdict.Reason
)

// Weather is a run in which all code took longer, or less long, than before: the machine, or
// the environment.
type Weather struct {
	Run    Run     `json:"run"`
	Factor float64 `json:"factor"` // by which unchanged code takes longer
}

// Key identifies a line.
type Key struct {
	Benchmark testrun.Benchmark `json:"benchmark"`
	Type      string            `json:"type"` // profile.ValueType.Key
	Branch    string            `json:"branch,omitempty"`
	Machine   string            `json:"machine,omitempty"`
	Profiler  string            `json:"profiler,omitempty"`
	// Pair is the name of runs of two commits that were recorded in turns, see history.SideAttribute. They are of
	// no branch, but one comparison.
	Pair string `json:"pair,omitempty"`
}

// Verdict is the changes of one line, and what its newest run says.
type Verdict struct {
	Method int               `json:"method"` // version
	Key    Key               `json:"key"`
	Type   profile.ValueType `json:"type"`
	Runs   int               `json:"runs"`   // judged
	Digest string            `json:"digest"` // of these runs and the options
	First  Run               `json:"first"`
	Newest Run               `json:"newest"`

	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // of TooFew and Unknown: a sentence
	// Needed is the number of runs from which on there is a verdict.
	Needed int `json:"needed"`
	// Detectable is the smallest change, as a share of the program, that the comparison of the
	// newest runs finds in 80% of cases in a function of 5%; 0: nothing was compared.
	Detectable float64 `json:"detectable,omitempty"`
	// Untold is what the newest runs leave open: Unchanged rests on shares.
	regression.Untold
	// Before is the number of first runs that differ from those after them: too few to compare with.
	Before  int      `json:"before,omitempty"`
	Weather *Weather `json:"weather,omitempty"` // of the newest run

	// Changes are the open ones, newest onset first, then passing ones, then the ended ones.
	Changes []Change `json:"changes"`
	// Walk continues the verdict.
	Walk Walk `json:"walk"`
}

// Open lists the open changes.
func (v *Verdict) Open() []Change {
	n := 0
	for n < len(v.Changes) && v.Changes[n].State.Open() {
		n++
	}
	return v.Changes[:n:n]
}
