package regression

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Kind is the kind of a finding.
type Kind string

// The kinds of findings, in the order in which a result lists them.
const (
	Regression  Kind = "regression"  // a place became slower
	Leak        Kind = "leak"        // an amount grows over the snapshots of one process
	Widespread  Kind = "widespread"  // many functions changed at once; none is the cause
	Slowdown    Kind = "slowdown"    // everything, or the one hot function, became slower
	Improvement Kind = "improvement" // a place became faster
	Moved       Kind = "moved"       // work changed its place, not its amount
	Environment Kind = "environment" // the share of collector, compiler or scheduler changed
)

// Costs reports whether findings of this kind mean that the program became slower,
// which is what a gate checks.
func (k Kind) Costs() bool { return k == Regression || k == Leak || k == Widespread || k == Slowdown }

// Status tells whether a second run confirms a finding.
type Status string

// The statuses.
const (
	Suspect   Status = "suspect"   // seen in the newest run only
	Confirmed Status = "confirmed" // seen in the newest runs together, and in each
	Transient Status = "transient" // seen in the run before, but not in the newest
	Ended     Status = "ended"     // of a change: runs are back at the level before
)

// Presence tells whether the function exists on one side only.
type Presence string

// The presences; empty for a function on both sides.
const (
	New      Presence = "new"      // no samples in the history
	Vanished Presence = "vanished" // no samples in the tested runs
)

// Finding is one change, see docs/schema/findings.md. Numbers compare means over the
// tested runs with means over the history.
type Finding struct {
	// ID is the same in all analyses that find this change: a hash of group,
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
	Paths    []Path   `json:"paths"`            // by contribution, at most 10
	Parts    []Part   `json:"parts"`            // places merged into this one; empty for a single one

	// Rows are the sums of samples that changed; none for findings without a place.
	Rows []Row `json:"-"`

	// Headline names the change in the user's own code; nil for findings without a place.
	Headline *Headline `json:"headline,omitempty"`

	Delta Delta   `json:"delta"`
	Score float64 `json:"score"` // standard normal scale
	// Chance is the error probability per benchmark at which the score is the threshold:
	// by the model, so many clean comparisons have a finding like this. 0: unknown.
	Chance float64 `json:"chance"`
	// PlaceChance is Chance without the score of the headline's function.
	PlaceChance float64 `json:"-"`
	// FunctionChance is the error probability of the change of the headline's function: of one
	// test, because the place says which function that is. 0: of no function.
	FunctionChance float64 `json:"-"`
	// RateChance is the error probability of the change of the program's samples per
	// operation; 0: operations are unknown.
	RateChance float64 `json:"-"`
	// Unmeasured: neither the metric nor the samples per operation show that the program
	// became slower.
	Unmeasured bool `json:"-"`
	// Doubtless: every tested run takes at least twice the time of every run before, and this
	// is half of the program before at least.
	Doubtless bool   `json:"-"`
	Status    Status `json:"status"`
	Since     Since  `json:"since"`

	RuledOut []RuledOut `json:"ruledOut"`
	// Explained has what the profiles show as a probable cause.
	Explained    []Explanation `json:"explained,omitempty"`
	Acknowledged *Excuse       `json:"acknowledged,omitempty"`
	// Note is a sentence with what the fields cannot express.
	Note string `json:"note,omitempty"`
	// Change is the life of a change; nil for a comparison of two sides.
	Change *Lasting `json:"change,omitempty"`
	// Sides are the runs whose difference the finding is; nil within an analysis.
	Sides *Sides `json:"sides,omitempty"`
}

// Of returns the benchmark.
func (f *Finding) Of() testrun.Benchmark { return testrun.Benchmark{Group: f.Group, Name: f.Benchmark} }

// Key returns the key of the series that the finding is of.
func (f *Finding) Key() history.Key { return history.Key{Benchmark: f.Of(), Type: f.Type} }

// mayBeNone reports whether a finding is a cost of nothing, or a gain whose interval holds no change: what
// its places gained did not show in the function, or the machine was too busy to tell.
func (f Finding) mayBeNone() bool {
	return f.Kind.Costs() && f.Delta.Share <= 0 || f.Kind == Improvement && f.Delta.Time != nil && f.Delta.Time.High >= 0
}

// Sides are the runs of both sides of a finding by key, oldest first, and how a diff of them
// shows the finding's numbers.
type Sides struct {
	Base []string `json:"base"`
	Head []string `json:"head"`
	// Against is the parameter of that diff: empty where amounts were compared, per operation or
	// of one moment; AgainstHistory where shares of samples were.
	Against string `json:"against,omitempty"`
	// Pair is set if all runs of both sides were recorded in turns: its name. Then no slower machine
	// explains a difference.
	Pair string `json:"pair,omitempty"`
	// Service is set if the sides are releases of a service: values of Label. Pushed is the type
	// of its profiles.
	Service string `json:"service,omitempty"`
	Label   string `json:"label,omitempty"`
	Pushed  string `json:"pushed,omitempty"`
}

