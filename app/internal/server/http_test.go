package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
)

// Tokens of tests.
const fullToken, readToken, agentToken = "full-0123456789ab", "read-0123456789ab", "agent-0123456789a"

// echo is a part whose routes show what the core does around them.
func echo() Part {
	body := func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if p := BodyProblem(err); p != nil {
			WriteProblem(w, r, p)
			return
		}
		fmt.Fprintf(w, "%d bytes", len(data))
	}
	return Part{Name: "echo", Routes: []Route{
		{Pattern: "GET /read", Handler: text("read"), Needs: Reading},
		{Pattern: "POST /change", Handler: http.HandlerFunc(body)},
		{Pattern: "POST /upload", Handler: http.HandlerFunc(body), Upload: true},
		{Pattern: "POST /raw", Handler: http.HandlerFunc(body), Own: true},
		{Pattern: "GET /long", Handler: text(strings.Repeat("long ", 1000)), Needs: Reading},
		{Pattern: "GET /panic", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half an answer")
			panic("a defect")
		}), Needs: Reading},
		{Pattern: "GET /late-panic", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Repeat("x", 1<<20))
			panic("a defect")
		}), Needs: Reading, Kind: Streams},
		{Pattern: "GET /break/{after}", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=rows")
			w.Header().Set("Content-Length", "2000000")
			after, _ := strconv.Atoi(r.PathValue("after"))
			io.WriteString(w, strings.Repeat("x", after))
			Abort(&Problem{Type: "urn:dendro:problem:corrupt", Title: "The store is damaged", Status: 500, Detail: "block 7 is gone"})
		}), Needs: Reading, Kind: Streams},
	}}
}

func text(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, s)
	})
}

// handlerOf returns the handler of a server with the part echo, and its log.
func handlerOf(t *testing.T, o Options) (http.Handler, *bytes.Buffer) {
	t.Helper()
	log := &lockedBuffer{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	s, err := New(o, echo())
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler(), &log.Buffer
}

type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// request makes a request to this machine from lines "Header: value".
func request(method, target string, body io.Reader, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, body)
	r.Host = "localhost:12800"
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		if k == "Host" {
			r.Host = v
			continue
		}
		r.Header.Set(k, v)
	}
	return r
}

// answered serves a request; of a problem it demands the form.
func answered(t *testing.T, h http.Handler, r *http.Request) (w *httptest.ResponseRecorder, problem string) {
	t.Helper()
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code < 400 {
		return w, ""
	}
	var p struct {
		Type, Title, Instance string
		Status                int
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%d is no problem: %v, %q", w.Code, err, w.Body)
	}
	if p.Status != w.Code || p.Title == "" || p.Instance != "/requests/"+w.Header().Get("X-Request-Id") {
		t.Errorf("the problem %+v of %d", p, w.Code)
	}
	return w, strings.TrimPrefix(p.Type, "urn:dendro:problem:")
}

