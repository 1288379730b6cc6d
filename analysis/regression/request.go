package regression

import (
	"cmp"
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
	// Window is the maximum number of history runs; 0: history.Window.
	Window int
	// History selects the history instead of the runs of the same branch. Machine and
	// profiler stay the same, except for machines that it names.
	History   *store.Query
	AnyBranch bool // runs of every branch compare
	// Wide selects the benchmarks whose renamed and inlined functions hold for the selected
	// ones too; nil: the selection without its conditions on benchmarks.
	Wide *store.Query
	// Acknowledged marks findings as accepted. The history of a benchmark starts anew
	// at an accepted change: at Acknowledgement.Since.
	Acknowledged []Acknowledgement
	Now          time.Time // for Acknowledged; zero: none has expired
	// Starts reports whether another run is the first of its history, as a change that lasts makes it; nil: none.
	Starts func(p *store.Profile) bool
}

// window returns the maximum number of history runs.
func (req *Request) window() int {
	return cmp.Or(max(req.Window, 0), history.Window)
}

// Tests returns which runs are tested and which are their history.
func (req *Request) Tests() history.Tests {
	return history.Tests{K: req.K, Window: req.Window, Filter: req.History, AnyBranch: req.AnyBranch, Starts: req.startsAt}
}

// runs returns which runs of a benchmark compare, and how many are needed.
func (req *Request) runs(t *history.Tests) history.Options {
	o := t.Options(max(2, req.K))
	o.Window, o.Service = req.window(), req.Service
	return o
}

// startsAt reports whether an accepted change makes this run the first of the
// benchmark's history.
func (req *Request) startsAt(p *store.Profile) bool {
	for i := range req.Acknowledged {
		a := &req.Acknowledged[i]
		if a.Begins() && a.Since == p.Run.Key && a.Covers(p.Benchmark) {
			return true
		}
	}
	return req.Starts != nil && req.Starts(p)
}
