// Package expansion finds the calling contexts that explain a function's score.
//
// A ranking lists functions; the next question is which callers or callees their
// change belongs to. There are too many contexts to search them all, so a path is
// extended from the candidate u, one function at a time, up to its callers or down to
// its callees (Lundberg and Rettig, LU-CS-EX 2024-47, section 6.3, after Ammons et al.
// 2004):
//
//	expand(branch):
//	  stop without it     if prospect(branch) ≤ threshold
//	  report it           if it is long enough, or nothing extends it
//	  else expand(branch + c) for the extensions c chosen by the selection
//
// The prospect of a branch is a score of u in this context: of the samples of u,
// restricted to the call nodes of u that have the path above, or below, them. A
// node below which a run has no sample of the path does not count in that run;
// nested nodes of u count once.
//
// Candidates come from any ranking, as names with a score that is kept. A Selection
// defines the prospect and the order of extensions: Greedy, Informed, Correlated.
//
// A selection never chooses an extension whose prospect is at or below the threshold,
// so that a path ends at its last prospective function; the algorithm in the paper
// would drop the whole path.
//
// Data is loaded once for any number of candidates: 12 bytes per value of the selected
// profiles. An expansion costs, for each visited branch, time proportional to the call
// nodes of u in the branch in each profile that has them.
package expansion

import (
	"cmp"
	"math"
	"slices"
)

// Candidate is a function to start from, with its score in the ranking, on any scale.
type Candidate struct {
	Function string
	Score    float64
}

// Options bound the search. Zero values mean the defaults.
type Options struct {
	MaxDepth   int     // maximum functions in a path, including the candidate; default 10
	MaxBreadth int     // maximum extensions of each branch; default 2
	Threshold  float64 // branches with a prospect at or below it stop; default 0
	MaxTraces  int     // maximum paths per candidate and direction; default 256
	NoChildren bool    // skip callees
	NoParents  bool    // skip callers
	// MinDiff is the least absolute difference that a context must have: of the function
	// that a callee's path ends at, of the candidate below a caller. With it, paths are in
	// the order of these differences, those in the direction of the candidate's first.
	MinDiff float64
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

// Expansion is the result for one candidate.
type Expansion struct {
	Function string  `json:"function"`
	Score    float64 `json:"score"` // of the ranking it comes from
	// Prospect is that of the candidate without context; at or below the threshold
	// there are no traces.
	Prospect float64 `json:"prospect"`
	Children []Trace `json:"children"` // each from the candidate to what it calls
	Parents  []Trace `json:"parents"`  // each from the candidate to its callers
	// Truncated: there are more paths than Options.MaxTraces.
	Truncated bool `json:"truncated,omitempty"`
}

// Trace is a path, the candidate first; each function is a caller (in Parents) or a
// callee (in Children) of the one before.
type Trace []Step

// Step is one function of a trace, in the context of the trace up to it. Diffs are sums
// over benchmarks of the tested run minus the mean of its history, in the value type's
// unit.
type Step struct {
	Function       string  `json:"function"`
	Diff           float64 `json:"diff"` // of this function's samples in the context
	CandidateDiff  float64 `json:"candidateDiff"`
	CandidateScore float64 `json:"candidateScore"` // the prospect
	// Status is "+" for a new context, "-" for a vanished one, else empty.
	Status string `json:"status"`
	// Why the selection took the function before others: its reasons, and the product of
	// 1 + their weights.
	Why    []Reason `json:"why,omitempty"`
	Weight float64  `json:"weight,omitempty"`
}

// Expand searches the contexts of the candidates, in their order. Unknown functions get
// an Expansion without traces.
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
		e.Prospect = round(sel.Prospect(u.alone(down)))
		for _, dir := range []direction{down, up} {
			if dir == down && o.NoChildren || dir == up && o.NoParents {
				continue
			}
			traces, truncated := u.search(dir, sel, o)
			if o.MinDiff > 0 {
				slices.SortStableFunc(traces, func(a, b Trace) int { return a.compare(b, dir) })
			}
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

// diff is what Options.MinDiff is about.
func (c *Context) diff() float64 {
	if c.dir == up {
		return c.data.diff(c.samples)
	}
	return c.data.diff(c.own)
}

// compare orders traces by their differences, step by step from the candidate.
func (t Trace) compare(u Trace, dir direction) int {
	sign := math.Copysign(1, t[0].CandidateDiff)
	for i := range min(len(t), len(u)) {
		a, b := t[i].Diff, u[i].Diff
		if dir == up {
			a, b = t[i].CandidateDiff, u[i].CandidateDiff
		}
		if a != b {
			return -cmp.Compare(sign*a, sign*b)
		}
	}
	return 0
}

// search runs the expansion in one direction. Pending branches are on a stack, so that
// depth needs no recursion and traces are in the order of the selection.
func (u *focus) search(dir direction, sel Selection, o Options) (traces []Trace, truncated bool) {
	traces = []Trace{}
	first := u.alone(dir)
	p := sel.Prospect(first)
	if !(p > o.Threshold) {
		return traces, false
	}
	first.rank.prospect = p
	first.trace = Trace{first.step()}
	for stack := []*Context{first}; len(stack) > 0; {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if len(traces) == o.MaxTraces {
			return traces, true
		}
		var next []*Context
		if len(b.trace) < o.MaxDepth {
			next = choose(sel, b.extensions(), o)
		}
		if len(next) == 0 {
			if len(b.trace) > 1 {
				traces = append(traces, b.trace)
			}
			continue
		}
		slices.Reverse(next)
		for _, c := range next {
			c.trace = append(slices.Clip(b.trace), c.step())
		}
		stack = append(stack, next...)
	}
	return traces, false
}

// rank has the sort keys of an extension.
type rank struct {
	prospect float64
	why      []Reason
	weight   float64 // the product of 1 + those of why
	growth   float64 // of the added function's own samples
}

func (r *rank) order() float64 { return r.prospect * r.weight }

// choose returns the extensions that a selection follows, the best first. Ties (all
// callees of the same nodes share the samples of u) are ordered by the growth of the
// added function itself, then by name.
func choose(sel Selection, extensions []*Context, o Options) []*Context {
	kept := extensions[:0]
	for _, c := range extensions {
		c.rank.prospect = sel.Prospect(c)
		if !(c.rank.prospect > o.Threshold) {
			continue
		}
		if math.Abs(c.diff()) < o.MinDiff {
			continue
		}
		c.rank.why, c.rank.weight = sel.Weigh(c), 1
		for _, r := range c.rank.why {
			c.rank.weight *= 1 + r.Weight
		}
		c.rank.growth = c.data.diff(c.own)
		kept = append(kept, c)
	}
	slices.SortFunc(kept, func(a, b *Context) int {
		return cmp.Or(-cmp.Compare(round(a.rank.order()), round(b.rank.order())), -cmp.Compare(a.rank.growth, b.rank.growth),
			cmp.Compare(a.Function(), b.Function()))
	})
	return kept[:min(len(kept), o.MaxBreadth)]
}
