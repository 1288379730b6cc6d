package regression

import (
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/stat"
)

// leastMeanTrend is the minimum mean of rows from which the trend of the noise is estimated.
const leastMeanTrend = 3

// Rows is a history prepared for any number of comparisons: all sums of samples that
// may change as one. It is immutable and safe for concurrent use.
type Rows struct {
	sp     *row.Space
	series *history.Series
}

// Prepare computes the rows of a matrix of the series.
func Prepare(s *history.Series, m *history.Matrix) *Rows {
	sp := row.NewSpace(m)
	if m.Weighted {
		rescale(sp)
	}
	return &Rows{sp, s}
}

// rescale divides weighted counts by their Fano factor at low levels, so that their
// noise is that of counts.
func rescale(s *row.Space) {
	if len(s.Matrix.Runs) < leastHistory {
		return
	}
	mean := 0.0
	for i := range s.Matrix.Runs {
		mean += s.Matrix.Runs[i].Total / float64(len(s.Matrix.Runs))
	}
	var series []stat.Spread
	for slot := range s.FunctionSelfs() {
		y := slices.Clone(s.Values(slot))
		for t := range y {
			if n := s.Matrix.Runs[t].Total; n > 0 {
				y[t] *= mean / n
			}
		}
		if m := stat.Mean(y); m >= leastMeanTrend {
			series = append(series, stat.Spread{Mean: m, Variance: stat.Variance(y)})
		}
	}
	f0 := stat.FitTrend(series, float64(len(s.Matrix.Runs)-1)).F0
	for i := range s.Samples {
		s.Samples[i] /= f0
	}
	runs := slices.Clone(s.Matrix.Runs)
	for i := range runs {
		r := &runs[i]
		r.Count = slices.Clone(r.Count)
		for j := range r.Count {
			r.Count[j] /= f0
		}
		r.Total /= f0
		r.Environment /= f0
	}
	m := *s.Matrix
	m.Runs, m.Weighted = runs, false
	s.Matrix = &m
}

// Usable reports whether a run has samples of the program.
func (r *Rows) Usable(t int) bool { return r.sp.Matrix.Runs[t].Total > 0 }
