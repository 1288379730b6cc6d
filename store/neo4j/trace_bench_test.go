package neo4j

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// lineStacks returns the stacks of snapshots as texts with one signature a line.
func lineStacks(s traceprof.Snapshots) (list [][]byte) {
	for _, p := range s.Path {
		list = append(list, []byte(strings.Join(s.Stacks.Names(p), "\n")))
	}
	return list
}

func lineFrames(stack []byte, yield func([]byte) bool) error {
	for line := range bytes.SplitSeq(stack, []byte("\n")) {
		if !yield(line) {
			break
		}
	}
	return nil
}

// BenchmarkIntake stores snapshots of 60 frames in streams of 30 that end with
// Wait: 20 tasks, 500 distinct stacks each.
func BenchmarkIntake(b *testing.B) {
	const tasks, streams, each = 20, 128, 30
	s := opened(b, fresh(b, Shared))
	stacks := lineStacks(tracetest.Distinct(12_000, 60, 500))
	in := traceprof.NewIntake(s, traceprof.IntakeOptions{})
	var sent atomic.Int64
	var wg sync.WaitGroup
	cpu := serverCPU()
	b.ResetTimer()
	for who := range streams {
		wg.Go(func() {
			d := traceprof.Snapshot{Task: fmt.Append(nil, "task ", who%tasks), Segment: fmt.Append(nil, "segment ", who), Frames: lineFrames}
			for sent.Add(each) < int64(b.N)+each {
				st := in.Stream()
				for range each {
					d.Stack = stacks[(int(d.Sequence)*7+who)%len(stacks)]
					if err := st.Snapshot(b.Context(), &d); err != nil {
						b.Error(err)
						return
					}
					d.Sequence, d.Time = d.Sequence+1, d.Time+tracetest.Period
				}
				if err := st.Wait(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	m, took, spent := in.Metrics(), b.Elapsed(), serverCPU()-cpu
	for what, v := range map[string]float64{
		"snapshots/s":      float64(m.Snapshots) / took.Seconds(),
		"snapshots/commit": float64(m.Snapshots) / float64(m.Batches),
		"ms/commit":        float64(m.CommitTime.Milliseconds()) / float64(m.Batches),
	} {
		b.ReportMetric(v, what)
	}
	if spent > 0 {
		b.ReportMetric(float64(spent.Nanoseconds())/float64(m.Snapshots), "server-cpu-ns/snapshot")
	}
	if err := in.Close(b.Context()); err != nil {
		b.Error(err)
	}
}

// BenchmarkReadSnapshots reads segments of each shape, whose snapshots came 50 at
// a time, with their dictionary in memory (warm) and without (cold).
func BenchmarkReadSnapshots(b *testing.B) {
	s := opened(b, fresh(b, Shared))
	for _, input := range tracetest.Inputs() {
		v := input.Snapshots
		v.Task, v.Segment = "task of "+input.Name, "segment of "+input.Name
		for from := 0; from < v.Len(); from += 50 {
			to, part := min(from+50, v.Len()), v
			part.Sequence, part.Time, part.Path = v.Sequence[from:to], v.Time[from:to], v.Path[from:to]
			if err := s.PutSnapshots(b.Context(), part); err != nil {
				b.Fatal(err)
			}
		}
		for _, how := range []string{"warm", "cold"} {
			b.Run(input.Name+"/"+how, func(b *testing.B) {
				for b.Loop() {
					if how == "cold" {
						s.LimitStacks(256 << 20)
					}
					n := 0
					for got, err := range s.Snapshots(b.Context(), traceprof.SnapshotQuery{Segments: []string{v.Segment}}) {
						if err != nil {
							b.Fatal(err)
						}
						n += got.Len()
					}
					if n != v.Len() {
						b.Fatalf("%d snapshots of %d", n, v.Len())
					}
				}
			})
		}
	}
}
