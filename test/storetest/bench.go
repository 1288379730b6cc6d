package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Benchmark measures an engine with profiles of about 10,000 call nodes, the
// size that a suite of benchmarks has: how fast they go in when nearly all of
// their paths are known, and how long queries to a hundred of them take.
func Benchmark(b *testing.B, e Engine) {
	b.Run("Put", func(b *testing.B) { benchmarkPut(b, e) })
	b.Run("Put/batch=50", func(b *testing.B) { benchmarkPutBatch(b, e) })
	b.Run("Query", func(b *testing.B) { benchmarkQueries(b, e) })
}

// generator makes runs of one benchmark: profiles over one forest, each of which
// has most of the paths with other values, and a few new paths.
type generator struct {
	r      *rand.Rand
	forest calltree.Forest
	runs   int
}

// Sizes of what a generator makes.
const (
	benchFunctions = 3000
	benchPaths     = 12_000
	benchValues    = 5500 // self values of a profile; with their ancestors about 10,000 nodes
	benchNewPaths  = 30   // of each further profile
)

func newGenerator() *generator {
	g := &generator{r: rand.New(rand.NewPCG(1, 2))}
	for i := range benchFunctions {
		g.forest.Function(profile.Function{Name: fmt.Sprintf("com.example.pkg%d.Class%d.method%d", i/100, i/10, i), Kind: profile.KindJava})
	}
	g.grow(benchPaths)
	return g
}

// grow adds paths: below one of the newest, so that stacks get some depth.
func (g *generator) grow(n int) {
	for range n {
		parent := calltree.NoNode
		if have := g.forest.Paths.Len(); have > 0 {
			parent = int32(have - 1 - g.r.IntN(min(have, 400)))
		}
		g.forest.Path(parent, int32(g.r.IntN(benchFunctions)))
	}
}

// next returns the next run of the benchmark.
func (g *generator) next() *store.File {
	g.runs++
	g.grow(benchNewPaths)
	v := calltree.Vector{}
	paths := g.forest.Paths.Len()
	for p := range paths {
		if g.r.IntN(paths) < benchValues {
			v.Nodes, v.Self = append(v.Nodes, int32(p)), append(v.Self, 1+int64(100*g.r.ExpFloat64()))
		}
	}
	f := &store.File{
		Name:      fmt.Sprintf("run%d.collapsed", g.runs),
		Benchmark: testrun.Benchmark{Group: "group", Name: fmt.Sprint("benchmark", g.runs%10)},
		Run:       testrun.Run{Key: fmt.Sprint("run", g.runs), Date: time.Unix(int64(g.runs)*3600, 0).UTC(), Branch: "main"},
		Metrics:   []testrun.Metric{{Name: "time", Mean: 100 + g.r.NormFloat64(), Unit: "ms", Primary: true}},
		Records: []*store.Record{{
			Type: TypeOf(profile.CPUSamples), Profiler: "storetest", Samples: int64(len(v.Nodes)),
			Forest: g.forest.Snapshot(), Self: v,
		}},
	}
	binary.BigEndian.PutUint64(f.Records[0].Hash[:], uint64(g.runs))
	return f
}

func mustPut(b *testing.B, s store.Store, files ...*store.File) {
	b.Helper()
	out, err := s.Put(context.Background(), files, store.PutOptions{Rules: Rules})
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil || o.Stored != 1 {
			b.Fatalf("%+v", o)
		}
	}
}

// benchmarkPut measures a Put per profile.
func benchmarkPut(b *testing.B, e Engine) {
	l, g := newLab(b, e), newGenerator()
	mustPut(b, l.s, g.next())
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		f := g.next()
		b.StartTimer()
		mustPut(b, l.s, f)
	}
	b.ReportMetric(10_000*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
}

// benchmarkPutBatch measures Puts of fifty.
func benchmarkPutBatch(b *testing.B, e Engine) {
	l, g := newLab(b, e), newGenerator()
	mustPut(b, l.s, g.next())
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		var files []*store.File
		for range 50 {
			files = append(files, g.next())
		}
		b.StartTimer()
		mustPut(b, l.s, files...)
	}
	b.ReportMetric(50*10_000*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
}

// benchmarkQueries measures the queries of a store of a hundred profiles.
func benchmarkQueries(b *testing.B, e Engine) {
	l, g := newLab(b, e), newGenerator()
	var files []*store.File
	for range 100 {
		files = append(files, g.next())
	}
	mustPut(b, l.s, files...)
	if err := l.s.Compact(l.ctx); err != nil {
		b.Fatal(err)
	}
	name := g.forest.Functions[benchFunctions/2].Name
	all, one := store.Query{}, store.Query{Runs: []string{"run50"}}
	for _, q := range []struct {
		name string
		run  func() (int, error)
	}{
		{"Profiles", func() (int, error) { list, err := l.s.Profiles(l.ctx, all); return len(list), err }},
		{"FunctionNames", func() (int, error) { list, err := l.s.FunctionNames(l.ctx); return len(list), err }},
		{"Functions/one", func() (int, error) { return rowsOf(l, all, []string{name}) }},
		{"Functions/all", func() (int, error) { return rowsOf(l, all, nil) }},
		{"Trees/one", func() (int, error) { return vectorsOf(l, one) }},
		{"Trees/all", func() (int, error) { return vectorsOf(l, all) }},
		{"SumFunctions", func() (int, error) {
			sums, err := store.SumFunctions(l.ctx, l.s, all)
			if err != nil {
				return 0, err
			}
			return len(sums.Rows), nil
		}},
		{"FunctionMoments", func() (int, error) {
			set, err := store.FunctionMoments(l.ctx, l.s, all, store.Measure{})
			if err != nil {
				return 0, err
			}
			return len(set.Rows), nil
		}},
		{"MergeTrees", func() (int, error) {
			t, _, err := store.MergeTrees(l.ctx, l.s, all)
			if err != nil {
				return 0, err
			}
			return t.Len(), nil
		}},
	} {
		b.Run(q.name, func(b *testing.B) {
			if _, err := q.run(); err != nil { // fills caches
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if n, err := q.run(); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func rowsOf(l *lab, q store.Query, names []string) (int, error) {
	set, err := l.s.Functions(l.ctx, q, names)
	if err != nil {
		return 0, err
	}
	n := 0
	for rows, err := range set.Rows {
		if err != nil {
			return 0, err
		}
		n += len(rows.Profile)
	}
	return n, nil
}

func vectorsOf(l *lab, q store.Query) (int, error) {
	set, err := l.s.Trees(l.ctx, q, store.TreeOptions{})
	if err != nil {
		return 0, err
	}
	n := 0
	for v, err := range set.Vectors {
		if err != nil {
			return 0, err
		}
		n += v.Len()
	}
	return n, nil
}
