package evidence

import (
	"math"

	"github.com/dendroprof/dendro/analysis/stat"
)

// Step is a lasting change of a level.
type Step struct {
	At     int     // index of the first value after the change
	Before float64 // mean of the values since the step before
	After  float64 // mean of the values until the step after
}

// minRuns is the minimum number of values on either side of a step.
const minRuns = 2

// stepAlpha is the probability of a step in independent normal values of one level.
const stepAlpha = 0.01

// Steps returns the lasting changes in values, in order; NaN is a missing value. It
// splits the values where Student's t between both sides is largest, and again each
// side, while chance makes such a t with at most stepAlpha, corrected for the number of
// places. It costs O(n·steps).
func Steps(values []float64) []Step {
	var at []int
	var list []float64
	for i, v := range values {
		if !math.IsNaN(v) {
			at, list = append(at, i), append(list, v)
		}
	}
	var steps []Step
	cuts := append(split(list, 0, nil), len(list))
	from := 0
	for i, cut := range cuts[:len(cuts)-1] {
		steps = append(steps, Step{At: at[cut], Before: stat.Mean(list[from:cut]), After: stat.Mean(list[cut:cuts[i+1]])})
		from = cut
	}
	return steps
}

// split appends the places of the steps in values, which begin at offset.
func split(values []float64, offset int, cuts []int) []int {
	cut := strongest(values)
	if n := len(values); cut == 0 && n >= 12 {
		// What goes up and comes back is no step of the whole, but one of a part.
		third := n / 3
		if cut = strongest(values[:n-third]); cut == 0 {
			if cut = strongest(values[third:]); cut != 0 {
				cut += third
			}
		}
	}
	if cut == 0 {
		return cuts
	}
	cuts = split(values[:cut], offset, cuts)
	cuts = append(cuts, offset+cut)
	return split(values[cut:], offset+cut, cuts)
}

// strongest returns the place of the strongest step, 0 if none is significant.
func strongest(values []float64) int {
	n := len(values)
	var sum, squares float64
	mean := stat.Mean(values) // of less than the values' size, for precision
	for _, v := range values {
		sum += v - mean
		squares += (v - mean) * (v - mean)
	}
	best, cut := 0.0, 0
	left := 0.0
	for i := 1; i <= n-minRuns; i++ {
		left += values[i-1] - mean
		if i < minRuns {
			continue
		}
		a, b := float64(i), float64(n-i)
		right := sum - left
		delta := left/a - right/b
		within := max(0, squares-left*left/a-right*right/b)
		t := math.Abs(delta) / math.Sqrt(within/float64(n-2)*(1/a+1/b)+1e-18*mean*mean)
		if t > best {
			best, cut = t, i
		}
	}
	places := float64(n - 2*minRuns + 1)
	if cut == 0 || n <= 2*minRuns || 2*places*stat.NormalTail(stat.StudentScore(best, float64(n-2))) > stepAlpha {
		return 0
	}
	return cut
}
