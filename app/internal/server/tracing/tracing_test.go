package tracing

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
	o := Options{Log: slog.New(slog.DiscardHandler)}
	if none, err := New(t.Context(), struct{ store.Store }{mem.New()}, o); none != nil || err != nil || none.Close() != nil {
		t.Errorf("a store without traces: %v, %v", none, err)
	}
	if none, err := New(t.Context(), notKept{mem.New()}, o); none != nil || err != nil {
		t.Errorf("a store whose kind keeps no traces: %v, %v", none, err)
	}
	o.Kafka.Addresses = []string{"127.0.0.1:1", ""}
	if _, err := New(t.Context(), mem.New(), o); err == nil || !strings.Contains(err.Error(), "broker 2 is empty") {
		t.Errorf("a broker without a name: %v", err)
	}
	o.Kafka.Addresses = o.Kafka.Addresses[:1]
	traces, err := New(t.Context(), mem.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	routes := map[string]bool{}
	for _, p := range traces.Parts {
		names = append(names, p.Name)
		for _, r := range p.Routes {
			routes[r.Pattern] = true
		}
	}
	if len(names) != 6 || !routes["POST /graphql"] || !routes["POST /v3/segments"] {
		t.Errorf("the parts are %v, the routes %v", names, routes)
	}
	if err := traces.Close(); err != nil {
		t.Error(err)
	}
}

// limited is an engine that keeps stacks in memory.
type limited struct {
	*mem.Store
	limit int64
}

func (l *limited) LimitStacks(bytes int64) { l.limit = bytes }

// TestLimitStacks wants the limit of stacks to reach the store, and only if it is set.
func TestLimitStacks(t *testing.T) {
	for _, limit := range []int64{0, 1 << 20} {
		st := &limited{Store: mem.New()}
		traces, err := New(t.Context(), st, Options{Log: slog.New(slog.DiscardHandler), Intake: traceprof.IntakeOptions{MaxStacks: limit}})
		if err != nil {
			t.Fatal(err)
		}
		if err := traces.Close(); err != nil || st.limit != 2*limit {
			t.Errorf("--max-stacks %d: the store's limit is %d, %v", limit, st.limit, err)
		}
	}
}

// TestExpireEvery: how often old traces are deleted follows the shortest limit.
func TestExpireEvery(t *testing.T) {
	for _, c := range []struct {
		ttl   time.Duration
		bytes int64
		want  time.Duration
	}{
		{72 * time.Hour, 0, time.Minute}, {10 * time.Minute, 0, 30 * time.Second}, {time.Second, 0, time.Second},
		{0, 1 << 30, 5 * time.Second}, {72 * time.Hour, 1 << 30, 5 * time.Second}, {20 * time.Second, 1 << 30, time.Second},
	} {
		if o := (&Options{TTL: c.ttl, MaxBytes: c.bytes}); o.expireEvery() != c.want {
			t.Errorf("%v, %d bytes: every %v, want %v", c.ttl, c.bytes, o.expireEvery(), c.want)
		}
	}
}

// TestExpire wants what is too old to go, and the loop to end with its context.
func TestExpire(t *testing.T) {
	st := mem.New()
	old, young := int64(1000), time.Now().UnixMilli()
	for i, start := range []int64{old, young} {
		_, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: string(rune('a' + i)), ServiceID: "s",
			Created: start, Start: start, Duration: traceprof.Minute})
		if err != nil {
			t.Fatal(err)
		}
	}
	o := Options{TTL: time.Hour, Log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.expire(ctx, st, time.Millisecond) }()
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
	forever := Options{}
	if err := forever.expire(ctx, st, time.Millisecond); err != nil {
		t.Error(err)
	}
}
