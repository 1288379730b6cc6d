package ingest

import (
	"sync"
	"time"
)

// Dates caches the dates of runs, so that guessed dates of several files of one run do
// not contradict each other. Concurrent importers share one and must drop it when all
// have finished, because it does not see deletions. The zero value is empty; it is safe
// for concurrent use.
type Dates struct {
	mu sync.Mutex
	of map[string]time.Time
}

// resolve returns the date of a file's run, or none if it is a guess and the run has a
// date.
func (d *Dates) resolve(run string, date time.Time, guess bool) time.Time {
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
