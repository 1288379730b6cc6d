package lake_test

import (
	"flag"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/lake"
	"github.com/dendroprof/dendro/store/iceberg"
	"github.com/dendroprof/dendro/test/lake/fleet"
	"github.com/dendroprof/dendro/test/storetest"
)

var simulated = struct{ services, hours, workers *int }{flag.Int("services", 50, "services of BenchmarkHours"),
	flag.Int("hours", 48, "hours of BenchmarkHours"), flag.Int("workers", 4, "partitions of BenchmarkHours")}

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
	hours, err := iceberg.OpenHours(ctx, dir, 72*time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	defer hours.Close()
	var workers []*fleet.Hours
	for p := range *simulated.workers {
		workers = append(workers, fleet.New(p, *simulated.services, *simulated.workers))
	}
	began := cpu()
	for hour := 1; hour <= *simulated.hours; hour++ {
		for p, w := range workers {
			w.Handover = hour
			if n, err := hours.Publish(ctx, int32(p), w, time.Time{}); err != nil || n != w.Count() {
				b.Fatal(n, err)
			}
		}
	}
	series := *simulated.services * fleet.SeriesOfService * *simulated.hours
	b.Logf("%d services, %d hours of series handed over in %v of CPU, %v each", *simulated.services, series,
		(cpu() - began).Round(time.Millisecond), (cpu()-began)/time.Duration(series))
	st, err := lake.Open(ctx, dir)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	end := fleet.Begin.Add(time.Duration(*simulated.hours) * time.Hour)
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
