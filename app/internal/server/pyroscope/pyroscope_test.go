package pyroscope

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprofile "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/readtest"
)

// world is a server over a store in memory.
type world struct {
	*testing.T
	st      *mem.Store
	in      *intake.Intake
	py      *Pyroscope
	handler http.Handler
}

func newWorld(t *testing.T, o intake.Options) *world {
	st := mem.New()
	in := intake.New(st, o)
	t.Cleanup(func() { in.Close(context.Background()) })
	py := New(in)
	s, err := server.New(server.Options{AgentToken: "agents-of-this-test", HTTPToken: "people-of-this-test"}, py.Part())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, st, in, py, s.Handler()}
}

// post sends a request with the agents' token.
func (w *world) post(uri, contentType string, body []byte, headers ...string) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequest("POST", uri, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer agents-of-this-test")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.handler.ServeHTTP(out, r)
	return out
}

// accepted checks that a push was answered as SDKs need it.
func (w *world) accepted(out *httptest.ResponseRecorder) {
	w.Helper()
	if out.Code != 200 || out.Body.Len() != 0 {
		w.Fatalf("%d %q, want 200 and no body", out.Code, out.Body)
	}
}

// stored draws the windows of the store: series, facts, time and paths.
func (w *world) stored() string {
	w.Helper()
	var b strings.Builder
	series, err := w.st.Series(w.Context(), continuous.Query{})
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range series {
		fmt.Fprintf(&b, "%s %s %s .. %s\n", intake.Name(&s), facts(s.Facts), s.First.UTC().Format("15:04:05.000"),
			s.Last.UTC().Format("15:04:05.000"))
		q := continuous.Query{Type: s.Type, Matchers: []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal,
			Value: s.Service}}}
		for _, other := range series {
			for _, l := range other.Labels { // labels that the series does not have are empty
				q.Matchers = append(q.Matchers, continuous.Matcher{Name: l.Name, Op: continuous.Equal, Value: s.Labels.Get(l.Name)})
			}
		}
		merged, err := w.st.Tree(w.Context(), q)
		if err != nil {
			w.Fatal(err)
		}
		tree := merged.Tree
		for n, self := range tree.Self {
			if self == 0 {
				continue
			}
			var path []string
			for x := int32(n); x >= 0; x = tree.Parent[x] {
				path = append([]string{tree.Functions[tree.Func[x]].Name}, path...)
			}
			fmt.Fprintf(&b, "  %s %d\n", strings.Join(path, ";"), self)
		}
	}
	return b.String()
}

func facts(l continuous.Labels) string {
	var out []string
	for _, f := range l {
		out = append(out, f.Name+"="+f.Value)
	}
	return "[" + strings.Join(out, " ") + "]"
}

func (w *world) same(got, want string) {
	w.Helper()
	if d := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); d != "" {
		w.Errorf("-want +got:\n%s", d)
	}
}

