//go:build unix

package cli

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/testrun"
)

// suiteRun returns a run of a benchmark: folded stacks of so many paths, with noise.
func suiteRun(benchmark, run, paths int) ingest.Source {
	r, shape := rand.New(rand.NewPCG(uint64(benchmark), uint64(run))), rand.New(rand.NewPCG(uint64(benchmark), 1<<40))
	var b strings.Builder
	for i := range paths {
		b.WriteString("main.main;main.serve")
		for range 1 + shape.IntN(8) {
			fmt.Fprintf(&b, ";pkg%d.f%d", shape.IntN(20), shape.IntN(60))
		}
		fmt.Fprintf(&b, ";pkg.leaf%d %d\n", i, 20+r.IntN(12))
	}
	s := ingest.ReaderSource("a.folded", strings.NewReader(b.String()))
	s.Label = ingest.Label{Group: fmt.Sprintf("g%02d", benchmark%20), Benchmark: fmt.Sprintf("b%05d", benchmark),
		Run:     testrun.Run{Key: fmt.Sprintf("r%03d", run), Date: time.Date(2026, 1, 1, run, 0, 0, 0, time.UTC), Branch: "main", Machine: "m", Commit: fmt.Sprintf("%040x", run)},
		Metrics: []testrun.Metric{{Name: "time/op", Mean: 100 + r.Float64(), Unit: "ns/op", Primary: true}}}
	return s
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWhatChanged is the table of what changed on the first page: at first, when nothing
// was imported since, and after an import of a run of one benchmark and of 25. Processor time means something on a
// machine that does other things.
func BenchmarkWhatChanged(b *testing.B) {
	for _, size := range []struct{ benchmarks, runs, paths int }{{25, 200, 300}, {500, 10, 150}, {10_000, 5, 12}} {
		b.Run(fmt.Sprintf("benchmarks=%d/profiles=%d", size.benchmarks, size.benchmarks*size.runs), func(b *testing.B) {
			st, err := engines.Open(b.Context(), filepath.Join(b.TempDir(), "a.duckdb"), engines.Write)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			load := func(benchmarks, from, to int) {
				var sources []ingest.Source
				for run := from; run < to; run++ {
					for n := range benchmarks {
						sources = append(sources, suiteRun(n, run, size.paths))
					}
				}
				im := ingest.New(st, ingest.Options{})
				if _, err := im.Import(b.Context(), sources, func(r ingest.Result) {
					if r.Err != nil {
						b.Fatal(r.Err)
					}
				}); err != nil {
					b.Fatal(err)
				}
			}
			load(size.benchmarks, 0, size.runs)
			spent, calls := time.Duration(0), 0
			whatChanged := func(b *testing.B) {
				begin := processor()
				defer func() {
					spent += processor() - begin
					calls++
					b.ReportMetric(float64(spent.Milliseconds())/float64(calls), "cpu-ms/op")
				}()
				if _, err := judge.Report(b.Context(), st, &judge.ReportRequest{Changed: true}); err != nil {
					b.Fatal(err)
				}
			}
			b.Run("at first", func(b *testing.B) {
				spent, calls = 0, 0
				for b.Loop() {
					store.MemoryOf(st).Forget()
					whatChanged(b)
				}
			})
			b.Run("unchanged", func(b *testing.B) {
				spent, calls = 0, 0
				for b.Loop() {
					whatChanged(b)
				}
				b.ReportMetric(float64(store.MemoryOf(st).Bytes())/1e6, "MB")
			})
			run := size.runs
			for _, touched := range []int{1, 25} {
				b.Run(fmt.Sprintf("a run of %d", touched), func(b *testing.B) {
					spent, calls = 0, 0
					for b.Loop() {
						b.StopTimer()
						load(touched, run, run+1)
						run++
						b.StartTimer()
						whatChanged(b)
					}
				})
			}
		})
	}
}
