package otlp

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/store/mem"
)

// world is a server over a store in memory.
type world struct {
	*testing.T
	st *mem.Store
	in *intake.Intake
	o  *OTLP
	s  *server.Server
}

func newWorld(t *testing.T, o intake.Options) *world {
	w := &world{T: t, st: mem.New()}
	w.in = intake.New(w.st, o)
	t.Cleanup(func() { w.in.Close(context.Background()) })
	w.o = New(w.in, Options{})
	w.o.now = func() time.Time { return time.Unix(1795622700, 0) }
	var err error
	if w.s, err = server.New(server.Options{GRPCListen: "127.0.0.1:0", AgentToken: "agents-of-this-test"}, w.o.Part()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) post(path, contentType string, body []byte, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://localhost"+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.s.Handler().ServeHTTP(out, r)
	return out
}

// stored draws the series with facts, time and sum.
func (w *world) stored() string {
	w.Helper()
	totals, err := w.st.Totals(w.Context(), continuous.Query{}, 0)
	if err != nil {
		w.Fatal(err)
	}
	var b strings.Builder
	for _, t := range totals.Totals {
		s := &totals.Series[t.Series]
		fmt.Fprintf(&b, "%s %d facts, %s for %s: %d\n", intake.Name(s), len(s.Facts), t.Start.UTC().Format("2006-01-02 15:04:05"), t.Length,
			t.Sum)
	}
	return b.String()
}

func (w *world) same(got, want string) {
	w.Helper()
	if d := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); d != "" {
		w.Errorf("-want +got:\n%s", d)
	}
}

// request is an export request as JSON. The strings of its dictionary are a name each.
func request(resources ...string) []byte {
	return []byte(`{"resourceProfiles":[` + strings.Join(resources, ",") + `],"dictionary":{
 "stringTable":["","samples","count","cpu","nanoseconds","main","work","off_cpu","endpoint","/cart","service.name","sampled"],
 "mappingTable":[{}],"linkTable":[{}],
 "functionTable":[{},{"nameStrindex":5},{"nameStrindex":6}],
 "locationTable":[{},{"lines":[{"functionIndex":1}]},{"lines":[{"functionIndex":2}]}],
 "attributeTable":[{},{"keyStrindex":8,"value":{"stringValue":"/cart"}},{"keyStrindex":10,"value":{"stringValue":"sampled"}}],
 "stackTable":[{},{"locationIndices":[2,1]},{"locationIndices":[1]}]}}`)
}

// resource is a resource with attributes (`key=value`) and samples of a type.
func resource(attributes, sampleType, nanos, samples string) string {
	var list []string
	for a := range strings.FieldsSeq(attributes) {
		key, value, _ := strings.Cut(a, "=")
		list = append(list, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, key, value))
	}
	return fmt.Sprintf(`{"resource":{"attributes":[%s,{"key":"process.pid","value":{"intValue":"42"}}]},"scopeProfiles":[{"scope":{"name":"ebpf"},"profiles":[{%s,"timeUnixNano":"%s","durationNano":"5000000000","samples":[%s]}]}]}`,
		strings.Join(list, ","), sampleType, nanos, samples)
}

const (
	sampled = `"sampleType":{"typeStrindex":1,"unitStrindex":2},"periodType":{"typeStrindex":3,"unitStrindex":4},"period":"50000000"`
	offCPU  = `"sampleType":{"typeStrindex":7,"unitStrindex":4}`
	at      = "1795622000000000000"
)

