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

	// Tests: with K of 0 the newest run is tested alone and, if the comparable run before it is
	// selected too, both together, so that a finding is a suspect or confirmed. Window of 0 is history.Window.
	history.Tests
	// Wide selects the benchmarks whose renamed and inlined functions hold for the selected
	// ones too; nil: the selection without its conditions on benchmarks.
	Wide *store.Query
	// Acknowledged marks findings as accepted. The history of a benchmark starts anew
	// at an accepted change: at Acknowledgement.Since.
	Acknowledged []Acknowledgement
	Now          time.Time // for Acknowledged; zero: none has expired
}

// window returns the maximum number of history runs.
func (req *Request) window() int {
	return cmp.Or(max(req.Window, 0), history.Window)
}

// Since returns the tests, in which accepted changes begin histories too.
func (req *Request) Since() history.Tests {
	t := req.Tests
	t.Starts = req.startsAt
	return t
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
