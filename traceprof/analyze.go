package traceprof

import (
	"context"
	"errors"
	"fmt"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Range is a part of a segment to analyze: what was sampled from Start to End,
// both inclusive, in ms.
type Range struct {
	Segment string `json:"segment"`
	Start   int64  `json:"start"`
	End     int64  `json:"end"`
}

// DefaultLimit is how many snapshots one analysis takes.
const DefaultLimit = 12_000

// AnalyzeOptions are what an analysis may be given.
type AnalyzeOptions struct {
	Limit int // snapshots of a request; 0: DefaultLimit
}

// Analysis says where the time of some segments was spent.
type Analysis struct {
	// Tip says that the limit left snapshots out; empty if it did not.
	Tip string
	// Found is how many sequence numbers the ranges span, lost ones and what
	// several ranges have in common counted as often as they occur.
	Found int64
	// Snapshots is how many snapshots the trees are made of.
	Snapshots int

	Functions []profile.Function // those of StackTree.Function; the names are code signatures
	Trees     []StackTree        // one for each outermost frame, in order of first appearance
}

// StackTree holds the elements of one tree as columns of equal length. The
// element at index i has the id i+1. They are breadth first from the root,
// children in order of first appearance, so that a parent comes before its
// children.
type StackTree struct {
	Parent   []int32 // id of the caller; 0: the root
	Function []int32 // index in Analysis.Functions
	Duration []int32 // ms, see Analyze
	Self     []int32 // ms of Duration that no child has
	Count    []int32 // snapshots
}

// Len returns the number of elements.
func (t *StackTree) Len() int { return len(t.Parent) }

// ErrDuration: a duration does not fit the 32 bits that clients have for it.
var ErrDuration = errors.New("a duration exceeds 32 bits of milliseconds")

// Analyze merges the snapshots in the ranges into trees.
//
// A range selects by sequence: from the first snapshot of its segment that lies
// in it to the last, whatever the clock did between. Ranges may overlap; a
// snapshot counts once. The limit is for all ranges together, in their order, in
// sequence numbers.
//
// An element is a code signature below a path of others. It was on the stack
// without a break from one snapshot to another if it is in both and in all
// between, by their sequence numbers, none missing. Duration is the sum of these
// times, last minus first, over all such runs of all segments; Self is what is
// left without the children's durations. So the time between two neighbouring
// snapshots belongs to what their stacks have in common, and that is how it is
// computed: the time goes to the innermost common element, the count to the
// innermost of all, and one pass from the children to the parents adds both up.
// It costs time in proportion to snapshots and elements, but for a factor of the
// number of branches on a path.
//
// Samples of Go profiles are taken if the segments have no dumps. They are not
// numbered in time: an element's duration is the time that its samples stand for.
// A range selects among them by time if they have times of their own, else all.
//
// The error is that of the store, or wraps ErrDuration.
func Analyze(ctx context.Context, st Store, items []Range, o AnalyzeOptions) (*Analysis, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	all, err := sourcesOf(ctx, st, items)
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
	if err := a.merge(dumps, 1); err != nil || len(a.Trees) > 0 {
		return &a, err
	}
	selectByTime(samples, items)
	return &a, a.merge(samples, nanosPerMilli)
}

const nanosPerMilli = 1_000_000

// merge makes the trees of what is taken of some sources, whose times are in
// parts of a ms.
func (a *Analysis) merge(sources []*source, unit int64) error {
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
	a.Functions, a.Snapshots = stacks.Functions, e.rows
	a.Trees, err = e.trees(unit)
	return err
}

// unify returns the sources that have rows selected, over one dictionary: that
// of the first if all have the same, else a new one. Without any it is nil.
func unify(sources []*source) ([]*source, *calltree.Forest) {
	var list []*source
	var stacks *calltree.Forest
	same := true
	for _, s := range sources {
		if len(s.taken) == 0 || s.Stacks == nil {
			continue
		}
		list = append(list, s)
		switch {
		case stacks == nil:
			stacks = s.Stacks
		case stacks.Origin() != s.Stacks.Origin():
			same = false
		case s.Stacks.Paths.Len() > stacks.Paths.Len():
			stacks = s.Stacks // a later snapshot of the same
		}
	}
	if same {
		return list, stacks
	}
	stacks = new(calltree.Forest)
	known := map[*calltree.Forest]*calltree.Translation{} // by origin
	for _, s := range list {
		tr := known[s.Stacks.Origin()]
		if tr == nil {
			tr = calltree.NewTranslation(stacks)
			known[s.Stacks.Origin()] = tr
		}
		for _, part := range s.taken {
			taken := s.Path[part.from:part.to]
			tr.Paths(s.Stacks, taken, taken)
		}
		s.Stacks = stacks
	}
	return list, stacks
}
