package pushes

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/readtest"
)

// world is a server with all endpoints for pushes, over a store in memory.
type world struct {
	*testing.T
	st     *mem.Store
	pushes *Pushes
	server *server.Server
	grpc   *grpc.ClientConn
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, st: mem.New()}
	var err error
	if w.pushes, err = New(w.st, Options{Log: slog.Default()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.pushes.Close() })
	if w.server, err = server.New(server.Options{GRPCListen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0"}, w.pushes.Parts...); err != nil {
		t.Fatal(err)
	}
	if err := w.server.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.server.Serve(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	if w.grpc, err = grpc.NewClient(w.server.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.grpc.Close() })
	return w
}

// raw is a codec of bytes.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }
func (raw) Name() string                       { return "proto" }

func (w *world) post(uri, contentType string, body []byte) (code int, text string) {
	r := httptest.NewRequest("POST", "http://localhost"+uri, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	out := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(out, r)
	return out.Code, out.Body.String()
}

// call calls a gRPC method; the code is the HTTP status that stands for the answer's.
func (w *world) call(method string, body []byte) (code int, text string) {
	var answer []byte
	if err := w.grpc.Invoke(w.Context(), method, &body, &answer); err != nil {
		return connect.HTTPStatus(status.Code(err)), status.Convert(err).Message()
	}
	return 200, string(answer)
}

// push is a push of one profile. Values of it may be hostile.
type push struct {
	service string
	labels  [][2]string // of the series
	sample  [][2]string // of its only sample
	bomb    string      // what shares a text of megabytes: functions, modules, labels
	deep    int         // more stacks, each of so many frames, that share none
}

func message(num int, fields ...[]byte) []byte {
	return wire.AppendBytes(nil, num, bytes.Join(fields, nil))
}
func integer(num, v int) []byte         { return wire.AppendInt(nil, num, uint64(v)) }
func text(num int, value string) []byte { return wire.AppendBytes(nil, num, value) }

// locations returns a stack of the locations 1 to n.
func locations(n int) []byte {
	var ids []byte
	for i := range n {
		ids = binary.AppendUvarint(ids, uint64(i+1))
	}
	return text(1, string(ids))
}

// pprof returns the push as a pprof profile.
func (p *push) pprof() []byte {
	texts := []string{"", "cpu", "nanoseconds", "main"}
	add := func(s string) int { texts = append(texts, s); return len(texts) - 1 }
	var b []byte
	b = append(b, message(1, integer(1, 1), integer(2, 2))...)
	b = append(b, message(11, integer(1, 1), integer(2, 2))...)
	sample := [][]byte{integer(1, 1), integer(2, 1)}
	for _, l := range p.sample {
		sample = append(sample, message(3, integer(1, add(l[0])), integer(2, add(l[1]))))
	}
	b = append(b, message(2, sample...)...)
	functions := 1
	name := 3
	large := 0
	if p.bomb != "" {
		functions, large = 20_000, add(strings.Repeat("y", 2<<20))
		b = append(b, message(2, locations(functions), integer(2, 1))...)
	}
	switch p.bomb {
	case "functions":
		name = large
	case "modules":
		for i := range functions {
			b = append(b, message(3, integer(1, i+1), integer(2, i+1), integer(5, large))...)
		}
	case "labels":
		for i := range functions {
			b = append(b, message(2, integer(1, 1), integer(2, 1), message(3, integer(1, 1), integer(2, large)),
				message(3, integer(1, 2), integer(3, i+1)))...)
		}
	}
	for i := range 100 {
		if p.deep == 0 {
			break
		}
		functions = 101
		b = append(b, message(2, text(1, string(rune(1))+strings.Repeat("\x01", p.deep)+string(rune(2+i))), integer(2, 1))...)
	}
	for i := range functions {
		b = append(b, message(5, integer(1, i+1), integer(2, name), integer(4, name), integer(5, i+1))...)
		b = append(b, message(4, integer(1, i+1), integer(2, i+1), message(4, integer(1, i+1)))...)
	}
	for _, s := range texts {
		b = append(b, text(6, s)...)
	}
	return b
}

// request returns the push as a PushRequest.
func (p *push) request() []byte {
	series := [][]byte{message(1, text(1, "service_name"), text(2, p.service)), message(2, text(1, string(p.pprof())))}
	for _, l := range p.labels {
		series = append(series, message(1, text(1, l[0]), text(2, l[1])))
	}
	return message(1, series...)
}

// json returns the push as a PushRequest in JSON.
func (p *push) json() []byte {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	labels := []pair{{"service_name", p.service}}
	for _, l := range p.labels {
		labels = append(labels, pair{l[0], l[1]})
	}
	body, _ := json.Marshal(map[string]any{"series": []any{map[string]any{"labels": labels,
		"samples": []any{map[string]any{"rawProfile": p.pprof()}}}}})
	return body
}

// otlp returns the push as an export request.
func (p *push) otlp() []byte {
	attribute := func(num int, l [2]string) []byte { return message(num, text(1, l[0]), message(2, text(1, l[1]))) }
	resource := [][]byte{attribute(1, [2]string{"service.name", p.service})}
	for _, l := range p.labels {
		resource = append(resource, attribute(1, l))
	}
	texts, attributes := []string{"", "cpu", "nanoseconds", "main"}, [][]byte{{}}
	sample := [][]byte{integer(1, 1), integer(4, 1)}
	for _, l := range p.sample {
		texts = append(texts, l[0])
		attributes = append(attributes, append(integer(1, len(texts)-1), message(2, text(1, l[1]))...))
		sample = append(sample, integer(2, len(attributes)-1))
	}
	samples := [][]byte{message(2, sample...)}
	functions, name := 1, 3
	large := len(texts)
	if p.bomb != "" {
		functions = 20_000
		texts = append(texts, strings.Repeat("y", 2<<20))
	}
	modules := 1
	switch p.bomb {
	case "functions":
		name = large
	case "modules":
		modules = functions
	case "labels":
		attributes = append(attributes, append(integer(1, 1), message(2, integer(8, large))...))
		for i := range functions {
			attributes = append(attributes, append(integer(1, 2), message(2, integer(3, i+1))...))
			samples = append(samples, message(2, integer(1, 1), integer(4, 1), integer(2, 1), integer(2, i+2)))
		}
	}
	stacks := [][]byte{{}, text(1, "\x01"), locations(functions)}
	samples = append(samples, message(2, integer(1, 2), integer(4, 1)))
	for i := range 100 {
		if p.deep == 0 {
			break
		}
		functions = 101
		stacks = append(stacks, text(1, "\x01"+strings.Repeat("\x01", p.deep)+string(rune(2+i))))
		samples = append(samples, message(2, integer(1, len(stacks)-1), integer(4, 1)))
	}
	dictionary := [][]byte{message(1), message(2), message(3), message(4)}
	for i := range modules - 1 {
		dictionary = append(dictionary, message(1, integer(1, i+1), integer(4, large)))
	}
	for i := range functions {
		dictionary = append(dictionary, message(2, integer(1, min(i, modules-1)), message(3, integer(1, i+1))),
			message(3, integer(1, name), integer(4, i+1)))
	}
	for _, s := range texts {
		dictionary = append(dictionary, text(5, s))
	}
	for _, a := range attributes {
		dictionary = append(dictionary, message(6, a))
	}
	for _, s := range stacks {
		dictionary = append(dictionary, message(7, s))
	}
	profile := append([][]byte{message(1, integer(1, 1), integer(2, 2))}, samples...)
	return append(message(1, message(1, resource...), message(2, message(2, profile...))), message(2, dictionary...)...)
}

// endpoint sends pushes by one protocol. An answer of a partial success has the code 200 and
// an error.
type endpoint struct {
	name string
	send func(w *world, p *push) (code int, text string)
	body func(w *world, body []byte) (code int, text string)
}

const (
	pushPath = "/push.v1.PusherService/Push"
	otlpPath = "/v1development/profiles"
	otlpCall = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
)

var endpoints = []endpoint{
	{"ingest", func(w *world, p *push) (int, string) {
		labels := make([]string, len(p.labels))
		for i, l := range p.labels {
			labels[i] = l[0] + "=" + l[1]
		}
		return w.post("/ingest?format=pprof&name="+url.QueryEscape(p.service+"{"+strings.Join(labels, ",")+"}"), "application/octet-stream",
			p.pprof())
	}, func(w *world, body []byte) (int, string) {
		return w.post("/ingest?format=pprof&name=a", "application/octet-stream", body)
	}},
	{"push", func(w *world, p *push) (int, string) { return w.post(pushPath, "application/proto", p.request()) },
		func(w *world, body []byte) (int, string) { return w.post(pushPath, "application/proto", body) }},
	{"push in JSON", func(w *world, p *push) (int, string) { return w.post(pushPath, "application/json", p.json()) },
		func(w *world, body []byte) (int, string) { return w.post(pushPath, "application/json", body) }},
	{"push over gRPC", func(w *world, p *push) (int, string) { return w.call(pushPath, p.request()) },
		func(w *world, body []byte) (int, string) { return w.call(pushPath, body) }},
	{"OTLP", func(w *world, p *push) (int, string) { return w.post(otlpPath, "application/x-protobuf", p.otlp()) },
		func(w *world, body []byte) (int, string) { return w.post(otlpPath, "application/x-protobuf", body) }},
	{"OTLP over gRPC", func(w *world, p *push) (int, string) { return w.call(otlpCall, p.otlp()) },
		func(w *world, body []byte) (int, string) { return w.call(otlpCall, body) }},
	{"OTLP in JSON", nil, func(w *world, body []byte) (int, string) { return w.post(otlpPath, "application/json", body) }},
}

// TestHostile sends hostile requests to every endpoint and checks three things: the answer says
// what is wrong, nothing is stored, and the server allocates little.
func TestHostile(t *testing.T) {
	w := newWorld(t)
	many := make([][2]string, 10_000)
	for i := range many {
		many[i] = [2]string{fmt.Sprint("l", i), "v"}
	}
	large := strings.Repeat("y", 10<<20)
	attacks := []struct {
		name string
		push *push
		body []byte
		want string // in the answer; one of them, separated by |
	}{
		{"10,000 labels", &push{service: "a", labels: many}, nil, "labels of a series: 1000"},
		{"a label of 10 MB", &push{service: "a", labels: [][2]string{{"x", large}}}, nil, "--continuous-max-label-bytes|larger than max"},
		{"a name of a label of 10 MB", &push{service: "a", labels: [][2]string{{large, "x"}}}, nil,
			"--continuous-max-label-bytes|larger than max"},
		{"a service of 10 MB", &push{service: large}, nil, "--continuous-max-label-bytes|larger than max"},
		{"a long name of functions", &push{service: "a", bomb: "functions"}, nil, "far too much"},
		{"a long name of modules", &push{service: "a", bomb: "modules"}, nil, "far too much"},
		{"a long label of samples", &push{service: "a", bomb: "labels"}, nil, "far too much"},
		{"many deep stacks", &push{service: "a", deep: 25_000}, nil, "call paths"},
		{"random bytes", nil, bytes.Repeat([]byte{0xfe, 0x01, 0x77}, 1000), "malformed|damaged|invalid|expected"},
		{"a page", nil, []byte("<html><script>alert(1)</script>"), "malformed|damaged|invalid|expected|pprof"},
		{"JSON of a million levels", nil, bytes.Repeat([]byte(`{"series":[`), 1<<19), "malformed|damaged|invalid|expected|depth"},
		{"zeros in gzip", nil, readtest.Gzip(make([]byte, 200<<20)), "malformed|damaged|invalid|expected|--continuous-max-profile|--max-inflated"},
	}
	for _, e := range endpoints {
		for _, a := range attacks {
			if a.push != nil && e.send == nil {
				continue
			}
			t.Run(e.name+"/"+a.name, func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				start := time.Now()
				var code int
				var answer string
				if a.push != nil {
					code, answer = e.send(w, a.push)
				} else {
					code, answer = e.body(w, a.body)
				}
				runtime.ReadMemStats(&after)
				known := false
				for want := range strings.SplitSeq(a.want, "|") {
					known = known || strings.Contains(answer, want)
				}
				partial := code == 200 && strings.HasPrefix(e.name, "OTLP") && known
				if code != 400 && code != 413 && code != 429 && !partial || !known || len(answer) > 2000 {
					t.Errorf("%d %.300q, want %s", code, answer, a.want)
				}
				if took := after.TotalAlloc - before.TotalAlloc; took > 700<<20 {
					t.Errorf("%d MB were allocated", took>>20)
				}
				t.Logf("%d %.150q, %s, %d MB", code, answer, time.Since(start), (after.TotalAlloc-before.TotalAlloc)>>20)
			})
		}
	}
	if stats, err := w.st.WindowStats(t.Context()); err != nil || stats != (continuous.Stats{}) {
		t.Errorf("stored: %+v, %v", stats, err)
	}
}