func TestTokens(t *testing.T) {
	full, read := "Authorization: Bearer "+fullToken, "Authorization: Bearer "+readToken
	for _, test := range []struct {
		options Options
		request *http.Request
		status  int
	}{
		{Options{}, request("GET", "/read", nil), 200},
		{Options{}, request("POST", "/change", nil), 200},
		{Options{HTTPToken: fullToken}, request("GET", "/read", nil), 401},
		{Options{HTTPToken: fullToken}, request("GET", "/read", nil, full), 200},
		{Options{HTTPToken: fullToken}, request("GET", "/read", nil, "Authorization: bearer "+fullToken), 200},
		{Options{HTTPToken: fullToken}, request("GET", "/read", nil, "Authorization: Basic "+fullToken), 401},
		{Options{HTTPToken: fullToken}, request("GET", "/read", nil,
			"Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("anybody:"+fullToken))), 200},
		{Options{HTTPToken: fullToken}, request("GET", "/read", nil,
			"Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(fullToken+":"))), 401},
		{Options{HTTPToken: fullToken, ReadToken: readToken},
			request("POST", "/change", nil, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(":"+readToken))), 403},
		{Options{HTTPToken: fullToken}, request("GET", "/read", nil, "Authorization: Bearer "+fullToken[1:]), 401},
		{Options{HTTPToken: fullToken}, request("GET", "/read", nil, "Authorization: Bearer "), 401},
		{Options{HTTPToken: fullToken}, request("POST", "/change", nil, full), 200},
		{Options{HTTPToken: fullToken, ReadToken: readToken}, request("GET", "/read", nil, read), 200},
		{Options{HTTPToken: fullToken, ReadToken: readToken}, request("POST", "/change", nil, read), 403},
		{Options{HTTPToken: fullToken, ReadToken: readToken}, request("POST", "/change", nil, full), 200},
		{Options{ReadToken: readToken}, request("POST", "/change", nil), 401}, // a reader alone changes nothing
		{Options{ReadToken: readToken}, request("POST", "/change", nil, read), 403},
		{Options{ReadToken: readToken}, request("GET", "/read", nil), 401},
		{Options{ReadToken: readToken}, request("GET", "/read", nil, read), 200},
		{Options{HTTPToken: fullToken}, request("GET", "/healthz", nil), 200},
		{Options{HTTPToken: fullToken}, request("GET", "/readyz", nil), 200},
		{Options{HTTPToken: fullToken}, request("GET", "/healthcheck", nil), 200},
		{Options{HTTPToken: fullToken}, request("GET", "/metrics", nil), 401},
		{Options{HTTPToken: fullToken}, request("GET", "/metrics", nil, full), 200},
		{Options{HTTPToken: fullToken, OpenMetrics: true}, request("GET", "/metrics", nil), 200},
	} {
		h, log := handlerOf(t, test.options)
		w, _ := answered(t, h, test.request)
		if w.Code != test.status {
			t.Errorf("%+v: %s %s %v: %d, want %d", test.options, test.request.Method, test.request.URL, test.request.Header, w.Code, test.status)
		}
		if w.Code == 401 && w.Header().Get("WWW-Authenticate") == "" {
			t.Error("401 without WWW-Authenticate")
		}
		if text := log.String() + w.Body.String(); strings.Contains(text, "Bearer f") || strings.Contains(text, "ful\"") {
			t.Errorf("a token is told: %s", text)
		}
	}
}

// TestGuard sends what browsers send for pages of other sites, and what is no
// browser at all.
func TestGuard(t *testing.T) {
	for _, test := range []struct {
		options Options
		headers []string
		method  string
		status  int
	}{
		{method: "GET", status: 200},
		{method: "GET", headers: []string{"Host: 127.0.0.1:12800"}, status: 200},
		{method: "GET", headers: []string{"Host: [::1]:12800"}, status: 200},
		{method: "GET", headers: []string{"Host: 192.168.1.7"}, status: 200},
		{method: "GET", headers: []string{"Host: LOCALHOST."}, status: 200},
		{method: "GET", headers: []string{"Host: dendro.localhost:12800"}, status: 200},
		{method: "GET", headers: []string{"Host: evil.example"}, status: 403}, // DNS rebinding
		{method: "GET", headers: []string{"Host: notlocalhost"}, status: 403},
		{method: "GET", headers: []string{"Host: "}, status: 403},
		{method: "GET", options: Options{Hosts: []string{"dendro.example"}}, headers: []string{"Host: dendro.example:12800"}, status: 200},
		{method: "GET", options: Options{HTTPToken: fullToken}, headers: []string{"Host: dendro.example", "Authorization: Bearer " + fullToken},
			status: 200},
		{method: "POST", headers: []string{"Origin: http://evil.example"}, status: 403},
		{method: "GET", headers: []string{"Origin: http://evil.example"}, status: 403},
		{method: "POST", headers: []string{"Origin: null"}, status: 403},
		{method: "POST", headers: []string{"Origin: http://localhost:12800"}, status: 200},
		{method: "POST", headers: []string{"Origin: http://localhost:8080"}, status: 403},
		{method: "POST", headers: []string{"Sec-Fetch-Site: cross-site"}, status: 403},
		{method: "POST", headers: []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, status: 403},
		{method: "GET", headers: []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, status: 403},
		{method: "GET", headers: []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, status: 403},
		{method: "POST", headers: []string{"Sec-Fetch-Site: same-site"}, status: 403},
		{method: "POST", headers: []string{"Sec-Fetch-Site: same-origin", "Origin: http://localhost:12800"}, status: 200},
		{method: "POST", headers: []string{"Sec-Fetch-Site: none"}, status: 200},
	} {
		h, _ := handlerOf(t, test.options)
		target := map[string]string{"GET": "/read", "POST": "/change"}[test.method]
		if w, _ := answered(t, h, request(test.method, target, nil, test.headers...)); w.Code != test.status {
			t.Errorf("%s %v %+v: %d, want %d", test.method, test.headers, test.options.Hosts, w.Code, test.status)
		}
	}
}

// TestLinks: a link of another site opens a page, and nothing else: no route computes for it.
func TestLinks(t *testing.T) {
	for _, test := range []struct {
		target, site string
		status       int
	}{
		{"/anything", "cross-site", 200}, {"/anything", "same-site", 200}, {"/anything", "none", 200},
		{"/read", "cross-site", 403}, {"/read", "same-site", 403}, {"/read", "none", 200}, {"/read", "same-origin", 200},
		{"/metrics", "cross-site", 403}, {"/healthz", "cross-site", 403}, {"/api/v1/session", "cross-site", 403},
	} {
		h, _ := handlerOf(t, Options{Pages: func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, "a page")
			return true
		}})
		if w, _ := answered(t, h, request("GET", test.target, nil, "Sec-Fetch-Site: "+test.site,
			"Sec-Fetch-Mode: navigate")); w.Code != test.status {
			t.Errorf("%s from %s: %d, want %d", test.target, test.site, w.Code, test.status)
		}
	}
}

func TestUnrouted(t *testing.T) {
	h, log := handlerOf(t, Options{})
	for _, test := range []struct {
		method, target string
		status         int
		problem        string
	}{
		{"GET", "/", 404, "not-found"},
		{"GET", "/v3/segments", 404, "not-found"},
		{"OPTIONS", "/read", 405, "method-not-allowed"}, // no CORS
		{"DELETE", "/read", 405, "method-not-allowed"},
		{"BREW", "/read", 405, "method-not-allowed"},
		{"GET", "//read", 307, ""},
	} {
		w, problem := answered(t, h, request(test.method, test.target, nil))
		if w.Code != test.status || problem != test.problem {
			t.Errorf("%s %s: %d %s, want %d %s", test.method, test.target, w.Code, problem, test.status, test.problem)
		}
		if w.Code == 405 && !strings.Contains(w.Header().Get("Allow"), "GET") {
			t.Errorf("405 allows %q", w.Header().Get("Allow"))
		}
	}
	if !strings.Contains(log.String(), "method=other") {
		t.Error("a method of the client's own is logged as it came")
	}
}

func TestBodies(t *testing.T) {
	limits := Limits{Body: 1000, Upload: 5000, Inflated: 20_000}
	zeros := func(n int) []byte { return make([]byte, n) }
	zip := func(data []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(data)
		w.Close()
		return b.Bytes()
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, target string
		body         []byte
		headers      []string
		status       int
		problem      string
		answer       string
	}{
		{name: "small", target: "/change", body: zeros(1000), status: 200, answer: "1000 bytes"},
		{name: "large", target: "/change", body: zeros(1001), status: 413, problem: "too-large"},
		{name: "upload", target: "/upload", body: zeros(5000), status: 200, answer: "5000 bytes"},
		{name: "large upload", target: "/upload", body: zeros(5001), status: 413, problem: "too-large"},
		{name: "gzip", target: "/change", body: zip(zeros(20_000)), headers: []string{"Content-Encoding: gzip"}, status: 200,
			answer: "20000 bytes"},
		{name: "zstd", target: "/change", body: enc.EncodeAll(zeros(20_000), nil), headers: []string{"Content-Encoding: zstd"}, status: 200,
			answer: "20000 bytes"},
		{name: "bomb", target: "/change", body: zip(zeros(900_000)), headers: []string{"Content-Encoding: gzip"}, status: 413,
			problem: "too-large"},
		{name: "zstd bomb", target: "/change", body: enc.EncodeAll(zeros(5_000_000), nil), headers: []string{"Content-Encoding: zstd"},
			status: 413, problem: "too-large"},
		{name: "no gzip", target: "/change", body: []byte("plain"), headers: []string{"Content-Encoding: gzip"}, status: 400,
			problem: "unsupported-encoding"},
		{name: "cut gzip", target: "/change", body: zip(zeros(20_000))[:20], headers: []string{"Content-Encoding: gzip"}, status: 400,
			problem: "unsupported-encoding"},
		{name: "unknown", target: "/change", body: []byte("x"), headers: []string{"Content-Encoding: br"}, status: 415,
			problem: "unsupported-encoding"},
		{name: "own", target: "/raw", body: []byte("plain"), headers: []string{"Content-Encoding: gzip"}, status: 200, answer: "5 bytes"},
	} {
		for _, chunked := range []bool{false, true} {
			h, _ := handlerOf(t, Options{Limits: limits})
			r := request("POST", test.target, bytes.NewReader(test.body), test.headers...)
			if chunked {
				r.ContentLength = -1 // the client does not say how much will come
			}
			w, problem := answered(t, h, r)
			if w.Code != test.status || problem != test.problem || test.answer != "" && w.Body.String() != test.answer {
				t.Errorf("%s, chunked %v: %d %s %q", test.name, chunked, w.Code, problem, w.Body)
			}
		}
	}
}

func TestCompression(t *testing.T) {
	h, _ := handlerOf(t, Options{})
	for _, test := range []struct {
		target, accept string
		zipped         bool
	}{
		{"/long", "gzip", true},
		{"/long", "br, gzip;q=0.5", true},
		{"/long", "*", false}, // allowed: no coding is always acceptable
		{"/long", "gzip;q=0", false},
		{"/long", "gzip; q=0.0", false},
		{"/long", "", false},
		{"/read", "gzip", false}, // not worth it
	} {
		w, _ := answered(t, h, request("GET", test.target, nil, "Accept-Encoding: "+test.accept))
		body := io.Reader(w.Body)
		if zipped := w.Header().Get("Content-Encoding") == "gzip"; zipped != test.zipped {
			t.Errorf("%s with %q: Content-Encoding %q", test.target, test.accept, w.Header().Get("Content-Encoding"))
		} else if zipped {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		got, err := io.ReadAll(body)
		want := map[string]string{"/long": strings.Repeat("long ", 1000), "/read": "read"}[test.target]
		if err != nil || string(got) != want {
			t.Errorf("%s with %q: %v, %d bytes", test.target, test.accept, err, len(got))
		}
		if w.Header().Get("Vary") != "Accept-Encoding" {
			t.Error("a cache is not told what the answer depends on")
		}
	}
}

func TestHeaders(t *testing.T) {
	h, _ := handlerOf(t, Options{})
	w, _ := answered(t, h, request("GET", "/read", nil))
	for _, name := range []string{"X-Content-Type-Options", "X-Frame-Options", "Content-Security-Policy", "Referrer-Policy",
		"Cross-Origin-Resource-Policy", "Cache-Control", "X-Request-Id"} {
		if w.Header().Get(name) == "" {
			t.Errorf("no %s", name)
		}
	}
	if origin := w.Header().Get("Access-Control-Allow-Origin"); origin != "" {
		t.Errorf("other sites may read: %s", origin)
	}
}

func TestPanics(t *testing.T) {
	h, log := handlerOf(t, Options{})
	w, problem := answered(t, h, request("GET", "/panic", nil))
	if w.Code != 500 || problem != "internal" || strings.Contains(w.Body.String(), "half an answer") {
		t.Errorf("a panic is answered %d %q", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "a defect") || !strings.Contains(log.String(), w.Header().Get("X-Request-Id")) {
		t.Errorf("the log does not say it: %s", log)
	}
	// When the answer has begun it breaks off.
	ts := httptest.NewServer(h)
	defer ts.Close()
	resp, err := http.Get(ts.URL + "/late-panic")
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("the answer of a late panic looks whole")
	}
}

// TestAbort wants an answer that cannot be finished to be the problem as long as
// nothing was sent, else to break off; and the log to say why in both cases.
func TestAbort(t *testing.T) {
	h, log := handlerOf(t, Options{})
	w, problem := answered(t, h, request("GET", "/break/100", nil))
	if w.Code != 500 || problem != "corrupt" || w.Header().Get("Content-Disposition")+w.Header().Get("Content-Length") != "" {
		t.Errorf("nothing was sent: %d %v %s", w.Code, w.Header(), w.Body)
	}
	said := func() string {
		text := log.String()
		log.Reset()
		return text
	}
	if text := said(); !strings.Contains(text, "block 7 is gone") || !strings.Contains(text, "problem:corrupt") {
		t.Errorf("the log does not say it: %s", text)
	}
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("an answer that has begun ends with %v", p)
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), request("GET", "/break/1000000", nil))
	}()
	if text := said(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "block 7 is gone") ||
		!strings.Contains(text, "broken=true") {
		t.Errorf("the log does not say why an answer broke off: %s", text)
	}
}

