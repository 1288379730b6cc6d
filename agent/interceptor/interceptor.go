// Package interceptor connects gRPC with the agent: servers make a segment of each
// call, whose operation is the full method, /package.Service/Method; clients make an
// exit span and send the header sw8.
//
//	grpc.NewServer(grpc.UnaryInterceptor(interceptor.UnaryServer), grpc.StreamInterceptor(interceptor.StreamServer))
//	grpc.NewClient(target, grpc.WithUnaryInterceptor(interceptor.UnaryClient), grpc.WithStreamInterceptor(interceptor.StreamClient))
//
// A segment of a stream lasts as long as its handler. The exit span of a client's
// stream ends when the stream is open: its messages are not traced.
package interceptor

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/dendroprof/dendro/agent"
)

// SkyWalking's id of gRPC, its layer of remote calls, and its header.
const (
	component = 23
	layer     = 2
	header    = "sw8"
)

// UnaryServer makes a segment of a call.
func UnaryServer(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
	err = agent.Entry(ctx, entry(ctx, info.FullMethod), func(ctx context.Context) error {
		reply, err = next(ctx, request)
		return err
	})
	return reply, err
}

// StreamServer makes a segment of a stream.
func StreamServer(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx := stream.Context()
	return agent.Entry(ctx, entry(ctx, info.FullMethod), func(ctx context.Context) error {
		return next(server, streamInSegment{stream, ctx})
	})
}

// entry describes a call that came in.
func entry(ctx context.Context, method string) agent.Call {
	call := agent.Call{Operation: method, Component: component, Layer: layer}
	if values := metadata.ValueFromIncomingContext(ctx, header); len(values) > 0 {
		call.Header = values[0]
	}
	return call
}

// streamInSegment is a stream whose context is in its segment.
type streamInSegment struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the context that is in the segment.
func (s streamInSegment) Context() context.Context { return s.ctx }

// UnaryClient makes an exit span of a call.
func UnaryClient(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker,
	options ...grpc.CallOption) error {
	return agent.Exit(ctx, exit(method, conn), func(ctx context.Context, value string) error {
		return next(outgoing(ctx, value), method, request, reply, conn, options...)
	})
}

// StreamClient makes an exit span of a stream until it is open.
func StreamClient(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, next grpc.Streamer,
	options ...grpc.CallOption) (stream grpc.ClientStream, err error) {
	err = agent.Exit(ctx, exit(method, conn), func(ctx context.Context, value string) error {
		stream, err = next(outgoing(ctx, value), desc, conn, method, options...)
		return err
	})
	return stream, err
}

// exit describes a call that goes out.
func exit(method string, conn *grpc.ClientConn) agent.Call {
	return agent.Call{Operation: method, Peer: conn.CanonicalTarget(), Component: component, Layer: layer}
}

func outgoing(ctx context.Context, value string) context.Context {
	if value == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, header, value)
}
