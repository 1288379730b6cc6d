package duckdb

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/test/storetest"
)

// BenchmarkPushDuringRollUp rolls up an hour in which 200 services pushed every 15 seconds,
// 48,000 windows of 300 values, and pushes meanwhile: the longest that a push waits.
func BenchmarkPushDuringRollUp(b *testing.B) {
	m, r := storetest.NewWindowMaker(), rand.New(rand.NewPCG(1, 2))
	stacks := make([][]string, 3_000)
	for i := range stacks {
		stacks[i] = []string{"main", fmt.Sprint("serve", i%7), fmt.Sprint("f", i%61), fmt.Sprint("g", i%501), fmt.Sprint("h", i)}
	}
	window := func(service int, at time.Time) *continuous.Window {
		var samples []storetest.Sample
		for range 300 {
			samples = append(samples, storetest.Sample{Stack: stacks[r.IntN(len(stacks))], Value: int64(1+r.IntN(9)) * 10_000_000})
		}
		return m.Window(fmt.Sprint("service", service), at, nil, samples...)
	}
	for b.Loop() {
		b.StopTimer()
		s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
		put := func(list []*continuous.Window) {
			if _, err := s.PutWindows(b.Context(), list); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 240 {
			var list []*continuous.Window
			for service := range 200 {
				list = append(list, window(service, firstPush.Truncate(time.Hour).Add(time.Duration(i)*15*time.Second)))
			}
			put(list)
		}
		var more []*continuous.Window // made before
		for i := range 1_000 {
			more = append(more, window(i%200, firstPush.Add(2*time.Hour)))
		}
		b.StartTimer()
		done := make(chan error)
		go func() {
			_, err := s.RollUp(b.Context(), firstPush.Add(2*time.Hour), continuous.Policy{})
			done <- err
		}()
		longest, pushes := time.Duration(0), 0
		for running := true; running; pushes++ {
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				running = false
			default:
				start := time.Now()
				put(more[pushes%len(more):][:1])
				longest = max(longest, time.Since(start))
				time.Sleep(5 * time.Millisecond)
			}
		}
		b.ReportMetric(float64(longest.Milliseconds()), "ms-longest-push")
		b.ReportMetric(float64(pushes), "pushes")
	}
}

// BenchmarkRetention pushes 180 days of 200 services, 24 windows of 100 values a day each, whose
// functions change, and rolls up every day: raw windows are kept for 2 days, hours for 10, days
// for 30. It reports the size of the file after some of the days and after Compact, without the
// log, which grows to 64 MiB, and fails if the file grows after the first windows of all levels
// went.
func BenchmarkRetention(b *testing.B) {
	const services, stacks = 200, 100
	policy := continuous.Policy{Keep: [3]time.Duration{continuous.Raw: 48 * time.Hour, continuous.Hour: 240 * time.Hour,
		continuous.Day: 720 * time.Hour}}
	for b.Loop() {
		s := mustOpen(b, filepath.Join(b.TempDir(), "store.duckdb"), Options{})
		m, r := storetest.NewWindowMaker(), rand.New(rand.NewPCG(1, 2))
		size := func(what string) int64 {
			info, err := os.Stat(s.file.Path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(info.Size())/1e6, "MB-"+what)
			return info.Size()
		}
		early, late := int64(0), int64(0)
		for day := range 180 {
			first := firstPush.Truncate(24*time.Hour).AddDate(0, 0, day)
			var list []*continuous.Window
			for service := range services {
				var samples []storetest.Sample
				for k := range stacks {
					samples = append(samples, storetest.Sample{Stack: []string{"main", fmt.Sprint("serve", service),
						fmt.Sprintf("f%d-%d", k, (day+k)/20)}, Value: int64(1+r.IntN(9)) * 10_000_000})
				}
				w := m.Window(fmt.Sprint("service", service), first, nil, samples...)
				for hour := range 24 {
					copied := *w
					copied.Start = first.Add(time.Duration(hour)*time.Hour + time.Duration(service)*time.Second)
					list = append(list, &copied)
				}
			}
			if _, err := s.PutWindows(b.Context(), list); err != nil {
				b.Fatal(err)
			}
			if _, err := s.RollUp(b.Context(), first.AddDate(0, 0, 1), policy); err != nil {
				b.Fatal(err)
			}
			switch day {
			case 39:
				size("day-40")
			case 89:
				early = size("day-90")
			case 179:
				late = size("day-180")
			}
		}
		if late > early*6/5 {
			b.Errorf("the file grew from %d to %d bytes", early, late)
		}
		if err := s.Compact(b.Context()); err != nil {
			b.Fatal(err)
		}
		size("compacted")
	}
}
