// Package continuous models pushed profiles: programs send what they sampled in the last
// seconds, and go on for months.
//
// A Series is what a service measures of one type under one set of labels. A Window is
// what was sampled of a series in a span of time: a sparse vector of self values over the
// store's forest of call paths, never a profile of a benchmark. Windows are as they were
// pushed (Raw) or sums over an hour or a day, which RollUp makes.
//
// The package has the names, the arithmetic of levels, selectors, and the storage
// contract, Store. It knows no protocol: app/internal/server translates them.
package continuous

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Type is what a series measures, with the words of the program that pushed it. Its text,
// `process_cpu:cpu:nanoseconds:cpu:nanoseconds`, is the literal type id of Pyroscope, and
// types are equal if their texts are: `mutex:delay:…` and `block:delay:…` are two.
type Type struct {
	Name       string `json:"name"` // process_cpu, memory, mutex, block, goroutines, wall, …
	SampleType string `json:"sampleType"`
	SampleUnit string `json:"sampleUnit"`
	PeriodType string `json:"periodType"`
	PeriodUnit string `json:"periodUnit"`
}

// ParseType parses the text of a type. A sixth part, `delta`, is accepted and ignored.
func ParseType(id string) (Type, error) {
	p := strings.Split(id, ":")
	if len(p) == 6 && p[5] == "delta" {
		p = p[:5]
	}
	if len(p) != 5 || p[0] == "" || p[1] == "" {
		return Type{}, fmt.Errorf("profile type %q: expected name:sample type:sample unit:period type:period unit", id)
	}
	return Type{p[0], p[1], p[2], p[3], p[4]}, nil
}

// String returns the type id.
func (t Type) String() string {
	return strings.Join([]string{t.Name, t.SampleType, t.SampleUnit, t.PeriodType, t.PeriodUnit}, ":")
}

// Gauge reports whether a window of the type shows a state, such as the live heap or the
// goroutines, and not what happened during the window. Over time a gauge is averaged; the
// rest is added.
func (t Type) Gauge() bool {
	return strings.HasPrefix(t.SampleType, "inuse_") || t.SampleType == "live" ||
		t.SampleType == "goroutine" || t.SampleType == "goroutines" ||
		t.Name == "goroutine" || t.Name == "goroutines"
}

// Requests reports whether windows of the type count the requests that a service answered:
// they are no profile, but what costs are divided by.
func (t Type) Requests() bool { return t.SampleType == "requests" }

// CPUTime reports whether the values are CPU time. A service may push it by two profilers.
func (t Type) CPUTime() bool { return t.SampleType == "cpu" && t.SampleUnit == "nanoseconds" }

// Label is a name and a value, both UTF-8. Names may have dots.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Labels are sorted by name, and names are unique.
type Labels []Label

// Get returns the value of a label, empty if there is none, as Prometheus has it.
func (l Labels) Get(name string) string {
	i, ok := slices.BinarySearchFunc(l, name, func(a Label, name string) int { return cmp.Compare(a.Name, name) })
	if !ok {
		return ""
	}
	return l[i].Value
}

// Cut returns the value of a label, empty if there is none, and the other labels.
func (l Labels) Cut(name string) (value string, rest Labels) {
	i := slices.IndexFunc(l, func(a Label) bool { return a.Name == name })
	if i < 0 {
		return "", l
	}
	return l[i].Value, slices.Concat(l[:i], l[i+1:])
}

// Map returns the values by name.
func (l Labels) Map() map[string]string {
	m := make(map[string]string, len(l))
	for _, a := range l {
		m[a.Name] = a.Value
	}
	return m
}

// ServiceLabel is the label that names the service; selectors and answers have it among
// the others, Series.Labels has not.
const ServiceLabel = "service_name"

