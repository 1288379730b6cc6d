package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/klauspost/compress/gzip"
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

// gRPC also decompresses a message before an interceptor sees the call, without regard to the
// budget of messages. So asSent keeps gRPC from doing that, and this codec decompresses within
// the budget.

// received is a message to decode into, and the error of decoding.
type received struct {
	into any
	err  error

	ctx   context.Context
	held  *holding // of the inflated message
	limit int64    // bytes of it
}

// status returns the error as INVALID_ARGUMENT. An error about memory, size or the call itself
// has its own code.
func (r *received) status() error {
	switch {
	case r.err == nil:
		return nil
	case errors.Is(r.err, ErrBusy):
		return StatusOf(r.err)
	case errors.Is(r.err, errInflated):
		return status.Errorf(codes.ResourceExhausted, "%v: the maximum is %d bytes (raise it with --max-inflated)", r.err, r.limit)
	case r.ctx.Err() != nil:
		return status.FromContextError(r.ctx.Err()).Err()
	}
	return status.Error(codes.InvalidArgument, "the message cannot be decoded: "+r.err.Error())
}

// codec is protobuf's codec, except for decoding errors of requests.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal decodes a message.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*received)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if data, r.err = r.inflate(data); r.err == nil {
		r.err = c.CodecV2.Unmarshal(data, r.into)
	}
	return nil
}

var errInflated = errors.New("the message is too large after decompression")

// gzipped reports whether a message has gzip: its first byte, 0x1f, begins no protobuf message,
// because it would be a field of a type that does not exist.
func gzipped(data mem.BufferSlice) bool {
	for _, part := range data {
		if b := part.ReadOnlyData(); len(b) > 0 {
			return b[0] == 0x1f
		}
	}
	return false
}

// inflate returns a message without gzip.
func (r *received) inflate(data mem.BufferSlice) (mem.BufferSlice, error) {
	if !gzipped(data) {
		return data, nil
	}
	z, err := gzip.NewReader(data.Reader())
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var plain bytes.Buffer
	n, err := plain.ReadFrom(io.LimitReader(&counted{z, r.ctx, r.held}, r.limit+1))
	if err == nil && n > r.limit {
		err = errInflated
	}
	return mem.BufferSlice{mem.SliceBuffer(plain.Bytes())}, err
}

// asSent makes gRPC pass on messages with gzip as they were sent.
type asSent struct{}

// Do returns the message.
func (asSent) Do(r io.Reader) ([]byte, error) { return io.ReadAll(r) }

// Type returns the name of the encoding.
func (asSent) Type() string { return "gzip" }

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
				held := r.core.holding(ctx)
				defer held.release(math.MaxInt64)
				var undecoded error
				reply, err := m.Handler(srv, ctx, func(into any) error {
					undecoded = r.core.decode(ctx, held, into, dec)
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
type decodingStream struct {
	grpc.ServerStream
	core *Server
	held *holding // of the last message
}

// RecvMsg receives a message.
func (s decodingStream) RecvMsg(into any) error {
	s.held.release(math.MaxInt64)
	return s.core.decode(s.Context(), s.held, into, s.ServerStream.RecvMsg)
}

// holding returns what a call holds of the budget of messages.
func (s *Server) holding(ctx context.Context) *holding {
	return &holding{budget: s.messages, client: Client(ctx)}
}

func (s *Server) decode(ctx context.Context, held *holding, into any, receive func(any) error) error {
	r := &received{into: into, ctx: ctx, held: held, limit: s.opts.Limits.Inflated}
	if r.limit == 0 {
		r.limit = inflation * int64(s.opts.Limits.Message)
	}
	if err := receive(r); err != nil {
		return err
	}
	return r.status()
}
