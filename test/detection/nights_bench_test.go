package detection

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// BenchmarkVerdicts judges 300 benchmarks of 20 runs and 2,000 call nodes from a store: from
// nothing, and one more run of each. A tenth has a change. It reports the processor time.
func BenchmarkVerdicts(b *testing.B) {
	const programs, benchmarks, runs = 30, 10, 20 // of each program
	st := mem.New()
	for i := range programs {
		kind := "none"
		if i%10 == 0 {
			kind = "self"
		}
		s, ok := Simulate(Plan{Seed: uint64(2000 + i), Nodes: 2000, Runs: runs - 4, K: 5, Samples: 10000, Kind: kind, Impact: 0.05})
		if !ok {
			b.Fatal("no place for the change")
		}
		for k := range benchmarks {
			for j := range s.Profiles {
				s.Profiles[j].Benchmark.Name = fmt.Sprintf("b%d-%d", i, k)
			}
			if err := s.put(b, st); err != nil {
				b.Fatal(err)
			}
		}
	}
	all, err := st.Profiles(b.Context(), store.Query{})
	if err != nil {
		b.Fatal(err)
	}
	lines := change.Lines(all)
	before := make([]history.Series, len(lines))
	for i, s := range lines {
		s.Profiles = s.Profiles[:runs]
		before[i] = s
	}
	judge := func(lines []history.Series, prev []*change.Verdict) []*change.Verdict {
		list := make([]*change.Verdict, len(lines))
		g, ctx := errgroup.WithContext(b.Context())
		g.SetLimit(runtime.GOMAXPROCS(0))
		for i := range lines {
			g.Go(func() error {
				var v *change.Verdict
				if prev != nil {
					v = prev[i]
				}
				var err error
				list[i], err = change.Judge(ctx, st, &lines[i], v, regression.Options{})
				return err
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		return list
	}
	verdicts := judge(before, nil)
	b.Run("regressions", func(b *testing.B) { // what `dendro regressions` computes from nothing
		start := processorTime(b)
		for b.Loop() {
			if _, err := regression.Find(b.Context(), st, store.Query{}, regression.Request{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric((processorTime(b)-start)/float64(b.N), "cpu-s/op")
	})
	for _, c := range []struct {
		name  string
		lines []history.Series
		prev  []*change.Verdict
	}{{"from nothing", before, nil}, {"one more run", lines, verdicts}} {
		b.Run(c.name, func(b *testing.B) {
			start := processorTime(b)
			for b.Loop() {
				judge(c.lines, c.prev)
			}
			b.ReportMetric((processorTime(b)-start)/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(len(lines)), "benchmarks")
		})
	}
}

// processorTime returns the processor time of the process in seconds.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
