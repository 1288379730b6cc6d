package traceprof

import (
	"context"
	"errors"
	"fmt"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Range selects the snapshots of a segment from Start to End, both inclusive, in ms.
type Range struct {
	Segment string `json:"segment"`
	Start   int64  `json:"start"`
	End     int64  `json:"end"`
}

// DefaultLimit is the default maximum number of snapshots of one analysis.
const DefaultLimit = 12_000

// AnalyzeOptions are the options of an analysis.
type AnalyzeOptions struct {
	Task  string // only its snapshots; "": those of all tasks
	Limit int    // maximum number of snapshots; 0: DefaultLimit
	Dumps bool   // list the snapshots
}

// Analysis shows where segments spent their time.
type Analysis struct {
	// Tip is a message if the limit omitted snapshots.
	Tip string
	// Found is the number of sequence numbers that the ranges span. Lost ones count,
	// and those in several ranges count several times. Of CPU profiles it is Snapshots.
	Found int64
	// Snapshots is the number of snapshots in the trees, of CPU profiles that of samples.
	Snapshots int
	// CPU tells that the snapshots are samples of CPU profiles, and times are CPU time.
	CPU bool

	Functions []profile.Function // those of StackTree.Function; the names are code signatures
	Trees     []StackTree        // one for each outermost frame, in order of first appearance

	// Dumps are the snapshots in the trees, by segment, then by sequence, if they were asked for.
	Dumps []Dump
}

// Dump is a snapshot of an analysis, or samples of a CPU profile with one stack.
type Dump struct {
	Segment  string
	Sequence int32
	Time     int64 // ms since 1970

	Tree, ID int32 // in Analysis.Trees: its innermost element
}

// StackTree holds the elements of one tree as columns of equal length. The
// element at index i has the id i+1. They are breadth first from the root,
// children in order of first appearance, so that a parent comes before its
// children.
type StackTree struct {
	Parent   []int32 // id of the caller; 0: the root
	Function []int32 // index in Analysis.Functions
	Duration []int32 // ms, see Analyze
	Self     []int32 // ms, Duration without the children's
	Count    []int32 // snapshots
}

// Len returns the number of elements.
func (t *StackTree) Len() int { return len(t.Parent) }

// ErrDuration: a duration does not fit the 32 bits that clients have for it.
var ErrDuration = errors.New("a duration exceeds 32 bits of milliseconds")

// Analyze merges the snapshots in the ranges into trees.
//
// A range selects by sequence: from the first to the last snapshot of its segment whose
// time is in it, even if the clock jumped between them. Ranges may overlap; a snapshot
// counts once. The limit is the number of sequence numbers in all ranges, in their order.
//
// An element is a call node: a code signature and its callers. It ran from one snapshot
// to a later one if both and all between have it, and none is missing by sequence
// number. Duration is the sum of last minus first time over all such runs of all
// segments; Self is Duration without the children's durations.
//
// So the time between two consecutive snapshots belongs to the elements that both have.
// Analyze adds it to the innermost of these, adds the count to the innermost element of
// each snapshot, and sums both up from the children to the parents. The cost is linear in
// snapshots and elements, times the number of branches on a path.
//
// If the segments have no dumps, samples of Go profiles are used. An element's duration is
// then the time that its samples represent. A range selects them by time, or all if they
// have no times of their own.
//
// Errors are those of the store, or wrap ErrDuration.
func Analyze(ctx context.Context, st Store, items []Range, o AnalyzeOptions) (*Analysis, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	all, err := sourcesOf(ctx, st, o.Task, items)
	if err != nil {
		return nil, err
	}
	var a Analysis
	var dumps, samples []*source
	for _, s := range all {
		if s.Language == Dumps {
			dumps = append(dumps, s)
		} else {
			samples = append(samples, s)
		}
	}
	a.Found = selectBySequence(dumps, items, o.Limit)
	if a.Found > int64(o.Limit) {
		a.Tip = fmt.Sprintf("Out of snapshot analyze limit, %d snapshots found, but analysis first %d snapshots only.", a.Found, o.Limit)
	}
	if err := a.merge(dumps, o, 1); err != nil || len(a.Trees) > 0 {
		return &a, err
	}
	selectByTime(samples, items)
	err = a.merge(samples, o, nanosPerMilli)
	if len(a.Trees) > 0 {
		a.Found, a.CPU = int64(a.Snapshots), true
	}
	return &a, err
}

const nanosPerMilli = 1_000_000

// merge builds the trees of the selected rows of sources, whose times are in 1/unit ms.
func (a *Analysis) merge(sources []*source, o AnalyzeOptions, unit int64) error {
	sources, stacks := unify(sources)
	if stacks == nil {
		return nil
	}
	e := newElements(stacks)
	for _, s := range sources {
		e.add(s)
	}
	if err := e.link(sources); err != nil {
		return err
	}
	for _, s := range sources {
		if err := e.addTimes(s); err != nil {
			return err
		}
	}
	var err error
	a.Functions, a.Snapshots = stacks.Functions, int(e.counted)
	if a.Trees, err = e.trees(unit); err == nil && o.Dumps {
		a.Dumps = e.dumps(sources, a.Trees)
	}
	return err
}

// unify returns the sources with selected rows, over one dictionary of stacks. Without any it
// is nil.
func unify(sources []*source) ([]*source, *calltree.Forest) {
	var list []*source
	var snapshots []*Snapshots
	for _, s := range sources {
		if len(s.selected) > 0 && s.Stacks != nil {
			list, snapshots = append(list, s), append(snapshots, &s.Snapshots)
		}
	}
	return list, unite(snapshots)
}
