package store

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Measure sets the metrics of a profile from those that are stored for its benchmark and
// run. Engines call it for every profile that they list. A CPU profile whose operations
// are known gets the metric CPU time per operation, which is derived here so that profile
// and operations may be imported in any order. P.Metrics may share memory with stored, which
// stays as it is. The metric that judges the value type comes
// first:
//
//   - of CPU profiles: the benchmark's own CPU time per operation (testrun.CPUTimeMetric), else
//     the derived one (testrun.CPUMetric);
//   - of allocations: the bytes or the allocations per operation;
//   - else the benchmark's own primary metric, which alone has the flag Primary.
func (p *Profile) Measure(stored []testrun.Metric) {
	p.Metrics = stored
	n, _ := p.Covered()
	ns, timed := p.time()
	derives := p.isCPU() && timed && n > 0
	if derives || !p.isCPU() && slices.ContainsFunc(stored, isDerived) {
		p.Metrics = slices.DeleteFunc(slices.Clone(stored), isDerived)
	}
	if derives {
		per := testrun.Metric{Name: testrun.CPUMetric, Mean: ns / n, Unit: "ns/" + testrun.Operation(stored), Better: testrun.Lower}
		p.Metrics = append(p.Metrics, per)
	}
	order := func(a, b testrun.Metric) int { return p.rank(&a) - p.rank(&b) }
	if !slices.IsSortedFunc(p.Metrics, order) {
		p.Metrics = slices.Clone(p.Metrics)
		slices.SortStableFunc(p.Metrics, order)
	}
}

// Operations returns the number of operations that the profile covers, and whether it is
// an estimate; 0 if it is unknown. It is unknown of a sum, whose parts have operations each.
func (p *Profile) Operations() (n float64, estimated bool) {
	if len(p.Parts) > 0 {
		return 0, false
	}
	return testrun.Operations(p.Metrics)
}

// PerOperation returns the unit of an amount of one operation: "ns/op", of a service "ns/s" or "ns/request".
func (p *Profile) PerOperation() string { return p.Type.Per(testrun.Operation(p.Metrics)) }

// Covered returns the number of operations that the values of the profile stand for: the
// denominator of what is per operation. That is Operations, but where the sampler counts waits
// for a processor too, or misses threads, and the CPU time of the operations was measured: then it is
// as many as take the time of all samples. A value per operation is then a share of the measured CPU time, without what
// waiting added to it.
func (p *Profile) Covered() (n float64, estimated bool) {
	n, estimated = p.Operations()
	if n > 0 && (p.countsWaits() || p.missesThreads()) {
		sampled, known := p.time()
		if !known {
			sampled = float64(p.Sum) * usualPeriod
		}
		if measured := testrun.CPUTime(p.Metrics, n); measured > 0 && sampled > 0 {
			n *= sampled / measured * math.Exp(waitCost*p.Waited())
		}
	}
	return n, estimated
}

// Waited returns the part of its time in which the program wanted to run and waited for a processor; 0
// if the sampler does not count waits, or the CPU time is unknown.
func (p *Profile) Waited() float64 {
	n, _ := p.Operations()
	sampled, known := p.time()
	measured := testrun.CPUTime(p.Metrics, n)
	if p.Type.Name != profile.Runnable || !known || n <= 0 || measured <= 0 || measured >= sampled {
		return 0
	}
	return 1 - measured/sampled
}

// waitCost is by how much more CPU time the same work takes if the program waits for a processor, by the part of
// its time in which it does: caches are cold when it runs again. Of five programs of Python, 0.28 to 1.0.
const waitCost = 0.25

// usualPeriod stands for the unknown period of samples, in nanoseconds: it is V8's.
const usualPeriod = 1e6

// countsWaits reports whether the samples are of threads that run or want to run: on a busy
// machine they are many times the CPU time.
func (p *Profile) countsWaits() bool {
	switch p.Type.Name {
	case profile.Runnable:
		return true
	case profile.Unclocked, profile.Wall, profile.WallSamples: // these sample the thread that runs the program, whatever it does
		return slices.Contains([]string{"V8", "rbspy", "phpspy", "pyinstrument"}, p.Profiler)
	}
	return false
}

// missesThreads reports whether the samples lack threads that live shorter than a period:
// async-profiler starts a timer for each thread, which ends with it.
func (p *Profile) missesThreads() bool { return p.isCPU() && p.Profiler == "async-profiler" }

func isDerived(m testrun.Metric) bool { return m.Name == testrun.CPUMetric }

// rank orders metrics by how well they judge the profile's value type.
func (p *Profile) rank(m *testrun.Metric) int {
	switch {
	case m.Name == testrun.OperationsMetric:
		return 4
	case p.isCPU() && m.Name == testrun.CPUTimeMetric, p.Type.Name == profile.Alloc && m.Unit == "B/op",
		p.Type.Name == profile.AllocSamples && m.Unit == "allocs/op":
		return 0
	case isDerived(*m):
		return 1
	case m.Primary:
		return 2
	}
	return 3
}

func (p *Profile) isCPU() bool {
	return p.Type.Name == profile.CPU || p.Type.Name == profile.CPUSamples
}

// time returns the time of all samples in nanoseconds; false if the value of a sample is
// unknown.
func (p *Profile) time() (ns float64, ok bool) {
	unit, value := p.Type.Unit, float64(p.Sum)*math.Pow10(-p.Type.Scale)
	if unit == "count" {
		unit, value = p.Type.PeriodUnit, value*float64(p.Type.Period)
	}
	length := profile.Nanoseconds(unit)
	return value * float64(length), length > 0 && p.Sum > 0 && value > 0
}