// TestBusy holds as many requests as are allowed and sends another.
func TestBusy(t *testing.T) {
	began, end := make(chan bool), make(chan bool)
	wait := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { began <- true; <-end })
	s, err := New(Options{Limits: Limits{Requests: 2}},
		Part{Name: "slow", Routes: []Route{{Pattern: "GET /wait", Handler: wait, Needs: Reading}}})
	if err != nil {
		t.Fatal(err)
	}
	s.slots.wait = 10 * time.Millisecond
	var wg sync.WaitGroup
	from := func(client string) *http.Request {
		r := request("GET", "/wait", nil)
		r.RemoteAddr = client
		return r
	}
	wg.Go(func() { s.Handler().ServeHTTP(httptest.NewRecorder(), from("192.0.2.1:1")) })
	<-began
	if w, problem := answered(t, s.Handler(), from("192.0.2.1:2")); w.Code != 503 || problem != "busy" {
		t.Errorf("a client with more than half of the slots is answered %d %s", w.Code, problem)
	}
	wg.Go(func() { s.Handler().ServeHTTP(httptest.NewRecorder(), from("192.0.2.2:1")) })
	<-began
	w, problem := answered(t, s.Handler(), from("192.0.2.3:1"))
	if w.Code != 503 || problem != "busy" || w.Header().Get("Retry-After") == "" {
		t.Errorf("one too many is answered %d %s", w.Code, problem)
	}
	if w, _ := answered(t, s.Handler(), request("GET", "/healthz", nil)); w.Code != 200 {
		t.Errorf("a busy server is not healthy: %d", w.Code)
	}
	close(end)
	wg.Wait()
}

