package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// raw is a client of gRPC that sends what it wants.
type raw struct {
	net.Conn
	*http2.Framer
	t      *testing.T
	stream uint32
}

func dialRaw(t *testing.T, from, to string) *raw {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &raw{Conn: c, Framer: http2.NewFramer(c, c), t: t, stream: 1}
	io.WriteString(c, http2.ClientPreface)
	if err := r.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return r
}

// open opens a call and returns its stream.
func (r *raw) open(method string) uint32 {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "localhost"},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	id := r.stream
	r.stream += 2
	_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b.Bytes(), EndHeaders: true})
	return id
}

// grpcServer serves moody and returns the server.
func grpcServer(t *testing.T, l Limits) *Server {
	t.Helper()
	s, _ := start(t, Options{Limits: l}, Part{Name: "moody", GRPC: func(r grpc.ServiceRegistrar) { r.RegisterService(&moody, nil) }})
	return s
}

// asCaller returns a gRPC client at an address of this machine.
func asCaller(t *testing.T, s *Server, from string) *grpc.ClientConn {
	t.Helper()
	return dialGRPC(t, s.GRPCAddr(), grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		return d.DialContext(ctx, "tcp", to)
	}))
}

// TestHeldMessages: messages that begin to arrive and stall are bounded by the budget; other
// clients and small messages are served; the connections are closed in the end.
func TestHeldMessages(t *testing.T) {
	s := grpcServer(t, Limits{Messages: 64 << 20, Stall: 3 * time.Second, Rate: 100 << 20})
	s.messages.wait = 300 * time.Millisecond
	for range 4 {
		r := dialRaw(t, "127.0.0.1", s.GRPCAddr())
		for range 5 {
			head := make([]byte, 5)
			binary.BigEndian.PutUint32(head[1:], 7<<20)
			if err := r.WriteData(r.open("/test.Moody/Many"), false, head); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "messages that begin", func() bool { return s.messages.Used() >= 28<<20 })
	if used := s.messages.Used(); used > 32<<20 {
		t.Errorf("one client holds %d bytes", used)
	}
	for from, size := range map[string]int{"127.0.0.1": 1000, "127.0.0.2": 6 << 20} {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		err := call(ctx, asCaller(t, s, from), false, &healthpb.HealthCheckRequest{Service: strings.Repeat("x", size)})
		if status.Code(err) != codes.Internal { // the mood of the service: it was handled
			t.Errorf("%d bytes from %s: %v", size, from, err)
		}
		stop()
	}
	// Connections whose message does not arrive are closed; the others go on.
	eventually(t, "memory is freed", func() bool { return s.messages.Used() == 0 })
}

// TestMessageBudget: more large messages than fit are refused by a clear status, on a
// connection that goes on; the others are handled.
func TestMessageBudget(t *testing.T) {
	s := grpcServer(t, Limits{Messages: 16 << 20, Message: 4 << 20})
	s.messages.wait = 300 * time.Millisecond
	held := s.messages.Acquire(t.Context(), clientOf("127.0.0.1:1"), 7<<20, 0) // room for one message of 512 KB
	if held != nil {
		t.Fatal(held)
	}
	conn := asCaller(t, s, "127.0.0.1")
	send := func(size int) error {
		return call(t.Context(), conn, true, &healthpb.HealthCheckRequest{Service: strings.Repeat("x", size)})
	}
	for range 3 {
		if err := send(400_000); status.Code(err) != codes.Internal {
			t.Errorf("a message that fits: %v", err)
		}
	}
	began := time.Now()
	if err := send(600_000); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "4294967295") {
		t.Errorf("a message without memory: %v", err)
	}
	if took := time.Since(began); took < s.messages.wait {
		t.Errorf("refused after %s, without waiting for memory", took)
	}
	if err := call(t.Context(), conn, false, &healthpb.HealthCheckRequest{Service: strings.Repeat("x", 600_000)}); status.Code(
		err) != codes.ResourceExhausted {
		t.Errorf("a call without memory: %v", err)
	}
	if err := send(100); status.Code(err) != codes.Internal {
		t.Errorf("the connection does not go on: %v", err)
	}
	if err := send(5 << 20); status.Code(err) != codes.ResourceExhausted || strings.Contains(err.Error(), "4294967295") {
		t.Errorf("a message that is too large: %v", err)
	}
	eventually(t, "memory is freed", func() bool { return s.messages.Used() == 7<<20 })
}