// pprofOf returns a profile: types and period as name/unit, and stacks from the root on with values
// and labels, `main;work 1 20 key=value`.
func pprofOf(t testing.TB, types, period string, stacks ...string) []byte {
	t.Helper()
	valueType := func(text string) *pprofile.ValueType {
		name, unit, _ := strings.Cut(text, "/")
		return &pprofile.ValueType{Type: name, Unit: unit}
	}
	p := &pprofile.Profile{PeriodType: valueType(period), Period: 1, TimeNanos: 1795622000e9, DurationNanos: 1e9}
	for text := range strings.FieldsSeq(types) {
		p.SampleType = append(p.SampleType, valueType(text))
	}
	functions := map[string]*pprofile.Location{}
	for _, text := range stacks {
		fields := strings.Fields(text)
		s := &pprofile.Sample{Label: map[string][]string{}}
		frames := strings.Split(fields[0], ";")
		for i := len(frames) - 1; i >= 0; i-- {
			loc := functions[frames[i]]
			if loc == nil {
				f := &pprofile.Function{ID: uint64(len(p.Function) + 1), Name: frames[i]}
				p.Function = append(p.Function, f)
				loc = &pprofile.Location{ID: f.ID, Line: []pprofile.Line{{Function: f}}}
				p.Location = append(p.Location, loc)
				functions[frames[i]] = loc
			}
			s.Location = append(s.Location, loc)
		}
		for _, field := range fields[1:] {
			if key, value, ok := strings.Cut(field, "="); ok {
				s.Label[key] = []string{value}
				continue
			}
			var v int64
			fmt.Sscan(field, &v)
			s.Value = append(s.Value, v)
		}
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// form returns a multipart body of parts in pairs of name and content.
func form(parts ...string) (contentType string, body []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		part, _ := w.CreateFormFile(parts[i], parts[i]+".bin")
		part.Write([]byte(parts[i+1]))
	}
	w.Close()
	return w.FormDataContentType(), b.Bytes()
}

// recorded returns the requests of an SDK's recording: its URI and content type.
func recorded(t *testing.T, sdk string) (list []recordedRequest) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", sdk+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r recordedRequest
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

type recordedRequest struct {
	URI    string              `json:"uri"`
	Query  map[string][]string `json:"query"`
	Header map[string][]string `json:"header"`
}

func TestGo(t *testing.T) {
	w := newWorld(t, intake.Options{Now: func() time.Time { return time.Unix(1795622700, 0) }})
	bodies := map[string]string{ // by aggregationType and units, which tell the requests apart
		"sum samples": string(pprofOf(t, "samples/count cpu/nanoseconds", "cpu/nanoseconds",
			"main;work 2 20 controller=checkout span_id=7", "main 1 10")),
		"average goroutines": string(pprofOf(t, "goroutine/count", "goroutine/count", "main 3")),
	}
	n := 0
	for _, r := range recorded(t, "go") {
		kind := r.Query["aggregationType"][0] + " " + r.Query["units"][0]
		body, ok := bodies[kind]
		config := "{}"
		if kind == "average goroutines" {
			config = `{"goroutine":{"units":"goroutines","display-name":"goroutines","aggregation":"average"}}`
		}
		if !ok {
			body = string(pprofOf(t, "contentions/count delay/nanoseconds", "contentions/count", "main;lock 4 40"))
			config = `{"contentions":{"units":"lock_samples","display-name":"mutex_count"},"delay":{"units":"lock_nanoseconds","display-name":"mutex_duration"}}`
		}
		contentType, content := form("profile", body, "sample_type_config", config)
		w.accepted(w.post(r.URI+"?"+query(r), contentType, content))
		n++
	}
	if n == 0 {
		t.Fatal("no recorded request")
	}
	got := w.stored()
	for _, want := range []string{
		`process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="rec.go.app",controller="checkout",pyroscope_spy="gospy",region="eu-1",service_version="1.2.3"} [__session_id__=`,
		`process_cpu:samples:count:cpu:nanoseconds{service_name="rec.go.app",pyroscope_spy="gospy",region="eu-1",service_version="1.2.3"}`,
		`goroutines:goroutine:count:goroutine:count{`, `mutex:contentions:count:contentions:count{`, `mutex:delay:nanoseconds:contentions:count{`,
		`otel.scope.name=com.grafana.pyroscope/go`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
}

func query(r recordedRequest) string {
	var b strings.Builder
	for k, v := range r.Query {
		fmt.Fprintf(&b, "%s=%s&", k, strings.NewReplacer("%", "%25", "&", "%26", "+", "%2B", " ", "+", "{", "%7B", "}", "%7D", "=", "%3D", ",",
			"%2C", ";", "%3B").Replace(v[0]))
	}
	return b.String()
}

// TestNode: a raw body, a wrong sampleRate, and headers by which the server could take the
// request for one of a web page.
func TestNode(t *testing.T) {
	w := newWorld(t, intake.Options{Now: func() time.Time { return time.Unix(1795622700, 0) }})
	r := recorded(t, "node")[0]
	body := pprofOf(t, "samples/count wall/nanoseconds cpu/nanoseconds", "wall/nanoseconds", "(root);work 2 20 5")
	headers := []string{}
	for k, v := range r.Header {
		if k != "Content-Length" && k != "Connection" {
			headers = append(headers, k, v[0])
		}
	}
	out := w.post("/ingest?"+query(r), r.Header["Content-Type"][0], body, headers...)
	w.accepted(out)
	for range 2 { // the same again is stored once
		w.accepted(w.post("/pyroscope/ingest?"+query(r), r.Header["Content-Type"][0], body))
	}
	w.same(w.stored(), `
wall:cpu:nanoseconds:wall:nanoseconds{service_name="rec.node.app",pyroscope_spy="nodespy",region="eu-1",service_version="1.2.3"} [otel.scope.name=com.grafana.pyroscope/nodejs otel.scope.version=0.6.4 process.runtime.name=nodejs process.runtime.version=20.20.2] 16:03:53.000 .. 16:04:09.000
  (root);work 5
wall:samples:count:wall:nanoseconds{service_name="rec.node.app",pyroscope_spy="nodespy",region="eu-1",service_version="1.2.3"} [otel.scope.name=com.grafana.pyroscope/nodejs otel.scope.version=0.6.4 process.runtime.name=nodejs process.runtime.version=20.20.2] 16:03:53.000 .. 16:04:09.000
  (root);work 2
wall:wall:nanoseconds:wall:nanoseconds{service_name="rec.node.app",pyroscope_spy="nodespy",region="eu-1",service_version="1.2.3"} [otel.scope.name=com.grafana.pyroscope/nodejs otel.scope.version=0.6.4 process.runtime.name=nodejs process.runtime.version=20.20.2] 16:03:53.000 .. 16:04:09.000
  (root);work 20
`)
	if m := w.in.Metrics(); m.Stored != 3 || m.Repeated != 6 {
		t.Errorf("%d stored and %d repeated", m.Stored, m.Repeated)
	}
}

// message appends a message as a field.
func message(num int, fields ...[]byte) []byte {
	return wire.AppendBytes(nil, num, bytes.Join(fields, nil))
}

func label(name, value string) []byte {
	return message(1, wire.AppendBytes(nil, 1, name), wire.AppendBytes(nil, 2, value))
}

func TestPush(t *testing.T) {
	w := newWorld(t, intake.Options{Now: func() time.Time { return time.Unix(1795622700, 0) }})
	cpu := pprofOf(t, "cpu/nanoseconds", "cpu/nanoseconds", "main;work 20 thread_name=worker-1", "main;work 1 thread_name=worker-2")
	sample := func(content []byte, id string) []byte {
		return message(2, wire.AppendBytes(nil, 1, content), wire.AppendBytes(nil, 2, id))
	}
	good := message(1, label("__name__", "process_cpu"), label("service_name", "rec.py"), label("region", "eu"), label("process.pid", "7"),
		sample(cpu, "id-1"))
	bad := message(1, label("service_name", "other"), sample([]byte("\x0a\xff\xff"), "id-2"))
	const path = "/push.v1.PusherService/Push"
	w.accepted(w.post(path, "application/proto", readtest.Gzip(good), "Content-Encoding", "gzip"))
	w.accepted(w.post(path, "application/proto", good)) // the same id
	if out := w.post(path, "application/proto", append(bad, good...)); out.Code != 400 ||
		!strings.Contains(out.Body.String(), `"code":"invalid_argument"`) ||
		!strings.Contains(out.Body.String(), "1 of 2 profiles were refused") {
		t.Errorf("%d %s", out.Code, out.Body)
	}
	if out := w.post(path, "application/proto", nil); out.Code != 400 || !strings.Contains(out.Body.String(), "no profiles received") {
		t.Errorf("%d %s", out.Code, out.Body)
	}
	text := fmt.Sprintf(`{"series":[{"labels":[{"name":"__name__","value":"process_cpu"},{"name":"region","value":"us"}],"samples":[{"rawProfile":%q,"ID":"id-3"}],"annotations":[]}]}`,
		base64.StdEncoding.EncodeToString(cpu))
	if out := w.post(path, "application/json", []byte(text)); out.Code != 200 || strings.TrimSpace(out.Body.String()) != "{}" {
		t.Errorf("%d %s", out.Code, out.Body)
	}
	w.same(w.stored(), `
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="rec.py",region="eu"} [process.pid=7] 15:53:20.000 .. 15:53:21.000
  main;work 21
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="unknown_service",region="us"} [] 15:53:20.000 .. 15:53:21.000
  main;work 21
`)
}

// TestRefused: hostile pushes get a status that says why, store nothing and are counted.
func TestRefused(t *testing.T) {
	w := newWorld(t, intake.Options{MaxSeries: 16})
	valid := pprofOf(t, "cpu/nanoseconds", "cpu/nanoseconds", "main 1")
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf("k%d=v", i)
	}
	bomb := readtest.Gzip(make([]byte, 200<<20))
	for _, c := range []struct {
		name, uri, contentType string
		body                   []byte
		status                 int
		want                   string
	}{
		{"no name", "/ingest?format=pprof", "", valid, 400, "no name of a program"},
		{"empty name", "/ingest?format=pprof&name=%7Ba=b%7D", "", valid, 400, "no name of a program"},
		{"wrong name", "/ingest?format=pprof&name=a%20b", "", valid, 400, "characters other than"},
		{"wrong label", "/ingest?format=pprof&name=a%7Bb-c=d%7D", "", valid, 400, "characters other than"},
		{"many labels", "/ingest?format=pprof&name=a%7B" + strings.Join(many[:5000], ",") + "%7D", "", valid, 400, "labels of a series: 5001, the maximum is 64 (raise it with --continuous-max-labels); refused: a"},
		{"large label", "/ingest?format=pprof&name=a%7Bb=" + strings.Repeat("x", 50_000) + "%7D", "", valid, 400, "--continuous-max-label-bytes"},
		{"no pprof", "/ingest?format=pprof&name=a", "", []byte("<html>"), 400, "pprof"},
		{"bomb", "/ingest?format=pprof&name=a", "", bomb, 400, "--continuous-max-profile"},
		{"damaged gzip", "/ingest?format=pprof&name=a", "", valid[:len(valid)/2], 400, "pprof"},
		{"no boundary", "/ingest?name=a", "multipart/form-data", valid, 400, "boundary"},
		{"no form", "/ingest?name=a", "multipart/form-data; boundary=x", valid, 400, "multipart"},
		{"large", "/ingest?format=pprof&name=a", "", make([]byte, 17<<20), 413, "16777216"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := w.post(c.uri, c.contentType, c.body)
			var answer struct{ Code, Message string }
			if err := json.Unmarshal(out.Body.Bytes(), &answer); err != nil || out.Code != c.status || !strings.Contains(answer.Message, c.want) ||
				answer.Code == "" {
				t.Errorf("%d %s, want %d and %q", out.Code, out.Body, c.status, c.want)
			}
		})
	}
	contentType, body := form("profile", string(valid), "prev_profile", "x")
	if out := w.post("/ingest?name=a", contentType, body); out.Code != 400 || !strings.Contains(out.Body.String(), "prev_profile") {
		t.Errorf("prev_profile: %d %s", out.Code, out.Body)
	}
	contentType, body = form("profile", string(valid), "sample_type_config", "[")
	if out := w.post("/ingest?name=a", contentType, body); out.Code != 400 || !strings.Contains(out.Body.String(), "sample_type_config") {
		t.Errorf("sample_type_config: %d %s", out.Code, out.Body)
	}
	if got := w.stored(); got != "" {
		t.Errorf("stored:\n%s", got)
	}
	if n := w.in.Metrics().Refused; n["labels"] != 1 || n["label-bytes"] != 1 || n["size"] != 2 || n["invalid"] < 8 {
		t.Errorf("counted: %v", n)
	}
	for i := range 9 {
		out := w.post(fmt.Sprintf("/ingest?format=pprof&name=service%d", i), "", valid)
		if i < 8 {
			w.accepted(out)
		} else if out.Code != 429 || out.Header().Get("Retry-After") == "" || !strings.Contains(out.Body.String(), "--continuous-max-series") ||
			!strings.Contains(out.Body.String(), "service8") {
			t.Errorf("%d %s", out.Code, out.Body)
		}
	}
}