func TestReadiness(t *testing.T) {
	var fault error
	s, err := New(Options{}, Part{Name: "store", Ready: func(context.Context) error { return fault }})
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := ready(s); w != 200 {
		t.Errorf("ready: %d", w)
	}
	fault = errors.New("secret path")
	if code, body := ready(s); code != 503 || strings.Contains(body, "secret") || !strings.Contains(body, "store is not ready") {
		t.Errorf("not ready: %d %s", code, body)
	}
	fault = nil
	s.ending.Store(true)
	if code, _ := ready(s); code != 503 {
		t.Errorf("ending: %d", code)
	}
}

// ready asks under both names, of which the second is that of SkyWalking's OAP.
func ready(s *Server) (int, string) {
	var w [2]*httptest.ResponseRecorder
	for i, path := range []string{"/readyz", "/healthcheck"} {
		w[i] = httptest.NewRecorder()
		s.Handler().ServeHTTP(w[i], request("GET", path, nil))
	}
	if w[1].Code != w[0].Code {
		return -w[1].Code, w[1].Body.String()
	}
	return w[0].Code, w[0].Body.String()
}

func TestRoutesOfTwoParts(t *testing.T) {
	if _, err := New(Options{}, echo(), echo()); err == nil || !strings.Contains(err.Error(), "/read") {
		t.Errorf("two parts with one route: %v", err)
	}
}

