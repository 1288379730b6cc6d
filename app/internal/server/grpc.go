package server

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/dendroprof/dendro/internal/cost"
)

// newGRPC returns a gRPC server with the services of all parts.
func (s *Server) newGRPC(tls *tls.Config) *grpc.Server {
	l := s.opts.Limits
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(l.Message),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.RPCDecompressor(asSent{}), //lint:ignore SA1019 the others are of the process, not of a server
		grpc.MaxConcurrentStreams(l.Streams),
		grpc.InitialWindowSize(smallMessage), // fixed: what a call may send before its handler reads
		grpc.InitialConnWindowSize(1 << 20),
		grpc.ConnectionTimeout(l.Headers),
		grpc.MaxHeaderListSize(64 << 10),
		// Agents keep idle connections alive more eagerly than gRPC's default allows.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.InTapHandle(s.tap),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
	}
	security := insecure.NewCredentials()
	if tls != nil {
		security = credentials.NewTLS(tls)
	}
	options = append(options, grpc.Creds(watcher{security, s.messages, &s.opts, s.metrics.refused.WithLabelValues("messages")}))
	g := grpc.NewServer(options...)
	healthpb.RegisterHealthServer(g, s.health)
	for _, p := range s.parts {
		if p.GRPC != nil {
			p.GRPC(registrar{s, g})
		}
	}
	s.grpc = g
	s.setServing()
	return g
}

// unary wraps every call with one request.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
	defer s.observe(ctx, info.FullMethod, time.Now(), &err)
	end, err := s.beginCall(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	defer end()
	return handle(ctx, req)
}

// stream wraps every call with a stream.
func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer s.observe(ss.Context(), info.FullMethod, time.Now(), &err)
	end, err := s.beginCall(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	defer end()
	if strings.HasPrefix(info.FullMethod, healthService) {
		watch, release := s.untilEnding(ss)
		defer release()
		return handle(srv, watch)
	}
	held := s.holding(ss.Context())
	defer held.release(math.MaxInt64)
	return handle(srv, decodingStream{ss, s, held})
}

// tap adds to the context of a call what the server knows of its connection and its client, before
// anything is counted for them.
func (s *Server) tap(ctx context.Context, call *tap.Info) (context.Context, error) {
	p, _ := peer.FromContext(ctx) // every call of a listener has one
	if accepted, ok := p.AuthInfo.(acceptedInfo); ok {
		ctx = withConnection(ctx, accepted.conn)
	}
	info := &requestInfo{hidden: s.opts.StoreDir, client: s.opts.client(p.Addr.String(), call.Header.Get("x-forwarded-for"))}
	return context.WithValue(ctx, requestInfoKey{}, info), nil
}

// beginCall checks the token of a call and takes a place for it; end frees it. Each call may hold
// smallMessage in memory.
func (s *Server) beginCall(ctx context.Context, method string) (end func(), err error) {
	if err := s.authenticate(ctx, method); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(method, healthService) { // which needs no token
		useful(ctx)
	}
	client := Client(ctx)
	if err := s.calls.Acquire(ctx, client, 1, 0); err != nil {
		s.metrics.refused.WithLabelValues("calls").Inc()
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	}
	return func() { s.calls.Release(client, 1) }, nil
}

// untilEnding ends a stream of a health watcher when the server shuts down, which would
// otherwise wait for it forever.
func (s *Server) untilEnding(ss grpc.ServerStream) (watch grpc.ServerStream, release func()) {
	ctx, cancel := context.WithCancel(ss.Context())
	stop := context.AfterFunc(s.serving, cancel)
	return watchingStream{ss, ctx}, func() { stop(); cancel() }
}

type watchingStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context ends with the call, or with the server.
func (s watchingStream) Context() context.Context { return s.ctx }

// observe ends a call: it turns a panic into an error and an error into a status, counts
// and logs.
func (s *Server) observe(ctx context.Context, method string, began time.Time, err *error) {
	if p := recover(); p != nil {
		s.Panicked(method, p, debug.Stack())
		*err = status.Error(codes.Internal, "internal error; the server's log has the details")
	}
	*err = StatusOf(*err)
	s.answered(ctx, method, began, *err)
}

// answered counts and logs a call.
func (s *Server) answered(ctx context.Context, method string, began time.Time, err error) {
	code := status.Code(err)
	s.metrics.grpcCalls.WithLabelValues(method, code.String()).Inc()
	s.metrics.grpcSeconds.WithLabelValues(method).Observe(time.Since(began).Seconds())
	switch code {
	case codes.OK, codes.Canceled:
		s.log.DebugContext(ctx, "call", "method", method, "code", code.String(), "duration", time.Since(began).String())
	case codes.Internal, codes.DataLoss, codes.ResourceExhausted:
		s.log.ErrorContext(ctx, "call failed", "method", method, "code", code.String(), "error", err.Error())
	default:
		s.log.InfoContext(ctx, "call refused", "method", method, "code", code.String(), "error", err.Error())
	}
}

// StatusOf returns an error as a gRPC status that is never UNKNOWN, which agents treat as
// a broken connection and retry forever. Errors without a status become CANCELLED or
// DEADLINE_EXCEEDED if the call's context ended, UNAVAILABLE with a pause if a budget is used
// up, otherwise INTERNAL.
func StatusOf(err error) error {
	if err == nil {
		return nil
	}
	if st, ok := status.FromError(err); ok && st.Code() != codes.Unknown {
		return st.Err()
	}
	switch {
	case errors.As(err, new(*cost.Exceeded)): // not ResourceExhausted, which clients send again
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, ErrBusy):
		return TryLater(codes.Unavailable, err.Error(), busyPause)
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}
