package testrun

// OperationsMetric is the name of the metric that says how many operations the profile of
// a benchmark in a run covers: iterations, requests. It makes amounts per operation out of
// a profile's values. No analysis judges it.
const OperationsMetric = "operations"

// The units of OperationsMetric: whether the number was counted or estimated, like the
// product of a rate and the time of a measurement, and what an operation of a service is.
const (
	OperationsCounted   = "op"
	OperationsEstimated = "op, estimated"
	Seconds             = "s"
	Requests            = "request"
)

// CPUMetric is the name of the metric CPU time per operation in nanoseconds: the value of
// a CPU profile divided by its operations. Stores derive it (store.Profile.Measure).
const CPUMetric = "cpu/op"

// CPUTimeMetric is the name of the metric CPU time per operation that a benchmark measured
// itself: cpu-ns/op in the text of Go's benchmarks.
const CPUTimeMetric = "cpu-time/op"

// ProcessTimeMetric is the name of the metric CPU time of the process, user's and system's, in
// seconds, that ran the operations of a profile and nothing else.
const ProcessTimeMetric = "CPU time"

// CPUTime returns the CPU time of n operations among metrics, in nanoseconds, as it was measured
// and not sampled; 0 if it is unknown.
func CPUTime(list []Metric, n float64) float64 {
	for i := range list {
		switch m := &list[i]; {
		case m.Name == CPUTimeMetric && m.Unit == "ns/op":
			return m.Mean * n
		case m.Name == ProcessTimeMetric && m.Unit == "s":
			return m.Mean * 1e9
		}
	}
	return 0
}

// NewOperations returns the metric that n operations were counted, or estimated.
func NewOperations(n float64, estimated bool) Metric {
	m := Metric{Name: OperationsMetric, Mean: n, Unit: OperationsCounted, Better: Higher}
	if estimated {
		m.Unit = OperationsEstimated
	}
	return m
}

// NewServed returns the metric that a service ran for n seconds, or answered n requests: the unit is
// Seconds or Requests.
func NewServed(n float64, unit string) Metric {
	return Metric{Name: OperationsMetric, Mean: n, Unit: unit, Better: Higher}
}

// Operation returns what an operation is in the unit of an amount of one: "op", of a service "s" or
// "request".
func Operation(list []Metric) string {
	for i := range list {
		if m := &list[i]; m.Name == OperationsMetric && (m.Unit == Seconds || m.Unit == Requests) {
			return m.Unit
		}
	}
	return OperationsCounted
}

// Operations returns the number of operations among metrics, and whether it is an
// estimate; 0 if it is unknown.
func Operations(list []Metric) (n float64, estimated bool) {
	for i := range list {
		if m := &list[i]; m.Name == OperationsMetric && m.Mean > 0 {
			return m.Mean, m.Unit == OperationsEstimated
		}
	}
	return 0, false
}
