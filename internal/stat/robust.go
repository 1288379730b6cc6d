package stat

import (
	"math"
	"slices"
)

// Mean returns the arithmetic mean, 0 of an empty list.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Variance returns the sample variance (divisor n-1), 0 of fewer than two values.
func Variance(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	mean, sum := Mean(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(values)-1)
}

// Median returns the median, the mean of the middle two for an even count, 0 of
// an empty list. The values are sorted in place.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// MedianDeviation returns the median of the values and the median of their
// absolute differences from it. The values are overwritten.
func MedianDeviation(values []float64) (median, deviation float64) {
	median = Median(values)
	for i, v := range values {
		values[i] = math.Abs(v - median)
	}
	return median, Median(values)
}

// NormalDeviation is the standard deviation of a normal distribution divided by its median
// deviation.
const NormalDeviation = 1.4826

// Weighted is a value with a positive weight.
type Weighted struct{ Value, Weight float64 }

// WeightedMedian returns the smallest value at which the cumulated weight reaches
// half of the sum, 0 of an empty list. The items are sorted in place.
func WeightedMedian(items []Weighted) float64 {
	if len(items) == 0 {
		return 0
	}
	slices.SortFunc(items, func(a, b Weighted) int {
		switch {
		case a.Value < b.Value:
			return -1
		case a.Value > b.Value:
			return 1
		}
		return 0
	})
	whole := 0.0
	for _, it := range items {
		whole += it.Weight
	}
	sum := 0.0
	for _, it := range items {
		if sum += it.Weight; sum >= whole/2 {
			return it.Value
		}
	}
	return items[len(items)-1].Value
}
