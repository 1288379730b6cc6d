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

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/traceprof"
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

// describe returns the description of a service for gRPC. It does not use the generated
// stubs: their handlers get decoded messages, and do not run for a message that cannot be
// decoded.
func (a *Agents) describe(s *service, name string, current bool) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: name, Metadata: "skywalking"}
	for i := range s.methods {
		m := &s.methods[i]
		full := "/" + name + "/" + m.name
		switch {
		case m.current && !current:
		case m.unary != nil:
			d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: m.name,
				Handler: connect.Handler(full, func(ctx context.Context, msg []byte) ([]byte, error) {
					reply, err := m.unary(a, ctx, msg)
					if err != nil {
						return nil, a.status(full, err)
					}
					return proto.Marshal(reply)
				})})
		default:
			d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: m.name, ClientStreams: true, ServerStreams: m.both,
				Handler: func(_ any, ss grpc.ServerStream) error {
					return a.status(full, m.stream(a, &call{ServerStream: ss, method: full}))
				}})
		}
	}
	return d
}

// call is one stream of a client.
type call struct {
	grpc.ServerStream
	method string
}

// each calls handle for every message until the client has sent its last, and returns the
// first error of the stream or of handle.
func (c *call) each(handle func(msg []byte) error) error {
	var failed error
	m := connect.Incoming(func(msg []byte) { failed = handle(msg) })
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

// status converts an error to a status that agents do not treat as a broken connection.
func (a *Agents) status(method string, err error) error {
	if errors.Is(err, traceprof.ErrLogFull) {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if errors.Is(err, ErrMalformed) {
		a.counts.malformed.WithLabelValues(method).Inc()
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return server.StatusOf(err)
}

// nothing is the answer for success.
var nothing = &commonv3.Commands{}
