package history

import (
	"cmp"
	"context"
	"slices"

	"github.com/dendroprof/dendro/store"
)

// Tests says which runs of a benchmark are tested, and which runs before are their history.
type Tests struct {
	// K is the number of newest selected runs that are tested together, fewer if a
	// benchmark has fewer. 0: the newest and, if it is selected too, the comparable run
	// before it.
	K int
	// Window is the maximum number of history runs; 0: the default of the method.
	Window int
	// Filter selects the history instead of the runs of the same branch. Machine and
	// profiler stay the same, except for machines that it names.
	Filter    *store.Query
	AnyBranch bool // runs of every branch compare
	// Starts reports whether a run is the first of its benchmark's history; nil: none is.
	Starts func(*store.Profile) bool
}

// Options returns which runs of a benchmark compare, of which extra may be tested.
func (t *Tests) Options(extra int) Options {
	return Options{Window: t.Window, Extra: extra, AnyBranch: t.AnyBranch || t.Filter != nil,
		AnyMachine: t.Filter != nil && len(t.Filter.Machines) > 0}
}

// Series lists the series of the selection, each with the tested runs of a benchmark
// and the history before them, selected or not; and the tested runs.
func (t *Tests) Series(ctx context.Context, st store.Reader, q store.Query, o Options) ([]Series, map[store.ProfileID]bool, error) {
	q.Last = 0
	selected, err := st.Profiles(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if len(selected) == 0 {
		return nil, nil, store.ErrNothing
	}
	all, err := st.Profiles(ctx, store.Query{Groups: q.Groups, Benchmarks: q.Benchmarks, Params: q.Params, Types: q.Types})
	if err != nil {
		return nil, nil, err
	}
	if len(q.Types) == 0 {
		selected = Distinct(selected)
	}
	tested := t.tested(all, selected)
	is := map[store.ProfileID]bool{}
	for _, ids := range tested {
		for _, id := range ids {
			is[id] = true
		}
	}
	return Choose(t.upToTested(all, tested), o), is, nil
}

// tested lists the runs that may be tested by Tests.K, the newest first.
func (t *Tests) tested(all, selected []store.Profile) map[Key][]store.ProfileID {
	tested, newest := map[Key][]store.ProfileID{}, map[Key]*store.Profile{}
	is := make(map[store.ProfileID]bool, len(selected))
	for i := range slices.Backward(selected) {
		p := &selected[i]
		is[p.ID] = true
		if at := KeyOf(p); len(tested[at]) < max(t.K, 1) {
			tested[at] = append(tested[at], p.ID)
			newest[at] = cmp.Or(newest[at], p)
		}
	}
	if t.K > 0 {
		return tested
	}
	met, done := map[Key]bool{}, map[Key]bool{}
	for i := range slices.Backward(all) {
		p := &all[i]
		at := KeyOf(p)
		switch n := newest[at]; {
		case n == nil || done[at]:
		case p.ID == n.ID:
			met[at] = true
		case met[at] && Options{AnyBranch: t.AnyBranch}.Compares(p, n):
			done[at] = true
			if is[p.ID] {
				tested[at] = append(tested[at], p.ID)
			}
		}
	}
	return tested
}

// upToTested keeps, of every benchmark and value type, the tested runs and the runs
// before the oldest of them that may be its history.
func (t *Tests) upToTested(all []store.Profile, tested map[Key][]store.ProfileID) []store.Profile {
	allowed := map[store.ProfileID]bool{}
	if t.Filter != nil {
		for _, p := range t.Filter.Filter(slices.Clone(all)) {
			allowed[p.ID] = true
		}
	}
	before := map[Key]bool{} // all tested runs are passed: the rest is history
	var keep []store.Profile
	for i := range slices.Backward(all) {
		p := &all[i]
		at := KeyOf(p)
		ids := tested[at]
		if !slices.Contains(ids, p.ID) && !(before[at] && (t.Filter == nil || allowed[p.ID])) {
			continue
		}
		keep = append(keep, *p)
		before[at] = before[at] || p.ID == ids[len(ids)-1]
	}
	slices.Reverse(keep)
	return t.SinceStart(keep)
}

// SinceStart drops, of every benchmark and value type of a list in order of time, the runs before the newest one that
// starts a history. It changes the list.
func (t *Tests) SinceStart(list []store.Profile) []store.Profile {
	begun := map[Key]bool{}
	drops := make([]bool, len(list))
	for i := range slices.Backward(list) {
		at := KeyOf(&list[i])
		drops[i] = begun[at]
		begun[at] = begun[at] || t.Starts != nil && t.Starts(&list[i])
	}
	i := -1
	return slices.DeleteFunc(list, func(store.Profile) bool { i++; return drops[i] })
}
