package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Sides are the runs that are compared: profiles of the same store, in the order
// of store.Query.Filter.
type Sides struct {
	Base []store.Profile // the history
	Head []store.Profile // what is tested
}

// Comparison is the answer of Compare.
type Comparison struct {
	*regression.Result
	// OnBase are costs of the head that the base's newest runs have already: not the
	// head's doing, and not among the findings.
	OnBase []regression.Finding
	// Runs shows the store as it was compared: the runs of both sides that compare,
	// those of the head after those of the base, whatever their dates are.
	Runs store.Reader
}

// Compare holds the head's runs of each benchmark, together, against the base's
// runs of it on the same machine and by the same profiler. Benchmarks that the head
// does not have are not mentioned; those that only the head has are without a
// verdict. Options, Acknowledged, Now and Window of the request apply.
func Compare(ctx context.Context, st store.Reader, sides Sides, req regression.Request) (*Comparison, error) {
	if len(sides.Head) == 0 {
		return nil, fmt.Errorf("the head: %w", store.ErrNothing)
	}
	head, base, left := alike(sides)
	view := &ordered{Reader: st, profiles: inOrder(base, head)}
	out := &Comparison{Result: &regression.Result{}, Runs: view}
	req.Scan, req.History = false, &store.Query{}
	for k, ids := range byRuns(head) {
		if len(ids) == 0 {
			continue
		}
		req.K = k
		res, err := regression.Find(ctx, view, store.Query{Profiles: ids}, req)
		if err != nil {
			return nil, err
		}
		out.Benchmarks = append(out.Benchmarks, res.Benchmarks...)
		out.Findings = append(out.Findings, res.Findings...)
	}
	if err := out.takeOutKnown(ctx, st, base, req); err != nil {
		return nil, err
	}
	slices.SortFunc(out.Benchmarks, func(a, b regression.Benchmark) int {
		return cmp.Or(cmp.Compare(a.Benchmark.Group, b.Benchmark.Group), cmp.Compare(a.Benchmark.Name, b.Benchmark.Name), cmp.Compare(a.Type.Name, b.Type.Name))
	})
	for i := range out.Benchmarks {
		b := &out.Benchmarks[i]
		b.LeftOut = append(b.LeftOut, left[key{b.Benchmark, b.Type.Name}]...)
	}
	return out, nil
}

// takeOutKnown looks for changes in the base's own runs, where the head has costs,
// and takes those out of the findings that are there too. A history of which the
// newest runs are slower would blame the head for them.
func (c *Comparison) takeOutKnown(ctx context.Context, st store.Reader, base []store.Profile, req regression.Request) error {
	affected := map[key]bool{}
	for i := range c.Benchmarks {
		b := &c.Benchmarks[i]
		if slices.ContainsFunc(b.Findings, func(f regression.Finding) bool { return f.Kind.Costs() }) {
			affected[key{b.Benchmark, b.Type.Name}] = true
		}
	}
	own := slices.DeleteFunc(slices.Clone(base), func(p store.Profile) bool { return !affected[keyOf(&p)] })
	if len(own) == 0 {
		return nil
	}
	req.K, req.Scan, req.Acknowledged = 0, true, nil
	req.Alpha = 0 // the analysis's own: what is looked for here fails nothing
	before, err := regression.Find(ctx, &ordered{Reader: st, profiles: own}, store.Query{}, req)
	if err != nil {
		return err
	}
	known := func(f regression.Finding) bool {
		return slices.ContainsFunc(before.Findings, func(g regression.Finding) bool { return same(&f, &g) })
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

// grown is how many times as large as on the base a change must be to count as the
// head's own.
const grown = 1.5

// same reports whether the base's finding g is the head's finding f.
func same(f, g *regression.Finding) bool {
	if !f.Kind.Costs() || !g.Kind.Costs() || f.Benchmark != g.Benchmark || f.Group != g.Group || f.Type != g.Type || f.Delta.Share > grown*g.Delta.Share {
		return false
	}
	if f.Function == g.Function || f.Caller != "" && f.Caller == g.Function || g.Caller != "" && g.Caller == f.Function {
		return true
	}
	short, long := f.Path, g.Path
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) > 1 && len(long)-len(short) <= nearFrames && slices.Equal(short, long[:len(short)])
}

// nearFrames is how far apart two places on one path may be to be one change.
const nearFrames = 6

// mostHeadRuns bounds the runs of the head that are tested as one; older ones are
// left out.
const mostHeadRuns = 16

type key struct {
	benchmark testrun.Benchmark
	typ       string
}

func keyOf(p *store.Profile) key { return key{p.Benchmark, p.Type.Name} }

// alike keeps of both sides what compares with the newest run of the head,
// and counts the rest of the base by reason.
func alike(sides Sides) (head, base []store.Profile, left map[key][]history.LeftOut) {
	newest := map[key]*store.Profile{}
	isHead := map[store.ProfileID]bool{}
	for i := range sides.Head {
		newest[keyOf(&sides.Head[i])] = &sides.Head[i]
		isHead[sides.Head[i].ID] = true
	}
	tested := map[key]int{}
	for i := range slices.Backward(sides.Head) {
		p := &sides.Head[i]
		if n := newest[keyOf(p)]; sameConditions(p, n) == "" && tested[keyOf(p)] < mostHeadRuns {
			tested[keyOf(p)]++
			head = append(head, *p)
		}
	}
	slices.Reverse(head)
	count := map[key]map[string]int{}
	for i := range sides.Base {
		p := &sides.Base[i]
		n := newest[keyOf(p)]
		if n == nil || isHead[p.ID] {
			continue
		}
		if r := sameConditions(p, n); r != "" {
			if count[keyOf(p)] == nil {
				count[keyOf(p)] = map[string]int{}
			}
			count[keyOf(p)][r]++
			continue
		}
		base = append(base, *p)
	}
	left = map[key][]history.LeftOut{}
	for k, reasons := range count {
		for _, r := range []string{anotherMachine, anotherProfiler} {
			if n := reasons[r]; n > 0 {
				left[k] = append(left[k], history.LeftOut{Reason: r, Runs: n})
			}
		}
	}
	return head, base, left
}

const (
	anotherMachine  = "another machine"
	anotherProfiler = "another profiler"
)

// sameConditions says why two runs of a benchmark do not compare; empty: they do.
func sameConditions(a, b *store.Profile) string {
	switch {
	case a.Run.Machine != b.Run.Machine:
		return anotherMachine
	case a.Profiler != b.Profiler:
		return anotherProfiler
	}
	return ""
}

// inOrder puts the runs of the head after those of the base: a base may have been
// measured last.
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

// byRuns groups the profiles of the head by how many runs of their benchmark there
// are.
func byRuns(head []store.Profile) [][]store.ProfileID {
	runs := map[key]int{}
	for i := range head {
		runs[keyOf(&head[i])]++
	}
	list := make([][]store.ProfileID, mostHeadRuns+1)
	for i := range head {
		k := runs[keyOf(&head[i])]
		list[k] = append(list[k], head[i].ID)
	}
	return list
}

// ordered is a store that shows some profiles only, in another order of time.
type ordered struct {
	store.Reader
	profiles []store.Profile
}

// Profiles lists the profiles of the view.
func (o *ordered) Profiles(_ context.Context, q store.Query) ([]store.Profile, error) {
	return q.Filter(slices.Clone(o.profiles)), nil
}
