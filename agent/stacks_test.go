package agent

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
)

// readers are all ways to read stacks that this build has.
func readers() map[string]reader {
	return map[string]reader{"default": newReader(), "portable": &portableReader{frames: frameCache{}}}
}

// goroutine runs f in a goroutine with the label of a segment, in the frame of run
// if owner, until the test ends, and returns when it waits.
func goroutine(t *testing.T, id string, owner bool, f func(wait func())) {
	t.Helper()
	ready, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	wait := func() { close(ready); <-end }
	go pprof.Do(context.Background(), pprof.Labels(labelKey, id, "user", `own "dendro.segment":"x"`), func(ctx context.Context) {
		defer close(done)
		if !owner {
			f(wait)
			return
		}
		a := &agent{}
		a.out = newReporter(a)
		a.tasks = newSchedule(a)
		a.segment(ctx, &agentv3.SpanObject{}, nil, func(context.Context) error { f(wait); return nil })
	})
	<-ready
	time.Sleep(10 * time.Millisecond) // until it waits for end
	t.Cleanup(func() { close(end); <-done })
}

//go:noinline
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

// TestOwners holds both readers against the same goroutines.
func TestOwners(t *testing.T) {
	goroutine(t, "plain", true, func(wait func()) { wait() })
	goroutine(t, "plain", false, func(wait func()) { bytes.ContainsFunc([]byte("a"), func(rune) bool { wait(); return true }) })
	goroutine(t, "inherited", false, func(wait func()) { wait() })
	goroutine(t, "deep", true, func(wait func()) {
		slices.SortFunc(make([]int, 2), func(int, int) int { deep(200, wait); wait = func() {}; return 0 })
	})
	goroutine(t, "unwanted", true, func(wait func()) { wait() })
	got := map[string]map[string][]string{}
	for name, r := range readers() {
		for range 2 { // readers are used again
			stacks, err := owners(r, func(id string) bool { return id != "unwanted" })
			if err != nil {
				t.Fatal(err)
			}
			got[name] = stacks
		}
	}
	for name, stacks := range got {
		if len(stacks) != 2 {
			t.Errorf("%s: stacks of %d segments: %v", name, len(stacks), stacks)
		}
		plain := strings.Join(stacks["plain"], "\n")
		if !strings.HasPrefix(plain, "runtime/pprof.Do:") || strings.Contains(plain, "ContainsFunc") || strings.Contains(plain, "goexit") ||
			!strings.Contains(plain, "runtime.gopark:") {
			t.Errorf("%s: plain:\n%s", name, plain)
		}
		if deep := stacks["deep"]; len(deep) == 0 || deep[0] != truncated || !strings.HasPrefix(deep[len(deep)-1], "runtime.gopark:") {
			t.Errorf("%s: deep: %q", name, deep)
		}
	}
	for id := range got["default"] {
		if a, b := got["default"][id], got["portable"][id]; !slices.Equal(a, b) {
			t.Errorf("%s differs:\n%s\n\n%s", id, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
}

// TestManyGoroutines makes the number of goroutines grow and shrink between reads.
func TestManyGoroutines(t *testing.T) {
	goroutine(t, "one", true, func(wait func()) { wait() })
	for name, r := range readers() {
		for _, n := range []int{0, 2000, 10, 500, 0} {
			end := make(chan struct{})
			for range n {
				go func() { <-end }()
			}
			stacks, err := owners(r, func(string) bool { return true })
			close(end)
			if err != nil || len(stacks["one"]) == 0 {
				t.Errorf("%s with %d goroutines: %v, %v", name, n, stacks, err)
			}
		}
	}
}

// TestDamagedProfile decodes pieces of a profile: errors, no panics.
func TestDamagedProfile(t *testing.T) {
	goroutine(t, "one", true, func(wait func()) { wait() })
	r := &portableReader{frames: frameCache{}}
	if _, err := owners(r, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(r.text.Bytes())
	for i := range whole {
		for _, b := range [][]byte{whole[:i], append(bytes.Clone(whole[:i]), 0xff, 0xff, 0xff)} {
			r.scan(b, func(string) bool { return true }, func(string, []frame) {})
		}
	}
}

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		function string
		want     frameKind
	}{
		{"main.main", code}, {"runtime.goexit", exitFrame}, {"runtime.gopark", code}, {"runtime.asyncPreempt2", hidden},
		{ownPackage + ".run", runFrame}, {ownPackage + ".run.func1", hidden}, {ownPackage + ".Handler.func1", hidden},
		{ownPackage + "/interceptor.unary", hidden}, {ownPackage + "/example.main", code}, {ownPackage + "_test.work", code},
	} {
		if f := newFrame(c.function, 7); f.kind != c.want || f.signature != c.function+":7" {
			t.Errorf("%s: %+v", c.function, f)
		}
	}
}

// BenchmarkRead measures one pass over n goroutines, 20 frames deep, of which one
// is wanted.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		end := make(chan struct{})
		for range n {
			go deep(20, func() { <-end })
		}
		go pprof.Do(context.Background(), pprof.Labels(labelKey, "one"), func(context.Context) { deep(20, func() { <-end }) })
		time.Sleep(100 * time.Millisecond)
		for name, r := range readers() {
			b.Run(fmt.Sprintf("%s/goroutines=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := owners(r, func(string) bool { return true }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		close(end)
		time.Sleep(100 * time.Millisecond)
	}
}
