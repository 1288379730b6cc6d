package ingest

import (
	"sync"
	"time"
)

// Dates remembers the dates of runs, so that files of one run whose dates are
// guesses do not contradict each other. Importers that work at the same time share
// one, and drop it when none of them is left: it does not see deletions. The zero
// value is empty; it is safe for concurrent use.
type Dates struct {
	mu sync.Mutex
	of map[string]time.Time
}

// settle returns the date that a file says of its run, or none if that is a guess
// and the run has a date.
func (d *Dates) settle(run string, date time.Time, guess bool) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.of[run]
	switch {
	case guess && ok && !known.IsZero():
		return time.Time{}
	case !ok || known.IsZero():
		if d.of == nil {
			d.of = map[string]time.Time{}
		}
		d.of[run] = date
	}
	return date
}