func TestHTTP(t *testing.T) {
	w := newWorld(t, intake.Options{})
	out := w.post("/v1development/profiles", "application/json", request(
		resource("service.name=cart service.version=7", sampled, at, `{"stackIndex":1,"values":["2"]},{"stackIndex":2,"timestampsUnixNano":["1795622001000000000","1795622002000000000"],"attributeIndices":[1]}`),
		resource("process.executable.name=java", offCPU, "1000", `{"stackIndex":1,"values":["7"]}`),
		resource("service.name=broken", sampled, at, `{"stackIndex":9,"values":["2"]}`),
		resource("host.name=h", sampled, at, `{"stackIndex":1,"values":["1"],"attributeIndices":[2]}`),
	))
	want := `{"partialSuccess":{"rejectedProfiles":"1","errorMessage":"malformed`
	if text := strings.ReplaceAll(out.Body.String(), ": ", ":"); out.Code != 200 || out.Header().Get("Content-Type") != "application/json" ||
		!strings.Contains(strings.ReplaceAll(text, ", ", ","), `"rejectedProfiles":"1"`) {
		t.Errorf("%d %s, want %s", out.Code, out.Body, want)
	}
	w.same(w.stored(), `
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="cart",endpoint="/cart",service.version="7"} 2 facts, 2026-11-25 15:53:20 for 5s: 100000000
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="cart",service.version="7"} 2 facts, 2026-11-25 15:53:20 for 5s: 100000000
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="sampled",host.name="h"} 2 facts, 2026-11-25 15:53:20 for 5s: 50000000
off_cpu:off_cpu:nanoseconds::{service_name="unknown_service:java"} 3 facts, 2026-11-25 16:04:55 for 5s: 7`)
}

