//go:build unix

package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/agent/internal/servertest"
)

// TestServer is the server of BenchmarkOverhead, in a process of its own so that its
// work is not counted. It hands out a task for the endpoint "slow" if asked to.
func TestServer(t *testing.T) {
	if os.Getenv("DENDRO_OVERHEAD") == "" {
		t.Skip("part of BenchmarkOverhead")
	}
	s := servertest.New(t, nil)
	if os.Getenv("DENDRO_OVERHEAD") == "task" {
		s.Order(servertest.Poll, servertest.Task("t1", "slow"))
	}
	fmt.Println("listens", s.Addr)
	io.Copy(io.Discard, os.Stdin) // until the benchmark closes it
}

// serve starts TestServer and returns its address.
func serve(b *testing.B, task string) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestServer$", "-test.v")
	cmd.Env = append(os.Environ(), "DENDRO_OVERHEAD="+task)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); io.Copy(io.Discard, out); cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "listens "); ok {
			return addr
		}
	}
	b.Fatal("no server")
	return ""
}

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkOverhead measures what the agent costs a service with n idle goroutines,
// 20 frames deep: without it, with it idle, with a task that no request matches, and
// with five segments sampled every 10 ms or as often as the budget allows. Run it
// with -benchtime 1x. The share of a core and the allocations are those of five
// seconds without requests; the latency that of 200 requests a second for five more.
func BenchmarkOverhead(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		for _, mode := range []string{"none", "idle", "task", "active"} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", mode, n), func(b *testing.B) {
				for b.Loop() {
					overhead(b, mode, n)
				}
			})
		}
	}
}

func overhead(b *testing.B, mode string, n int) {
	end := make(chan struct{})
	var wait sync.WaitGroup
	defer wait.Wait()
	defer close(end)
	for range n {
		wait.Go(func() { deep(20, func() { <-end }) })
	}
	if mode != "none" {
		task := "task"
		if mode == "idle" {
			task = "no task"
		}
		stop, err := Start(Options{Service: "shop", Server: serve(b, task)})
		if err != nil {
			b.Fatal(err)
		}
		defer stop(b.Context())
		for until := time.Now().Add(10 * time.Second); task == "task" && !running.Load().tasks.busy(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				b.Fatal("no task")
			}
		}
	}
	if mode == "active" {
		for range maxRoots {
			wait.Go(func() {
				Segment(b.Context(), "slow", func(context.Context) error { deep(20, func() { <-end }); return nil })
			})
		}
	}
	passes := func() int {
		a := running.Load()
		if a == nil {
			return 0
		}
		a.tasks.pace.mu.Lock()
		defer a.tasks.pace.mu.Unlock()
		return a.tasks.pace.n
	}
	time.Sleep(2 * time.Second) // until the median of the cost is known
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ticks, used, began := passes(), processTime(), time.Now()
	time.Sleep(5 * time.Second)
	share := float64(processTime()-used) / float64(time.Since(began))
	ticks = passes() - ticks
	runtime.ReadMemStats(&after)
	b.ReportMetric(100*share, "core-%")
	if ticks > 0 {
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(ticks)/1024, "kB/tick")
		b.ReportMetric(float64(5000)/float64(ticks), "ms-period")
	}
	p50, p99 := latency(b)
	b.ReportMetric(p50, "p50-ms")
	b.ReportMetric(p99, "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// latency returns percentiles, in ms, of requests that compute for a fifth of a
// millisecond, at 200 a second.
func latency(b *testing.B) (p50, p99 float64) {
	web := httptest.NewServer(Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		for end := time.Now().Add(200 * time.Microsecond); time.Now().Before(end); {
		}
	})))
	defer web.Close()
	var mu sync.Mutex
	var took []float64
	var wait sync.WaitGroup
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for range 1000 {
		<-ticker.C
		wait.Go(func() {
			start := time.Now()
			answer, err := web.Client().Get(web.URL)
			if err != nil {
				b.Error(err)
				return
			}
			answer.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			took = append(took, float64(time.Since(start).Microseconds())/1000)
		})
	}
	wait.Wait()
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// BenchmarkSegment measures a segment of one span that nothing profiles: without a
// task, and while one runs for another endpoint. Its report is dropped.
func BenchmarkSegment(b *testing.B) {
	for _, mode := range []string{"idle", "task"} {
		b.Run(mode, func(b *testing.B) {
			stop, err := Start(Options{Service: "shop", Server: serve(b, mode), Send: func(context.Context, []Record) error { return nil }})
			if err != nil {
				b.Fatal(err)
			}
			defer stop(b.Context())
			for until := time.Now().Add(10 * time.Second); mode == "task" && !running.Load().tasks.busy() && time.Now().Before(until); {
				time.Sleep(10 * time.Millisecond)
			}
			b.ReportAllocs()
			for b.Loop() {
				Segment(b.Context(), "other", func(context.Context) error { return nil })
			}
		})
	}
}
