package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	dendro "github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/readtest"
)

// BenchmarkContinuous compares windows in a store with what home-made set-ups do: a pprof
// file per window in a folder, merged by google/pprof. A window has 225 samples of a recorded
// profile, with two values: count and nanoseconds.
func BenchmarkContinuous(b *testing.B) {
	services := recordedServices(b)
	b.Run("push", func(b *testing.B) { benchPush(b, services) })
	b.Run("query", func(b *testing.B) { benchWindowQueries(b, services) })
	b.Run("months", func(b *testing.B) { benchMonths(b, services) })
}

// recorded is a recorded profile as weighted stacks, outermost frame first.
type recorded struct {
	name   string
	stacks [][]string
	until  []float64 // running sum of the weights
}

func recordedServices(b *testing.B) (list []recorded) {
	files, err := filepath.Glob("suite/seeds/*.folded.gz")
	if err != nil || len(files) < 10 {
		b.Fatal(files, err)
	}
	for i, name := range files[:10] {
		r := recorded{name: fmt.Sprintf("svc-%02d", i)}
		lines := bufio.NewScanner(bytes.NewReader(readtest.File(b, "../"+name)))
		lines.Buffer(nil, 1<<20)
		sum := 0.0
		for lines.Scan() {
			at := strings.LastIndexByte(lines.Text(), ' ')
			n, err := strconv.ParseFloat(lines.Text()[at+1:], 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += n
			r.stacks, r.until = append(r.stacks, strings.Split(lines.Text()[:at], ";")), append(r.until, sum)
		}
		if lines.Err() != nil {
			b.Fatal(lines.Err())
		}
		list = append(list, r)
	}
	return list
}

// draw returns how often each stack occurs in a window of n samples.
func (r *recorded) draw(rnd *rand.Rand, n int) map[int]int64 {
	counts := map[int]int64{}
	for range n {
		counts[sort.SearchFloat64s(r.until, rnd.Float64()*r.until[len(r.until)-1])]++
	}
	return counts
}

const (
	windowSamples = 225
	samplePeriod  = 10_000_000 // nanoseconds
	windowLength  = 15 * time.Second
)

// blob returns a window as a pprof file.
func (r *recorded) blob(b *testing.B, counts map[int]int64, start time.Time) []byte {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: samplePeriod, TimeNanos: start.UnixNano(),
		DurationNanos: int64(windowLength)}
	at := map[string]*profile.Location{}
	for _, i := range sortedKeys(counts) {
		s := &profile.Sample{Value: []int64{counts[i], counts[i] * samplePeriod}}
		for _, name := range slices.Backward(r.stacks[i]) {
			l := at[name]
			if l == nil {
				id := uint64(len(at) + 1)
				fn := &profile.Function{ID: id, Name: name, SystemName: name}
				l = &profile.Location{ID: id, Line: []profile.Line{{Function: fn}}}
				at[name] = l
				p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	var buf bytes.Buffer
	if err := p.Write(&buf); err != nil {
		b.Fatal(err)
	}
	return buf.Bytes()
}

func sortedKeys(counts map[int]int64) []int {
	keys := make([]int, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// windows returns a window as a receiver makes them: one for each value type.
func (r *recorded) windows(f *calltree.Forest, counts map[int]int64, start time.Time, seed uint64) []*continuous.Window {
	values := map[int32]int64{}
	for i, n := range counts {
		path := calltree.NoNode
		for _, name := range r.stacks[i] {
			path = f.Path(path, f.Function(dendro.Function{Name: name}))
		}
		values[path] += n
	}
	var v, ns calltree.Vector
	for path, n := range values {
		v.Nodes, v.Self = append(v.Nodes, path), append(v.Self, n)
	}
	v = calltree.AddVectors(v)
	ns = calltree.Vector{Nodes: v.Nodes}
	for _, n := range v.Self {
		ns.Self = append(ns.Self, n*samplePeriod)
	}
	typ := continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds"}
	w := continuous.Window{Series: continuous.Series{Service: r.name, Type: typ}, Start: start, Length: windowLength, Forest: f, Self: ns,
		Type: dendro.ValueType{Name: dendro.CPU, Unit: "nanoseconds"}}
	w.Hash[0], w.Hash[1], w.Hash[2] = byte(seed), byte(seed>>8), byte(seed>>16)
	other := w
	other.Series.Type.SampleType, other.Series.Type.SampleUnit, other.Self = "samples", "count", v
	other.Type = dendro.ValueType{Name: dendro.CPUSamples, Unit: "count"}
	return []*continuous.Window{&w, &other}
}

var firstWindow = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// benchPush stores windows durably: in calls of 100 windows, as a receiver groups those of 50
// milliseconds; each file is written and synced.
func benchPush(b *testing.B, services []recorded) {
	const pushes = 4000
	rnd := rand.New(rand.NewPCG(1, 2))
	forest := new(calltree.Forest)
	var list []*continuous.Window
	var blobs [][]byte
	for i := range pushes {
		r, start := &services[i%10], firstWindow.Add(time.Duration(i/10)*windowLength)
		counts := r.draw(rnd, windowSamples)
		list = append(list, r.windows(forest, counts, start, uint64(i))...)
		blobs = append(blobs, r.blob(b, counts, start))
	}
	report := func(b *testing.B, bytes int64) {
		b.ReportMetric(float64(pushes)*float64(b.N)/b.Elapsed().Seconds(), "pushes/s")
		b.ReportMetric(float64(bytes)/pushes, "B/push")
	}
	b.Run("engine=dendro", func(b *testing.B) {
		var written, size int64
		for range b.N {
			b.StopTimer()
			s := openStore(b, filepath.Join(b.TempDir(), "store.duckdb"))
			b.StartTimer()
			for part := range slices.Chunk(list, 200) {
				if _, err := s.PutWindows(b.Context(), part); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			written = bytesOf(b, s)
			if err := s.Compact(b.Context()); err != nil {
				b.Fatal(err)
			}
			size = bytesOf(b, s)
			b.StartTimer()
		}
		report(b, size)
		b.ReportMetric(float64(written)/pushes, "B/push-uncompacted")
	})
	b.Run("engine=blobs", func(b *testing.B) {
		size := int64(0)
		for range b.N {
			dir := b.TempDir()
			size = 0
			for i, blob := range blobs {
				size += writeBlob(b, filepath.Join(dir, fmt.Sprint(i)), blob, true)
			}
		}
		report(b, size)
	})
}

func openStore(b *testing.B, path string) *duckdb.Store {
	s, err := duckdb.Open(context.Background(), path, duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// bytesOf returns the size of the file and its log.
func bytesOf(b *testing.B, s *duckdb.Store) int64 {
	info, err := s.Info(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return info.Bytes
}

// writeBlob writes a file and returns its size.
func writeBlob(b *testing.B, name string, blob []byte, sync bool) int64 {
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := f.Write(blob); err != nil {
		b.Fatal(err)
	}
	if sync {
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return int64(len(blob))
}

// benchWindowQueries asks for one service over a day and all of 1,000 windows: 100 of each
// service.
func benchWindowQueries(b *testing.B, services []recorded) {
	rnd := rand.New(rand.NewPCG(1, 2))
	forest := new(calltree.Forest)
	dir := b.TempDir()
	path := filepath.Join(dir, "store.duckdb")
	s := openStore(b, path)
	files := map[string][]string{}
	for i := range 1000 {
		r, start := &services[i%10], firstWindow.Add(time.Duration(i/10)*14*time.Minute)
		counts := r.draw(rnd, windowSamples)
		if _, err := s.PutWindows(b.Context(), r.windows(forest, counts, start, uint64(i))); err != nil {
			b.Fatal(err)
		}
		name := filepath.Join(dir, fmt.Sprint(i))
		writeBlob(b, name, r.blob(b, counts, start), false)
		files[r.name], files[""] = append(files[r.name], name), append(files[""], name)
	}
	whole := b
	for _, of := range []string{"svc-00", ""} {
		q := cpuOf(of)
		want := int64(0)
		b.Run(fmt.Sprintf("windows=%d/engine=blobs", len(files[of])), func(b *testing.B) {
			for range b.N {
				want = mergeBlobs(b, files[of])
			}
		})
		b.Run(fmt.Sprintf("windows=%d/engine=dendro-first", len(files[of])), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				s = openStore(whole, path)
				b.StartTimer()
				askTree(b, s, q, want)
			}
		})
		b.Run(fmt.Sprintf("windows=%d/engine=dendro", len(files[of])), func(b *testing.B) {
			for range b.N {
				askTree(b, s, q, want)
			}
		})
	}
}

func cpuOf(service string) continuous.Query {
	q := continuous.Query{Type: continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu",
		PeriodUnit: "nanoseconds"}}
	if service != "" {
		q.Matchers = []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: service}}
	}
	return q
}

// mergeBlobs returns the nanoseconds of the merged files.
func mergeBlobs(b *testing.B, names []string) (sum int64) {
	var list []*profile.Profile
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		p, err := profile.ParseData(data)
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, p)
	}
	p, err := profile.Merge(list)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range p.Sample {
		sum += s.Value[1]
	}
	return sum
}

// askTree asks for a tree and, if want is not 0, for that sum of it.
func askTree(b *testing.B, s *duckdb.Store, q continuous.Query, want int64) {
	merged, err := s.Tree(b.Context(), q)
	if err != nil {
		b.Fatal(err)
	}
	sum := int64(0)
	for _, v := range merged.Tree.Self {
		sum += v
	}
	if want != 0 && sum != want {
		b.Fatalf("a sum of %d, want %d", sum, want)
	}
}

// benchMonths asks for three months, of which only the sums of hours and days are left. Each hour
// of each service is the sum of 24 windows.
func benchMonths(b *testing.B, services []recorded) {
	rnd := rand.New(rand.NewPCG(1, 2))
	forest := new(calltree.Forest)
	s := openStore(b, filepath.Join(b.TempDir(), "store.duckdb"))
	const days = 90
	for hour := range days * 24 {
		var list []*continuous.Window
		for i := range services {
			r := &services[i]
			list = append(list, r.windows(forest, r.draw(rnd, 24*windowSamples), firstWindow.Add(time.Duration(hour)*time.Hour), uint64(hour))...)
		}
		if _, err := s.PutWindows(b.Context(), list); err != nil {
			b.Fatal(err)
		}
		if hour%24 == 23 {
			if _, err := s.RollUp(b.Context(), firstWindow.Add(time.Duration(hour+1)*time.Hour),
				continuous.Policy{Keep: [3]time.Duration{48 * time.Hour}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	stats, err := s.WindowStats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%+v", stats)
	edges := func(q continuous.Query) continuous.Query { // so that hours are read too
		q.From, q.Until = firstWindow.Add(90*time.Minute), firstWindow.Add(days*24*time.Hour-90*time.Minute)
		return q
	}
	function := services[0].stacks[0][len(services[0].stacks[0])/2]
	for _, of := range []string{"svc-00", ""} {
		b.Run("service="+of+"/tree", func(b *testing.B) {
			for range b.N {
				askTree(b, s, edges(cpuOf(of)), 0)
			}
		})
		for _, step := range []time.Duration{24 * time.Hour, time.Hour} {
			b.Run(fmt.Sprint("service=", of, "/function/step=", step), func(b *testing.B) {
				for range b.N {
					if _, err := s.Function(b.Context(), edges(cpuOf(of)), function, step); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprint("service=", of, "/totals/step=", step), func(b *testing.B) {
				for range b.N {
					if _, err := s.Totals(b.Context(), edges(cpuOf(of)), step); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

var manyServices = flag.Int("services", 200, "services of BenchmarkContinuousForest")

// BenchmarkContinuousForest measures a store of many services that have 10,000 call paths each:
// what its forest takes in memory, and pushes and queries over it.
func BenchmarkContinuousForest(b *testing.B) {
	const paths, sampled, perCall = 10_000, 300, 100
	rnd := rand.New(rand.NewPCG(1, 2))
	file := filepath.Join(b.TempDir(), "store.duckdb")
	s := openStore(b, file)
	forest := new(calltree.Forest)
	push := func(service, hour int, nodes []int32) *continuous.Window {
		v := calltree.Vector{Nodes: nodes}
		for range nodes {
			v.Self = append(v.Self, (1+rnd.Int64N(5))*samplePeriod)
		}
		w := &continuous.Window{Series: continuous.Series{Service: fmt.Sprint("svc-", service), Type: cpuOf("").Type},
			Start: firstWindow.Add(time.Duration(hour) * time.Hour), Length: windowLength,
			Forest: forest, Self: v, Type: dendro.ValueType{Name: dendro.CPU, Unit: "nanoseconds"}}
		binary.LittleEndian.PutUint32(w.Hash[:], rnd.Uint32())
		return w
	}
	put := func(list []*continuous.Window) {
		if _, err := s.PutWindows(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	first := make([]int32, *manyServices) // path of each service
	for service := range first {
		first[service] = int32(forest.Paths.Len())
		growService(forest, rnd, service, paths)
		all := make([]int32, paths)
		for i := range all {
			all[i] = first[service] + int32(i)
		}
		put([]*continuous.Window{push(service, 0, all)})
	}
	b.Logf("%d paths written in %.1f s", forest.Paths.Len(), time.Since(began).Seconds())
	began = time.Now()
	for hour := 1; hour < 25; hour++ {
		var list []*continuous.Window
		for service := range first {
			var nodes []int32
			for n := rnd.Int32N(2 * paths / sampled); n < paths; n += 1 + rnd.Int32N(2*paths/sampled) {
				nodes = append(nodes, first[service]+n)
			}
			if list = append(list, push(service, hour, nodes)); len(list) == perCall {
				put(list)
				list = nil
			}
		}
		put(list)
	}
	b.Logf("%.0f windows a second of known paths", float64(24*len(first))/time.Since(began).Seconds())
	began = time.Now()
	if _, err := s.RollUp(b.Context(), firstWindow.Add(25*time.Hour), continuous.Policy{}); err != nil {
		b.Fatal(err)
	}
	b.Logf("rolled up 25 hours in %.1f s", time.Since(began).Seconds())
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	forest = nil
	b.Logf("%.0f bytes of memory a path of the writer", heap()/float64(paths*len(first)))
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s = openStore(b, file)
	before := heap()
	began = time.Now()
	askTree(b, s, cpuOf("svc-7"), 0)
	b.Logf("opened; the first tree of a service in %.0f ms; %.0f bytes of memory a path, %.1f bytes of file",
		time.Since(began).Seconds()*1e3, (heap()-before)/float64(paths*len(first)), float64(bytesOf(b, s))/float64(paths*len(first)))
	for _, of := range []string{"svc-7", ""} {
		b.Run("service="+of+"/tree", func(b *testing.B) {
			for range b.N {
				askTree(b, s, cpuOf(of), 0)
			}
		})
	}
}

// growService adds call paths with functions of the service and shared ones.
func growService(f *calltree.Forest, rnd *rand.Rand, service, paths int) {
	first := int32(f.Paths.Len())
	for f.Paths.Len() < int(first)+paths {
		parent := calltree.NoNode
		if n := int32(f.Paths.Len()) - first; n > 0 {
			parent = first + max(rnd.Int32N(n), rnd.Int32N(n)) // deeper than wide
		}
		name := fmt.Sprintf("runtime.f%d", rnd.IntN(2000))
		if parent == calltree.NoNode || rnd.IntN(2) == 0 {
			name = fmt.Sprintf("svc%d.pkg%d.(*Type).Method%d", service, rnd.IntN(50), rnd.IntN(20))
		}
		f.Path(parent, f.Function(dendro.Function{Name: name}))
	}
}