// TestJava: the Java agent names nothing; the address does. The timer of its profiler is CPU time.
func TestJava(t *testing.T) {
	w := newWorld(t, intake.Options{})
	body, err := os.ReadFile("testdata/java-001.body")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1development/profiles", "/services/shop/v1development/profiles"} {
		out := w.post(path, "application/x-protobuf", body, "Content-Encoding", "gzip")
		if out.Code != 200 || out.Body.Len() != 0 || out.Header().Get("Content-Type") != "application/x-protobuf" {
			t.Fatalf("%d %q", out.Code, out.Body)
		}
	}
	got := w.stored()
	for _, want := range []string{`process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="shop"`, `process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="unknown_service"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n"); n != 2 {
		t.Errorf("%d windows:\n%s", n, got)
	}
}

// TestVersion: a request of another version of the signal is refused before it is read, with
// words in its encoding; one that says nothing is of version 1.
func TestVersion(t *testing.T) {
	w := newWorld(t, intake.Options{})
	body := request(resource("service.name=cart", sampled, at, `{"stackIndex":1,"values":["2"]}`))
	for _, test := range []struct {
		version string
		code    int
	}{{"1", 200}, {"2", 400}, {"01", 400}, {"1,1", 400}, {"", 400}} {
		out := w.post("/v1development/profiles", "application/json", body, "OTLP-Profiles-Development-Version", test.version)
		if out.Code != test.code || out.Code == 400 && !strings.Contains(out.Body.String(), "version 1 of the signal is read") {
			t.Errorf("%q: %d %s", test.version, out.Code, out.Body)
		}
	}
	if n := w.in.Metrics().Refused["invalid"]; n != 4 {
		t.Errorf("%d are counted as refused", n)
	}
	out := w.post("/v1development/profiles", "application/x-protobuf", []byte{0xff}, "OTLP-Profiles-Development-Version", "2")
	if out.Code != 400 || !strings.Contains(out.Body.String(), "version 1 of the signal is read") {
		t.Errorf("%d %q", out.Code, out.Body)
	}
}

// TestDrafts: what an exporter of an older draft sends is stored with its values, or refused with
// words that name the draft; it is never acknowledged and lost.
func TestDrafts(t *testing.T) {
	w := newWorld(t, intake.Options{})
	body, err := os.ReadFile("testdata/draft-1.9.body")
	if err != nil {
		t.Fatal(err)
	}
	if out := w.post("/services/old/v1development/profiles", "application/x-protobuf", body); out.Code != 200 || out.Body.Len() != 0 {
		t.Errorf("1.9: %d %q", out.Code, out.Body)
	}
	sample := []byte{2<<3 | 2, 6, 1 << 3, 0, 2 << 3, 2, 3<<3 | 2, 0} // a first location and a length, as in 1.7
	older := wire.AppendBytes(nil, 1, wire.AppendBytes(nil, 2, wire.AppendBytes(nil, 2, append(sample, 4<<3, 9, 5<<3, 9))))
	out := w.post("/v1development/profiles", "application/x-protobuf", older)
	text := out.Body.String()
	if !strings.Contains(text, "opentelemetry-proto 1.7 or older") || !strings.Contains(text, "update the exporter") {
		t.Errorf("1.7: %d %q", out.Code, text)
	}
	w.same(w.stored(), `process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="old"} 2 facts, 2025-11-28 03:20:00 for 1s: 40000000`)
}

// TestSentAgain: a client that gets no answer sends its request again. Without a time of its own
// it would have another one each time.
func TestSentAgain(t *testing.T) {
	w := newWorld(t, intake.Options{})
	two := `{"stackIndex":1,"values":["2"]}`
	untimed := request(resource("service.name=cart", sampled, "0", two), resource("service.name=cart", sampled, "1000", two))
	ids := request(strings.Replace(resource("service.name=shop", sampled, at, two), `{"sampleType"`, `{"profileId":"01","sampleType"`, 1))
	others := request(strings.Replace(resource("service.name=shop", sampled, at, two), `{"sampleType"`, `{"profileId":"02","sampleType"`, 1))
	for range 3 {
		for _, body := range [][]byte{untimed, ids, others} {
			if out := w.post("/v1development/profiles", "application/json", body); out.Code != 200 ||
				strings.Contains(out.Body.String(), "rejected") {
				t.Fatalf("%d %s", out.Code, out.Body)
			}
		}
		w.o.now = func() time.Time { return time.Unix(1795622700+60, 0) }
	}
	w.same(w.stored(), `
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="cart"} 2 facts, 2026-11-25 16:04:55 for 5s: 100000000
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="cart"} 2 facts, 2026-11-25 16:04:55 for 5s: 100000000
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="shop"} 2 facts, 2026-11-25 15:53:20 for 5s: 100000000
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="shop"} 2 facts, 2026-11-25 15:53:20 for 5s: 100000000`)
	if m := w.in.Metrics(); m.Stored != 4 || m.Repeated != 8 {
		t.Errorf("%d stored, %d repeated", m.Stored, m.Repeated)
	}
}

// TestStatuses: a client may try again what can succeed, and drops the rest.
func TestStatuses(t *testing.T) {
	w := newWorld(t, intake.Options{MaxRate: 100})
	good := request(resource("service.name=cart", sampled, at, `{"stackIndex":1,"values":["2"]}`))
	if out := w.post("/v1development/profiles", "application/x-protobuf", []byte{0xff, 0xff}); out.Code != 400 ||
		out.Header().Get("Retry-After") != "" || !bytes.HasPrefix(out.Body.Bytes(), wire.AppendInt(nil, 1, 3)) {
		t.Errorf("no message: %d %q", out.Code, out.Body)
	}
	if out := w.post("/v1development/profiles", "application/json", []byte("{")); out.Code != 400 ||
		!strings.Contains(out.Body.String(), `"code":3`) {
		t.Errorf("no JSON: %d %q", out.Code, out.Body)
	}
	if out := w.post("/v1development/profiles", "text/plain", good); out.Code != 415 {
		t.Errorf("text: %d", out.Code)
	}
	if out := w.post("/v1development/profiles", "application/json", make([]byte, 17<<20)); out.Code != 413 {
		t.Errorf("large: %d", out.Code)
	}
	if out := w.post("/v1development/profiles", "application/json", good); out.Code != 200 {
		t.Errorf("%d %s", out.Code, out.Body)
	}
	out := w.post("/v1development/profiles", "application/json", good)
	if out.Code != 429 || out.Header().Get("Retry-After") == "" || !strings.Contains(out.Body.String(), "--continuous-max-rate") {
		t.Errorf("too fast: %d %v %s", out.Code, out.Header(), out.Body)
	}
	if n := strings.Count(w.stored(), "\n"); n != 1 {
		t.Errorf("%d windows are stored", n)
	}
	// A collector sends profiles of many programs: one that is too fast does not stop the others.
	samples := `{"stackIndex":1,"values":["2"]}`
	out = w.post("/v1development/profiles", "application/json",
		request(resource("service.name=cart", sampled, at, samples), resource("service.name=shop", sampled, at, samples)))
	if text := out.Body.String(); out.Code != 200 || !strings.Contains(text, "--continuous-max-rate") ||
		!strings.Contains(text, "refused: cart") {
		t.Errorf("one of two is too fast: %d %s", out.Code, text)
	}
	if text := w.stored(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `service_name="shop"`) {
		t.Errorf("stored: %s", text)
	}
}

// raw is a codec of bytes.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }

func (raw) Name() string { return "proto" }

func TestGRPC(t *testing.T) {
	w := newWorld(t, intake.Options{})
	if err := w.s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.s.Serve(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	conn, err := grpc.NewClient(w.s.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := request(resource("service.name=cart", sampled, at, `{"stackIndex":1,"values":["2"]}`),
		resource("service.name=broken", sampled, at, `{"stackIndex":9,"values":["2"]}`))
	method, answer := "/"+service+"/Export", []byte(nil)
	if err := conn.Invoke(t.Context(), method, &body, &answer); status.Code(err) != codes.PermissionDenied {
		t.Errorf("without a token: %v", err)
	}
	with := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer agents-of-this-test")
	for _, o := range []grpc.CallOption{grpc.UseCompressor(gzip.Name), grpc.UseCompressor("identity")} { // collectors send gzip
		if err := conn.Invoke(with, method, &body, &answer, o); err != nil || !bytes.Contains(answer, []byte("stack 9 of 3")) {
			t.Errorf("%q, %v", answer, err)
		}
	}
	for _, versions := range [][]string{{"1"}, {"2"}, {"1", "1"}} {
		ctx := with
		for _, v := range versions {
			ctx = metadata.AppendToOutgoingContext(ctx, "otlp-profiles-development-version", v)
		}
		want := codes.InvalidArgument
		if len(versions) == 1 && versions[0] == "1" {
			want = codes.OK
		}
		if err := conn.Invoke(ctx, method, &body, &answer); status.Code(err) != want {
			t.Errorf("version %q: %v", versions, err)
		}
	}
	wrong := []byte{0xff}
	if err := conn.Invoke(with, method, &wrong, &answer); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no message: %v", err)
	}
	w.same(w.stored(), `process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="cart"} 2 facts, 2026-11-25 15:53:20 for 5s: 100000000`)
}

// FuzzExport: whatever arrives, a request has an answer.
func FuzzExport(f *testing.F) {
	f.Add(request(resource("service.name=cart", sampled, at, `{"stackIndex":1,"values":["2"]}`)))
	f.Add([]byte{0xff})
	if body, err := os.ReadFile("testdata/java-001.body"); err == nil {
		f.Add(body)
	}
	st := mem.New()
	in := intake.New(st, intake.Options{MaxDelay: time.Nanosecond})
	f.Cleanup(func() { in.Close(context.Background()) })
	s, err := server.New(server.Options{}, New(in, Options{}).Part())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, contentType := range []string{"application/json", "application/x-protobuf"} {
			r := httptest.NewRequest("POST", "http://localhost/v1development/profiles", bytes.NewReader(body))
			r.Header.Set("Content-Type", contentType)
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		if n := in.Metrics().Panics; n != 0 {
			t.Errorf("%d panics", n)
		}
	})
}
