//go:build linux

package soak

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/program"
)

var duration = flag.Duration("soak", 6*time.Second, "how long the load lasts")

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

// load is one kind of client. Its workers call step again and again.
type load interface {
	name() string
	workers() int
	// step does one thing: n counts the steps of a worker. If it returns no error, the
	// server has acknowledged all that the step sent.
	step(ctx context.Context, s *soak, worker, n int) error
	// needsDisk reports whether the step fails while the disk is full.
	needsDisk() bool
	// missing returns how many acknowledged things a store lacks, and of how many. It is
	// called after the server has ended.
	missing(t *testing.T, dir string) (lost, all int)
}

// TestSoak runs all loads and faults and prints the figures.
func TestSoak(t *testing.T) {
	size := "2g"
	if *duration < time.Minute {
		size = "200m" // filling it takes time too
	}
	disk, unmounted := program.MountDisk(t, size)
	s := &soak{t: t, dir: disk.Dir}
	s.http, s.grpc = "http://"+program.FreeAddress(t), program.FreeAddress(t)
	s.start()
	s.began = time.Now()
	t.Cleanup(func() { s.server.Kill() })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	all := []load{newSegments(), newSnapshots(), newPolls(), newImports(), newPushes(), attackers{}, queries{}}
	var figures []*figure
	var work sync.WaitGroup
	for _, l := range all {
		f := &figure{load: l}
		figures = append(figures, f)
		for w := range l.workers() {
			work.Go(func() { f.work(ctx, s, w) })
		}
	}
	work.Go(func() { s.watchMemory(ctx) })
	// Kills and full disks in the first 60 %, so that memory can be watched afterwards. The calm
	// begins when the last fault has ended, which on a busy machine is later.
	faulty, endFaults := context.WithTimeout(ctx, *duration*6/10)
	defer endFaults()
	s.faults(faulty, disk, unmounted == nil)
	time.Sleep(grace + *duration*4/10)
	stop()
	s.lasted = time.Since(s.began)
	work.Wait()

	s.server.Process.Signal(syscall.SIGTERM)
	if err := s.server.Wait(); err != nil {
		t.Errorf("the server ends with %v: %s", err, s.server.Log)
	}
	s.report(figures)
}

// soak is a server under load.
type soak struct {
	t          *testing.T
	dir        string
	http, grpc string // addresses, the same after a restart
	server     *program.Server
	began      time.Time
	lasted     time.Duration // until the loads were told to stop

	mu     sync.Mutex
	events []event
	rss    []memory

	kills, fills int
	slowest      time.Duration // from a kill until the server is ready again
	work         time.Duration // the same in processor time of the server
}

// event is a time in which steps may fail: killed, or with a full disk.
type event struct {
	from, to time.Time // to is zero while it lasts
	disk     bool
}

// memory is the resident memory of the server at one time.
type memory struct {
	at    time.Time
	bytes int64
}

// start starts the server and waits until it is ready.
func (s *soak) start() {
	server, err := program.StartServer(s.dir, "--http-listen", strings.TrimPrefix(s.http, "http://"), "--grpc-listen", s.grpc, "--log-level",
		"error", "--continuous")
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if resp, err := http.Get(s.http + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(until) {
			s.t.Fatal("the server is not ready within a minute")
		}
	}
}

// processorTime returns what the server has taken of it.
func (s *soak) processorTime() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.server.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	var ticks int64 // of which a second has 100
	for _, field := range strings.Fields(after)[11:13] {
		n, _ := strconv.ParseInt(field, 10, 64) // the kernel writes digits
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// during runs f while steps may fail.
func (s *soak) during(disk bool, f func()) {
	s.mu.Lock()
	s.events = append(s.events, event{from: time.Now(), disk: disk})
	i := len(s.events) - 1
	s.mu.Unlock()
	f()
	s.mu.Lock()
	s.events[i].to = time.Now()
	s.mu.Unlock()
}

// grace is how long after a fault steps may fail: connections are made again.
const grace = 2 * time.Second

// excused reports whether a step that began at a time and just failed met a fault.
func (s *soak) excused(from time.Time, disk bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.events, func(e event) bool {
		return (disk || !e.disk) && (e.to.IsZero() || from.Before(e.to.Add(grace)))
	})
}

