package duckdb

import (
	"fmt"
	"math/rand/v2"
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
