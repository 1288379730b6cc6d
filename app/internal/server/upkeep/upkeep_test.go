package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dendroprof/dendro/store/mem"
)

// content is a store whose version the test sets.
type content struct {
	*mem.Store
	version atomic.Uint64
}

func (c *content) Version() uint64 { return c.version.Load() }

// TestPart: what was imported is judged once the store is quiet, once for each content, and never
// for more than a tenth of the time; a failure is logged once and repeated.
func TestPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &content{Store: mem.New()}
		st.version.Store(1)
		var log strings.Builder
		var mu sync.Mutex // of what the part and the test see: waking up at one time orders nothing
		var calls []time.Duration
		begin, takes, failure := time.Now(), time.Duration(0), error(nil)
		part, ok := Part(st, slog.New(slog.NewTextHandler(&log, nil)), time.Second, func(context.Context) error {
			mu.Lock()
			calls = append(calls, time.Since(begin))
			d, err := takes, failure
			mu.Unlock()
			time.Sleep(d)
			return err
		})
		if !ok {
			t.Fatal("the store judges nothing")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- part.Run(ctx) }()
		pass := func(seconds int, want ...int) {
			t.Helper()
			mu.Lock()
			calls = nil
			mu.Unlock()
			time.Sleep(time.Duration(seconds) * time.Second)
			synctest.Wait()
			if len(calls) != len(want) {
				t.Fatalf("judged at %v, want %v", calls, want)
			}
			for i := range want {
				if calls[i].Round(time.Second) != time.Duration(want[i])*time.Second {
					t.Fatalf("judged at %v, want %v", calls, want)
				}
			}
		}
		time.Sleep(time.Second / 2) // the test looks between the ticks
		pass(5, 2)
		for range 4 { // an import: it changes all the time
			st.version.Add(1)
			pass(1)
		}
		next := func(d time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			takes, failure = d, err
		}
		next(0, errors.New("disk full"))
		pass(3, 10, 11, 12)
		if n := strings.Count(log.String(), "disk full"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		next(3*time.Second, nil)
		pass(4, 13)
		st.version.Add(1)
		pass(30, 43)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
