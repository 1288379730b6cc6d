package interceptor_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"

	"github.com/dendroprof/dendro/agent"
	"github.com/dendroprof/dendro/agent/interceptor"
	"github.com/dendroprof/dendro/agent/internal/servertest"
)

const check, watch = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"

// slowHealth is a service with a unary method and a stream.
type slowHealth struct {
	grpc_health_v1.UnimplementedHealthServer
}

func (slowHealth) Check(_ context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if r.Service == "unknown" {
		return nil, status.Error(codes.NotFound, "no such service")
	}
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

func (slowHealth) Watch(_ *grpc_health_v1.HealthCheckRequest, stream grpc_health_v1.Health_WatchServer) error {
	return agent.Segment(stream.Context(), "inside", func(context.Context) error {
		time.Sleep(time.Second) // so that it is sampled, on a busy machine too
		return stream.Send(&grpc_health_v1.HealthCheckResponse{})
	})
}

func TestCalls(t *testing.T) {
	s := servertest.New(t, nil)
	stop, err := agent.Start(agent.Options{Service: "shop", Server: s.Addr, Interval: 50 * time.Millisecond, Budget: 1})
	if err != nil {
		t.Fatal(err)
	}
	task := servertest.Task("t1", watch)
	s.Order(servertest.Poll, task)
	s.Until("the task is delivered", func(seen servertest.Seen) bool {
		return len(seen.Polls) > 0 && seen.Polls[len(seen.Polls)-1].LastCommandTime > 0
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(interceptor.UnaryServer), grpc.StreamInterceptor(interceptor.StreamServer))
	grpc_health_v1.RegisterHealthServer(server, slowHealth{})
	go server.Serve(listener)
	defer server.Stop()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(interceptor.UnaryClient), grpc.WithStreamInterceptor(interceptor.StreamClient))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	agent.Segment(t.Context(), "job", func(ctx context.Context) error {
		if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
		if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "unknown"}); status.Code(err) != codes.NotFound {
			t.Error(err)
		}
		stream, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Error(err)
		}
		return nil
	})
	server.GracefulStop() // the segment of the stream has ended then
	if err := stop(t.Context()); err != nil {
		t.Error(err)
	}
	seen := s.Seen()
	job := seen.Segment("job")
	if len(seen.Segments) != 4 || job == nil || len(job.Spans) != 4 {
		t.Fatalf("segments %v", seen.Segments)
	}
	failed := 0
	for _, o := range seen.Segments {
		if o == job {
			continue
		}
		root := o.Spans[0]
		if o.TraceId != job.TraceId || root.SpanLayer != agentv3.SpanLayer_RPCFramework || root.ComponentId != 23 || len(root.Refs) != 1 ||
			root.Refs[0].ParentTraceSegmentId != job.TraceSegmentId {
			t.Errorf("segment %v", o)
		}
		if root.IsError {
			failed++
		}
		if root.OperationName == watch && (len(o.Spans) != 2 || len(seen.Snapshots[o.TraceSegmentId]) < 2) {
			t.Errorf("the stream's segment is %v with %d snapshots", o, len(seen.Snapshots[o.TraceSegmentId]))
		}
	}
	if exit := job.Spans[2]; failed != 1 || !exit.IsError || exit.OperationName != check ||
		!strings.Contains(exit.Peer, listener.Addr().String()) {
		t.Errorf("%d failed segments, exit span %v", failed, exit)
	}
}
