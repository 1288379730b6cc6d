package regression

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
)

// Request selects the tested runs and their history.
type Request struct {
	Options // of the method

	// K is the number of newest selected runs that are tested together, fewer if a
	// benchmark has fewer. 0: the newest alone and, if the comparable run before it is
	// selected too, both together, so that a finding is a suspect or confirmed.
	K int
	// Scan searches for changes of any age instead: the newest 1, 2, 3, 5, 8 and 13
	// runs against the runs before.
	Scan bool
	// Window is the maximum number of history runs; 0: history.Window.
	Window int
	// History selects the history instead of the runs of the same branch. Machine and
	// profiler stay the same, except for machines that it names.
	History   *store.Query
	AnyBranch bool // runs of every branch compare
	// Acknowledged marks findings as accepted. The history of a benchmark starts anew
	// at an accepted change: at Acknowledgement.Since, else where a scan of the history
	// finds it confirmed.
	Acknowledged []Acknowledgement
	Now          time.Time // for Acknowledged; zero: none has expired
}

// window returns the maximum number of history runs.
func (req *Request) window() int {
	if req.Window <= 0 {
		return history.Window
	}
	return req.Window
}

// runs returns which runs of a benchmark compare, and how many are needed.
func (req *Request) runs() history.Options {
	o := history.Options{Window: req.window(), Extra: max(2, req.K), AnyBranch: req.AnyBranch || req.History != nil, AnyMachine: req.History != nil && len(req.History.Machines) > 0}
	if req.Scan {
		o.Extra = oldestAge
	}
	return o
}

// chosen lists the series of the selection, each with the tested runs of a benchmark
// and the history before them, selected or not; and the tested runs.
func chosen(ctx context.Context, st store.Reader, q store.Query, req *Request, o history.Options) ([]history.Series, map[store.ProfileID]bool, error) {
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
		selected = history.Distinct(selected)
	}
	tested := req.tested(all, selected)
	is := map[store.ProfileID]bool{}
	for _, ids := range tested {
		for _, id := range ids {
			is[id] = true
		}
	}
	return history.Choose(req.upToTested(all, tested), o), is, nil
}

// tested lists the runs that may be tested by Request.K, the newest first.
func (req *Request) tested(all, selected []store.Profile) map[history.Key][]store.ProfileID {
	tested, newest := map[history.Key][]store.ProfileID{}, map[history.Key]*store.Profile{}
	is := make(map[store.ProfileID]bool, len(selected))
	for i := range slices.Backward(selected) {
		p := &selected[i]
		is[p.ID] = true
		if at := history.KeyOf(p); len(tested[at]) < max(req.K, 1) {
			tested[at] = append(tested[at], p.ID)
			newest[at] = cmp.Or(newest[at], p)
		}
	}
	if req.K > 0 {
		return tested
	}
	met, done := map[history.Key]bool{}, map[history.Key]bool{}
	for i := range slices.Backward(all) {
		p := &all[i]
		at := history.KeyOf(p)
		switch n := newest[at]; {
		case n == nil || done[at]:
		case p.ID == n.ID:
			met[at] = true
		case met[at] && history.Options{AnyBranch: req.AnyBranch}.Compares(p, n):
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
func (req *Request) upToTested(all []store.Profile, tested map[history.Key][]store.ProfileID) []store.Profile {
	allowed := map[store.ProfileID]bool{}
	if req.History != nil {
		for _, p := range req.History.Filter(slices.Clone(all)) {
			allowed[p.ID] = true
		}
	}
	before := map[history.Key]bool{} // all tested runs are passed: the rest is history
	ended := map[history.Key]bool{}
	var keep []store.Profile
	for i := range slices.Backward(all) {
		p := &all[i]
		at := history.KeyOf(p)
		ids := tested[at]
		isTested := slices.Contains(ids, p.ID)
		isHistory := before[at] && (req.History == nil || allowed[p.ID])
		if ended[at] || !isTested && !isHistory {
			continue
		}
		keep = append(keep, *p)
		before[at] = before[at] || p.ID == ids[len(ids)-1]
		ended[at] = req.startsAt(p)
	}
	slices.Reverse(keep)
	return keep
}

// startsAt reports whether an accepted change makes this run the first of the
// benchmark's history.
func (req *Request) startsAt(p *store.Profile) bool {
	for i := range req.Acknowledged {
		a := &req.Acknowledged[i]
		if a.begins() && a.Since == p.Run.Key && a.covers(p.Benchmark) {
			return true
		}
	}
	return false
}
