// Package otel lets services that OpenTelemetry traces use the agent: its segments
// take the ids of the current span of OpenTelemetry, so that a profile is found by
// the id of the trace.
//
//	stop, err := agent.Start(agent.Options{Service: "shop", Identify: otel.Identify})
//	…
//	http.ListenAndServe(":8080", otelhttp.NewHandler(agent.Handler(mux), "shop"))
//
// The handler of OpenTelemetry is the outer one: its span must be in the context
// when the agent's segment starts. The agent then neither reads nor writes the
// header sw8: propagation is OpenTelemetry's. It still reports its segments to its
// own server, which analyses their snapshots; spans of OpenTelemetry stay where
// they are.
package otel

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Identify returns the ids of the current span, or nothing if there is none. It is
// made for agent.Options.Identify.
func Identify(ctx context.Context) (traceID, spanID string) {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		return "", ""
	}
	return s.TraceID().String(), s.SpanID().String()
}
