package traceprof

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// Segment is the part of a trace that ran in one thread of one instance.
type Segment struct {
	ID        string `json:"id"`
	Trace     string `json:"trace"`
	Service   string `json:"service"`
	Instance  string `json:"instance"`
	Endpoint  string `json:"endpoint"`  // of the last entry span, else of the first span
	Operation string `json:"operation"` // of the first span: what agents compare with a task's endpoint
	Start     int64  `json:"start"`     // ms; of the earliest span
	End       int64  `json:"end"`       // ms; of the latest span
	Error     bool   `json:"error,omitempty"`

	// Received is when the segment arrived, in ms by the server's clock; 0: at its start.
	// Agents choose Start and End, so they do not decide how long a segment is kept.
	Received int64 `json:"received,omitempty"`

	// Raw is the segment with all its spans as it was received, opaque here.
	Raw []byte `json:"raw,omitempty"`
}

// Latency returns how long the segment took, in ms.
func (s *Segment) Latency() int64 { return s.End - s.Start }

// Arrived returns when the segment arrived, in ms: its age for Expiry.
func (s *Segment) Arrived() int64 { return cmp.Or(s.Received, s.Start) }

// SetArrived is the inverse of Arrived: it sets Received.
func (s *Segment) SetArrived(at int64) {
	if s.Received = at; at == s.Start {
		s.Received = 0
	}
}

// Language is the kind of a segment's snapshots.
type Language uint8

// The languages, which differ in what a snapshot is.
const (
	Dumps      Language = iota // dumps of a thread, at most one per period
	GoProfiles                 // samples of a CPU profile that carry the segment as a label
)

// Snapshots holds snapshots of one segment as columns of equal length. A Store returns
// all of a segment, in ascending order of Sequence and without repeats. It accepts parts,
// in any order and with repeats.
type Snapshots struct {
	Task     string
	Segment  string
	Language Language

	// Stacks is the dictionary of stacks: a function is a code signature as the agent
	// wrote it, a path is a stack from its outermost frame. It may grow; the paths in
	// Path do not change.
	Stacks *calltree.Forest

	Sequence []int32 // number of the dump; of a Go profile the number of the sample
	Time     []int64 // ms
	Path     []int32 // in Stacks; calltree.NoNode: a dump without frames

	// Received is when the newest of the snapshots arrived, in ms by the server's clock; 0:
	// the newest of Time. A Store does not return it.
	Received int64

	// Samples and time that a row of GoProfiles represents; nil for dumps.
	Count []int64
	Nanos []int64
}

// Len returns the number of snapshots.
func (s *Snapshots) Len() int { return len(s.Sequence) }

// Arrived returns when the newest snapshot arrived, in ms. There is one.
func (s *Snapshots) Arrived() int64 {
	if s.Received != 0 {
		return s.Received
	}
	return slices.Max(s.Time)
}

// Check returns an error if the columns contradict each other.
func (s *Snapshots) Check() error {
	n, paths := s.Len(), int32(0)
	if s.Stacks != nil {
		paths = int32(s.Stacks.Paths.Len())
	}
	weighted := 0
	if s.Language == GoProfiles {
		weighted = n
	}
	if len(s.Time) != n || len(s.Path) != n || len(s.Count) != weighted || len(s.Nanos) != weighted {
		return fmt.Errorf("snapshots of segment %q: the columns have %d, %d, %d, %d and %d rows",
			s.Segment, n, len(s.Time), len(s.Path), len(s.Count), len(s.Nanos))
	}
	for i, p := range s.Path {
		if p < calltree.NoNode || p >= paths {
			return fmt.Errorf("snapshot %d of segment %q: path %d of %d", s.Sequence[i], s.Segment, p, paths)
		}
	}
	return nil
}

// Instance is a process of a service.
type Instance struct {
	Service    string     `json:"service"`
	Name       string     `json:"name"`
	Layer      string     `json:"layer,omitempty"` // empty: GENERAL
	Language   string     `json:"language,omitempty"`
	Properties []Property `json:"properties,omitempty"` // in the order they came; keys may repeat
	FirstSeen  int64      `json:"firstSeen"`            // ms, by the server's clock
	LastSeen   int64      `json:"lastSeen"`
	Polled     int64      `json:"polled,omitempty"` // last poll for tasks; 0: never
	// Skew is how far the instance's clock was ahead of the server's, in ms, when it
	// was last measured.
	Skew int64 `json:"skew,omitempty"`
}

// Property is a property that an instance reported.
type Property struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Merge applies a later report of the same instance. Its empty fields change nothing.
func (i *Instance) Merge(later *Instance) {
	if later.Layer != "" {
		i.Layer = later.Layer
	}
	if later.Language != "" {
		i.Language = later.Language
	}
	if len(later.Properties) > 0 {
		i.Properties = later.Properties
	}
	if i.FirstSeen == 0 || later.FirstSeen != 0 && later.FirstSeen < i.FirstSeen {
		i.FirstSeen = later.FirstSeen
	}
	if later.LastSeen >= i.LastSeen && later.Skew != 0 {
		i.Skew = later.Skew
	}
	i.LastSeen = max(i.LastSeen, later.LastSeen)
	i.Polled = max(i.Polled, later.Polled)
}

// Endpoint summarises the stored segments of one operation of a service.
type Endpoint struct {
	Service  string `json:"service"`
	Name     string `json:"name"`
	Segments int64  `json:"segments"` // stored ones
	Slowest  int64  `json:"slowest"`  // latency in ms
	LastSeen int64  `json:"lastSeen"` // ms, start of the newest segment
}

// Span is one span of a segment.
type Span struct {
	ID        int32  `json:"id"`     // from 0 within the segment
	Parent    int32  `json:"parent"` // the span around it in the segment; -1: none
	Operation string `json:"operation"`
	Kind      string `json:"kind"` // Entry, Exit or Local
	Layer     string `json:"layer,omitempty"`
	Peer      string `json:"peer,omitempty"` // who is called
	Start     int64  `json:"start"`          // ms
	End       int64  `json:"end"`            // ms
	Error     bool   `json:"error,omitempty"`
}
