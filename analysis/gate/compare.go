package gate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
)

// Sides are the runs to compare: profiles of the same store, in the order of
// store.Query.Filter.
type Sides struct {
	Base []store.Profile // the history
	Head []store.Profile // the tested runs
	// Beside are runs of both sides of benchmarks that are not compared. What they show of
	// renamed and inlined functions holds for the compared ones too.
	Beside [2][]store.Profile // base, head
}

// Comparison is the result of Compare.
type Comparison struct {
	*regression.Result
	// OnBase lists costs of the head that the base's newest runs have already. They are
	// not caused by the head and not among the findings.
	OnBase []regression.Finding
	// Runs is the store as compared: the runs of both sides that compare, those of the
	// head after those of the base whatever their dates.
	Runs store.Reader
}

// Compare compares the head's runs of each benchmark, together, with the base's runs of
// it on the same machine and by the same profiler. Benchmarks that only one side has get no
// verdict. Options,
// Acknowledged, Now and Window of the request apply.
func Compare(ctx context.Context, st store.Reader, sides Sides, req regression.Request) (*Comparison, error) {
	if len(sides.Head) == 0 {
		return nil, fmt.Errorf("the head: %w", store.ErrNothing)
	}
	s, beside := choose(sides.Base, sides.Head), choose(sides.Beside[0], sides.Beside[1])
	view := &ordered{Reader: st, profiles: slices.Concat(s.base, s.head)}
	head := store.Query{Profiles: store.IDs(s.head)}
	req.Filter, req.K = &store.Query{}, mostHeadRuns
	all := view
	if len(beside.head) > 0 {
		all = &ordered{Reader: st, profiles: slices.Concat(s.base, beside.base, s.head, beside.head)}
		req.Wide = &store.Query{Profiles: slices.Concat(head.Profiles, store.IDs(beside.head))}
	}
	res, err := regression.Find(ctx, all, head, req)
	if err != nil {
		return nil, err
	}
	out := &Comparison{Result: res, Runs: view}
	if err := out.dropKnown(ctx, st, s.base, sides.Head, req); err != nil {
		return nil, err
	}
	for i := range out.Benchmarks {
		b := &out.Benchmarks[i]
		b.LeftOut = append(b.LeftOut, s.left[b.Key()]...)
	}
	if err := out.absent(ctx, st, &sides); err != nil {
		return nil, err
	}
	return out, out.WarnOfEstimates(ctx, st) // the view has the compared value types only
}

// dropKnown judges the base's own runs, where the head has costs, and drops the findings that the
// base has already. Otherwise the head would be blamed for slow runs at the end of the base.
func (c *Comparison) dropKnown(ctx context.Context, st store.Reader, base, head []store.Profile, req regression.Request) error {
	affected := map[history.Key]bool{}
	for i := range c.Benchmarks {
		b := &c.Benchmarks[i]
		if slices.ContainsFunc(b.Findings, func(f regression.Finding) bool { return f.Kind.Costs() }) {
			affected[b.Key()] = true
		}
	}
	before, err := openCosts(ctx, st, slices.DeleteFunc(slices.Clone(base),
		func(p store.Profile) bool { return !affected[history.KeyOf(&p)] }), head, req)
	if err != nil {
		return err
	}
	known := func(f regression.Finding) bool {
		return slices.ContainsFunc(before, func(g regression.Finding) bool { return same(&f, &g) })
	}
	for _, f := range c.Findings {
		if known(f) {
			c.OnBase = append(c.OnBase, f)
		}
	}
	c.Findings = slices.DeleteFunc(c.Findings, known)
	for i := range c.Benchmarks {
		c.Benchmarks[i].Findings = slices.DeleteFunc(c.Benchmarks[i].Findings, known)
	}
	return nil
}

