module github.com/dendroprof/dendro/agent

go 1.26.0

require (
	// The processor time of a thread; gRPC needs it too.
	golang.org/x/sys v0.48.0
	// The protocol of SkyWalking's server.
	google.golang.org/grpc v1.85.0
	// Its messages.
	google.golang.org/protobuf v1.36.12
	// SkyWalking's own messages and services.
	skywalking.apache.org/repo/goapi v0.0.0-20260521015734-5c05525a3cce
)

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)