// TestRefusedAreNamed: whatever refuses a push, it is counted, and the log says of which service it
// was and why.
func TestRefusedAreNamed(t *testing.T) {
	var log bytes.Buffer
	p, err := New(mem.New(), Options{Log: slog.Default(), Intake: intake.Options{Limits: profile.Limits{Message: 1000}}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := server.New(server.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), HTTPToken: "people-of-this-test"}, p.Parts...)
	if err != nil {
		t.Fatal(err)
	}
	large := push{service: "shop", labels: [][2]string{{"zone", strings.Repeat("z", 2000)}}}
	for _, c := range []struct {
		uri, contentType, token string
		body                    []byte
		status                  int
		reason                  string
		log                     []string
	}{
		{"/ingest?name=shop&format=pprof", "", "people-of-this-test", readtest.Gzip(make([]byte, 5000)), 400, "size",
			[]string{"--continuous-max-profile", "refused: shop"}},
		{"/ingest?name=shop&format=pprof", "", "people-of-this-test", []byte("<html>"), 400, "invalid", []string{"pprof", "refused: shop"}},
		{"/push.v1.PusherService/Push", "application/proto", "people-of-this-test",
			message(1, message(1, text(1, "service_name"), text(2, "shop")), message(2, text(1, "\xff\xff"))), 400, "invalid",
			[]string{"pprof", "refused: shop"}},
		{otlpPath, "application/x-protobuf", "people-of-this-test", large.otlp(), 400, "size", []string{"--continuous-max-profile"}},
		{"/ingest?name=shop", "", "people-of-this-test", make([]byte, 17<<20), 413, "size", []string{"--max-body"}},
		{"/push.v1.PusherService/Push", "application/proto", "people-of-this-test", make([]byte, 17<<20), 413, "size", []string{"--max-body"}},
		{otlpPath, "application/x-protobuf", "people-of-this-test", make([]byte, 17<<20), 413, "size", []string{"--max-body"}},
		{"/ingest?name=shop", "", "wrong", nil, 401, "token", nil},
		{otlpPath, "application/json", "wrong", nil, 401, "token", nil},
	} {
		log.Reset()
		before := p.in.Metrics().Refused[c.reason]
		r := httptest.NewRequest("POST", "http://localhost"+c.uri, bytes.NewReader(c.body))
		r.Header.Set("Content-Type", c.contentType)
		r.Header.Set("Authorization", "Bearer "+c.token)
		out := httptest.NewRecorder()
		s.Handler().ServeHTTP(out, r)
		if n := p.in.Metrics().Refused[c.reason]; out.Code != c.status || n != before+1 {
			t.Errorf("%s: %d %.300s, counted %d times as %s, want %d and once", c.uri, out.Code, out.Body, n-before, c.reason, c.status)
		}
		for _, want := range c.log {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: no %q in the log: %s", c.uri, want, &log)
			}
		}
	}
}

// TestLongNames pushes functions with names of megabytes, each another one: the
// normalizer cuts them, and neither the store nor the reception keeps the rest.
func TestLongNames(t *testing.T) {
	w := newWorld(t)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	push := func(i int) {
		body := bytes.ReplaceAll((&push{service: "a"}).pprof(), text(6, "main"), text(6, fmt.Sprint(i, strings.Repeat("é", 4<<20))))
		if code, answer := w.post(fmt.Sprint("/ingest?format=pprof&name=a", i, "&from=", 1795622400+i, "&until=", 1795622401+i), "",
			body); code != 200 {
			t.Fatal(code, answer)
		}
	}
	push(0)
	before := heap()
	for i := range 50 {
		push(1 + i)
	}
	if grown := heap() - before; grown > 150<<20 {
		t.Errorf("50 names of 8 MB keep %d MB", grown>>20)
	}
	merged, err := w.st.Tree(t.Context(), continuous.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range merged.Tree.Functions {
		if len(f.Name)+len(f.File) > 8200 {
			t.Errorf("a name of %d bytes: %.20q", len(f.Name), f.Name)
		}
	}
}