// TestPushedTwice: a window is its series, time and content, so a push that is repeated counts once.
// Pushes without a time are of the time when they arrive, and each counts: nobody repeats them by
// themselves, and a script that sends the same twice means it.
func TestPushedTwice(t *testing.T) {
	now := time.Unix(1795622700, 0)
	w := newWorld(t, intake.Options{Now: func() time.Time { return now }})
	w.py.now = func() time.Time { return now }
	valid := pprofOf(t, "cpu/nanoseconds", "cpu/nanoseconds", "main 1")
	for range 2 {
		w.accepted(w.post("/ingest?format=pprof&name=timed&from=1795622600&until=1795622615", "", valid))
		w.accepted(w.post("/ingest?name=untimed", "", []byte("main 1\n")))
	}
	if m := w.in.Metrics(); m.Stored != 3 || m.Repeated != 1 {
		t.Errorf("%d stored, %d repeated:\n%s", m.Stored, m.Repeated, w.stored())
	}
}

func TestEmpty(t *testing.T) {
	w := newWorld(t, intake.Options{})
	w.accepted(w.post("/ingest?format=pprof&name=a", "", nil))
	w.accepted(w.post("/ingest?format=pprof&name=a", "", pprofOf(t, "cpu/nanoseconds", "cpu/nanoseconds")))
	if got := w.stored(); got != "" {
		t.Errorf("stored:\n%s", got)
	}
}