func TestMetrics(t *testing.T) {
	h, _ := handlerOf(t, Options{Version: "1.2.3", HTTPToken: fullToken})
	answered(t, h, request("GET", "/read", nil))
	answered(t, h, request("GET", "/read", nil, "Authorization: Bearer "+fullToken))
	w, _ := answered(t, h, request("GET", "/metrics", nil, "Authorization: Bearer "+fullToken))
	for _, want := range []string{
		`dendro_http_requests_total{code="200",method="GET",route="GET /read"} 1`,
		`dendro_http_requests_total{code="401",method="GET",route="GET /read"} 1`,
		`dendro_refused_total{reason="token"} 1`, `dendro_http_requests_in_flight 1`, `version="1.2.3"`, "process_resident_memory_bytes",
		"go_goroutines",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}

// absent is a number that cannot be had.
type absent struct{ *prometheus.Desc }

func (a absent) Describe(ch chan<- *prometheus.Desc) { ch <- a.Desc }
func (a absent) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(a.Desc, errors.New("the store does not answer"))
}

// TestAbsentMetrics wants the numbers that there are when others cannot be had.
func TestAbsentMetrics(t *testing.T) {
	var log bytes.Buffer
	part := Part{Name: "store", Metrics: []prometheus.Collector{absent{prometheus.NewDesc("dendro_store_bytes", "Size.", nil, nil)}}}
	s, err := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, part)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, request("GET", "/metrics", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), "dendro_build_info") ||
		!strings.Contains(log.String(), "the store does not answer") {
		t.Errorf("%d %s\nlog: %s", w.Code, w.Body, log.String())
	}
}

