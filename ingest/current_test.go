package ingest

import (
	"context"
	"sync"
	"testing"
)

func TestCurrentSource(t *testing.T) {
	var tu currentSource
	if !tu.wait(t.Context(), 0) {
		t.Error("the first source has to wait")
	}
	if !tu.is(0) || tu.is(1) {
		t.Error("the first source is not the current one")
	}
	var wg sync.WaitGroup
	order := make(chan int, 3)
	for index := 1; index <= 3; index++ {
		wg.Go(func() {
			if tu.wait(t.Context(), index) {
				order <- index
				tu.set(index + 1)
			}
		})
	}
	tu.set(1)
	wg.Wait()
	for want := 1; want <= 3; want++ {
		if got := <-order; got != want {
			t.Errorf("source %d came when it was the turn of %d", got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if tu.wait(ctx, 9) {
		t.Error("a turn came that nobody gave")
	}
}
