package skywalking_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/traceprof"
)

func (b *bench) post(path, body string) (int, string) {
	b.Helper()
	return b.send(path, body, "")
}

// send posts a body with a Content-Encoding, whether it is true or not.
func (b *bench) send(path, body, encoding string) (int, string) {
	b.Helper()
	q, err := http.NewRequestWithContext(b.ctx, http.MethodPost, "http://"+b.server.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if encoding != "" {
		q.Header.Set("Content-Encoding", encoding)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		b.Fatal(err)
	}
	return r.StatusCode, string(text)
}

const segmentJSON = `{"traceId":"t","traceSegmentId":"ID","service":"shop","serviceInstance":"shop-1","spans":[
	{"spanId":0,"parentSpanId":-1,"startTime":"100","endTime":200,"operationName":"/buy","spanType":"Entry","spanLayer":"Http","unknown":1}]}`

func TestHTTP(t *testing.T) {
	b := newBench(t)
	one, two := strings.Replace(segmentJSON, "ID", "one", 1), strings.Replace(segmentJSON, "ID", "two", 1)
	for path, body := range map[string]string{
		"/v3/management/reportProperties": `{"service":"shop","serviceInstance":"shop-1","properties":[{"key":"language","value":"lua"}],"layer":"WEB"}`,
		"/v3/management/keepAlive":        `{"service":"shop","serviceInstance":"shop-2"}`,
		"/v3/segment":                     one,
		"/v3/segments":                    "[" + one + "," + two + "]",
	} {
		if code, text := b.post(path, body); code != http.StatusOK || strings.TrimSpace(text) != "{}" {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	list, err := b.mem.Segments(b.ctx, traceprof.SegmentQuery{NoRaw: true})
	want := []traceprof.Segment{
		{ID: "one", Trace: "t", Service: "shop", Instance: "shop-1", Endpoint: "/buy", Operation: "/buy", Start: 100, End: 200,
			Received: b.clock.Load()},
		{ID: "two", Trace: "t", Service: "shop", Instance: "shop-1", Endpoint: "/buy", Operation: "/buy", Start: 100, End: 200,
			Received: b.clock.Load()},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if i, ok := b.instance("shop", "shop-1"); !ok || i.Layer != "WEB" || i.Language != "lua" {
		t.Errorf("%+v", i)
	}
	eventually(t, "the instance that only pinged was seen", func() bool { _, ok := b.instance("shop", "shop-2"); return ok })
}

func TestHTTPFaults(t *testing.T) {
	b := newBench(t)
	one := strings.Replace(segmentJSON, "ID", "one", 1)
	for _, tt := range []struct {
		path, body string
		code       int
	}{
		{"/v3/segment", "", 400}, {"/v3/segment", "[]", 400}, {"/v3/segment", `{"spans":7}`, 400}, {"/v3/segment", "\x0a\x01t", 400},
		{"/v3/segments", "", 400}, {"/v3/segments", one, 400}, {"/v3/segments", "[" + one, 400}, {"/v3/segments", "[" + one + ",7]", 400},
		{"/v3/segments", "[]", 200}, {"/v3/management/keepAlive", "{", 400}, {"/v3/management/reportProperties", "null", 400},
		{"/v3/segments", "[" + strings.Repeat(" ", 17<<20) + "]", 413}, {"/v3/segment", strings.Repeat(" ", 17<<20), 413},
	} {
		code, text := b.post(tt.path, tt.body)
		if code != tt.code {
			t.Errorf("%s %.30q: %d %s", tt.path, tt.body, code, text)
		}
		if problem := map[string]any{}; code >= 400 && (json.Unmarshal([]byte(text), &problem) != nil || problem["type"] == nil) {
			t.Errorf("%s %.30q: no problem but %s", tt.path, tt.body, text)
		}
	}
	for path, whole := range map[string]string{"/v3/segment": one, "/v3/segments": "[" + one + "]"} {
		var cut bytes.Buffer
		z := gzip.NewWriter(&cut)
		io.WriteString(z, whole)
		z.Close()
		cut.Truncate(cut.Len() / 2)
		for _, body := range []string{"this is no gzip", cut.String()} {
			if code, text := b.send(path, body, "gzip"); code != 400 || !strings.Contains(text, server.TypeEncoding) {
				t.Errorf("%s %.20q as gzip: %d %s", path, body, code, text)
			}
		}
	}
	var large bytes.Buffer
	z := gzip.NewWriter(&large)
	io.WriteString(z, "["+strings.Repeat(" ", 17<<20)+"]")
	z.Close()
	for _, path := range []string{"/v3/segment", "/v3/segments"} {
		if code, text := b.send(path, large.String(), "gzip"); code != 413 {
			t.Errorf("%s with a small body that becomes large: %d %s", path, code, text)
		}
	}
	b.store.broken.Store(true)
	if code, text := b.post("/v3/segment", one); code != 500 || strings.Contains(text, errBroken.Error()) {
		t.Errorf("the store fails: %d %s", code, text)
	}
}

// TestDroppedReports: reports of no use are accepted, or agents log an error for each.
func TestDroppedReports(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/v3/logs", "/browser/perfData", "/browser/perfData/webVitals", "/browser/errorLogs"} {
		if code, text := b.post(path, `[{"service":"shop"}]`); code != http.StatusOK || strings.TrimSpace(text) != "{}" {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
}

// TestReadiness: a server whose commits fail is not ready, until one succeeds.
func TestReadiness(t *testing.T) {
	b := newBench(t)
	ready := func() int {
		r, err := http.Get("http://" + b.server.HTTPAddr() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	one := strings.Replace(segmentJSON, "ID", "one", 1)
	for _, step := range []struct {
		broken bool
		want   int
	}{{false, 200}, {true, 503}, {false, 200}} {
		b.store.broken.Store(step.broken)
		b.post("/v3/segment", one)
		if got := ready(); got != step.want {
			t.Errorf("store fails: %v: /readyz answers %d, want %d", step.broken, got, step.want)
		}
	}
}
