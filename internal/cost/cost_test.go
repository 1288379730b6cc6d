package cost_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dendroprof/dendro/internal/cost"
)

func TestSpend(t *testing.T) {
	ctx, end := cost.Begin(t.Context(), cost.Limits{Rows: cost.Limit{Max: 10, What: "rows of an answer", Flag: "--max-rows"}})
	defer end()
	a := cost.Of(ctx)
	if err := a.Spend(cost.Rows, 8); err != nil {
		t.Fatal(err)
	}
	err := a.Spend(cost.Rows, 3)
	if want := "rows of an answer: 11, the maximum is 10 (raise it with --max-rows)"; err == nil || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
	if err := a.Spend(cost.Rows, 2); err != nil {
		t.Error("what was refused was counted: ", err)
	}
	if err := a.Spend(cost.Paths, 1<<40); err != nil {
		t.Error("a unit without a limit: ", err)
	}
	end()
	if err := a.Spend(cost.Paths, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestTime(t *testing.T) {
	ctx, end := cost.Begin(t.Context(), cost.Limits{Time: cost.Limit{Max: 1, What: "milliseconds of a query", Flag: "--max-time"}})
	defer end()
	<-ctx.Done()
	var late *cost.Exceeded
	if err := cost.Of(ctx).Spend(cost.Rows, 1); !errors.As(err, &late) || late.Flag != "--max-time" {
		t.Errorf("%v", err)
	}
}

// TestPool: what requests share is taken from the pool, after the limit of the request.
func TestPool(t *testing.T) {
	full, taken := errors.New("full"), int64(0)
	ctx, end := cost.Begin(t.Context(), cost.Limits{Memory: cost.Limit{Max: 10, What: "bytes", Pool: func(_ context.Context, n int64) error {
		if taken+n > 8 {
			return full
		}
		taken += n
		return nil
	}}})
	defer end()
	a := cost.Of(ctx)
	for _, test := range []struct {
		n    int64
		want error
	}{{5, nil}, {4, full}, {3, nil}} {
		if err := a.Spend(cost.Memory, test.n); err != test.want {
			t.Errorf("%d bytes: %v, not %v", test.n, err, test.want)
		}
	}
	if err := a.Spend(cost.Memory, 3); !errors.As(err, new(*cost.Exceeded)) || taken != 8 || a.Spent(cost.Memory) != 8 {
		t.Errorf("%v, %d taken, %d spent", err, taken, a.Spent(cost.Memory))
	}
}

// TestNone: code without an account, such as a command on a file, has no limits.
func TestNone(t *testing.T) {
	if err := cost.Of(t.Context()).Spend(cost.Read, 1<<62); err != nil {
		t.Error(err)
	}
	if n := cost.Of(t.Context()).Spent(cost.Read); n != 0 {
		t.Error(n)
	}
}

// TestConcurrent: together, goroutines of a request never spend more than the limit.
func TestConcurrent(t *testing.T) {
	ctx, end := cost.Begin(t.Context(), cost.Limits{Read: cost.Limit{Max: 1000}})
	defer end()
	var wg sync.WaitGroup
	var got atomic.Int64
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if cost.Of(ctx).Spend(cost.Read, 3) == nil {
					got.Add(3)
				}
			}
		})
	}
	wg.Wait()
	// Attempts that fail at the same time may refuse one another near the limit.
	if n := got.Load(); n > 1000 || n < 900 || n != cost.Of(ctx).Spent(cost.Read) {
		t.Errorf("spent %d of 1000", n)
	}
}
