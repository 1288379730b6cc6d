package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// export sends an empty request of OpenTelemetry from an address of this machine.
func export(t *testing.T, conn *grpc.ClientConn, pairs ...string) codes.Code {
	t.Helper()
	ctx, stop := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), pairs...), 20*time.Second)
	defer stop()
	var request, answer []byte
	err := conn.Invoke(ctx, "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", &request, &answer, grpc.ForceCodec(bytesCodec{}))
	return status.Code(err)
}

// callerAt returns a gRPC client at an address of this machine.
func callerAt(t *testing.T, p *process, from string) *grpc.ClientConn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) { return d.DialContext(ctx, "tcp", to) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestIdleCallers: connections to the gRPC listener that never call make place for those that do.
func TestIdleCallers(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--continuous", "--max-connections", "40")
	for range 100 {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.1")}}
		c, err := d.Dial("tcp", p.grpc)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, http2.ClientPreface) // some are closed at once
	}
	time.Sleep(1200 * time.Millisecond) // as long as each may be idle
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		if code := export(t, callerAt(t, p, from)); code != codes.OK {
			t.Errorf("a call from %s: %s", from, code)
		}
	}
}

// TestForwardedCallers: behind a trusted proxy, whoever guesses tokens keeps no other from calling.
func TestForwardedCallers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const token = "agents-0123456789ab"
	writeOne(t, dir, "token", token)
	p := serve(t, dir, "--continuous", "--agent-token-file", "token", "--trusted-proxies", "127.0.0.1/32")
	proxy := callerAt(t, p, "127.0.0.1")
	guess := codes.OK
	for range 20 {
		guess = export(t, proxy, "x-forwarded-for", "192.0.2.1", "authentication", "wrong-0123456789abc")
	}
	if guess != codes.ResourceExhausted {
		t.Errorf("the 20th guess: %s", guess)
	}
	if code := export(t, proxy, "x-forwarded-for", "192.0.2.2", "authentication", token); code != codes.OK {
		t.Errorf("another client of the proxy: %s", code)
	}
}

// TestPartialSuccess: a collector sends profiles of many services: one beyond its rate is refused,
// and the others are stored.
func TestPartialSuccess(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--continuous", "--continuous-max-rate", "100")
	send := func(services ...string) (int, string) {
		t.Helper()
		var list []string
		for _, service := range services {
			list = append(list, fmt.Sprintf(`{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":%q}}]},"scopeProfiles":[{"profiles":[{
				"sampleType":{"typeStrindex":1,"unitStrindex":2},"periodType":{"typeStrindex":3,"unitStrindex":4},"period":"50000000",
				"timeUnixNano":"%d","durationNano":"5000000000","samples":[{"stackIndex":1,"values":["2"]}]}]}]}`, service, time.Now().Add(-time.Minute).UnixNano()))
		}
		code, body, err := answerOf(clientAt("127.0.0.1"), "POST", p.http+"/v1development/profiles",
			`{"resourceProfiles":[`+strings.Join(list, ",")+`],"dictionary":{
			"stringTable":["","samples","count","cpu","nanoseconds","main"],"mappingTable":[{}],"linkTable":[{}],"functionTable":[{},{"nameStrindex":5}],
			"locationTable":[{},{"lines":[{"functionIndex":1}]}],"attributeTable":[{}],"stackTable":[{},{"locationIndices":[1]}]}}`, "Content-Type: application/json")
		if err != nil {
			t.Fatal(err)
		}
		return code, body
	}
	if code, body := send("fast"); code != http.StatusOK || strings.Contains(body, "rejected") {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := send("fast"); code != http.StatusTooManyRequests || !strings.Contains(body, "--continuous-max-rate") {
		t.Errorf("nothing is stored: %d %s", code, body)
	}
	code, body := send("fast", "slow")
	if code != http.StatusOK || !strings.Contains(body, "--continuous-max-rate") || !strings.Contains(body, "refused: fast") {
		t.Errorf("one of two: %d %s", code, body)
	}
	_, body, err := answerOf(clientAt("127.0.0.1"), "POST", p.http+"/api/v1/sql", "SELECT service, count(*) FROM windows GROUP BY ALL ORDER BY ALL")
	if !strings.Contains(body, `[["fast",1],["slow",1]]`) {
		t.Errorf("stored: %s %v", body, err)
	}
}
