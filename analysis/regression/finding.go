package regression

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Kind says what a finding is.
type Kind string

// The kinds of findings, in the order in which a result lists them.
const (
	Regression  Kind = "regression"  // a place costs more than before
	Widespread  Kind = "widespread"  // many functions changed at once; none is the culprit
	Slowdown    Kind = "slowdown"    // everything, or the one hot function, got slower
	Improvement Kind = "improvement" // a place costs less than before
	Moved       Kind = "moved"       // work changed its place, not its amount
	Environment Kind = "environment" // collector, compiler or scheduler took another share
)

// Costs reports whether a finding of this kind says that the program got slower:
// what a gate asks for.
func (k Kind) Costs() bool { return k == Regression || k == Widespread || k == Slowdown }

// Status says how far a finding is confirmed by a second run.
type Status string

// The statuses.
const (
	Suspect   Status = "suspect"   // seen in the newest run only
	Confirmed Status = "confirmed" // seen in the newest runs together, and in each
	WentAway  Status = "went-away" // seen in the run before, not in the newest
)

// Presence says that the function is there on one side only.
type Presence string

// The presences; empty for a function that both sides have.
const (
	New      Presence = "new"      // not one sample in the history
	Vanished Presence = "vanished" // not one sample in the tested runs
)

// Finding is one change, in the words of docs/schema/findings.md. Numbers are
// means over the tested runs against means over the history.
type Finding struct {
	// ID is the same in every analysis that finds this change: a hash of group,
	// benchmark, value type, kind, function and caller. 16 hexadecimal digits.
	ID        string   `json:"id"`
	Kind      Kind     `json:"kind"`
	Presence  Presence `json:"presence,omitempty"`
	Group     string   `json:"group,omitempty"`
	Benchmark string   `json:"benchmark"`
	Type      string   `json:"type"` // name of the value type

	Function string   `json:"function"`         // empty for findings without a place
	Caller   string   `json:"caller,omitempty"` // set when only calls from there changed
	Path     []string `json:"path"`             // the heaviest, root to place
	Paths    []Path   `json:"paths"`            // by contribution, 10 at most
	Parts    []Part   `json:"parts"`            // places that were united into this one; empty for a single one

	Delta  Delta   `json:"delta"`
	Score  float64 `json:"score"` // standard normal scale
	Status Status  `json:"status"`
	Since  Since   `json:"since"`

	RuledOut     []RuledOut `json:"ruledOut"`
	Acknowledged *Excuse    `json:"acknowledged,omitempty"`
	// Note says in a sentence what the fields cannot.
	Note string `json:"note,omitempty"`
}

// Path is a call node path and what it contributes.
type Path struct {
	Path  []string `json:"path"`
	Delta float64  `json:"delta"` // samples per run
}

// Part is one of several places that changed together.
type Part struct {
	Function string   `json:"function"`
	Caller   string   `json:"caller,omitempty"`
	Path     []string `json:"path"`
	Delta    float64  `json:"delta"` // samples per run
	Score    float64  `json:"score"`
}

// Delta is how much a place changed.
type Delta struct {
	Samples float64   `json:"samples"` // per run of mean length
	Share   float64   `json:"share"`   // of the program before
	Before  float64   `json:"before"`  // share of the program that the place took before
	Time    *Estimate `json:"time,omitempty"`
}

// Estimate is a value with its 95% interval, in the unit of the benchmark's
// metric, or of its inverse for a rate.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Unit  string  `json:"unit"`
}

// Since says when a change came.
type Since struct {
	Run      string `json:"run"`
	Commit   string `json:"commit,omitempty"`
	LastGood string `json:"lastGood,omitempty"` // the run before
}

// RuledOut is another explanation that was tested and does not hold.
type RuledOut struct {
	Cause    string `json:"cause"` // "moved work", "machine", "environment"
	Evidence string `json:"evidence"`
}

// setID computes the finding's id from what names it.
func (f *Finding) setID() {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", f.Group, f.Benchmark, f.Type, f.Kind, f.Function, f.Caller))
	f.ID = hex.EncodeToString(sum[:8])
}