// Series is what a service measures of one type under one set of labels. Service, Type and
// Labels are its identity.
type Series struct {
	Service string `json:"service"`
	Type    Type   `json:"type"`
	Labels  Labels `json:"labels,omitempty"` // without ServiceLabel

	// Facts describe the program of the newest window, such as its process id. They are no
	// part of the identity: a restart is no new series.
	Facts Labels `json:"facts,omitempty"`

	// Summed are labels that its hours and days lack: they have the windows of series that
	// differ in these labels only. Empty for windows that are pushed.
	Summed []string `json:"summed,omitempty"`

	// Of what the store has: the start of the first window and the end of the last.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// Key identifies a series: it is equal for the same service, type and labels, and different
// for others. It is a hash, so that tables of series hold 16 bytes of each, however long its
// labels are.
type Key [16]byte

// Key returns the key of the series.
func (s *Series) Key() Key { return s.LabelKey().OfType(s.Type) }

// LabelKey returns the key of service and labels, whatever the type is.
func (s *Series) LabelKey() Key {
	text := appendText(make([]byte, 0, 512), s.Service)
	for _, l := range s.Labels {
		text = appendText(appendText(text, l.Name), l.Value)
	}
	return keyOf(text)
}

// OfType returns the key of a series from that of its labels.
func (k Key) OfType(t Type) Key {
	text := append(make([]byte, 0, 256), k[:]...)
	for _, part := range [...]string{t.Name, t.SampleType, t.SampleUnit, t.PeriodType, t.PeriodUnit} {
		text = append(append(text, ':'), part...)
	}
	return keyOf(text)
}

// keyOf hashes with SHA-256: programs choose their labels, and must not find two series with
// one key.
func keyOf(text []byte) (k Key) {
	sum := sha256.Sum256(text)
	copy(k[:], sum[:])
	return k
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// Bytes returns about how much memory the texts of the series take.
func (s *Series) Bytes() int64 {
	t := &s.Type
	n := len(s.Service) + len(t.Name) + len(t.SampleType) + len(t.SampleUnit) + len(t.PeriodType) + len(t.PeriodUnit)
	return int64(n) + s.Labels.Bytes() + s.Facts.Bytes()
}

// Bytes returns about how much memory labels take.
func (l Labels) Bytes() (n int64) {
	for i := range l {
		n += LabelBytes(&l[i])
	}
	return n
}

// LabelBytes returns about how much memory a label takes: its texts and two headers.
func LabelBytes(l *Label) int64 { return int64(32 + len(l.Name) + len(l.Value)) }

// TypeLabel is the label that names the type in selectors and answers: Type's text. Its
// parts are labels too; see Series.Label.
const TypeLabel = "__profile_type__"

// Label returns the value of a label as selectors see it. The service and the type are
// labels as well, by the names that Pyroscope gives them.
func (s *Series) Label(name string) string {
	if name == ServiceLabel {
		return s.Service
	}
	if !strings.HasPrefix(name, "__") {
		return s.Labels.Get(name)
	}
	switch name {
	case TypeLabel:
		return s.Type.String()
	case "__service_name__":
		return s.Service
	case "__name__":
		return s.Type.Name
	case "__type__":
		return s.Type.SampleType
	case "__unit__":
		return s.Type.SampleUnit
	case "__period_type__":
		return s.Type.PeriodType
	case "__period_unit__":
		return s.Type.PeriodUnit
	}
	return s.Labels.Get(name)
}

// Earlier returns the earlier of two times; the zero time is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Level is how long the windows of a sum are.
type Level uint8

// The levels. Hours and days begin at full ones of UTC.
const (
	Raw  Level = iota // as pushed
	Hour              // sums of Raw
	Day               // sums of Hour
)

// Length returns the length of a level's windows; 0 for Raw, whose windows have their own.
func (l Level) Length() time.Duration {
	return [...]time.Duration{0, time.Hour, 24 * time.Hour}[l]
}

// Window is a window to be stored. Starts and lengths are stored in milliseconds; a window
// belongs to the hour and the day in which it starts.
type Window struct {
	Series Series
	Start  time.Time
	Length time.Duration
	Type   profile.ValueType // how to read the values; the same for all windows of a series
	Forest *calltree.Forest  // as in store.Record: a growing forest or a snapshot of it
	Self   calltree.Vector   // over Forest
	Hash   profile.Hash      // of the content. Series, Start, Length and Hash identify a window: a repeat is dropped

	// Untimed windows have no time of their own: Start is when they arrived, which differs
	// when they are sent again. Series, Length and Hash identify them, among the windows
	// that start at most RepeatWithin apart.
	Untimed bool
}

// RepeatWithin is how long after an untimed window a repeat of it is found: longer than
// programs try to send it.
const RepeatWithin = time.Hour

// Matcher is one condition of a selector. The missing label has the empty value.
type Matcher struct {
	Name  string
	Value string
	Op    MatchOp
}

// MatchOp is how a Matcher compares.
type MatchOp string

// The operations. Patterns are RE2 and match whole values.
const (
	Equal      MatchOp = "="
	NotEqual   MatchOp = "!="
	Matches    MatchOp = "=~"
	NotMatches MatchOp = "!~"
)

// Query selects windows: of series of the type that match all matchers, with a start in
// [From, Until). A zero Type selects all types; a zero time does not limit.
type Query struct {
	Type        Type
	Matchers    []Matcher
	From, Until time.Time
	// By are labels by whose values the answer is divided: where sums lack one, what is finer
	// and still kept is read.
	By []string
}

// Total describes a window without its call paths: a point of a chart.
type Total struct {
	Series int32 // index in Totals.Series
	Level  Level
	Start  time.Time
	Length time.Duration
	Parts  int64 // pushed windows in it
	// Covered is the sum of their lengths: the time of all programs together.
	Covered   time.Duration
	Sum       int64 // of the self values
	Instances int64 // whose windows it has: of a pushed window 1, of a day the most of an hour
}

// Totals is the answer of Store.Totals.
type Totals struct {
	Series []Series // in order of service, type and labels
	Totals []Total  // by series, then start
}

// Amount describes what one function took in a window.
type Amount struct {
	Total
	Self  int64 // of the function
	Whole int64 // self plus callees; recursion counts once
}

// Amounts is the answer of Store.Function.
type Amounts struct {
	Series  []Series
	Amounts []Amount // of every selected window, also of those without the function; by series, then start
}

// Merged is the answer of Store.Tree.
type Merged struct {
	Tree    *calltree.Tree // sum over the windows; Type is that of the windows
	Series  []Series       // that have a window in the selection
	Windows int64          // that were read, of any level
	Parts   int64          // pushed windows in them; Tree's values ÷ Parts is the mean of a gauge per window
	Covered time.Duration  // sum of the lengths of the pushed windows
	// Instances are those that there were at the same time: of each series 1, of those that are
	// summed up the most of an hour.
	Instances int64
	// Most are those of each series; of several that are summed up together, the first has them.
	// Empty: each has one.
	Most []int64
}

// Policy says how long windows are kept, by level; 0 keeps them for ever.
type Policy struct {
	Keep [3]time.Duration // by Level, measured from the end of a window
	// Bytes limits the vectors of each level; 0: no limit. The oldest windows go first: of services
	// with more than Share percent of it, then of all.
	Bytes [3]int64
	Share int
	// Instance are labels that sums lack: raw windows keep them, and an hour has one sum of all
	// their values.
	Instance []string

	// A level is not kept for longer than a coarser one. Windows are removed by full
	// hours (Raw) and days, and not before they are in a sum.
}

// Rolled is what RollUp did.
type Rolled struct {
	Made    int64 // windows of hours and days written
	Expired int64 // windows removed, by level's policy
	Swept   int64 // call paths removed that nothing uses any more; 0 if the engine's Compact does that
}

// Stats counts what a store has.
type Stats struct {
	Series  int64     `json:"series"`
	Windows [3]int64  `json:"windows"` // by Level
	Bytes   [3]int64  `json:"bytes"`   // of vectors, by Level
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
}
