package stat

import (
	"math"
	"slices"
)

// exactRanks is the maximum number of values up to which MannWhitney counts arrangements;
// of more values it takes the normal approximation.
const exactRanks = 60

// MannWhitney returns the two-sided error probability of the test of Mann and Whitney (1947)
// that two samples come from one distribution, and the least one that samples of these
// sizes and ties can have. Both are exact, ties included, up to 60 values in all. They
// are 1 if a sample is empty.
func MannWhitney(a, b []float64) (p, least float64) {
	if len(a) == 0 || len(b) == 0 {
		return 1, 1
	}
	if len(a) > len(b) {
		a, b = b, a // costs less, and is the same
	}
	ranks := Ranks(slices.Concat(a, b))
	twice := make([]int, len(ranks)) // mid-ranks are halves
	sum := 0
	for i, r := range ranks {
		twice[i] = int(2 * r)
		if i < len(a) {
			sum += twice[i]
		}
	}
	slices.Sort(twice)
	lowest, highest := 0, 0
	for i := range a {
		lowest += twice[i]
		highest += twice[len(twice)-1-i]
	}
	tails := normalRanks(twice, len(a))
	if len(ranks) <= exactRanks {
		tails = exactRankSums(twice, len(a))
	}
	twoSided := func(sum int) float64 { return math.Min(1, 2*math.Min(tails(sum))) }
	return twoSided(sum), math.Min(twoSided(lowest), twoSided(highest))
}

// exactRankSums returns the probabilities that the sum of n of the doubled ranks is at
// most, and at least, a number.
func exactRankSums(twice []int, n int) func(sum int) (below, above float64) {
	whole := 0
	for _, r := range twice {
		whole += r
	}
	ways := make([][]float64, n+1) // by number of ranks and their sum
	for i := range ways {
		ways[i] = make([]float64, whole+1)
	}
	ways[0][0] = 1
	for seen, r := range twice {
		for i := min(n, seen+1); i > 0; i-- {
			for s := whole; s >= r; s-- {
				ways[i][s] += ways[i-1][s-r]
			}
		}
	}
	all := 0.0
	for _, w := range ways[n] {
		all += w
	}
	return func(sum int) (below, above float64) {
		for s, w := range ways[n] {
			if s <= sum {
				below += w / all
			}
			if s >= sum {
				above += w / all
			}
		}
		return below, above
	}
}

// normalRanks is exactRankSums by the normal approximation, with corrections for ties and
// for continuity.
func normalRanks(twice []int, n int) func(sum int) (below, above float64) {
	all := float64(len(twice))
	mean, square := 0.0, 0.0
	for _, r := range twice {
		mean += float64(r) / all
	}
	for _, r := range twice {
		square += (float64(r) - mean) * (float64(r) - mean)
	}
	sd := math.Sqrt(float64(n) * (all - float64(n)) / all * square / (all - 1))
	return func(sum int) (below, above float64) {
		if !(sd > 0) {
			return 1, 1
		}
		d := float64(sum) - float64(n)*mean
		return NormalTail(-(d + 1) / sd), NormalTail((d - 1) / sd) // 1 of the doubled ranks is half a rank
	}
}

// MedianInterval returns the narrowest interval between two of the ascending values that
// holds the median of their distribution with a probability of at least confidence; of
// two equally narrow ones, the lower. It is false if there are too few values: fewer than
// 6 for 0.95.
func MedianInterval(ascending []float64, confidence float64) (low, high float64, ok bool) {
	n := len(ascending)
	chance := func(k int) float64 { // that k of the values are below the median
		if k < 0 || k > n {
			return 0
		}
		whole, _ := math.Lgamma(float64(n + 1))
		in, _ := math.Lgamma(float64(k + 1))
		out, _ := math.Lgamma(float64(n - k + 1))
		return math.Exp(whole - in - out - float64(n)*math.Ln2)
	}
	from := n / 2
	to := from + 1
	for sum := chance(from); sum < confidence && from >= 0 && to <= n+1; {
		if below, above := chance(from-1), chance(to); below >= above*(1-1e-9) {
			from--
			sum += below
		} else {
			to++
			sum += above
		}
	}
	if from < 1 || to > n {
		return 0, 0, false
	}
	return ascending[from-1], ascending[to-1], true
}