// AgainstHistory: runs are scaled so that most functions are unchanged.
const AgainstHistory = "history"

// NewSides returns the sides of a finding that compares these runs.
func NewSides(before, after []*store.Profile) *Sides {
	s := &Sides{Base: []string{}, Head: []string{}}
	amounts, turns := true, true
	add := func(list []*store.Profile, to *[]string, ofHead bool) {
		for _, p := range list {
			n, _ := p.Operations()
			amounts = amounts && (n > 0 || p.Type.Momentary())
			pair, head := history.PairOf(p)
			turns = turns && pair != "" && head == ofHead && (s.Pair == "" || s.Pair == pair)
			s.Pair = pair
			*to = append(*to, p.Run.Key)
		}
	}
	add(before, &s.Base, false)
	add(after, &s.Head, true)
	if !turns {
		s.Pair = ""
	}
	if !amounts && len(before) >= leastHistory {
		s.Against = AgainstHistory
	}
	return s
}

// Lasting is the life of a finding that is a change, from its first run to its last.
type Lasting struct {
	Finding string `json:"finding"` // id of the finding, which the change's id begins with
	State   string `json:"state"`   // suspect, confirmed, ended or accepted
	// Onset is the first run at the new level, LastGood the last one at the level before.
	Onset    Moment  `json:"onset"`
	LastGood *Moment `json:"lastGood,omitempty"`
	End      *Moment `json:"end,omitempty"` // the first run back at the level before
	Seen     Moment  `json:"seen"`          // the run at which the change was first stated
	Runs     int     `json:"runs"`          // since the onset, that the size is measured on
	// Program is the change of the whole benchmark since the onset, as a share; Explains is
	// the part of it that this change is.
	Program  *Estimate `json:"program,omitempty"`
	Explains float64   `json:"explains,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Machine  string    `json:"machine,omitempty"`
	// Pair says which commits were recorded in turns: the change is between these, and none of a
	// history. Absent of others.
	Pair string `json:"pair,omitempty"`
}

// Moment is a run in the life of a change.
type Moment struct {
	Run    string    `json:"run"` // key
	Commit string    `json:"commit,omitempty"`
	Date   time.Time `json:"date,omitzero"`
}

// Path is a call node path and its contribution.
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

// Delta is the change of the function of the headline with its callees: what rose less
// what fell.
type Delta struct {
	Samples float64   `json:"samples"` // per run of mean length
	Share   float64   `json:"share"`   // of the program before
	Base    float64   `json:"base"`    // share of the program on the base side
	Gross   float64   `json:"gross"`   // what changed at the places alone, as a share
	Time    *Estimate `json:"time,omitempty"`
}

// Whole reports whether the change is all of the program's: its function is nearly all of the program,
// and what the runtime does for it counts.
func (d Delta) Whole() bool { return math.Abs(d.Base-1) < 1e-9 }

// Estimate is a value with its 95% interval, in the unit of the benchmark's
// metric, or of its inverse for a rate.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Unit  string  `json:"unit"`
}

// Since tells when a change happened.
type Since struct {
	Run      string `json:"run"`
	Commit   string `json:"commit,omitempty"`
	LastGood string `json:"lastGood,omitempty"` // the run before
}

// RuledOut is another explanation that was tested and rejected.
type RuledOut struct {
	Cause    string `json:"cause"` // "moved work", "machine", "environment"
	Evidence string `json:"evidence"`
}

// Stands reports whether a finding is a cost that is confirmed, or with suspects at least seen in
// the newest run, and that nobody accepted: what dendro watch posts, and what fails a check of
// the releases of a service.
func (f *Finding) Stands(suspects bool) bool {
	return f.Kind.Costs() && f.Acknowledged == nil && (f.Status == Confirmed || suspects && f.Status == Suspect)
}

// setID computes the finding's id from its identifying fields.
func (f *Finding) setID() {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", f.Group, f.Benchmark, f.Type, f.Kind, f.Function, f.Caller))
	f.ID = hex.EncodeToString(sum[:8])
}

// Excuse is the acknowledgement of a finding.
type Excuse struct {
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Explanation is a probable cause of a change that the profiles show.
type Explanation struct {
	Cause    string `json:"cause"` // "interpreted", "c1", "not inlined", "compiled"
	Evidence string `json:"evidence"`
}

// Headline names a change in the code that the user can change: the function of the
// user's own that carries it, and what that function calls.
type Headline struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`  // where the function begins; 0: unknown
	Call     int    `json:"call,omitempty"`  // line of the call, or of its own code, in the newest run; 0: unknown
	Calls    string `json:"calls,omitempty"` // the callee with the change; empty: its own code
	New      bool   `json:"new,omitempty"`   // the function is not in the history
	// Own is false if no function of the user's own is on the path: then Function is the
	// place itself.
	Own bool `json:"own"`

	// score is that of the function with all its callees, or of its callee if that is the
	// user's own too, positive if it changed as the places did: a library's functions may
	// only be called by other names, which compilers decide run by run.
	score float64
}

// Row names a sum of samples that changed, in every matrix.
type Row = row.Name
