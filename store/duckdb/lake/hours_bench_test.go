package lake_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/lake"
	"github.com/dendroprof/dendro/store/iceberg"
	"github.com/dendroprof/dendro/test/storetest"
)

var simulated = struct{ services, hours, workers *int }{flag.Int("services", 50, "services of BenchmarkHours"),
	flag.Int("hours", 48, "hours of BenchmarkHours"), flag.Int("workers", 4, "partitions of BenchmarkHours")}

// fleetHours is a partition of a simulated fleet: every hour of each service has five series of up to
// 300 call paths of its own.
type fleetHours struct {
	continuous.Store
	forest   *calltree.Forest
	series   []continuous.Series
	paths    [][]int32 // of each series
	begin    time.Time
	hours    int
	handover int // hours that a worker has made, at most hours
}

const seriesOfService = 5

func newFleetHours(partition, services, workers, hours int) *fleetHours {
	f := &fleetHours{forest: &calltree.Forest{}, begin: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), hours: hours}
	r := rand.New(rand.NewPCG(uint64(partition), 1))
	for n := partition; n < services; n += workers {
		var paths []int32
		functions := make([]int32, 100)
		for i := range functions {
			functions[i] = f.forest.Function(profile.Function{Name: fmt.Sprintf("com.example.service%d.Handler%d.method", n, i)})
		}
		for range 300 {
			up := calltree.NoNode
			if len(paths) > 0 {
				up = paths[r.IntN(len(paths))]
			}
			paths = append(paths, f.forest.Path(up, functions[r.IntN(len(functions))]))
		}
		for zone := range seriesOfService {
			f.series = append(f.series, continuous.Series{Service: fmt.Sprintf("service-%05d", n), Type: storetest.CPUWindows,
				Labels: continuous.Labels{{Name: "zone", Value: fmt.Sprint("z", zone)}}, First: f.begin, Last: f.begin.Add(time.Hour)})
			f.paths = append(f.paths, paths)
		}
	}
	return f
}

func (f *fleetHours) Made(context.Context) (time.Time, error) {
	return f.begin.Add(time.Duration(f.handover) * time.Hour), nil
}

func (f *fleetHours) WindowStats(context.Context) (s continuous.Stats, err error) {
	s.First = f.begin
	return s, nil
}

func (f *fleetHours) Totals(_ context.Context, q continuous.Query, _ time.Duration) (*continuous.Totals, error) {
	totals := &continuous.Totals{Series: f.series}
	for i := range f.series {
		for hour := range f.handover {
			at := f.begin.Add(time.Duration(hour) * time.Hour)
			if !at.Before(q.From) && at.Before(q.Until) {
				totals.Totals = append(totals.Totals, continuous.Total{Series: int32(i), Level: continuous.Hour, Start: at, Length: time.Hour,
					Parts: 2400, Covered: time.Hour, Instances: 10})
			}
		}
	}
	return totals, nil
}

func (f *fleetHours) Hours(ctx context.Context, q continuous.Query) (*continuous.Hours, error) {
	totals, err := f.Totals(ctx, q, time.Hour)
	if err != nil {
		return nil, err
	}
	h := &continuous.Hours{Series: f.series, Types: make([]profile.ValueType, len(f.series)), Forest: f.forest.Snapshot(),
		Totals: totals.Totals}
	for i := range h.Types {
		h.Types[i] = profile.ValueType{Name: "cpu", Unit: "nanoseconds"}
	}
	for i := range h.Totals {
		t := &h.Totals[i]
		r := rand.New(rand.NewPCG(uint64(t.Series), uint64(t.Start.Unix())))
		var self calltree.Vector
		last := int32(-1)
		for _, path := range f.paths[t.Series] {
			if r.IntN(4) > 0 && path > last {
				self.Nodes, self.Self = append(self.Nodes, path), append(self.Self, r.Int64N(1e9))
				t.Sum += self.Self[len(self.Self)-1]
				last = path
			}
		}
		h.Self = append(h.Self, self)
	}
	return h, nil
}

// cpu returns the processor time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it has no other error than a wrong argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHours hands hours of a simulated fleet over to a lake, hour by hour, and queries one service
// and all of them, before and after a compaction, which changes no answer.
func BenchmarkHours(b *testing.B) {
	ctx, dir := b.Context(), filepath.Join(b.TempDir(), "lake")
	hours := iceberg.NewHours(dir, 72*time.Hour)
	defer hours.Close()
	if err := hours.Open(ctx); err != nil {
		b.Fatal(err)
	}
	var workers []*fleetHours
	for p := range *simulated.workers {
		workers = append(workers, newFleetHours(p, *simulated.services, *simulated.workers, *simulated.hours))
	}
	began := cpu()
	for hour := 1; hour <= *simulated.hours; hour++ {
		for p, w := range workers {
			w.handover = hour
			if n, err := hours.Publish(ctx, int32(p), w, time.Time{}); err != nil || n != len(w.series) {
				b.Fatal(n, err)
			}
		}
	}
	series := *simulated.services * seriesOfService * *simulated.hours
	b.Logf("%d services, %d hours of series handed over in %v of CPU, %v each", *simulated.services, series,
		(cpu() - began).Round(time.Millisecond), (cpu()-began)/time.Duration(series))
	st, err := lake.Open(ctx, dir, lake.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	end := workers[0].begin.Add(time.Duration(*simulated.hours) * time.Hour)
	one := []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: "service-00003"}}
	var before []any
	for _, when := range []string{"as handed over", "compacted"} {
		stats, err := st.WindowStats(ctx)
		if err != nil {
			b.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "series_samples", "data", "*", "*", "*.parquet"))
		b.Logf("%s: %d MB of series_samples in %d files (with those that are still kept)", when, stats.Bytes[continuous.Hour]>>20, len(files))
		var answers []any
		for _, span := range []time.Duration{time.Hour, 24 * time.Hour, 30 * 24 * time.Hour} {
			if span > time.Duration(*simulated.hours)*time.Hour {
				break
			}
			for _, what := range []string{"one service", "all services"} {
				var matchers []continuous.Matcher
				if what == "one service" {
					matchers = one
				}
				q := continuous.Query{From: end.Add(-span), Until: end, Type: storetest.CPUWindows, Matchers: matchers}
				timed := func(name string, answer func() (any, error)) {
					began, clock := cpu(), time.Now()
					a, err := answer()
					if err != nil {
						b.Fatal(err)
					}
					b.Logf("%s: %s of %s over %v: %v of CPU, %v", when, name, what, span, (cpu() - began).Round(time.Millisecond),
						time.Since(clock).Round(time.Millisecond))
					answers = append(answers, a)
				}
				timed("totals", func() (any, error) { return st.Totals(ctx, q, time.Hour) })
				timed("function", func() (any, error) { return st.Function(ctx, q, "com.example.service3.Handler7.method", time.Hour) })
				if matchers != nil || span == time.Hour {
					timed("tree", func() (any, error) {
						m, err := st.Tree(ctx, q)
						return content(m), err
					})
				}
			}
		}
		if before != nil && !reflect.DeepEqual(answers, before) {
			b.Error("a compaction changed an answer")
		}
		if before != nil {
			return
		}
		before = answers
		began := cpu()
		if err := st.Compact(ctx); err != nil {
			b.Fatal(err)
		}
		b.Logf("compaction: %v of CPU", (cpu() - began).Round(time.Millisecond))
	}
}
