package stat

import (
	"math"
	"math/bits"
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
	sortWeighted(items)
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

// sortWeighted sorts items by their values. It sorts numbers that have the upper bits of a
// value and the place of its item, in a third of the time of comparing items, and compares
// items only if that does not tell all values apart.
func sortWeighted(items []Weighted) {
	places := uint64(1)<<bits.Len(uint(len(items))) - 1
	keys := make([]uint64, len(items))
	for i, it := range items {
		key := math.Float64bits(it.Value)
		if key>>63 != 0 { // negative numbers come first, the larger ones last
			key = ^key
		} else {
			key |= 1 << 63
		}
		keys[i] = key&^places | uint64(i)
	}
	slices.Sort(keys)
	sorted := make([]Weighted, len(items))
	for i, key := range keys {
		if sorted[i] = items[key&places]; i > 0 && !(sorted[i-1].Value < sorted[i].Value) {
			slices.SortFunc(items, func(a, b Weighted) int {
				switch {
				case a.Value < b.Value:
					return -1
				case a.Value > b.Value:
					return 1
				}
				return 0
			})
			return
		}
	}
	copy(items, sorted)
}
