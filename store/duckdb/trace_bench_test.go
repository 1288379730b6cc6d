package duckdb

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// wireStacks returns the stacks of snapshots as a protocol writes them: each
// signature behind its length.
func wireStacks(s traceprof.Snapshots) [][]byte {
	var list [][]byte
	known := map[int32][]byte{}
	for _, p := range s.Path {
		if known[p] == nil {
			var stack []byte
			for _, name := range s.Stacks.Names(p) {
				stack = append(binary.AppendUvarint(stack, uint64(len(name))), name...)
			}
			known[p] = stack
		}
		list = append(list, known[p])
	}
	return list
}

func wireFrames(stack []byte, yield func([]byte) bool) error {
	for len(stack) > 0 {
		n, size := binary.Uvarint(stack)
		if !yield(stack[size : size+int(n)]) {
			return nil
		}
		stack = stack[size+int(n):]
	}
	return nil
}

// BenchmarkIntake stores snapshots of 60 frames in streams of 30 that end with
// Wait: 20 tasks, 500 distinct stacks each.
func BenchmarkIntake(b *testing.B) {
	const tasks, streams, each = 20, 128, 30
	s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
	var stacks [tasks][][]byte
	for i := range stacks {
		stacks[i] = wireStacks(tracetest.Distinct(12_000, 60, 500))
	}
	in := traceprof.NewIntake(s, traceprof.IntakeOptions{})
	var next atomic.Int64
	before := cpu()
	var wg sync.WaitGroup
	b.ResetTimer()
	for who := range streams {
		wg.Go(func() {
			task, segment := fmt.Appendf(nil, "1700000000000_%d", who%tasks),
				fmt.Appendf(nil, "6f1d8b7e4a9c4b0f9a3e%d.%d.17000000000000001", who, who)
			list := stacks[who%tasks]
			sequence := int32(0)
			for next.Add(each) <= int64(b.N)+each-1 {
				st := in.Stream()
				for range each {
					d := traceprof.Snapshot{Task: task, Segment: segment, Sequence: sequence, Time: 1_700_000_000_000 + 10*int64(sequence),
						Stack: list[(int(sequence)*7+who)%len(list)], Frames: wireFrames}
					sequence++
					if err := st.Snapshot(b.Context(), &d); err != nil {
						b.Error(err)
						return
					}
				}
				if err := st.Wait(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	m := in.Metrics()
	if err := in.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	n := float64(m.Snapshots)
	b.ReportMetric(n/b.Elapsed().Seconds(), "snapshots/s")
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/n, "cpu-ns/snapshot")
	b.ReportMetric(float64(m.CommitTime.Milliseconds())/float64(m.Batches), "ms/commit")
	b.ReportMetric(n/float64(m.Batches), "snapshots/commit")
}

// BenchmarkReadSnapshots reads a segment of each shape, and analyses it, with its
// dictionary in memory (warm) and without (cold).
func BenchmarkReadSnapshots(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
	inputs := tracetest.Inputs()
	for _, input := range inputs {
		v := input.Snapshots
		v.Task, v.Segment = "task of "+input.Name, "segment of "+input.Name
		const part = 50 // an agent sends every half second
		for from := 0; from < v.Len(); from += part {
			to := min(from+part, v.Len())
			some := v
			some.Sequence, some.Time, some.Path = v.Sequence[from:to], v.Time[from:to], v.Path[from:to]
			if err := s.PutSnapshots(b.Context(), some); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, input := range inputs {
		for _, how := range []string{"warm", "cold", "analyze-warm", "analyze-cold"} {
			b.Run(input.Name+"/"+how, func(b *testing.B) {
				before := cpu()
				for b.Loop() {
					if strings.HasSuffix(how, "cold") {
						b.StopTimer()
						start := cpu()
						s.Close()
						s = mustOpen(b, s.file.Path, Options{})
						before += cpu() - start
						b.StartTimer()
					}
					if strings.HasPrefix(how, "analyze") {
						all := traceprof.Range{Segment: "segment of " + input.Name, End: 1 << 60}
						if a, err := traceprof.Analyze(b.Context(), s, []traceprof.Range{all}, traceprof.AnalyzeOptions{}); err != nil || len(a.Trees) == 0 {
							b.Fatal(err)
						}
						continue
					}
					n := 0
					for v, err := range s.Snapshots(b.Context(), traceprof.SnapshotQuery{Segments: []string{"segment of " + input.Name}}) {
						if err != nil {
							b.Fatal(err)
						}
						n += v.Len()
					}
					if n != input.Len() {
						b.Fatalf("%d snapshots of %d", n, input.Len())
					}
				}
				b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// BenchmarkReadScattered reads a segment of 12,000 snapshots whose 240 parts came
// among those of 1,000 other segments each.
func BenchmarkReadScattered(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
	v := tracetest.Distinct(12_000, 60, 500)
	v.Task = "task"
	const part, others = 50, 1000
	for from := 0; from < v.Len(); from += part {
		var list []traceprof.Snapshots
		for i := range others {
			some := v
			some.Segment = fmt.Sprint("segment", i)
			some.Sequence, some.Time, some.Path = v.Sequence[from:from+part], v.Time[from:from+part], v.Path[from:from+part]
			list = append(list, some)
		}
		if err := s.PutSnapshots(b.Context(), list...); err != nil {
			b.Fatal(err)
		}
	}
	for _, how := range []string{"parts", "compacted"} {
		b.Run(how, func(b *testing.B) {
			before := cpu()
			for b.Loop() {
				for v, err := range s.Snapshots(b.Context(), traceprof.SnapshotQuery{Segments: []string{"segment500"}}) {
					if err != nil || v.Len() != 12_000 {
						b.Fatal(v.Len(), err)
					}
				}
			}
			b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
		if err := s.Compact(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSegments stores segments of a kilobyte, 50 a commit, and asks for one
// of them by id.
func BenchmarkSegments(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
	raw := []byte(strings.Repeat("0123456789", 100))
	n := 0
	put := func(b *testing.B, calls, each int) {
		for range calls {
			var list []traceprof.Segment
			for range each {
				list = append(list, traceprof.Segment{ID: fmt.Sprintf("6f1d8b7e4a9c4b0f9a3e.%d.1700", n), Trace: fmt.Sprintf("trace-of-%d", n/3),
					Service: fmt.Sprint("service", n%10), Instance: fmt.Sprint("instance", n%100), Endpoint: fmt.Sprint("/", n%37),
					Operation: fmt.Sprint("GET:/", n%37),
					Start:     1_700_000_000_000 + int64(n), End: 1_700_000_000_000 + int64(n+n%1000), Raw: raw})
				n++
			}
			if err := s.PutSegments(b.Context(), list...); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, size := range []int{10_000, 200_000, 1_000_000} {
		b.Run(fmt.Sprint("put/", size), func(b *testing.B) {
			const large = 2000
			put(b, (size-n)/large, large)
			before, from := cpu(), n
			longest := time.Duration(0)
			for b.Loop() {
				start := time.Now()
				put(b, 1, 50)
				longest = max(longest, time.Since(start))
			}
			b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(n-from), "cpu-ns/segment")
			b.ReportMetric(float64(longest.Milliseconds()), "ms-longest-commit")
		})
		for name, q := range map[string]traceprof.SegmentQuery{
			"id":      {IDs: []string{"6f1d8b7e4a9c4b0f9a3e.4711.1700"}},
			"trace":   {Traces: []string{"trace-of-1570"}},
			"slowest": {Service: "service3", BySlowest: true, Limit: 20},
			"newest":  {Service: "service3", Endpoint: "/5", Limit: 20},
		} {
			b.Run(fmt.Sprint(name, "/", size), func(b *testing.B) {
				before := cpu()
				for b.Loop() {
					if list, err := s.Segments(b.Context(), q); err != nil || len(list) == 0 || len(list[0].Raw) != len(raw) {
						b.Fatal(len(list), err)
					}
				}
				b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// BenchmarkExpire removes the oldest thousand of 500,000 segments, by time and by
// size, beside a task with 1,000 profiled segments.
func BenchmarkExpire(b *testing.B) {
	const segments = 500_000
	s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
	for n := 0; n < segments; n += 5000 {
		var list []traceprof.Segment
		for i := n; i < n+5000; i++ {
			list = append(list, traceprof.Segment{ID: fmt.Sprint("segment", i), Trace: fmt.Sprint("trace", i/2), Start: int64(i), End: int64(i),
				Raw: []byte("0123456789")})
		}
		if err := s.PutSegments(b.Context(), list...); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 1000 {
		v := tracetest.Picture("task", fmt.Sprint("segment", i*400), "A-B A-C")
		v.Time[0] = 1 << 40
		if err := s.PutSnapshots(b.Context(), v); err != nil {
			b.Fatal(err)
		}
	}
	held := int64(0)
	if text, err := ask(b, s, "SELECT sum(size)::BIGINT FROM segment"); err != nil {
		b.Fatal(err)
	} else if _, err := fmt.Sscan(text, &held); err != nil {
		b.Fatal(err)
	}
	for _, how := range []string{"time", "size"} {
		b.Run(how, func(b *testing.B) {
			start := cpu()
			for n := int64(1); b.Loop(); n++ {
				e := traceprof.Expiry{Before: 1000 * n}
				if how == "size" {
					e = traceprof.Expiry{MaxBytes: held * (segments - 50_000 - 1000*n) / segments}
				}
				if _, err := s.Expire(b.Context(), e); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu()-start).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkExpireWhileServing measures what expiry costs the intake: commits of 50 segments
// among -bench-segments others, while every second the oldest are removed, and while none are.
func BenchmarkExpireWhileServing(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
	raw, n := []byte(strings.Repeat("0123456789", 100)), 0
	put := func(each int) {
		var list []traceprof.Segment
		for range each {
			list = append(list, traceprof.Segment{ID: fmt.Sprint("segment", n), Trace: fmt.Sprint("trace", n/2), Service: "shop", Start: int64(n),
				End: int64(n), Raw: raw})
			n++
		}
		if err := s.PutSegments(b.Context(), list...); err != nil {
			b.Fatal(err)
		}
	}
	for n < *benchSegments {
		put(5000)
	}
	v := tracetest.Picture("task", "segment1", "A-B A-C")
	v.Received = 1 << 40
	if err := s.PutSnapshots(b.Context(), v); err != nil {
		b.Fatal(err)
	}
	for _, how := range []string{"idle", "time", "size"} {
		b.Run("expiry="+how, func(b *testing.B) {
			ctx, stop := context.WithCancel(b.Context())
			var removed sync.WaitGroup
			if how != "idle" {
				removed.Go(func() {
					for ctx.Err() == nil {
						e := traceprof.Expiry{Before: int64(n - *benchSegments)}
						if how == "size" {
							e = traceprof.Expiry{MaxBytes: int64(*benchSegments) * int64(len(raw)+90)}
						}
						if _, err := s.Expire(ctx, e); err != nil && ctx.Err() == nil {
							b.Error(err)
						}
						select {
						case <-ctx.Done():
						case <-time.After(time.Second):
						}
					}
				})
			}
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				put(50)
				took = append(took, time.Since(start))
				time.Sleep(5 * time.Millisecond)
			}
			stop()
			removed.Wait()
			slices.Sort(took)
			for _, q := range []int{50, 99} {
				b.ReportMetric(float64(took[len(took)*q/100].Microseconds())/1000, fmt.Sprintf("ms-p%d", q))
			}
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-max")
		})
	}
}

var benchSegments = flag.Int("bench-segments", 20_000, "segments that BenchmarkSegmentStream stores; 3,600,000 are an hour of 1,000 a second")

// BenchmarkSegmentStream stores segments as a busy server does, 50 a commit, and
// defines how long commits take in the first and in the last tenth.
func BenchmarkSegmentStream(b *testing.B) {
	for b.Loop() {
		s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
		r := rand.New(rand.NewPCG(1, 2))
		var took, used []time.Duration
		for n := 0; n < *benchSegments; n += 50 {
			used = append(used, cpu())
			var list []traceprof.Segment
			for i := range 50 {
				id := fmt.Sprintf("%016x.%d.1700", r.Uint64(), i)
				raw := fmt.Appendf(nil, "%s%s%x", id, strings.Repeat("http://shop/cart GET Tomcat ", 15),
					[]uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()})
				list = append(list, traceprof.Segment{ID: id, Trace: id, Service: fmt.Sprint("service", i%10), Instance: fmt.Sprint("instance", i),
					Endpoint:  fmt.Sprint("/", r.IntN(40)),
					Operation: "GET:/x", Start: 1_700_000_000_000 + int64(n), End: 1_700_000_000_000 + int64(n) + r.Int64N(1000), Raw: raw})
			}
			start := time.Now()
			if err := s.PutSegments(b.Context(), list...); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		tenth := len(took) / 10
		for _, part := range []struct {
			name string
			list []time.Duration
			cpu  time.Duration
		}{{"first", took[:tenth], used[tenth] - used[0]}, {"last", took[len(took)-tenth:], used[len(took)-1] - used[len(took)-1-tenth]}} {
			slices.Sort(part.list)
			b.ReportMetric(float64(part.cpu.Microseconds())/float64(50*tenth), "cpu-µs/segment-"+part.name)
			for _, q := range []int{50, 99, 100} {
				b.ReportMetric(float64(part.list[(len(part.list)-1)*q/100].Microseconds())/1000, fmt.Sprintf("ms-%s-p%d", part.name, q))
			}
		}
		info, err := s.Info(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Bytes)/float64(*benchSegments), "bytes/segment")
	}
}
