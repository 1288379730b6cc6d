package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// start runs a server on free ports and returns what ends it and gives its error.
func start(t *testing.T, o Options, parts ...Part) (s *Server, end func() error) {
	t.Helper()
	o.GRPCListen, o.HTTPListen = "127.0.0.1:0", "127.0.0.1:0"
	s, err := New(o, parts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	ended := false
	end = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-done
	}
	t.Cleanup(func() { end() })
	return s, end
}

// TestEnd wants what has begun to finish, and background work to end after it.
func TestEnd(t *testing.T) {
	began := make(chan bool)
	var order []string
	s, end := start(t, Options{}, Part{
		Name: "work",
		Routes: []Route{{Pattern: "GET /wait", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			time.Sleep(300 * time.Millisecond)
			order = append(order, "answered")
			io.WriteString(w, fmt.Sprint(r.Context().Err()))
		})}},
		Run: func(ctx context.Context) error { <-ctx.Done(); order = append(order, "drained"); return nil },
	})
	answer := make(chan string)
	go func() {
		resp, err := http.Get("http://" + s.HTTPAddr() + "/wait")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		answer <- fmt.Sprint(string(body), err)
	}()
	<-began
	if err := end(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := <-answer; got != "<nil><nil>" {
		t.Errorf("the request that had begun: %s", got)
	}
	if fmt.Sprint(order) != "[answered drained]" {
		t.Errorf("order: %v", order)
	}
	if _, err := net.Dial("tcp", s.HTTPAddr()); err == nil {
		t.Error("it still listens")
	}
}

// TestWatchers wants those who watch the health to be told of the end, and not to
// hold it up.
func TestWatchers(t *testing.T) {
	s, end := start(t, Options{})
	conn, err := grpc.NewClient(s.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := watch.Recv(); err != nil || answer.Status != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("%v, %v", answer, err)
	}
	done := make(chan error)
	go func() { done <- end() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second): // less than the drain
		t.Fatal("a watcher holds up the end")
	}
}

// TestDrainDeadline wants what does not finish to be broken off.
func TestDrainDeadline(t *testing.T) {
	began := make(chan bool)
	s, end := start(t, Options{Limits: Limits{Drain: 200 * time.Millisecond}}, Part{
		Name: "stuck",
		Routes: []Route{{Pattern: "GET /wait", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
		})}},
	})
	go http.Get("http://" + s.HTTPAddr() + "/wait")
	<-began
	done := make(chan error)
	go func() { done <- end() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
}

// TestOpenStreams wants a stream that an agent keeps open for life to be broken
// off early, and the parts to end in order after it.
func TestOpenStreams(t *testing.T) {
	open, ended := make(chan bool), false
	s, end := start(t, Options{Limits: Limits{OpenStreams: 50 * time.Millisecond}}, Part{
		Name: "agents",
		GRPC: func(r grpc.ServiceRegistrar) {
			r.RegisterService(&grpc.ServiceDesc{ServiceName: "agents", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{{
				StreamName: "forever", ClientStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
					close(open)
					<-stream.Context().Done()
					return stream.Context().Err()
				}}}}, nil)
		},
		Run: func(ctx context.Context) error { <-ctx.Done(); ended = true; return nil },
	})
	conn, err := grpc.NewClient(s.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, "/agents/forever"); err != nil {
		t.Fatal(err)
	}
	<-open
	done := make(chan error)
	go func() { done <- end() }()
	select {
	case err := <-done:
		if err != nil || !ended {
			t.Errorf("%v; the part ended: %v", err, ended)
		}
	case <-time.After(20 * time.Second): // less than the drain
		t.Fatal("an open stream holds up the end")
	}
}

