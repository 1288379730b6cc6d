package duckdb

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// The storage study has -bench-runs=100: 1,000 profiles.
var benchRuns = flag.Int("bench-runs", 10, "test runs of each of the ten benchmarks of the synthetic store")

// synthetic makes profiles of the shape that the storage study measured: about
// 11,000 call nodes each, 5,300 of them with a value, a mean depth near 50, and
// nearly all paths seen in the benchmark's runs before.
type synthetic struct {
	forest  *calltree.Forest
	paths   [][]int32   // of each benchmark
	weights [][]float64 // expected values
	rand    *rand.Rand
}

const syntheticNodes = 14_500

func newSynthetic(benchmarks int) *synthetic {
	s := &synthetic{forest: new(calltree.Forest), rand: rand.New(rand.NewPCG(1, 2))}
	for b := range benchmarks {
		depth := []int{0}
		paths := []int32{s.path(calltree.NoNode, b, 0)}
		weights := []float64{0}
		for len(paths) < syntheticNodes {
			up := len(paths) - 1 // mostly a chain
			if depth[up] > 110 || s.rand.Float64() < 0.32 {
				up = s.rand.IntN(len(paths))
				up = max(up, s.rand.IntN(len(paths)))
			}
			paths = append(paths, s.path(paths[up], b, s.rand.IntN(2800)))
			depth = append(depth, depth[up]+1)
			w := 0.0
			if s.rand.Float64() < 0.47 {
				w = 3 * math.Exp(1.2*s.rand.NormFloat64())
			}
			weights = append(weights, w)
		}
		s.paths, s.weights = append(s.paths, paths), append(s.weights, weights)
	}
	return s
}

// path interns a path; a part of the functions is common to all benchmarks.
func (s *synthetic) path(parent int32, bench, fn int) int32 {
	name := fmt.Sprintf("com.example.common.pkg%d.Class%d.method%d", fn%7, fn%97, fn)
	if fn >= 1500 {
		name = fmt.Sprintf("com.example.bench%d.pkg%d.Class%d.method%d", bench, fn%7, fn%97, fn)
	}
	return s.forest.Path(parent, s.forest.Function(profile.Function{Name: name, Kind: profile.KindJava}))
}

func (s *synthetic) file(bench, run int) *store.File {
	self := map[int32]int64{}
	for i, w := range s.weights[bench] {
		if w == 0 {
			continue
		}
		if v := int64(w * (0.5 + s.rand.ExpFloat64())); v > 0 {
			self[s.paths[bench][i]] += v
		}
	}
	var v calltree.Vector
	for p := range int32(s.forest.Paths.Len()) {
		if x := self[p]; x != 0 {
			v.Nodes, v.Self = append(v.Nodes, p), append(v.Self, x)
		}
	}
	rec := &store.Record{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count"}, Profiler: "synthetic",
		Samples: int64(v.Len()), Forest: s.forest, Self: v}
	binary.LittleEndian.PutUint64(rec.Hash[:], xxh3.HashString(fmt.Sprint(bench, run)))
	return &store.File{
		Name:      fmt.Sprintf("%d.%d.folded", bench, run),
		Benchmark: testrun.Benchmark{Group: fmt.Sprint("group", bench/2), Name: fmt.Sprint("bench", bench)},
		Run:       testrun.Run{Key: fmt.Sprintf("run%05d", run), Date: time.Date(2024, 1, 1, run, 0, 0, 0, time.UTC)},
		Metrics:   []testrun.Metric{{Name: "time", Mean: 100 + s.rand.Float64(), Unit: "ms", Better: testrun.Lower, N: 5, Primary: true}},
		Records:   []*store.Record{rec},
	}
}

// cpu returns the processor time of the process: what a measurement on a busy
// machine can trust.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var rules = store.PutOptions{Rules: "1"}

func put(b testing.TB, s *Store, files ...*store.File) {
	b.Helper()
	out, err := s.Put(context.Background(), files, rules)
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil {
			b.Fatal(o.Err)
		}
	}
}

// syntheticStore returns a store with all profiles, run by run.
func syntheticStore(b testing.TB, runs int) (*Store, *synthetic) {
	s, gen := mustOpen(b, filepath.Join(b.TempDir(), "bench.duckdb"), Options{}), newSynthetic(10)
	var files []*store.File
	for run := range runs {
		for bench := range 10 {
			if files = append(files, gen.file(bench, run)); len(files) == 50 {
				put(b, s, files...)
				files = nil
			}
		}
	}
	put(b, s, files...)
	return s, gen
}

