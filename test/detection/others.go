package detection

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dendroprof/dendro/analysis/paper"
	"github.com/dendroprof/dendro/analysis/stat"
)

// A Scorer gives every function a score for "more in the tested runs than in the
// history": the methods that the default is compared with. A threshold on the score
// makes it a detector.
type Scorer func(hist, tested []float64) float64

// The scorers of the comparison, all on totals of functions.
var (
	// ThesisScorer is the thesis's: the mean of the tested runs against the last
	// ten of the history, in samples.
	ThesisScorer Scorer = func(hist, tested []float64) float64 {
		score, _ := paper.Score(stat.Mean(tested), hist[max(0, len(hist)-10):])
		return score
	}
	// WelchScorer is Welch's test.
	WelchScorer Scorer = welchScore
	// EDivisiveScorer looks for the one split of the series that changes it most
	// (the energy statistic of Matteson and James 2014, which change point
	// detectors for benchmarks use) and scores it by permutations where the split is
	// at the tested runs, 0 elsewhere.
	EDivisiveScorer Scorer = eDivisive
)

// Totals are the series of function totals of a history.
type Totals struct {
	Functions []string
	Values    [][]float64 // by function, then run
	Runs      []float64   // samples
	// Paths are the heaviest call paths of functions, so that a function is located
	// as a place would be.
	Paths map[string][]string
}

// Scored is a function with its score.
type Scored struct {
	Function string
	Score    float64
}

// Rank scores all functions, as shares of the run if share is set, and orders them
// by falling score.
func (t *Totals) Rank(s Scorer, share bool, hist, tested []int) []Scored {
	list := make([]Scored, len(t.Functions))
	take := func(f int, runs []int) []float64 {
		v := make([]float64, len(runs))
		for i, r := range runs {
			v[i] = t.Values[f][r]
			if share {
				v[i] /= math.Max(1, t.Runs[r])
			}
		}
		return v
	}
	for f, name := range t.Functions {
		list[f] = Scored{name, s(take(f, hist), take(f, tested))}
	}
	slices.SortStableFunc(list, func(a, b Scored) int {
		return cmp.Or(-cmp.Compare(a.Score, b.Score), cmp.Compare(a.Function, b.Function))
	})
	return list
}

// permutations of the E-divisive test.
const permutations = 199

func eDivisive(hist, tested []float64) float64 {
	if welchScore(hist, tested) < 2 {
		return 0 // a test of 200 permutations cannot distinguish it from noise
	}
	x := slices.Concat(hist, tested)
	split, q := bestSplit(x)
	if split != len(hist) {
		return 0
	}
	r := rand.New(rand.NewPCG(1, uint64(len(x))))
	larger := 0
	for range permutations {
		y := slices.Clone(x)
		r.Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
		if _, p := bestSplit(y); p >= q {
			larger++
		}
	}
	z := stat.ScoreOfTail(float64(larger+1) / (permutations + 1))
	if scale := math.Sqrt(stat.Variance(hist)); scale > 0 {
		return z + math.Min(1e3, (stat.Mean(tested)-stat.Mean(hist))/scale)/1e3 // ties
	}
	return z
}

// bestSplit returns the split of the series with the largest energy distance
// between its sides, weighted by their lengths.
func bestSplit(x []float64) (at int, q float64) {
	n := len(x)
	for s := 1; s < n; s++ {
		var between, left, right float64
		for i := range x {
			for j := i + 1; j < n; j++ {
				d := math.Abs(x[i] - x[j])
				switch {
				case j < s:
					left += d
				case i >= s:
					right += d
				default:
					between += d
				}
			}
		}
		a, b := float64(s), float64(n-s)
		e := 2 * between / (a * b)
		if s > 1 {
			e -= 2 * left / (a * (a - 1))
		}
		if n-s > 1 {
			e -= 2 * right / (b * (b - 1))
		}
		if v := a * b / (a + b) * e; v > q {
			at, q = s, v
		}
	}
	return at, q
}

// welchScore returns the score of the difference mean(b) - mean(a) by the test of
// Welch (1947). A single value in b is a prediction from a: its variance is taken
// to be a's. Fewer than two values in a, or no variation at all, score 0.
func welchScore(a, b []float64) float64 {
	if len(a) < 2 || len(b) == 0 {
		return 0
	}
	na, nb := float64(len(a)), float64(len(b))
	va := stat.Variance(a)
	diff := stat.Mean(b) - stat.Mean(a)
	if len(b) == 1 {
		se := math.Sqrt(va * (1 + 1/na))
		if se == 0 {
			return 0
		}
		return stat.StudentScore(diff/se, na-1)
	}
	vb := stat.Variance(b)
	qa, qb := va/na, vb/nb
	se := math.Sqrt(qa + qb)
	if se == 0 {
		return 0
	}
	nu := (qa + qb) * (qa + qb) / (qa*qa/(na-1) + qb*qb/(nb-1))
	return stat.StudentScore(diff/se, nu)
}