// faults kills the server and fills the disk by turns until the context ends: at least once
// each.
func (s *soak) faults(ctx context.Context, disk program.Disk, small bool) {
	between := min(*duration/6, 30*time.Second)
	for n := 0; n < 2 || ctx.Err() == nil; n++ {
		select {
		case <-time.After(between):
		case <-ctx.Done():
		}
		if small && n%2 == 1 {
			s.during(true, func() {
				disk.Fill(s.t)
				time.Sleep(between / 6)
				disk.Free(s.t)
				s.t.Logf("the disk was full until %v", time.Since(s.began).Round(time.Millisecond))
			})
			s.fills++
			continue
		}
		s.during(false, func() {
			start := time.Now()
			s.server.Kill()
			s.start()
			s.slowest, s.work = max(s.slowest, time.Since(start)), max(s.work, s.processorTime())
			s.t.Logf("killed after %v, ready again after %v and %v of processor time", start.Sub(s.began).Round(time.Millisecond), time.Since(start).Round(time.Millisecond), s.processorTime())
		})
		s.kills++
	}
}

// watchMemory notes the server's resident memory.
func (s *soak) watchMemory(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		pid := s.server.Process.Pid
		s.mu.Unlock()
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)); err == nil {
			if fields := strings.Fields(string(text)); len(fields) > 1 {
				pages, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes digits
				s.mu.Lock()
				s.rss = append(s.rss, memory{time.Now(), pages * int64(os.Getpagesize())})
				s.mu.Unlock()
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// peak returns the largest memory between two parts of the time, from 0 to 1, in MB.
func (s *soak) peak(from, to float64) (mb int64) {
	for _, m := range s.rss {
		if part := m.at.Sub(s.began).Seconds() / s.lasted.Seconds(); part >= from && part < to {
			mb = max(mb, m.bytes>>20)
		}
	}
	return mb
}

// figure is what a load did.
type figure struct {
	load load

	mu      sync.Mutex
	took    []time.Duration // of steps that succeeded, and met no fault
	faulty  int             // that succeeded in spite of one
	refused int             // in a fault
	wrong   []string        // errors without one
}

// work is one worker.
func (f *figure) work(ctx context.Context, s *soak, worker int) {
	for n := 0; ctx.Err() == nil; n++ {
		start := time.Now()
		err := f.load.step(ctx, s, worker, n)
		f.mu.Lock()
		switch {
		case err == nil && s.excused(start, f.load.needsDisk()):
			f.faulty++
		case err == nil:
			f.took = append(f.took, time.Since(start))
		case ctx.Err() != nil:
		case s.excused(start, f.load.needsDisk()):
			f.refused++
		default:
			f.wrong = append(f.wrong, fmt.Sprintf("after %v: %v", start.Sub(s.began).Round(time.Millisecond), err))
		}
		f.mu.Unlock()
		if err != nil {
			time.Sleep(50 * time.Millisecond)
		} else {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		}
	}
}

// report prints the figures as a table for test/bench/RESULTS.md, and fails the test for what
// must not be.
func (s *soak) report(figures []*figure) {
	t := s.t
	t.Logf("| load | clients | steps | steps/s | p50 | p99 | refused in faults | acknowledged | lost |")
	t.Logf("|---|---|---|---|---|---|---|---|---|")
	for _, f := range figures {
		if len(f.took) == 0 {
			t.Errorf("%s: no step succeeded: %v", f.load.name(), f.wrong)
			continue
		}
		slices.Sort(f.took)
		at := func(q int) time.Duration { return f.took[len(f.took)*q/100].Round(100 * time.Microsecond) }
		lost, all := f.load.missing(t, s.dir)
		t.Logf("| %s | %d | %d | %.0f | %v | %v | %d | %d | %d |", f.load.name(), f.load.workers(), len(f.took)+f.faulty,
			float64(len(f.took)+f.faulty)/s.lasted.Seconds(), at(50), at(99), f.refused, all, lost)
		if lost > 0 {
			t.Errorf("%s: %d of %d acknowledged are lost", f.load.name(), lost, all)
		}
		if n := len(f.wrong); n > 0 {
			t.Errorf("%s: %d steps failed outside of faults, first %s", f.load.name(), n, f.wrong[0])
		}
	}
	second, last := s.peak(0.65, 0.8), s.peak(0.85, 1)
	info, err := os.Stat(filepath.Join(s.dir, "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v; %d kills, ready again within %v, %v of processor time; %d full disks; memory: at most %d MB, without faults %d MB, at the end %d MB; file %d MB",
		s.lasted.Round(time.Millisecond), s.kills, s.slowest.Round(time.Millisecond), s.work, s.fills,
		s.peak(0, 1), second, last, info.Size()>>20)
	const most = 2000
	if peak := s.peak(0, 1); peak > most {
		t.Errorf("memory: %d MB", peak)
	}
	if *duration >= 5*time.Minute && last > second+second/4+64 {
		t.Errorf("memory grows without faults: from %d to %d MB", second, last)
	}
}
