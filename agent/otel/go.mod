module github.com/dendroprof/dendro/agent/otel

go 1.26.0

// For work in this repository. A release of this module requires a released version of
// the agent, tagged agent/vX.Y.Z before this module is tagged.
replace github.com/dendroprof/dendro/agent => ..

require (
	// What it labels.
	github.com/dendroprof/dendro/agent v0.0.0-00010101000000-000000000000
	// OpenTelemetry's interface, without its SDK.
	go.opentelemetry.io/otel/trace v1.45.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.opentelemetry.io/otel v1.45.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	skywalking.apache.org/repo/goapi v0.0.0-20260521015734-5c05525a3cce // indirect
)