// TestMessagesWithoutMemory: a connection does not wait for the memory of each of many messages: it
// once kept the server from ending.
func TestMessagesWithoutMemory(t *testing.T) {
	s := grpcServer(t, Limits{Messages: 16 << 20})
	s.messages.wait = 300 * time.Millisecond
	if err := s.messages.Acquire(t.Context(), clientOf("127.0.0.1:1"), 8<<20, 0); err != nil {
		t.Fatal(err)
	}
	r := dialRaw(t, "127.0.0.1", s.GRPCAddr())
	for range 100 {
		if err := r.WriteData(r.open("/test.Moody/Many"), false, []byte{0, 0, 16, 0, 0}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.WritePing(false, [8]byte{1}); err != nil {
		t.Fatal(err)
	}
	_ = r.SetReadDeadline(time.Now().Add(10 * time.Second)) // of 30 s that all of them would wait
	for {
		f, err := r.ReadFrame()
		if err != nil {
			t.Fatalf("no answer to a ping: %v", err)
		}
		if p, ok := f.(*http2.PingFrame); ok && p.IsAck() && p.Data == [8]byte{1} {
			return
		}
	}
}

// TestManyMessages: messages of all sizes over one stream pass unchanged.
func TestManyMessages(t *testing.T) {
	s := grpcServer(t, Limits{})
	conn := asCaller(t, s, "127.0.0.1")
	stream, err := conn.NewStream(t.Context(), &moody.Streams[0], "/test.Moody/Many")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		size := i * 37 % 40_000
		if i%500 == 0 {
			size = 1 << 20
		}
		// "" is the mood to go on; the rest is a field that the service does not know.
		m := &healthpb.HealthCheckRequest{}
		m.ProtoReflect().SetUnknown(append([]byte{0x7a, byte(size&0x7f | 0x80), byte(size>>7&0x7f | 0x80), byte(size >> 14)},
			make([]byte, size)...))
		if err := stream.SendMsg(m); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := stream.SendMsg(&healthpb.HealthCheckRequest{Service: "not found"}); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&healthpb.HealthCheckResponse{}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	eventually(t, "memory is freed", func() bool { return s.messages.Used() == 0 })
}

// TestCalls: a client cannot take all calls.
func TestCalls(t *testing.T) {
	s := grpcServer(t, Limits{Calls: 20})
	r := dialRaw(t, "127.0.0.1", s.GRPCAddr())
	go io.Copy(io.Discard, r.Conn)
	for range 50 {
		r.open("/test.Moody/Many")
	}
	eventually(t, "calls", func() bool { return s.calls.Used() == 10 })
	if err := call(t.Context(), asCaller(t, s, "127.0.0.1"), false,
		&healthpb.HealthCheckRequest{Service: "not found"}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a call beyond the share: %v", err)
	}
	if err := call(t.Context(), asCaller(t, s, "127.0.0.2"), false,
		&healthpb.HealthCheckRequest{Service: "not found"}); status.Code(err) != codes.NotFound {
		t.Errorf("another client: %v", err)
	}
}

// TestCallConnections: connections without a call are evicted from the gRPC listener, where a call with the agents' token makes
// a connection useful, and one to the health service does not.
func TestCallConnections(t *testing.T) {
	s := grpcServer(t, Limits{Connections: 20})
	used := asCaller(t, s, "127.0.0.1")
	working := func(conn *grpc.ClientConn) error {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		err := call(ctx, conn, false, &healthpb.HealthCheckRequest{Service: "not found"})
		if status.Code(err) == codes.NotFound { // the mood of the service: it was handled
			return nil
		}
		return fmt.Errorf("%w", err)
	}
	if err := working(used); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		c, err := net.Dial("tcp", s.GRPCAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, http2.ClientPreface) // some are closed at once
	}
	time.Sleep(minIdle + 100*time.Millisecond)
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		if err := working(asCaller(t, s, from)); err != nil {
			t.Errorf("from %s: %v", from, err)
		}
	}
	if err := working(used); err != nil || used.GetState() != connectivity.Ready {
		t.Errorf("the connection that was used: %v, %s", err, used.GetState())
	}
}

