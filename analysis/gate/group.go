package gate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/testrun"
)

// Change is one finding, or the findings of several benchmarks with one cause.
type Change struct {
	regression.Finding // the one that describes it, see add

	Also  []regression.Finding // the others, the largest first
	Fails bool                 // by the policy; set by Judge
}

// Group merges the findings with one cause that began with one run, in the same state (acknowledged, transient):
//
//   - the same function, or the same headline in the user's code;
//   - all code of a machine: findings without a place. If three benchmarks or more show it, the places that tell
//     only a part of what their benchmark lost or gained are of that cause too: a toolchain that makes
//     all code slower has places where it shows most.
//
// A change has costs or improvements, never both; findings of other kinds are not grouped. Order: costs,
// acknowledged costs, the other kinds, transient findings; each by onset, newest first, then by share of the program and score.
func Group(findings []regression.Finding) []Change {
	var list []Change
	at := map[int]int{} // by the first finding of a cause
	for i, first := range causes(findings) {
		if k, ok := at[first]; ok {
			list[k].add(findings[i])
			continue
		}
		at[first] = len(list)
		list = append(list, Change{Finding: findings[i]})
	}
	for i := range list {
		slices.SortStableFunc(list[i].Also, func(a, b regression.Finding) int {
			return cmp.Or(-cmp.Compare(math.Abs(a.Delta.Share), math.Abs(b.Delta.Share)), a.Of().Compare(b.Of()),
				cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
		})
	}
	slices.SortStableFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), compareOnsets(&b.Finding, &a.Finding),
			-cmp.Compare(math.Abs(a.Delta.Share), math.Abs(b.Delta.Share)), -cmp.Compare(math.Abs(a.Score), math.Abs(b.Score)),
			a.Of().Compare(b.Of()), cmp.Compare(a.Function, b.Function), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// compareOnsets orders changes by onset; findings of a comparison have none.
func compareOnsets(f, g *regression.Finding) int {
	if f.Change == nil || g.Change == nil {
		return 0
	}
	return cmp.Or(f.Change.Onset.Date.Compare(g.Change.Onset.Date), cmp.Compare(f.Change.Onset.Run, g.Change.Onset.Run))
}

// culprit is what findings with one cause have in common.
type culprit struct {
	service      string // of releases: another program may have functions of the same names
	pair         string // of runs recorded in turns: they are of no history
	costs        bool
	acknowledged bool
	transient    bool

	function string
	calls    string // of a headline
	headline bool   // the function is that of a headline

	machine, branch string // of findings without a place
}

// culprits returns what a finding may have in common with others: its function, and the headline in the
// user's code, or without a place the machine. Other kinds than costs and improvements have nothing.
func culprits(f *regression.Finding) []culprit {
	if !f.Kind.Costs() && f.Kind != regression.Improvement {
		return nil
	}
	c := culprit{function: f.Function, costs: f.Kind.Costs(), acknowledged: f.Acknowledged != nil, transient: f.Status == regression.Transient}
	if f.Sides != nil {
		c.service = f.Sides.Service
	}
	if f.Change != nil {
		c.pair = f.Change.Pair
	}
	if f.Function == "" {
		return []culprit{everywhere(c, f)}
	}
	h := f.Headline
	if h == nil || !h.Own {
		return []culprit{c}
	}
	code := c
	code.function, code.calls, code.headline = h.Function, h.Calls, true
	return []culprit{c, code}
}

// everywhere returns the culprit of what all code has in common.
func everywhere(c culprit, f *regression.Finding) culprit {
	if c.function = ""; f.Change != nil {
		c.machine, c.branch = f.Change.Machine, f.Change.Branch
	}
	return c
}

// The bounds of an event: the minimum number of benchmarks in which all code changed with one run, which one without a
// place shows, or places that are a small part of what their benchmark changed; and the part from which on a place that
// began with the event is a cause of its own. A small part is of it too if it seems to have begun later, but was
// compared with the runs before the event, or one run before it.
const (
	leastEverywhere = 3
	ownCause        = 2.0 / 3
	smallPart       = 1.0 / 3
)

// event is all code of a machine that changed with one run.
type event struct {
	culprit
	run        string
	date       time.Time
	good       string // the run before
	first      int    // finding
	benchmarks map[testrun.Benchmark]bool
}

// causes returns for each finding the index of the first one with its cause.
func causes(findings []regression.Finding) []int {
	u := make(union, len(findings))
	of := map[culprit][]int{}
	for i := range findings {
		u[i] = i
		for _, c := range culprits(&findings[i]) {
			of[c] = append(of[c], i)
		}
	}
	parts := partsOf(findings)
	var events []*event
	for c, list := range of {
		at := map[string]*event{} // by the run
		for k, run := range began(findings, list) {
			f := &findings[list[k]]
			e := at[run]
			if e == nil {
				e = &event{culprit: c, run: run, first: list[k], benchmarks: map[testrun.Benchmark]bool{}}
				at[run] = e
			}
			if l := f.Change; l != nil && l.Onset.Run == run {
				if e.date = l.Onset.Date; l.LastGood != nil {
					e.good = max(e.good, l.LastGood.Run)
				}
			}
			u.join(e.first, list[k])
			e.benchmarks[f.Of()] = true
		}
		if c.function == "" {
			events = append(events, slices.Collect(maps.Values(at))...)
		}
	}
	events = slices.DeleteFunc(events, func(e *event) bool {
		for _, i := range parts[e.culprit] {
			if f := &findings[i]; f.Change.Explains < smallPart && mayBegin(f, e.run, e.date) {
				e.benchmarks[f.Of()] = true
			}
		}
		return len(e.benchmarks) < leastEverywhere
	})
	slices.SortFunc(events, func(a, b *event) int { // so that the order of findings decides nothing
		return cmp.Or(cmp.Compare(len(b.benchmarks), len(a.benchmarks)), b.date.Compare(a.date), cmp.Compare(a.run, b.run))
	})
	u.absorb(findings, events, parts)
	for i := range u {
		u[i] = u.root(i)
	}
	return u
}

// absorb joins the places that are of an event with it: with all that they have in common with others.
func (u union) absorb(findings []regression.Finding, events []*event, parts map[culprit][]int) {
	of, part := map[int][]int{}, map[int]culprit{} // by root; of each finding that is a part
	for i := range findings {
		of[u.root(i)] = append(of[u.root(i)], i)
	}
	for c, list := range parts {
		for _, i := range list {
			part[i] = c
		}
	}
	for _, e := range events {
		own := of[u.root(e.first)]
		join := func(has func(f *regression.Finding) bool) {
			for root, list := range of {
				if root != u.root(e.first) && !slices.ContainsFunc(list, func(i int) bool {
					c, is := part[i]
					return !is || c != e.culprit || !has(&findings[i])
				}) {
					u.join(e.first, root)
					delete(of, root)
					own = append(own, list...)
				}
			}
		}
		join(func(f *regression.Finding) bool { return f.Change.Explains < ownCause && mayBegin(f, e.run, e.date) })
		before := map[base]bool{} // what the event was compared with
		for _, i := range own {
			before[baseOf(&findings[i])] = true
		}
		join(func(f *regression.Finding) bool {
			early := f.Change.Onset.Run == e.good && e.benchmarks[f.Of()]
			return f.Change.Explains < smallPart && (before[baseOf(f)] || early)
		})
	}
}

// base is the newest run that a finding of a benchmark and value type was compared with.
type base struct {
	benchmark testrun.Benchmark
	typ, run  string
}

func baseOf(f *regression.Finding) base {
	b := base{benchmark: f.Of(), typ: f.Type, run: f.ID} // unknown: its own
	if f.Sides != nil && len(f.Sides.Base) > 0 {
		b.run = f.Sides.Base[len(f.Sides.Base)-1]
	}
	return b
}

// partsOf returns the findings with a place that tell a part of what their benchmark changed, by what all code of
// their machine has in common.
func partsOf(findings []regression.Finding) map[culprit][]int {
	of := map[culprit][]int{}
	for i := range findings {
		f := &findings[i]
		if list := culprits(f); len(list) > 0 && f.Function != "" && f.Change != nil && f.Change.Explains > 0 {
			c := everywhere(list[0], f)
			of[c] = append(of[c], i)
		}
	}
	return of
}

// began returns the run with which each finding of a list began: of those that it may have begun with, the
// onset of most of the list, of several the oldest. Findings of a comparison have none.
func began(findings []regression.Finding, list []int) []string {
	count, date := map[string]int{}, map[string]time.Time{}
	for _, i := range list {
		if l := findings[i].Change; l != nil {
			count[l.Onset.Run]++
			date[l.Onset.Run] = l.Onset.Date
		}
	}
	runs := make([]string, len(list))
	for k, i := range list {
		if findings[i].Change == nil {
			continue
		}
		best := findings[i].Change.Onset.Run
		for run := range count {
			if mayBegin(&findings[i], run, date[run]) && cmp.Or(cmp.Compare(count[run], count[best]), date[best].Compare(date[run]),
				cmp.Compare(best, run)) > 0 {
				best = run
			}
		}
		runs[k] = best
	}
	return runs
}

// mayBegin reports whether a change may have begun with a run: with its onset, or after its last good run.
func mayBegin(f *regression.Finding, run string, date time.Time) bool {
	l := f.Change
	return l.Onset.Run == run || l.LastGood != nil && date.After(l.LastGood.Date) && !date.After(l.Onset.Date)
}

// union is sets of findings: each names one of its set before it, the first names itself.
type union []int

func (u union) root(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

func (u union) join(i, j int) {
	i, j = u.root(i), u.root(j)
	u[max(i, j)] = min(i, j)
}

// add adds another finding of the same cause. One without a place leads, then a confirmed one, then the one
// with the highest score.
func (c *Change) add(f regression.Finding) {
	rank := func(f *regression.Finding) (n int) {
		if f.Function != "" {
			n = 2
		}
		if f.Status != regression.Confirmed {
			n++
		}
		return n
	}
	if cmp.Or(cmp.Compare(rank(&f), rank(&c.Finding)), -cmp.Compare(math.Abs(f.Score), math.Abs(c.Score))) < 0 {
		f, c.Finding = c.Finding, f
	}
	c.Also = append(c.Also, f)
}

// All returns the change's findings, the leading one first.
func (c *Change) All() []regression.Finding {
	return append([]regression.Finding{c.Finding}, c.Also...)
}

func (c *Change) rank() int {
	switch {
	case c.Status == regression.Transient:
		return 6
	case !c.Kind.Costs():
		return 3 + slices.Index([]regression.Kind{regression.Improvement, regression.Moved, regression.Environment}, c.Kind)
	case c.Acknowledged != nil:
		return 2
	}
	return 0
}
