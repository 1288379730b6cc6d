package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// moody is a service whose handlers end as the request says.
var moody = grpc.ServiceDesc{
	ServiceName: "test.Moody", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Once", Handler: func(_ any, ctx context.Context, dec func(any) error,
		interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := &healthpb.HealthCheckRequest{}
		if err := dec(in); err != nil {
			return nil, err
		}
		return interceptor(ctx, in, &grpc.UnaryServerInfo{FullMethod: "/test.Moody/Once"}, func(context.Context, any) (any, error) {
			return &healthpb.HealthCheckResponse{}, ending(in.Service)
		})
	}}},
	Streams: []grpc.StreamDesc{{StreamName: "Many", ClientStreams: true, ServerStreams: true,
		Handler: func(_ any, stream grpc.ServerStream) error {
			for {
				in := &healthpb.HealthCheckRequest{}
				if err := stream.RecvMsg(in); err != nil {
					return err
				}
				if err := ending(in.Service); err != nil {
					return err
				}
			}
		}}},
}

func ending(mood string) error {
	switch mood {
	case "":
		return nil
	case "panic":
		panic("a defect")
	case "unknown":
		return status.Error(codes.Unknown, "a status that says nothing")
	case "not found":
		return status.Error(codes.NotFound, "no such thing")
	case "canceled":
		return context.Canceled
	}
	return errors.New(mood)
}

