package connect

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/test/readtest"
)

type request struct {
	Name          string  `pb:"1 name"`
	Points        []point `pb:"2 points"`
	RawProfile    []byte  `pb:"3 raw_profile"`
	Mood          mood    `pb:"4 mood"`
	ProfileTypeID int64   `pb:"5 profile_typeID"`
}

type point struct {
	Value     float64 `pb:"1 value"`
	Timestamp int64   `pb:"2 timestamp"`
}

type mood int32

func (mood) Names() []string { return []string{"GOOD", "BAD"} }

// echo returns a service whose method answers a request with itself, or as its mood says.
func echo() *Service {
	return &Service{Name: "test.v1.Echo", Needs: server.Reading, Methods: []Method{
		Unary("Say", func(ctx context.Context, r *request) (protobuf.Encoded[request], error) {
			switch Header(ctx, "X-Mood") {
			case "bad":
				return nil, status.Error(codes.InvalidArgument, "a bad mood")
			case "busy":
				return nil, server.TryLater(codes.Unavailable, "busy", 7*time.Second)
			case "slow":
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return protobuf.Encode(r), nil
		})}}
}

func newServer(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	svc := echo()
	s, err := server.New(o, server.Part{Name: "echo", GRPC: svc.Register, Routes: svc.Routes()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUnary(t *testing.T) {
	h := newServer(t, server.Options{HTTPToken: "0123456789abcdef"}).Handler()
	message := string(wire.AppendBytes(nil, 1, "x"))
	for _, c := range []struct {
		name, headers, body string
		status              int
		want                string
	}{
		{"proto", "Content-Type: application/proto", message, 200, message},
		{"empty", "Content-Type: application/proto", "", 200, ""},
		{"version", "Content-Type: application/proto|Connect-Protocol-Version: 1", message, 200, message},
		{"JSON", "Content-Type: application/json; charset=utf-8", `{"name":"x","rawProfile":"AQI=","profileTypeID":"7","mood":"BAD","points":[{"value":1.5,"timestamp":"2"}]}`, 200,
			`{"name":"x","points":[{"value":1.5,"timestamp":"2"}],"rawProfile":"AQI=","mood":"BAD","profileTypeID":"7"}`},
		{"gzip", "Content-Type: application/proto|Content-Encoding: gzip", readtest.Gzip(message), 200, message},
		{"error", "Content-Type: application/proto|X-Mood: bad", message, 400, `{"code":"invalid_argument","message":"a bad mood"}`},
		{"busy", "Content-Type: application/proto|X-Mood: busy", message, 503, `{"code":"unavailable","message":"busy"}`},
		{"late", "Content-Type: application/proto|X-Mood: slow|Connect-Timeout-Ms: 1", message, 504, `{"code":"deadline_exceeded","message":"context deadline exceeded"}`},
		{"timeout", "Content-Type: application/proto|Connect-Timeout-Ms: -1", message, 400, `"code":"invalid_argument"`},
		{"damaged", "Content-Type: application/proto", "\x0a\x05x", 400, `"message":"the message request is damaged or too large: 5 bytes announced, 1 left`},
		{"too large", "Content-Type: application/proto", strings.Repeat("\x12\x00", 1<<17), 400, `it takes more than 1048576 bytes`},
		{"no JSON", "Content-Type: application/json", "{", 400, `"code":"invalid_argument"`},
		{"unknown name", "Content-Type: application/json", `{"name":"x","filter":[1]}`, 501,
			`"message":"request has a field \"filter\" that is not known`},
		{"unknown field", "Content-Type: application/proto", message + "\x7a\x00", 501,
			`"message":"request has a field \"15\" that is not known`},
		{"type", "Content-Type: text/plain", message, 415, `"code":"unimplemented"`},
		{"old", "Content-Type: application/proto|Connect-Protocol-Version: 2", message, 400, `Connect-Protocol-Version`},
		{"encoding", "Content-Type: application/proto|Content-Encoding: br", message, 415, `"code":"unimplemented"`},
		{"not gzip", "Content-Type: application/proto|Content-Encoding: gzip", message, 400, `"code":"invalid_argument"`},
		{"token", "Content-Type: application/proto|Authorization: no", message, 401, `"code":"unauthenticated"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/test.v1.Echo/Say", strings.NewReader(c.body))
			r.Header.Set("Authorization", "Bearer 0123456789abcdef")
			for h := range strings.SplitSeq(c.headers, "|") {
				name, value, _ := strings.Cut(h, ": ")
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Body.String()
			if strings.HasPrefix(c.want, "{") {
				got = strings.TrimSpace(got)
			}
			if w.Code != c.status || !strings.Contains(strings.ReplaceAll(got, `": `, `":`), c.want) || c.status == 200 && len(got) != len(c.want) {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, c.status, c.want)
			}
			if want := map[bool]string{true: "7"}[c.name == "busy"]; w.Header().Get("Retry-After") != want {
				t.Errorf("Retry-After is %q, want %q", w.Header().Get("Retry-After"), want)
			}
			if want, _, _ := strings.Cut(strings.TrimPrefix(c.headers, "Content-Type: "), "|"); c.status == 200 &&
				!strings.HasPrefix(want, w.Header().Get("Content-Type")) {
				t.Errorf("Content-Type is %q of a request in %q", w.Header().Get("Content-Type"), want)
			}
		})
	}
}

// raw is a codec of bytes.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }

func (raw) Name() string { return "proto" }

func TestGRPC(t *testing.T) {
	s := newServer(t, server.Options{GRPCListen: "127.0.0.1:0"})
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	conn, err := grpc.NewClient(s.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request, answer := wire.AppendBytes(nil, 1, strings.Repeat("x", 100_000)), []byte(nil)
	if err := conn.Invoke(t.Context(), "/test.v1.Echo/Say", &request, &answer); err != nil || !bytes.Equal(answer, request) {
		t.Errorf("%d bytes, %v; want the request's %d", len(answer), err, len(request))
	}
	err = conn.Invoke(metadata.AppendToOutgoingContext(t.Context(), "x-mood", "busy"), "/test.v1.Echo/Say", &request, &answer)
	if status.Code(err) != codes.Unavailable || server.RetryAfter(err) != 7*time.Second {
		t.Errorf("%v, with pause %s", err, server.RetryAfter(err))
	}
}

func TestEveryCode(t *testing.T) {
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if o := outcomes[c]; o.status < 400 || o.name == "" || http.StatusText(o.status) == "" && o.status != 499 {
			t.Errorf("%s: %+v", c, o)
		}
	}
}

// TestBusy: the answer to a query for which there is no memory is 503, with the time to try again.
func TestBusy(t *testing.T) {
	w := httptest.NewRecorder()
	WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), fmt.Errorf("a graph: %w", server.ErrBusy))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" || !strings.Contains(w.Body.String(), `"unavailable"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}