// TestSeriesAreBounded: nothing that clients send becomes a new series of the metrics.
func TestSeriesAreBounded(t *testing.T) {
	s, err := New(Options{HTTPToken: fullToken, OpenMetrics: true, Pages: func(http.ResponseWriter, *http.Request) bool { return false }},
		echo())
	if err != nil {
		t.Fatal(err)
	}
	series := func() int {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, request("GET", "/metrics", nil))
		return strings.Count(w.Body.String(), "\ndendro_")
	}
	ask := func(i int) {
		for _, r := range []*http.Request{
			request("GET", "/path/"+strconv.Itoa(i), nil), request("METHOD"+strconv.Itoa(i), "/read", nil),
			request("GET", "/break/x"+strconv.Itoa(i), nil),
			request("POST", "/change?label="+strconv.Itoa(i), nil, "Content-Encoding: e"+strconv.Itoa(i)),
			request("GET", "/read", nil, "Authorization: Bearer guess-"+strconv.Itoa(i), "Host: h"+strconv.Itoa(i)),
		} {
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	for i := range 50 {
		ask(i)
	}
	series() // has series of its own
	before := series()
	for i := range 1000 {
		ask(50 + i)
	}
	if after := series(); before == 0 || after != before {
		t.Errorf("%d series became %d", before, after)
	}
}
