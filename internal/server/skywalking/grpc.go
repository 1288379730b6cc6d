package skywalking

import (
	"context"
	"errors"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"

	"github.com/dendroprof/dendro/internal/server"
)

// Register registers all services.
func (a *Agents) Register(r grpc.ServiceRegistrar) {
	for i := range services {
		s := &services[i]
		r.RegisterService(a.describe(s, s.name, true), nil)
		if s.old {
			r.RegisterService(a.describe(s, strings.TrimPrefix(s.name, "skywalking.v3."), false), nil)
		}
	}
}

// describe returns a service as gRPC wants it. The descriptions in the generated
// stubs are not used: their handlers get decoded messages, and for a message
// that cannot be decoded they never run.
func (a *Agents) describe(s *service, name string, today bool) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: name, Metadata: "skywalking"}
	for i := range s.methods {
		m := &s.methods[i]
		full := "/" + name + "/" + m.name
		switch {
		case m.today && !today:
		case m.unary != nil:
			d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: m.name, Handler: a.unaryHandler(m, full)})
		default:
			d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: m.name, ClientStreams: true, ServerStreams: m.both,
				Handler: func(_ any, ss grpc.ServerStream) error {
					return a.status(full, m.stream(a, &call{ServerStream: ss, method: full}))
				}})
		}
	}
	return d
}

// unaryHandler returns the handler of a method with one request.
func (a *Agents) unaryHandler(m *method, full string) func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
	return func(_ any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		var reply proto.Message
		answer := func(ctx context.Context, _ any) (any, error) {
			var failed error
			if err := receive(&incoming{take: func(msg []byte) { reply, failed = m.unary(a, ctx, msg) }}); err != nil {
				return nil, err
			}
			return reply, a.status(full, failed)
		}
		if interceptor == nil {
			return answer(ctx, nil)
		}
		// The message is not read before the interceptors let the call pass.
		return interceptor(ctx, nil, &grpc.UnaryServerInfo{FullMethod: full}, answer)
	}
}

// incoming is a message that is taken as it was encoded, in place: the bytes
// belong to gRPC and are gone when take returns. It is a message of the first
// generation of Go's protobuf, whose own Unmarshal gRPC's codec calls; a codec of
// ours would be one for the whole server.
type incoming struct{ take func(msg []byte) }

// Reset does nothing: every message is taken once.
func (*incoming) Reset() {}

// String returns nothing; messages are not logged.
func (*incoming) String() string { return "" }

// ProtoMessage makes it a message.
func (*incoming) ProtoMessage() {}

// Unmarshal hands on the bytes.
func (m *incoming) Unmarshal(msg []byte) error {
	m.take(msg)
	return nil
}

// call is one stream of a client.
type call struct {
	grpc.ServerStream
	method string
}

// each calls take for every message until the client has sent its last, and
// returns the first error of the stream or of take.
func (c *call) each(take func(msg []byte) error) error {
	var failed error
	m := &incoming{take: func(msg []byte) { failed = take(msg) }}
	for {
		switch err := c.RecvMsg(m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case failed != nil:
			return failed
		}
	}
}

// status turns an error into a status that agents do not take for a broken
// connection.
func (a *Agents) status(method string, err error) error {
	if errors.Is(err, ErrMalformed) {
		a.counts.malformed.WithLabelValues(method).Inc()
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return server.StatusOf(err)
}

// nothing is the answer that says that all is well.
var nothing = &commonv3.Commands{}