// openCosts returns the costs in the newest runs of a base that most of its compared runs do not
// have: what all of them have is their level, and no part of a difference from it. A cost that
// began without another commit, after the head was first measured (in turns), is of those runs alone.
func openCosts(ctx context.Context, st store.Reader, base, head []store.Profile, req regression.Request) ([]regression.Finding, error) {
	first := slices.MinFunc(head, func(a, b store.Profile) int { return a.Run.Date.Compare(b.Run.Date) }).Run.Date
	tests := req.Since()
	base = tests.SinceStart(base)
	for i := range base {
		base[i].Run.Branch = "" // a side is one line
		base[i].Run.Attributes = maps.Clone(base[i].Run.Attributes)
		delete(base[i].Run.Attributes, history.SideAttribute)
	}
	all := change.Lines(base)
	lines := make([]*history.Series, len(all))
	for i := range all {
		lines[i] = all[i].Newest(cmp.Or(req.Window, history.Window))
	}
	o := req.Options
	o.Alpha = 0 // the default: changes of the base fail nothing
	verdicts, err := change.JudgeAll(ctx, st, lines, make([]*change.Verdict, len(lines)), o)
	if err != nil {
		return nil, err
	}
	var list []regression.Finding
	for i, v := range verdicts {
		runs := lines[i].Profiles
		later := func(k int) bool {
			return k > 0 && runs[k].Run.Commit == runs[k-1].Run.Commit && runs[k].Run.Date.After(first)
		}
		for k := range v.Changes {
			x := &v.Changes[k]
			if x.Costs() && (x.State.Open() || x.State == change.Passing) && 2*len(x.Head) <= len(runs) && !later(x.Head[0]) {
				list = append(list, x.Finding)
			}
		}
	}
	return list, nil
}

// grown is the factor by which a change must exceed that of the base to count as the
// head's own.
const grown = 1.5

// same reports whether the base's finding g is the head's finding f.
func same(f, g *regression.Finding) bool {
	return f.Kind.Costs() && g.Kind.Costs() && f.Key() == g.Key() &&
		f.Delta.Share <= grown*g.Delta.Share && f.SameAs(*g)
}

// mostHeadRuns is the maximum number of head runs tested together; older ones are
// skipped.
const mostHeadRuns = 16

// chosen has the runs of both sides that compare.
type chosen struct {
	base, head []store.Profile
	left       map[history.Key][]history.LeftOut
}

// choose keeps the benchmarks of the head, and the runs of both sides that compare with
// the newest run of the head.
func choose(base, head []store.Profile) *chosen {
	last := store.Query{Last: mostHeadRuns}
	all := head
	head = last.Filter(slices.Clone(all))
	isHead, tested := map[store.ProfileID]bool{}, map[history.Key]bool{}
	for i := range all {
		isHead[all[i].ID] = true
		tested[history.KeyOf(&all[i])] = true
	}
	base = slices.DeleteFunc(slices.Clone(base), func(p store.Profile) bool { return isHead[p.ID] || !tested[history.KeyOf(&p)] })
	out := &chosen{left: map[history.Key][]history.LeftOut{}}
	for _, s := range history.Choose(inOrder(base, head), history.Options{Window: len(base) + len(head), AnyBranch: true}) {
		out.left[s.Key()] = s.LeftOut
		for _, p := range s.Profiles {
			if isHead[p.ID] {
				out.head = append(out.head, p)
			} else {
				out.base = append(out.base, p)
			}
		}
	}
	return out
}

// inOrder puts the runs of the head after those of the base, which may have been
// measured later.
func inOrder(base, head []store.Profile) []store.Profile {
	all := slices.Clone(base)
	var last time.Time
	for i := range all {
		if all[i].Run.Date.After(last) {
			last = all[i].Run.Date
		}
	}
	moved := map[string]time.Time{} // by run: its profiles stay together
	for _, p := range head {
		date, ok := moved[p.Run.Key]
		if !ok {
			date = p.Run.Date
			if !date.After(last) {
				date = last.Add(1)
			}
			last = date
			moved[p.Run.Key] = date
		}
		p.Run.Date = date
		all = append(all, p)
	}
	return all
}

// ordered is a store with some of its profiles, in another order of time.
type ordered struct {
	store.Reader
	profiles []store.Profile
}

// Unwrap returns the store: what it computes itself it computes of trees and rows, which the view
// has as they are.
func (o *ordered) Unwrap() store.Reader { return o.Reader }

// Profiles lists the profiles of the view.
func (o *ordered) Profiles(_ context.Context, q store.Query) ([]store.Profile, error) {
	return q.Filter(slices.Clone(o.profiles)), nil
}
