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

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/test/storetest"
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
		Run: testrun.Run{Key: fmt.Sprintf("r%03d", run), Date: time.Date(2026, 1, 1, run, 0, 0, 0, time.UTC), Branch: "main", Machine: "m",
			Commit: fmt.Sprintf("%040x", run)},
		Metrics: []testrun.Metric{{Name: "time/op", Mean: 100 + r.Float64(), Unit: "ns/op", Primary: true}}}
	return s
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fromNothing hides the verdicts that a store keeps.
type fromNothing struct {
	store.Store
	store.Aggregator
}

// BenchmarkChanges is the list of changes, read from what the store keeps and computed from
// nothing, the first page, and what an import of one run of all benchmarks costs. Processor time
// means something on a machine that does other things.
func BenchmarkChanges(b *testing.B) {
	for _, size := range []struct{ benchmarks, runs, paths int }{{25, 200, 300}, {300, 26, 150}, {10_000, 5, 12}} {
		b.Run(fmt.Sprintf("benchmarks=%d/profiles=%d", size.benchmarks, size.benchmarks*size.runs), func(b *testing.B) {
			st, err := engines.Open(b.Context(), filepath.Join(b.TempDir(), "a.duckdb"), engines.Write)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			load := func(from, to int) {
				var sources []ingest.Source
				for run := from; run < to; run++ {
					for n := range size.benchmarks {
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
			load(0, size.runs)
			if err := judge.Follow(b.Context(), st, nil, nil); err != nil {
				b.Fatal(err)
			}
			read := time.Duration(0)
			measured := func(b *testing.B, prepare func(), do func() error) time.Duration {
				spent, calls := time.Duration(0), 0
				for b.Loop() {
					if prepare != nil {
						b.StopTimer()
						prepare()
						b.StartTimer()
					}
					begin := processor()
					if err := do(); err != nil {
						b.Fatal(err)
					}
					spent += processor() - begin
					calls++
				}
				b.ReportMetric(float64(spent.Microseconds())/1000/float64(calls), "cpu-ms/op")
				return spent / time.Duration(calls)
			}
			list := func(st store.Store) error {
				_, err := judge.Regressions(b.Context(), st, &judge.RegressionsRequest{})
				return err
			}
			b.Run("list", func(b *testing.B) { read = measured(b, nil, func() error { return list(st) }) })
			page := func() error {
				_, err := judge.Report(b.Context(), st, &judge.ReportRequest{Changed: true})
				return err
			}
			b.Run("first page", func(b *testing.B) { measured(b, nil, page) })
			windows, maker, pushed := st.(continuous.Store), storetest.NewWindowMaker(), 0
			push := func() {
				var list []*continuous.Window
				for service := range 20 {
					start := time.Date(2026, 2, 1, 0, 0, 15*pushed, 0, time.UTC)
					list = append(list, maker.Window(fmt.Sprint("service", service), start, []string{"version", fmt.Sprint(pushed / 240)},
						storetest.Sample{Stack: []string{"main", "serve", fmt.Sprint("f", pushed%7)}, Value: int64(1e9 + pushed)}))
				}
				if _, err := windows.PutWindows(b.Context(), list); err != nil {
					b.Fatal(err)
				}
				pushed++
			}
			for range 360 { // an hour of one release, half an hour of the next: blocks of five minutes
				push()
			}
			b.Run("first page after pushes", func(b *testing.B) { measured(b, push, page) })
			b.Run("list from nothing", func(b *testing.B) {
				plain := measured(b, nil, func() error { return list(fromNothing{st, st.(store.Aggregator)}) })
				if read > 0 {
					b.ReportMetric(float64(plain)/float64(read), "times-the-kept-list")
				}
			})
			run := size.runs
			b.Run("follow a run of all", func(b *testing.B) {
				measured(b, func() { load(run, run+1); run++ }, func() error { return judge.Follow(b.Context(), st, nil, nil) })
			})
		})
	}
}
