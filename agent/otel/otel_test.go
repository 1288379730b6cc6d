package otel_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/dendroprof/dendro/agent"
	"github.com/dendroprof/dendro/agent/internal/servertest"
	"github.com/dendroprof/dendro/agent/otel"
)

// TestIdentify serves two requests in one span of OpenTelemetry and one in none.
func TestIdentify(t *testing.T) {
	s := servertest.New(t, nil)
	stop, err := agent.Start(agent.Options{Service: "shop", Server: s.Addr, Identify: otel.Identify})
	if err != nil {
		t.Fatal(err)
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	handler := agent.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		agent.Exit(r.Context(), agent.Call{Operation: "call"}, func(_ context.Context, header string) error {
			if header != "" {
				t.Errorf("the header %q would be sent", header)
			}
			return nil
		})
	}))
	for _, ctx := range []context.Context{trace.ContextWithSpanContext(t.Context(), span), trace.ContextWithSpanContext(t.Context(), span),
		t.Context()} {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/checkout", nil)
		r.Header.Set("sw8", "1-dA==-cw==-3-c2hvcA==-aQ==-L2U=-MTI3LjAuMC4xOjgw")
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if err := stop(t.Context()); err != nil {
		t.Error(err)
	}
	seen := s.Seen()
	if len(seen.Segments) != 3 {
		t.Fatalf("segments %v", seen.Segments)
	}
	for i, o := range seen.Segments {
		prefix := span.TraceID().String() + "." + span.SpanID().String() + "."
		if of := strings.HasPrefix(o.TraceSegmentId, prefix) && o.TraceId == span.TraceID().String(); of != (i < 2) ||
			len(o.Spans[0].Refs) > 0 || len(o.Spans) != 2 {
			t.Errorf("segment %d is %v", i, o)
		}
	}
	if seen.Segments[0].TraceSegmentId == seen.Segments[1].TraceSegmentId {
		t.Error("two segments have the same id")
	}
}