// BenchmarkPut measures the engine's part of an import: no text is read.
func BenchmarkPut(b *testing.B) {
	for _, batch := range []int{1, 50} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			s, gen := syntheticStore(b, 5)
			run, used := 1000, time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				var files []*store.File
				for i := range batch {
					files = append(files, gen.file(i%10, run))
					if i%10 == 9 || batch == 1 {
						run++
					}
				}
				b.StartTimer()
				from := cpu()
				put(b, s, files...)
				used += cpu() - from
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N*batch), "cpu-µs/profile")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*batch), "µs/profile")
		})
	}
}

// BenchmarkQueries asks what the storage study asked, under its names.
func BenchmarkQueries(b *testing.B) {
	for _, compacted := range []bool{false, true} {
		s, _ := syntheticStore(b, *benchRuns)
		ctx := context.Background()
		if compacted {
			if err := s.Compact(ctx); err != nil {
				b.Fatal(err)
			}
		}
		info, err := s.Info(ctx)
		if err != nil {
			b.Fatal(err)
		}
		list, err := s.Profiles(ctx, store.Query{})
		if err != nil {
			b.Fatal(err)
		}
		nodes := 0
		for i := range list {
			nodes += list[i].Nodes
		}
		one := store.Query{Profiles: []store.ProfileID{list[len(list)/2].ID}}
		group, bench := store.Query{Groups: []string{"group1"}}, store.Query{Benchmarks: []string{"bench3"}}
		name := func(q string) string { return fmt.Sprintf("%s/compacted=%v", q, compacted) }
		run := func(q string, f func() error) {
			b.Run(name(q), func(b *testing.B) {
				if err := f(); err != nil { // warm
					b.Fatal(err)
				}
				best, bestCPU := time.Hour, time.Hour
				for b.Loop() {
					start, from := time.Now(), cpu()
					if err := f(); err != nil {
						b.Fatal(err)
					}
					best, bestCPU = min(best, time.Since(start)), min(bestCPU, cpu()-from)
				}
				b.ReportMetric(float64(best.Microseconds())/1e3, "best-ms")
				b.ReportMetric(float64(bestCPU.Microseconds())/1e3, "best-cpu-ms")
				b.ReportMetric(float64(info.Bytes)/float64(nodes), "bytes/node")
				b.ReportMetric(float64(nodes)/float64(len(list)), "nodes/profile")
			})
		}
		sum := func(q store.Query) func() error {
			return func() error { _, err := store.SumFunctions(ctx, s, q); return err }
		}
		functions := func(q store.Query, names ...string) func() error {
			return func() error { return readFunctions(ctx, s, q, names) }
		}
		trees := func(q store.Query) func() error {
			return func() error {
				set, err := s.Trees(ctx, q, store.TreeOptions{})
				if err != nil {
					return err
				}
				for _, err := range set.Vectors {
					if err != nil {
						return err
					}
				}
				return nil
			}
		}
		merge := func(q store.Query) func() error {
			return func() error { _, _, err := store.MergeTrees(ctx, s, q); return err }
		}
		moments := func(q store.Query) func() error {
			return func() error {
				_, err := store.FunctionMoments(ctx, s, q, store.Measure{Share: true})
				return err
			}
		}
		run("q1/group", sum(group))
		run("q1/all", sum(store.Query{}))
		run("q2/merge", merge(one))
		run("q2/trees", trees(one))
		run("q3/benchmark", merge(bench))
		run("q3/all", merge(store.Query{}))
		run("q4", functions(store.Query{}, "com.example.common.pkg0.Class70.method70"))
		run("q5/newest", functions(store.Query{Benchmarks: []string{"bench3"}, Last: 1}))
		run("q5/history", moments(bench))
		run("q6", moments(store.Query{}))
		run("q8", trees(bench))
		run("functions/all", functions(store.Query{}))
		run("profiles", func() error { _, err := s.Profiles(ctx, store.Query{}); return err })
	}
}

// BenchmarkOpen measures the start of a process: open, first tree, first put.
func BenchmarkOpen(b *testing.B) {
	s, gen := syntheticStore(b, *benchRuns)
	path, run := s.file.Path, 5000
	s.Close()
	for b.Loop() {
		start := time.Now()
		s := mustOpen(b, path, Options{})
		opened := time.Now()
		if _, _, err := store.MergeTrees(context.Background(), s, store.Query{Last: 1, Benchmarks: []string{"bench1"}}); err != nil {
			b.Fatal(err)
		}
		first := time.Now()
		put(b, s, gen.file(0, run))
		run++
		b.ReportMetric(float64(opened.Sub(start).Microseconds())/1e3, "open-ms")
		b.ReportMetric(float64(first.Sub(opened).Microseconds())/1e3, "tree-ms")
		b.ReportMetric(float64(time.Since(first).Microseconds())/1e3, "put-ms")
		s.Close()
	}
}
