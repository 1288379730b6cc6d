package ingest

import (
	"maps"
	"sync"
	"time"

	"github.com/dendroprof/dendro/testrun"
)

// Runs caches what is known of runs, so that guesses about several files of one run do
// not contradict each other or what the store knows. Concurrent importers share one and
// must drop it when all have finished, because it does not see deletions. The zero value
// is empty; it is safe for concurrent use.
type Runs struct {
	mu sync.Mutex
	of map[string]testrun.Run
}

// add records the run of a stored profile.
func (r *Runs) add(run testrun.Run) { r.resolve(run, false, testrun.Run{}) }

// resolve returns the run of a file without the guesses that contradict what is known of
// it: a guessed date, if the run has one, and facts of its environment.
func (r *Runs) resolve(run testrun.Run, guessedDate bool, guessed testrun.Run) testrun.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]testrun.Run{}
	}
	known, ok := r.of[run.Key]
	if ok {
		if guessedDate && !known.Date.IsZero() {
			run.Date = time.Time{}
		}
		for _, f := range []struct {
			have, guess, known string
			to                 *string
		}{
			{run.Commit, guessed.Commit, known.Commit, &run.Commit}, {run.Branch, guessed.Branch, known.Branch, &run.Branch},
			{run.Repository, guessed.Repository, known.Repository, &run.Repository},
		} {
			if f.guess != "" && f.guess != f.known { // also a run that is known without
				*f.to = ""
			}
		}
		if len(guessed.Attributes) > 0 {
			run.Attributes = maps.Clone(run.Attributes)
			for k, v := range guessed.Attributes {
				if known.Attributes[k] != v {
					delete(run.Attributes, k)
				}
			}
		}
	}
	if merged, err := known.Merge(run); ok && err == nil {
		r.of[run.Key] = merged
	} else if !ok {
		r.of[run.Key] = run
	}
	return run
}
