module github.com/dendroprof/dendro/agent/kafka

go 1.26.0

// For work in this repository. A release of this module requires a released version of
// the agent, tagged agent/vX.Y.Z before this module is tagged.
replace github.com/dendroprof/dendro/agent => ..

require (
	// What it sends.
	github.com/dendroprof/dendro/agent v0.0.0-00010101000000-000000000000
	// Kafka's protocol; complete, pure Go.
	github.com/twmb/franz-go v1.22.2
	// A broker in the test process.
	github.com/twmb/franz-go/pkg/kfake v0.0.0-20260918054303-01f206a7e32c
	// Messages of SkyWalking.
	google.golang.org/protobuf v1.36.12
	// SkyWalking's own messages.
	skywalking.apache.org/repo/goapi v0.0.0-20260521015734-5c05525a3cce
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.15.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
)
