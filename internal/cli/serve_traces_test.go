package cli

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// notKept is an engine that could keep traces, in a mode in which it does not.
type notKept struct{ *mem.Store }

func (notKept) Tasks(context.Context, traceprof.TaskQuery) ([]traceprof.Task, error) {
	return nil, traceprof.ErrNotKept
}

func TestTracingParts(t *testing.T) {
	var o serveOptions
	o.Log = slog.New(slog.DiscardHandler)
	if none, err := o.newTracing(t.Context(), struct{ store.Store }{mem.New()}, nil); none != nil || err != nil || none.close() != nil {
		t.Errorf("a store without traces: %v, %v", none, err)
	}
	if none, err := o.newTracing(t.Context(), notKept{mem.New()}, nil); none != nil || err != nil {
		t.Errorf("a store whose kind keeps no traces: %v, %v", none, err)
	}
	o.traces.brokers = "127.0.0.1:1"
	o.traces.kafkaPassword = "none"
	if _, err := o.newTracing(t.Context(), mem.New(), nil); err == nil || !strings.Contains(err.Error(), "password of the brokers: open none") {
		t.Errorf("a password file that is not there: %v", err)
	}
	o.traces.kafkaPassword = ""
	traces, err := o.newTracing(t.Context(), mem.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	routes := map[string]bool{}
	for _, p := range traces.parts {
		names = append(names, p.Name)
		for _, r := range p.Routes {
			routes[r.Pattern] = true
		}
	}
	if len(names) != 5 || !routes["POST /graphql"] || !routes["POST /v3/segments"] {
		t.Errorf("the parts are %v, the routes %v", names, routes)
	}
	if err := traces.close(); err != nil {
		t.Error(err)
	}
}

// TestExpire wants what is too old to go, and the loop to end with its context.
func TestExpire(t *testing.T) {
	st := mem.New()
	old, young := int64(1000), time.Now().UnixMilli()
	for i, start := range []int64{old, young} {
		_, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: string(rune('a' + i)), ServiceID: "s", Created: start, Start: start, Duration: traceprof.Minute})
		if err != nil {
			t.Fatal(err)
		}
	}
	o := traceOptions{ttl: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.expire(ctx, st, time.Millisecond, slog.New(slog.DiscardHandler)) }()
	for {
		list, err := st.Tasks(t.Context(), traceprof.TaskQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 && list[0].Start == young {
			break
		}
		if len(list) < 1 {
			t.Fatal("the young task went")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	forever := traceOptions{}
	if err := forever.expire(ctx, st, time.Millisecond, nil); err != nil {
		t.Error(err)
	}
}