func TestToken(t *testing.T) {
	w := newWorld(t, intake.Options{})
	valid := pprofOf(t, "cpu/nanoseconds", "cpu/nanoseconds", "main 1")
	for _, c := range []struct {
		header string
		status int
	}{
		{"Bearer agents-of-this-test", 200}, {"Bearer people-of-this-test", 200}, {"Basic dTphZ2VudHMtb2YtdGhpcy10ZXN0", 200},
		{"", 401}, {"Bearer nobody-of-this-test", 401},
	} {
		if out := w.post("/ingest?format=pprof&name=a", "", valid, "Authorization", c.header); out.Code != c.status {
			t.Errorf("%q: %d %s", c.header, out.Code, out.Body)
		}
	}
}

func TestParseName(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"app", "app"}, {" app ", "app"}, {"my.app-1/x_y", "my.app-1/x_y"}, {"app{}", "app"}, {"app{a=b}", "app a=b"},
		{"app{a=b,c=d}x{e=f}", "app a=b c=d"}, {"app{ a = b c , d.e=f+g=h}", "app a=b c d.e=f+g=h"}, {"app{a=b,c=d", "app a=b"},
		{"app{a=b", "app"},
		{"app{__name__=other,a=b}", "other a=b"}, {"{__name__=other}", "other"}, {"app{a}", "app"}, {"app{a=}", "app a="},
		{"", "error"}, {"{a=b}", "error"}, {"a b", "error"}, {"a{b-c=d}", "error"}, {"a{=d}", "error"}, {"a{b c=d}", "error"}, {"ä", "error"},
	} {
		app, labels, err := parseName(c.text)
		got := app
		for _, l := range labels {
			got += " " + l.Name + "=" + l.Value
		}
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 25, 16, 0, 0, 0, time.UTC)
	for _, c := range []struct{ text, want string }{
		{"20261125", "2026-11-25T00:00:00Z"}, {"1795622633", "2026-11-25T16:03:53Z"}, {"1795622633123", "2026-11-25T16:03:53.123Z"},
		{"1795622633123456", "2026-11-25T16:03:53.123456Z"}, {"1795622633123456789", "2026-11-25T16:03:53.123456789Z"},
		{"17_956 226,33", "2026-11-25T16:03:53Z"}, {"12345", "1970-01-01T03:25:45Z"},
		{"", "2026-11-25T16:00:00Z"}, {"now", "2026-11-25T16:00:00Z"}, {"now-1h", "2026-11-25T15:00:00Z"}, {"now-1h30m", "2026-11-25T14:30:00Z"},
		{"x+2d", "2026-11-27T16:00:00Z"},
		{"now-1M", "2026-10-26T16:00:00Z"}, {"now-1min", "2026-11-25T15:59:00Z"}, {"now-1mon", "2026-10-26T16:00:00Z"},
		{"now-1y", "2025-11-25T16:00:00Z"}, {"now-1w", "2026-11-18T16:00:00Z"},
		{"now-5x", "2026-11-25T16:00:00Z"}, {"now-", "2026-11-25T16:00:00Z"}, {"99999999999999999999", "2026-11-25T16:00:00Z"},
	} {
		if got := ParseTime(c.text, now).UTC().Format(time.RFC3339Nano); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

// TestHostilePush: labels and profiles that are far too large get an answer that says so,
// and store nothing.
func TestHostilePush(t *testing.T) {
	w := newWorld(t, intake.Options{})
	sample := message(2, wire.AppendBytes(nil, 1, pprofOf(t, "cpu/nanoseconds", "cpu/nanoseconds", "main 1")))
	var many [][]byte
	for i := range 10_000 {
		many = append(many, label(fmt.Sprint("l", i), "v"))
	}
	bomb := message(2, wire.AppendBytes(nil, 1, readtest.Gzip(make([]byte, 200<<20))))
	for name, c := range map[string]struct {
		series []byte
		want   string
	}{
		"a label of 10 MB": {message(1, label("service_name", "a"), label("x", strings.Repeat("y", 10<<20)), sample),
			"--continuous-max-label-bytes"},
		"a service of 10 MB": {message(1, label("service_name", strings.Repeat("y", 10<<20)), sample), "--continuous-max-label-bytes"},
		"10,000 labels":      {message(1, append(many, label("service_name", "a"), sample)...), "labels of a series: 10000, the maximum is 64"},
		"a bomb":             {message(1, label("service_name", "a"), bomb), "--continuous-max-profile"},
		// All labels once, not once for each profile.
		"100,000 empty profiles": {message(1, bytes.Join(many, nil), bytes.Repeat(message(2), 100_000), sample),
			"labels of a series: 10000, the maximum is 64"},
		"a name of 10 MB": {message(1, label("service_name", "a"), label("__name__", strings.Repeat(":", 10<<20)), sample),
			"the names and units of a type have more than 1024 bytes"},
		"a wrong type": {wire.AppendInt(nil, 1, 7), "damaged"},
		"no UTF-8":     {message(1, label("service_name", "a"), label("x", "\xff"), sample), "not UTF-8"},
	} {
		out := w.post("/push.v1.PusherService/Push", "application/proto", c.series)
		if out.Code != 400 || !strings.Contains(out.Body.String(), c.want) || out.Body.Len() > 2000 {
			t.Errorf("%s: %d %.300s, want %s", name, out.Code, out.Body, c.want)
		}
	}
	html := message(1, label("service_name", `<script>'";--`), label("a.b", "{}=,\n"), sample)
	w.accepted(w.post("/push.v1.PusherService/Push", "application/proto", html))
	w.same(w.stored(), `
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="<script>'\";--",a.b="{}=,\n"} [] 15:53:20.000 .. 15:53:21.000
  main 1`)
}
