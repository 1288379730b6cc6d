package traceprof_test

import (
	"slices"
	"testing"
	"time"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/readtest"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// BenchmarkAnalyze measures analyses of snapshots whose dictionary is in memory:
// held ready, and read from the engine in memory. The processor time of a run
// contains what collecting its garbage costs.
func BenchmarkAnalyze(b *testing.B) {
	for _, in := range tracetest.Inputs() {
		stored := mem.New()
		if err := stored.PutSnapshots(b.Context(), in.Snapshots); err != nil {
			b.Fatal(err)
		}
		for _, st := range []struct {
			name string
			traceprof.Store
		}{{"held", &tracetest.Held{List: []traceprof.Snapshots{in.Snapshots}}}, {"mem", stored}} {
			measure(b, in.Name+"/"+st.name, func(b *testing.B) int {
				items := []traceprof.Range{tracetest.All(in.Segment)}
				a, err := traceprof.Analyze(b.Context(), st, items, traceprof.AnalyzeOptions{})
				if err != nil {
					b.Fatal(err)
				}
				elements := 0
				for _, t := range a.Trees {
					elements += t.Len()
				}
				return elements
			})
		}
	}
}

// BenchmarkNaive measures the definition, written down over texts, on the same.
func BenchmarkNaive(b *testing.B) {
	for _, in := range tracetest.Inputs() {
		measure(b, in.Name, func(*testing.B) int { return naiveElements(in.Snapshots) })
	}
}

// measure reports the processor time of the best run, which others on the machine
// disturb least, beside the mean.
func measure(b *testing.B, name string, run func(b *testing.B) int) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		elements := 0
		var sum, best time.Duration
		for b.Loop() {
			start := readtest.CPUTime()
			elements = run(b)
			cpu := readtest.CPUTime() - start
			sum += cpu
			if best == 0 || cpu < best {
				best = cpu
			}
		}
		b.ReportMetric(sum.Seconds()*1000/float64(b.N), "cpu-ms/op")
		b.ReportMetric(best.Seconds()*1000, "best-cpu-ms/op")
		b.ReportMetric(float64(elements), "elements")
	})
}

// naiveElements makes the trees of a segment as naive does, and their durations.
func naiveElements(s traceprof.Snapshots) (elements int) {
	super := &naiveElement{}
	for i := range s.Sequence {
		super.add(naiveSnapshot{0, s.Sequence[i], s.Time[i], s.Stacks.Names(s.Path[i])})
	}
	var sum time.Duration
	for open := slices.Clone(super.children); len(open) > 0; elements++ {
		e := open[len(open)-1]
		open = append(open[:len(open)-1], e.children...)
		sum += time.Duration(e.duration())
	}
	return elements
}
