package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/internal/column"
)

// Ranks returns the rank of every value, from 1; equal values share the mean of
// their ranks. Pearson of ranks is the rank correlation of Spearman (1904).
func Ranks(values []float64) []float64 {
	order := column.Places[int](len(values))
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to+1) / 2
		}
		from = to
	}
	return ranks
}

// Quantile returns the value below which a share q of the ascending values lies,
// with linear interpolation between neighbours (type 7 of Hyndman and Fan 1996),
// 0 of an empty list. Q is clipped to [0, 1].
func Quantile(ascending []float64, q float64) float64 {
	if len(ascending) == 0 {
		return 0
	}
	at := math.Max(0, math.Min(1, q)) * float64(len(ascending)-1)
	i := int(at)
	if i+1 >= len(ascending) {
		return ascending[len(ascending)-1]
	}
	return ascending[i] + (at-float64(i))*(ascending[i+1]-ascending[i])
}
