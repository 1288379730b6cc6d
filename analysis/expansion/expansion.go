// Package expansion finds the calling contexts in which a function is worth a
// second look.
//
// A ranking names functions; what a reader needs next is from where they are
// called, or what they call, when they behave as they do. Searching all contexts
// is out of the question, so a path is extended from the candidate u, one function
// at a time, up to its callers or down to its callees (Lundberg and Rettig, LU-CS-EX
// 2024-47, section 6.3, after Ammons et al. 2004):
//
//	expand(branch):
//	  stop without it     if prospect(branch) ≤ threshold
//	  report it           if it is long enough, or nothing extends it
//	  else expand(branch + c) for the extensions c that the selection takes
//
// The prospect of a branch is a score of u in this context: of the samples of u,
// restricted to the call nodes of u that have the path above, or below, them. A
// node below which a run has no sample of the path does not count in that run;
// nested nodes of u count once.
//
// Everything is a strategy. The candidates come from any ranking, as names with a
// score that is carried along. A Selection says what the prospect is and which
// extensions are taken first: Greedy, Informed, Correlated.
//
// A selection never takes an extension whose prospect is at or below the
// threshold, so that a path is cut back to its last prospective function; the
// paper's text loses the whole path if such a one was taken.
//
// Data is loaded once for any number of candidates: 12 bytes per value of the
// selected profiles. An expansion costs, for each branch that is looked at, time
// in proportion to the call nodes of u in the branch in each profile that has them.
// The package does not rank and does not judge.
package expansion

import (
	"cmp"
	"slices"
)

// Candidate is a function to start from. The score is that of its ranking, on
// whatever scale.
type Candidate struct {
	Function string
	Score    float64
}

// Options bound the search. The zero value means the defaults.
type Options struct {
	MaxDepth   int     // functions in a path, the candidate included; default 10
	MaxBreadth int     // extensions taken of each branch; default 2
	Threshold  float64 // a prospect at or below it stops; default 0
	MaxTraces  int     // paths per candidate and direction; default 256
	NoChildren bool    // do not look down
	NoParents  bool    // do not look up
}

// Defaults of Options.
const (
	DefaultMaxDepth   = 10
	DefaultMaxBreadth = 2
	DefaultMaxTraces  = 256
)

func (o Options) withDefaults() Options {
	for _, x := range []struct {
		value *int
		by    int
	}{{&o.MaxDepth, DefaultMaxDepth}, {&o.MaxBreadth, DefaultMaxBreadth}, {&o.MaxTraces, DefaultMaxTraces}} {
		if *x.value <= 0 {
			*x.value = x.by
		}
	}
	return o
}

// Expansion is what was found around one candidate.
type Expansion struct {
	Function string  `json:"function"`
	Score    float64 `json:"score"` // of the ranking it comes from
	// Prospect is what the selection says of the candidate alone; at or below the
	// threshold there are no traces.
	Prospect float64 `json:"prospect"`
	Children []Trace `json:"children"` // each from the candidate to what it calls
	Parents  []Trace `json:"parents"`  // each from the candidate to its callers
	// Truncated says that there are more paths than Options.MaxTraces.
	Truncated bool `json:"truncated,omitempty"`
}

// Trace is a path that was found, the candidate first, each function a caller
// (of Parents) or a callee (of Children) of the one before.
type Trace []Step

// Step is one function of a trace, in the context of the trace up to it. Diffs are
// sums over the benchmarks of the run under test less the mean of its history, in
// the value type's unit.
type Step struct {
	Function       string  `json:"function"`
	Diff           float64 `json:"diff"` // of this function's samples in the context
	CandidateDiff  float64 `json:"candidateDiff"`
	CandidateScore float64 `json:"candidateScore"` // the prospect
	// Status is "+" when the context is seen for the first time, "-" when it was seen
	// before and not now, else empty.
	Status string `json:"status"`
}

// Expand searches the contexts of the candidates, in their order. Functions that
// the data does not have get an Expansion without traces.
func Expand(d *Data, candidates []Candidate, sel Selection, o Options) []Expansion {
	o = o.withDefaults()
	list := make([]Expansion, len(candidates))
	for i, c := range candidates {
		e := &list[i]
		*e = Expansion{Function: c.Function, Score: c.Score, Children: []Trace{}, Parents: []Trace{}}
		f, ok := d.function(c.Function)
		if !ok {
			continue
		}
		u := d.focus(f)
		e.Prospect = round(sel.prospect(u.alone(down)))
		for _, dir := range []direction{down, up} {
			if dir == down && o.NoChildren || dir == up && o.NoParents {
				continue
			}
			traces, truncated := u.search(dir, sel, o)
			if dir == down {
				e.Children = traces
			} else {
				e.Parents = traces
			}
			e.Truncated = e.Truncated || truncated
		}
	}
	return list
}

// search runs the expansion in one direction. Branches wait on a stack, so that
// depth costs no recursion and traces come out in the order of the selection.
func (u *focus) search(dir direction, sel Selection, o Options) (traces []Trace, truncated bool) {
	traces = []Trace{}
	first := u.alone(dir)
	p := sel.prospect(first)
	if !(p > o.Threshold) {
		return traces, false
	}
	first.trace = Trace{first.step(p)}
	for stack := []*Context{first}; len(stack) > 0; {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if len(traces) == o.MaxTraces {
			return traces, true
		}
		var next []*Context
		if len(b.trace) < o.MaxDepth {
			next = sel.choose(b.extensions(), o)
		}
		if len(next) == 0 {
			if len(b.trace) > 1 {
				traces = append(traces, b.trace)
			}
			continue
		}
		slices.Reverse(next)
		for _, c := range next {
			c.trace = append(slices.Clip(b.trace), c.step(c.rank.prospect))
		}
		stack = append(stack, next...)
	}
	return traces, false
}

// rank is the place of an extension among its siblings.
type rank struct {
	order    float64 // of the selection
	prospect float64
	growth   float64 // of the added function's own samples
}

// choose returns the extensions that a selection takes, the best first. Equal ones
// (all callees of the same nodes share the samples of u) go by how much the added
// function itself grew, then by name.
func (s *Selection) choose(extensions []*Context, o Options) []*Context {
	kept := extensions[:0]
	for _, c := range extensions {
		c.rank.prospect = s.prospect(c)
		if !(c.rank.prospect > o.Threshold) {
			continue
		}
		c.rank.order = s.order(c, c.rank.prospect)
		c.rank.growth = c.data.diff(c.own)
		kept = append(kept, c)
	}
	slices.SortFunc(kept, func(a, b *Context) int {
		return cmp.Or(-cmp.Compare(round(a.rank.order), round(b.rank.order)), -cmp.Compare(a.rank.growth, b.rank.growth), cmp.Compare(a.Function(), b.Function()))
	})
	return kept[:min(len(kept), o.MaxBreadth)]
}
