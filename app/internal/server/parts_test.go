package server

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// TestPartPanics: background work that panics begins again and does not end the server.
func TestPartPanics(t *testing.T) {
	var runs atomic.Int32
	again := make(chan struct{})
	s, err := New(Options{HTTPListen: "127.0.0.1:0"}, Part{Name: "broken", Run: func(ctx context.Context) error {
		if runs.Add(1) == 1 {
			panic("broken task")
		}
		close(again)
		<-ctx.Done()
		return nil
	}})
	if err == nil {
		err = s.Listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	select {
	case <-again:
	case <-time.After(10 * time.Second):
		t.Error("the work did not begin again")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
