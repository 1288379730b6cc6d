package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that is wrapped
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// gRPC answers INTERNAL for a message that cannot be decoded, as if the server were at
// fault, before an interceptor sees the error. So this codec never fails: it decodes into
// a received, which keeps the error until the handler can return INVALID_ARGUMENT.

// received is a message to decode into, and the error of decoding.
type received struct {
	into any
	err  error
}

// status returns the error as INVALID_ARGUMENT.
func (r *received) status() error {
	if r.err == nil {
		return nil
	}
	return status.Error(codes.InvalidArgument, "the message cannot be decoded: "+r.err.Error())
}

// codec is protobuf's codec, except for decoding errors of requests.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal decodes a message.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*received); ok {
		r.err = c.CodecV2.Unmarshal(data, r.into)
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// registrar registers services whose requests are decoded with codec.
type registrar struct {
	core   *Server
	server *grpc.Server
}

// RegisterService registers a copy of a service's description.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	d := *desc
	d.Methods = make([]grpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		d.Methods[i] = grpc.MethodDesc{MethodName: m.MethodName,
			Handler: func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
				began := time.Now()
				var undecoded error
				reply, err := m.Handler(srv, ctx, func(into any) error {
					undecoded = decode(into, dec)
					return undecoded
				}, interceptor)
				if undecoded != nil { // no interceptor saw the call
					r.core.answered(ctx, "/"+desc.ServiceName+"/"+m.MethodName, began, undecoded)
				}
				return reply, err
			}}
	}
	r.server.RegisterService(&d, impl)
}

// decodingStream is a stream whose messages are decoded with codec.
type decodingStream struct{ grpc.ServerStream }

// RecvMsg receives a message.
func (s decodingStream) RecvMsg(into any) error { return decode(into, s.ServerStream.RecvMsg) }

func decode(into any, receive func(any) error) error {
	r := &received{into: into}
	if err := receive(r); err != nil {
		return err
	}
	return r.status()
}