func TestPartFails(t *testing.T) {
	broken := errors.New("broken")
	s, err := New(Options{HTTPListen: "127.0.0.1:0"}, Part{Name: "weak", Run: func(context.Context) error { return broken }},
		Part{Name: "strong", Run: func(ctx context.Context) error { <-ctx.Done(); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "weak") {
		t.Errorf("Serve: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s, err := New(Options{GRPCListen: "127.0.0.1:0", HTTPListen: taken.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err == nil || !strings.Contains(err.Error(), "--http-listen") {
		t.Errorf("an address that is taken: %v", err)
	}
	for _, test := range []struct {
		listen, token string
		warns         bool
	}{{"127.0.0.1:0", "", false}, {"0.0.0.0:0", "", true}, {"0.0.0.0:0", fullToken, false}} {
		var log bytes.Buffer
		s, err := New(Options{HTTPListen: test.listen, HTTPToken: test.token, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		s.httpListener.Close()
		if warns := strings.Contains(log.String(), "WARN"); warns != test.warns {
			t.Errorf("%s with token %q: %s", test.listen, test.token, log.String())
		}
	}
}

// TestSlowClients sends too slowly, and reads too slowly.
func TestSlowClients(t *testing.T) {
	s, _ := start(t, Options{Limits: Limits{Headers: 200 * time.Millisecond, Stall: 200 * time.Millisecond}}, echo(),
		Part{Name: "endless", Routes: []Route{
			{Pattern: "GET /endless", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for block := make([]byte, 1<<20); ; {
					if _, err := w.Write(block); err != nil {
						return
					}
				}
			}), Own: true, Kind: Streams}}})
	dial := func(sent string) net.Conn {
		c, err := net.Dial("tcp", s.HTTPAddr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, sent)
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		return c
	}
	for name, test := range map[string]struct{ sent, answer string }{
		"half a header":     {"POST /change HTTP/1.1\r\nHost: local", ""},
		"garbage":           {"\x00\x01\x02\r\n\r\n", "400"},
		"TLS":               {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", ""},
		"half a body":       {"POST /change HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf", "408"},
		"a body in no time": {"POST /change HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "408"},
	} {
		answer, err := io.ReadAll(dial(test.sent))
		if e, ok := err.(net.Error); ok && e.Timeout() || !strings.Contains(string(answer), test.answer) {
			t.Errorf("%s: %v, %.60q", name, err, answer)
		}
	}
	// Half a body and no more to come.
	c := dial("POST /change HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
	c.(*net.TCPConn).CloseWrite()
	if answer, _ := io.ReadAll(c); !strings.Contains(string(answer), "400") || !strings.Contains(string(answer), "broke off") {
		t.Errorf("half a body: %.300q", answer)
	}
	// Nobody reads this answer: the handler must come back all the same.
	dial("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
	eventually(t, "the end of an answer that nobody reads", func() bool {
		w := httptest.NewRecorder()
		s.metrics.handler(s.log).ServeHTTP(w, request("GET", "/metrics", nil))
		return strings.Contains(w.Body.String(), "dendro_http_requests_in_flight 0") && strings.Contains(w.Body.String(), `route="GET /endless"`)
	})
}

// TestSlowHandlers takes longer than clients may stall: in the midst of a body,
// between two lines of an answer, and between two requests of one connection.
func TestSlowHandlers(t *testing.T) {
	const stall = 300 * time.Millisecond
	dir := t.TempDir()
	cert, key := certificate(t, dir, 1)
	slow := func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadFull(r.Body, make([]byte, 2)); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * stall)
		if rest, err := io.ReadAll(r.Body); err != nil || string(rest) != "dy" {
			t.Errorf("the rest of the body: %q, %v", rest, err)
		}
		for range 2 {
			time.Sleep(2 * stall)
			fmt.Fprintln(w, "line", r.Context().Err())
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}
	}
	part := Part{Name: "slow", Routes: []Route{
		{Pattern: "POST /slow", Handler: http.HandlerFunc(slow)},
		{Pattern: "DELETE /nothing", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		})},
	}}
	for name, o := range map[string]Options{"HTTP/1.1": {}, "HTTP/2.0": {TLSCert: cert, TLSKey: key}} {
		o.Limits.Stall = stall
		s, _ := start(t, o, part)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
		base := map[string]string{"HTTP/1.1": "http://", "HTTP/2.0": "https://"}[name] + s.HTTPAddr()
		in, out := io.Pipe()
		go func() {
			io.WriteString(out, "bo")
			time.Sleep(stall * 3 / 2)
			io.WriteString(out, "dy")
			out.Close()
		}()
		resp, err := client.Post(base+"/slow", "text/plain", in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(answer) != "line <nil>\nline <nil>\n" || resp.Proto != name {
			t.Errorf("%s: %s, %q, %v", name, resp.Proto, answer, err)
		}
		time.Sleep(2 * stall)
		r, err := http.NewRequest("DELETE", base+"/nothing", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Do(r); err != nil || resp.StatusCode != http.StatusNoContent {
			t.Errorf("%s: the next request: %v, %v", name, resp, err)
		}
	}
}

// certificate writes a self-signed certificate of a serial number.
func certificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "dendro"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		stamp := time.Now().Add(time.Duration(serial) * time.Minute) // clocks of file systems are coarse
		if err := os.Chtimes(name, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestTLS asks both listeners, exchanges the certificate, breaks it.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, 1)
	if _, err := New(Options{TLSCert: cert}); err == nil {
		t.Error("a certificate without a key is taken")
	}
	if _, err := New(Options{TLSCert: key, TLSKey: cert}); err == nil {
		t.Error("a key is taken for a certificate")
	}
	s, _ := start(t, Options{TLSCert: cert, TLSKey: key}, echo())
	serial := func() int64 {
		c, err := tls.Dial("tcp", s.HTTPAddr(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	pool := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: pool}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	resp, err := client.Get("https://" + s.HTTPAddr() + "/read")
	if err != nil || resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("HTTPS: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	conn, err := grpc.NewClient(s.GRPCAddr(), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("gRPC over TLS: %v", err)
	}

	certificate(t, dir, 2)
	eventually(t, "the new certificate", func() bool { return serial() == 2 })
	if err := os.WriteFile(cert, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(certificatePatience + 100*time.Millisecond)
	if n := serial(); n != 2 {
		t.Errorf("after the file broke: certificate %d", n)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// TestRequireTokens: with the option, listeners that other machines can reach need tokens.
func TestRequireTokens(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string // in the error; empty: none
	}{
		{Options{HTTPListen: "0.0.0.0:0"}, "DENDRO_HTTP_TOKEN"},
		{Options{HTTPListen: "0.0.0.0:0", HTTPToken: fullToken, GRPCListen: "0.0.0.0:0"}, "DENDRO_AGENT_TOKEN"},
		{Options{HTTPListen: "0.0.0.0:0", HTTPToken: fullToken, GRPCListen: "0.0.0.0:0", AgentToken: agentToken}, ""},
		{Options{HTTPListen: "127.0.0.1:0", GRPCListen: "127.0.0.1:0"}, ""},
	} {
		for _, required := range []bool{false, true} {
			test.o.RequireTokens = required
			s, err := New(test.o)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Listen()
			if want := required && test.want != ""; (err != nil) != want || want && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v: %v", test.o, err)
			}
			for _, l := range []net.Listener{s.httpListener, s.grpcListener} {
				if l != nil {
					l.Close()
				}
			}
		}
	}
}
