package ingest

import (
	"math"
	"strconv"
	"strings"
)

// How many operations a profile covers, from the results of its benchmark.

// iterate records the number of iterations on a line of a Go benchmark.
func (s *metricSums) iterate(benchmark benchName, iterations string) {
	if n, err := strconv.ParseFloat(iterations, 64); err == nil {
		if s.iterations == nil {
			s.iterations = map[benchName][]float64{}
		}
		s.iterations[benchmark] = append(s.iterations[benchmark], n)
	}
}

// estimate records an estimated number of operations of a benchmark; 0 is unknown.
func (s *metricSums) estimate(benchmark benchName, n float64) {
	if s.estimates == nil {
		s.estimates = map[benchName]float64{}
	}
	s.estimates[benchmark] = n
}

// operations returns the number of operations that a profile of the benchmark covers, and
// whether it is an estimate; 0 if it is unknown.
//
// Of a Go benchmark it is the sum of its iterations if their number was set
// (-benchtime 1000x). Otherwise the profile also covers the shorter rounds by which the
// test program found b.N, up to as many iterations again: then it is unknown. A set number
// is recognised by its being round, as only powers of 100 are by chance, or equal on all
// of several lines.
func (s *metricSums) operations(benchmark benchName) (n float64, estimated bool) {
	lines := s.iterations[benchmark]
	if len(lines) == 0 {
		return s.estimates[benchmark], true
	}
	equal := true
	for _, x := range lines {
		n += x
		equal = equal && x == lines[0]
	}
	if !equal || !isRound(lines[0]) && (len(lines) == 1 || lines[0] < leastEqual) {
		return 0, false
	}
	return n, false
}

// leastEqual is the number of iterations from which on a sought b.N is not the same twice.
const leastEqual = 1000

// isRound reports whether n is 1 or a multiple of 10 with at most two significant digits.
func isRound(n float64) bool {
	if n < 10 {
		return n == 1
	}
	unit := math.Pow10(max(1, int(math.Log10(n))-1))
	return math.Mod(n, unit) == 0
}

// jmhTime is what JMH's JSON says about the measurement of a result.
type jmhTime struct {
	Threads    int    `json:"threads"`
	Iterations int    `json:"measurementIterations"`
	Time       string `json:"measurementTime"` // "10 s", "500 ms", "single-shot"
	Batch      int    `json:"measurementBatchSize"`
}

// operations estimates the operations of the measurements of one fork, which is what a
// profiler of JMH writes: each fork replaces the file of the one before.
func (t *jmhTime) operations(mode string, score float64, unit string) float64 {
	count, per, _ := strings.Cut(unit, "/")
	threads := float64(max(1, t.Threads))
	if mode == "ss" {
		return threads * float64(t.Iterations) * float64(max(1, t.Batch))
	}
	text, measured, _ := strings.Cut(t.Time, " ")
	length, err := strconv.ParseFloat(text, 64)
	total := length * secondsOf(measured) * float64(t.Iterations)
	switch {
	case err != nil || !(score > 0) || !(total > 0):
		return 0
	case mode == "thrpt" && secondsOf(per) > 0:
		return math.Round(total / secondsOf(per) * score) // over all threads
	case (mode == "avgt" || mode == "sample") && secondsOf(count) > 0:
		return math.Round(total / secondsOf(count) / score * threads)
	}
	return 0
}

// secondsOf returns the length of one of JMH's units of time; 0 for others.
func secondsOf(unit string) float64 {
	return map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "m": 60, "h": 3600, "hr": 3600, "day": 86400}[unit]
}