// TestForwardedCalls: behind a trusted proxy, the clients of calls are those that it names.
func TestForwardedCalls(t *testing.T) {
	s, _ := start(t, Options{Limits: Limits{Calls: 4}, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
		Part{Name: "moody", GRPC: func(r grpc.ServiceRegistrar) { r.RegisterService(&moody, nil) }})
	conn := asCaller(t, s, "127.0.0.1")
	from := func(client string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "x-forwarded-for", client)
	}
	for range 2 {
		if _, err := conn.NewStream(from("192.0.2.1"), &moody.Streams[0], "/test.Moody/Many"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "calls", func() bool { return s.calls.Used() == 2 })
	for client, want := range map[string]codes.Code{"192.0.2.1": codes.ResourceExhausted, "192.0.2.2": codes.NotFound} {
		if err := call(from(client), conn, false, &healthpb.HealthCheckRequest{Service: "not found"}); status.Code(err) != want {
			t.Errorf("a call of %s: %v, want %s", client, err, want)
		}
	}
	if err := call(from("192.0.2.1"), asCaller(t, s, "127.0.0.2"), false,
		&healthpb.HealthCheckRequest{Service: "not found"}); status.Code(err) != codes.NotFound {
		t.Errorf("a client that is no proxy: %v", err)
	}
}

// TestFloods: floods of HTTP/2 frames keep nobody else from being served, and take no memory
// without bound.
func TestFloods(t *testing.T) {
	s := grpcServer(t, Limits{})
	floods := map[string]func(*raw, int) error{
		"reset": func(r *raw, _ int) error { return r.WriteRSTStream(r.open("/test.Moody/Many"), http2.ErrCodeCancel) },
		"ping":  func(r *raw, _ int) error { return r.WritePing(false, [8]byte{}) },
		"settings": func(r *raw, i int) error {
			return r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(i)})
		},
		"empty data": func(r *raw, i int) error {
			if i == 0 {
				r.open("/test.Moody/Many")
			}
			return r.WriteData(1, false, nil)
		},
		"continuation": func(r *raw, i int) error {
			if i == 0 {
				return r.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0}, EndHeaders: false})
			}
			return r.WriteContinuation(1, false, bytes.Repeat([]byte{0x40, 1, 'a', 1, 'b'}, 3000))
		},
		"padding": func(r *raw, i int) error {
			if i == 0 {
				r.open("/test.Moody/Many")
			}
			return r.WriteDataPadded(1, false, nil, make([]byte, 255))
		},
		"answers that nobody reads": func(r *raw, _ int) error {
			message := append([]byte{0, 0, 0, 0, 11, 10, 9}, "not found"...) // HealthCheckRequest{service}
			return r.WriteData(r.open("/test.Moody/Once"), true, message)
		},
		"window": func(r *raw, _ int) error { return r.WriteWindowUpdate(0, 1) },
		"garbage": func(r *raw, i int) error {
			return r.WriteRawFrame(http2.FrameType(i), 0xff, uint32(i), bytes.Repeat([]byte{0xff}, 100))
		},
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for _, flood := range floods {
		wg.Go(func() {
			r := dialRaw(t, "127.0.0.1", s.GRPCAddr())
			r.SetWriteDeadline(time.Now().Add(2 * time.Second))
			for i := range 100_000 { // nobody reads the answers
				if flood(r, i) != nil {
					break
				}
			}
		})
	}
	conn := asCaller(t, s, "127.0.0.2")
	for range 5 {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		if err := call(ctx, conn, false, &healthpb.HealthCheckRequest{Service: "not found"}); status.Code(err) != codes.NotFound {
			t.Errorf("meanwhile: %v", err)
		}
		stop()
		time.Sleep(100 * time.Millisecond)
	}
	wg.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the floods hold %d bytes", grown)
	}
	eventually(t, "memory is freed", func() bool { return s.messages.Used() == 0 })
}
