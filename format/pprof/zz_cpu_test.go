package pprof

import (
	"bytes"
	"runtime"
	"syscall"
	"testing"
	"time"

	oracle "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/profile"
)

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(0, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestZZ(t *testing.T) {
	if testing.Short() {
		t.Skip()
	}
	for _, c := range []struct {
		name string
		msg  []byte
		n    int
	}{{"large", largeMessage(), 3}, {"small", message(t, "go-cpu.pb.gz"), 2000}} {
		run := func(name string, f func()) {
			f()
			runtime.GC()
			best := time.Hour
			for range 3 {
				t0 := cpuTime()
				for range c.n {
					f()
				}
				best = min(best, (cpuTime()-t0)/time.Duration(c.n))
			}
			t.Logf("%s %-10s %10v  %.0f MB/s", c.name, name, best, float64(len(c.msg))/best.Seconds()/1e6)
		}
		run("cold", func() { NewDecoder().Decode(bytes.NewReader(c.msg), nil, profile.Limits{}) })
		d, s := NewDecoder(), profile.NewSymbols()
		run("warm", func() { d.Decode(bytes.NewReader(c.msg), s, profile.Limits{}) })
		run("google", func() { oracle.ParseUncompressed(c.msg) })
	}
}