// startGRPC serves moody on this machine and returns a connection.
func startGRPC(t *testing.T, o Options, dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	s, err := New(o, Part{Name: "moody", GRPC: func(r grpc.ServiceRegistrar) { r.RegisterService(&moody, nil) }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.grpc.Serve(l)
	t.Cleanup(s.grpc.Stop)
	return dialGRPC(t, l.Addr().String(), dial...)
}

// dialGRPC returns a connection to a server.
func dialGRPC(t *testing.T, address string, dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// call makes the call of a request, as one or in a stream.
func call(ctx context.Context, conn *grpc.ClientConn, streaming bool, in any, opts ...grpc.CallOption) error {
	if !streaming {
		return conn.Invoke(ctx, "/test.Moody/Once", in, &healthpb.HealthCheckResponse{}, opts...)
	}
	stream, err := conn.NewStream(ctx, &moody.Streams[0], "/test.Moody/Many", opts...)
	if err != nil {
		return err
	}
	_ = stream.SendMsg(in) // the answer says why it failed
	return stream.RecvMsg(&healthpb.HealthCheckResponse{})
}

func TestStatuses(t *testing.T) {
	conn := startGRPC(t, Options{})
	for mood, want := range map[string]codes.Code{
		"panic": codes.Internal, "a bare error": codes.Internal, "unknown": codes.Internal, "not found": codes.NotFound,
		"canceled": codes.Canceled,
	} {
		for _, streaming := range []bool{false, true} {
			err := call(t.Context(), conn, streaming, &healthpb.HealthCheckRequest{Service: mood})
			if status.Code(err) != want {
				t.Errorf("%s, streaming %v: %v, want %v", mood, streaming, err, want)
			}
			if mood == "panic" && strings.Contains(err.Error(), "defect") {
				t.Errorf("the caller is told of the panic: %v", err)
			}
		}
	}
	if err := conn.Invoke(t.Context(), "/no.Such/Service", &healthpb.HealthCheckRequest{},
		&healthpb.HealthCheckResponse{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("an unknown service: %v", err)
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (rawCodec) Unmarshal([]byte, any) error   { return nil }
func (rawCodec) Name() string                  { return "proto" }

func TestUndecodable(t *testing.T) {
	conn := startGRPC(t, Options{Limits: Limits{Message: 1 << 10}})
	for _, streaming := range []bool{false, true} {
		for name, test := range map[string]struct {
			message []byte
			want    codes.Code
		}{
			"garbage":   {[]byte{0xff, 0xff, 0xff}, codes.InvalidArgument},
			"not UTF-8": {[]byte{0x0a, 1, 0xff}, codes.InvalidArgument},
			"too large": {make([]byte, 2<<10), codes.ResourceExhausted},
		} {
			err := call(t.Context(), conn, streaming, test.message, grpc.ForceCodec(rawCodec{}))
			if status.Code(err) != test.want {
				t.Errorf("%s, streaming %v: %v, want %v", name, streaming, err, test.want)
			}
		}
	}
}

// TestGzip: messages may have gzip, as those of OpenTelemetry's collectors have; what they grow to
// is bounded, in each and in all of them.
func TestGzip(t *testing.T) {
	s, _ := start(t, Options{Limits: Limits{Message: 1 << 20, Messages: 32 << 20}},
		Part{Name: "moody", GRPC: func(r grpc.ServiceRegistrar) { r.RegisterService(&moody, nil) }})
	s.messages.wait = 300 * time.Millisecond
	conn := asCaller(t, s, "127.0.0.1")
	send := func(streaming bool, mood string) error {
		return call(t.Context(), conn, streaming, &healthpb.HealthCheckRequest{Service: mood}, grpc.UseCompressor(gzip.Name))
	}
	bomb := strings.Repeat("x", 9<<20)
	for _, streaming := range []bool{false, true} {
		if err := send(streaming, "not found"); status.Code(err) != codes.NotFound {
			t.Errorf("a message, streaming %v: %v", streaming, err)
		}
		if err := send(streaming, bomb[:7<<20]); status.Code(err) != codes.Internal { // the mood of the service: it was handled
			t.Errorf("seven times the limit, streaming %v: %.200v", streaming, err)
		}
		if err := send(streaming, bomb); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "--max-inflated") ||
			RetryAfter(err) != 0 {
			t.Errorf("nine times the limit, streaming %v: %.200v", streaming, err)
		}
		if err := call(t.Context(), conn, streaming, []byte("\x1f\x8bbroken"),
			grpc.ForceCodec(rawCodec{})); status.Code(err) != codes.InvalidArgument {
			t.Errorf("damaged, streaming %v: %v", streaming, err)
		}
	}
	if err := s.messages.Acquire(t.Context(), "127.0.0.2", 16<<20, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.messages.Acquire(t.Context(), "127.0.0.1", 15<<20, 0); err != nil {
		t.Fatal(err)
	}
	if err := send(false, bomb[:2<<20]); status.Code(err) != codes.Unavailable || RetryAfter(err) == 0 {
		t.Errorf("without memory: %.200v", err)
	}
	if err := send(false, "not found"); status.Code(err) != codes.NotFound {
		t.Errorf("a small message: %v", err)
	}
	eventually(t, "memory is freed", func() bool { return s.messages.Used() == 31<<20 })
}

func TestAgentToken(t *testing.T) {
	conn := startGRPC(t, Options{AgentToken: agentToken})
	for token, want := range map[string]codes.Code{"": codes.PermissionDenied, agentToken[1:]: codes.PermissionDenied,
		agentToken: codes.NotFound} {
		ctx := t.Context()
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authentication", token)
		}
		for _, streaming := range []bool{false, true} {
			if err := call(ctx, conn, streaming, &healthpb.HealthCheckRequest{Service: "not found"}); status.Code(err) != want {
				t.Errorf("token %q, streaming %v: %v, want %v", token, streaming, err, want)
			}
		}
	}
	for _, service := range []string{"", "test.Moody"} {
		answer, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || answer.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q without a token: %v, %v", service, answer, err)
		}
	}
}

// TestGarbageOnGRPC writes what is no HTTP/2 and demands that others are served.
func TestGarbageOnGRPC(t *testing.T) {
	conn := startGRPC(t, Options{Limits: Limits{Headers: 300 * time.Millisecond}})
	for _, garbage := range []string{"", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff",
		strings.Repeat("\x00", 1<<16)} {
		c, err := net.Dial("tcp", conn.Target())
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte(garbage))
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		for {
			if _, err := c.Read(make([]byte, 1<<10)); err != nil {
				if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
					t.Errorf("a connection with %.20q stays open", garbage)
				}
				break
			}
		}
		c.Close()
	}
	if err := call(t.Context(), conn, false, &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("after the garbage: %v", err)
	}
}

// TestAgentTokenElsewhere: the token of agents opens their routes over HTTP and no others, and is
// accepted as a bearer token over gRPC.
func TestAgentTokenElsewhere(t *testing.T) {
	s, err := New(Options{HTTPToken: "0123456789abcdef", AgentToken: "fedcba9876543210"}, Part{Name: "p", Routes: []Route{
		{Pattern: "POST /reports", Agents: true, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})},
		{Pattern: "POST /changes", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{"/reports", "fedcba9876543210", 200}, {"/reports", "0123456789abcdef", 200}, {"/reports", "", 401},
		{"/reports", "0000000000000000", 401},
		{"/changes", "fedcba9876543210", 403}, {"/changes", "0123456789abcdef", 200},
	} {
		r := httptest.NewRequest("POST", c.path, nil)
		r.Header.Set("Authorization", "Bearer "+c.token)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s with %q: %d, want %d", c.path, c.token, w.Code, c.status)
		}
	}
	for range 2 * freeGuesses { // it is known, so it is no guess
		r := httptest.NewRequest("POST", "/changes", nil)
		r.Header.Set("Authorization", "Bearer fedcba9876543210")
		w := httptest.NewRecorder()
		if s.Handler().ServeHTTP(w, r); w.Code != 403 {
			t.Fatalf("the agents' token elsewhere: %d", w.Code)
		}
	}
	for header, want := range map[string]codes.Code{"Bearer fedcba9876543210": codes.OK, "Basic eDpmZWRjYmE5ODc2NTQzMjEw": codes.OK,
		"Bearer 0123456789abcdef": codes.PermissionDenied} {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", header))
		if err := s.authenticate(ctx, "/x"); status.Code(err) != want {
			t.Errorf("%s: %v", header, err)
		}
	}
}
