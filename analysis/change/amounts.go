package change

import (
	"slices"

	"github.com/dendroprof/dendro/analysis/regression"
)

// Values that are there at one moment (live bytes, goroutines) have changes of the program's whole
// amount: steps, and growth from run to run.

// amounts tests the amounts of the newest runs.
func (w *walker) amounts(base, tested []int, old bool) (found []stated) {
	if len(tested) == 1 && !old {
		runs := slices.Concat(base, tested)
		if f := w.now.Growing(w.cols(runs), w.o); f != nil {
			at := slices.IndexFunc(runs, func(run int) bool { return w.series.Profiles[run].Run.Key == f.Since.Run })
			found = append(found, stated{Finding: *f, first: runs[max(1, at)], runs: 1, program: shareOf(f), sure: true, drifts: true})
		}
	}
	if f := w.now.Grown(w.cols(base), w.cols(tested), w.o); f != nil {
		found = append(found, stated{Finding: *f, first: tested[0], runs: len(tested), program: shareOf(f), sure: w.sure(f, tested, false),
			old: old})
	}
	return found
}

// shareOf returns the change of the program's amount as a share.
func shareOf(f *regression.Finding) *regression.Estimate {
	if f.Delta.Time == nil || f.Delta.Time.Value == 0 {
		return nil
	}
	scale := f.Delta.Share / f.Delta.Time.Value
	return &regression.Estimate{Value: f.Delta.Share, Low: scale * f.Delta.Time.Low, High: scale * f.Delta.Time.High, Unit: "share"}
}

// drift updates the open growth that a finding of growth is of; false: there is none.
func (w *walker) drift(f *stated) bool {
	for i := range w.v.Changes {
		if c := &w.v.Changes[i]; c.State == Confirmed && c.Drifts {
			c.Finding.Delta, c.Finding.Score, c.Finding.Chance, c.Program, c.Runs = f.Delta, f.Score, f.Chance, f.program, len(c.Head)
			return true
		}
	}
	return false
}

// fallen returns the newest run if it has less than half of a growth, or -1.
func (w *walker) fallen(c *Change) int {
	newest := w.v.Walk.Level[len(w.v.Walk.Level)-1]
	t := c.Finding.Delta.Time
	if t == nil || c.Finding.Delta.Share <= 0 || newest == c.Head[0] {
		return -1
	}
	if before := t.Value / c.Finding.Delta.Share; w.now.Amount(w.at[newest]) < before+t.Value/2 {
		return newest
	}
	return -1
}
