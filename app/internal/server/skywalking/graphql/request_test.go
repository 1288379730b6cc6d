package graphql

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
)

func TestRequests(t *testing.T) {
	b := newBench(t)
	const ok = `{"data":{"version":"10.2.0-dendro-test"}}`
	for _, tt := range []struct {
		name, contentType, body string
		status                  int
		want                    string // the body, or what begins a text
	}{
		{"JSON", "application/json", `{"query":"{version}"}`, 200, ok},
		{"with a charset", "application/json; charset=utf-8", `{"query":"{version}","variables":null,"operationName":null,"extensions":{}}`, 200, ok},
		{"a type of JSON", "application/graphql+json", `{"query":"{version}"}`, 200, ok},
		{"raw", "application/graphql", `{version}`, 200, ok},
		{"one of several operations", "application/json", `{"query":"query a {version} query b {getTimeInfo{timezone}}","operationName":"b"}`, 200, `{"data":{"getTimeInfo":{"timezone":"+0000"}}}`},
		{"text", "text/plain", `{"query":"{version}"}`, 415, "the content type"},
		{"no type", "", `{"query":"{version}"}`, 415, "the content type"},
		{"empty", "application/json", ``, 400, "the body is no request"},
		{"no query", "application/json", `{}`, 400, "the request has no query"},
		{"an empty query", "application/json", `{"query":" "}`, 400, "the request has no query"},
		{"an array", "application/json", `[{"query":"{version}"}]`, 400, "the body is no request: an object with \"query\" is expected, not array"},
		{"no JSON", "application/json", `{"query":`, 400, "the body is no request"},
		{"two bodies", "application/json", `{"query":"{version}"}{}`, 400, "the body is no request"},
		{"variables that are none", "application/json", `{"query":"{version}","variables":[1]}`, 400,
			"the body is no request: \"variables\" cannot be array"},
		{"too large", "application/json", `{"query":"` + strings.Repeat(" ", maxBody) + `"}`, 413, "{"},
	} {
		r := b.post(tt.contentType, tt.body)
		if r.status != tt.status || !strings.HasPrefix(r.body, tt.want) || tt.status == 200 && r.body != tt.want {
			t.Errorf("%s: %d %s", tt.name, r.status, r.body)
		}
		if got := r.header.Get("Content-Type"); tt.status == 200 && got != "application/json" ||
			tt.status == 400 && !strings.HasPrefix(got, "text/plain") {
			t.Errorf("%s: content type %q", tt.name, got)
		}
	}
	for method, body := range map[string]string{"as swctl does": "application/json; charset=utf-8", "as pages do": "application/json"} {
		r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query":"{version}"}`))
		r.Header.Set("Content-Type", body)
		r.Header.Set("Accept", body)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Type"); got != body {
			t.Errorf("%s: content type %q, want %q", method, got, body)
		}
	}
}

// TestRawText: bytes that are no UTF-8 mean the same in a raw document as in JSON.
func TestRawText(t *testing.T) {
	b := newBench(t)
	r := b.post("application/graphql", "mutation { createProfileTask(creationRequest: {serviceId: \"c2hvcA==.1\", endpointName: \"/a\xff\","+
		" duration: 1, minDurationThreshold: 0, dumpPeriod: 10, maxSamplingCount: 1}) { errorReason } }")
	if want := `{"data":{"createProfileTask":{"errorReason":null}}}`; r.body != want {
		t.Errorf("create: %s", r.body)
	}
	r = b.post("application/graphql", "{ getProfileTaskList(endpointName: \"/a\xff\") { endpointName } }")
	if want := `{"data":{"getProfileTaskList":[{"endpointName":"/a` + "\uFFFD" + `"}]}}`; r.body != want {
		t.Errorf("list: %s", r.body)
	}
}

// TestErrors: the forms of errors by which clients tell what went wrong.
func TestErrors(t *testing.T) {
	b := newBench(t)
	b.seed()
	const analyze = `query ($queries: [SegmentProfileAnalyzeQuery!]!) { a: getSegmentsProfileAnalyze(queries: $queries) { tip } }`
	for _, tt := range []struct {
		name, document, variables string
		status                    int
		class, message, path      string // path: of the field, which has data null
		line, column              int
	}{
		{"a field", "{ nothing }", "null", 400, invalid, `Cannot query field "nothing"`, "", 1, 3},
		{"an argument", "{ listServices(x: 1) { id } }", "null", 400, invalid, `Unknown argument "x"`, "", 1, 3},
		{"a type in the document", "{ listServices(layer: 1) { id } }", "null", 400, invalid, "String cannot represent", "", 1, 23},
		{"no subfields", "{ listServices }", "null", 400, invalid, "must have a selection", "", 1, 3},
		{"a missing argument", "{ findService { id } }", "null", 400, invalid, `argument "serviceName"`, "", 1, 3},
		{"a subscription", "subscription { version }", "null", 400, invalid, "", "", 0, 0},
		{"parts", "{ version @defer }", "null", 400, invalid, `Unknown directive "@defer"`, "", 1, 12},
		{"syntax", "{ version", "null", 200, invalidSyntax, "Invalid syntax: Expected Name", "", 1, 10},
		{"no operation", "fragment a on Query { version }", "null", 400, invalid, "", "", 1, 1},
		{"several operations", "query a { version } query b { version }", "null", 200, invalid, "several operations", "", 0, 0},
		{"a null variable", analyze, `{"queries": null}`, 200, invalid, "variable queries: cannot be null", "", 1, 8},
		{"no variable", analyze, `null`, 200, invalid, "variable queries: must be defined", "", 1, 8},
		{"a variable's type", analyze, `{"queries": 1}`, 200, invalid, "variable queries[0]: must be a", "", 1, 8},
		{"a field of a variable", analyze, `{"queries": [{"segmentId": "s", "x": 1, "timeRange": {"start": 1, "end": 2}}]}`, 200, invalid, "unknown field", "", 1, 8},
		{"a number for a text", analyze, `{"queries": [{"segmentId": 7, "timeRange": {"start": 1, "end": 2}}]}`, 200, invalid, "cannot use int64 as String", "", 1, 8},
		{"a number that is none", analyze, `{"queries": [{"segmentId": "s", "timeRange": {"start": "x", "end": 2}}]}`, 200, invalid, "not a whole number of 64 bits", "", 1, 52},
		{"beyond 32 bits", "query ($n: Int!) { findEndpoint(serviceId: \"c2hvcA==.1\", limit: $n) { id } }", `{"n": 2147483648}`, 200, invalid, "not a whole number of 32 bits", "", 1, 20},
		{"beyond 64 bits", "{ getProfileAnalyze(segmentId: \"s\", timeRanges: [{start: 99999999999999999999, end: 1}]) { tip } }", "null", 400, invalid, "Expected value of type", "", 1, 50},
		{"an enum", "query ($d: Duration!) { getAllServices(duration: $d) { id } }", `{"d": {"start": "2023-11-14", "end": "2023-11-14", "step": "YEAR"}}`, 200, invalid, "YEAR is not a valid Step", "", 1, 8},
		{"a time", "query ($d: Duration!) { listInstances(serviceId: \"c2hvcA==.1\", duration: $d) { id } }", `{"d": {"start": "2023-11-14 22", "end": "2023-11-14", "step": "DAY"}}`, 200, invalid, "is not of the form 2006-01-02", "", 1, 25},
		{"an id", "query {\n  x: findEndpoint(serviceId: \"shop\", limit: 1) { id }\n}", "null", 200, dataFetching, `Exception while fetching data (/x) : service id "shop"`, "x", 2, 3},
		{"an argument that only the schema lets be null", "mutation { createProfileTask { id } }", "null", 200, dataFetching,
			"Exception while fetching data (/createProfileTask) : creationRequest cannot be null", "createProfileTask", 1, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := b.ask(tt.document, tt.variables)
			var got struct {
				Data   json.RawMessage
				Errors []struct {
					Message    string
					Path       []string
					Locations  []struct{ Line, Column int }
					Extensions struct{ Classification string }
				}
			}
			if err := json.Unmarshal([]byte(r.body), &got); err != nil {
				t.Fatalf("%v: %s", err, r.body)
			}
			if r.status != tt.status || len(got.Errors) == 0 {
				t.Fatalf("%d %s", r.status, r.body)
			}
			e := got.Errors[0]
			if e.Extensions.Classification != tt.class || !strings.Contains(e.Message, tt.message) || strings.Join(e.Path, "/") != tt.path {
				t.Errorf("%s", r.body)
			}
			if has := strings.Contains(r.body, `"data"`); has != (tt.path != "") || has && string(got.Data) != "null" {
				t.Errorf("data: %s", r.body)
			}
			if tt.line != 0 && (len(e.Locations) != 1 || e.Locations[0].Line != tt.line || e.Locations[0].Column != tt.column) {
				t.Errorf("locations: %s", r.body)
			}
		})
	}
}

// TestBrokenStore: what has nothing to do with the store is answered all the
// same; health says what is wrong.
func TestBrokenStore(t *testing.T) {
	b := newBench(t)
	b.store.broken.Store(true)
	r := b.ask(`{ checkHealth { score details } version }`, "null")
	if want := `{"data":{"checkHealth":{"score":1,"details":"the store does not answer: /srv/dendro/x.duckdb: the disk is on fire"},"version":"10.2.0-dendro-test"}}`; r.body != want {
		t.Errorf("health: %s", r.body)
	}
	r = b.ask(`{ version list: getProfileTaskList { id } }`, "null")
	want := `{"errors":[{"message":"Exception while fetching data (/list) : /srv/dendro/x.duckdb: the disk is on fire","path":["list"],"locations":[{"line":1,"column":11}],"extensions":{"classification":"DataFetchingException"}}],"data":null}`
	if r.status != 200 || r.body != want {
		t.Errorf("list: %d %s", r.status, r.body)
	}
}

// TestRoster: however many services a document asks for, the instances are read
// once.
func TestRoster(t *testing.T) {
	b := newBench(t)
	b.seed()
	r := b.ask(`{ a: listServices(layer: "GENERAL") { name } b: listServices(layer: "FAAS") { name } listLayers findService(serviceName: "shop") { name } }`, "null")
	const want = `{"data":{"a":[{"name":"shop"}],"b":[{"name":"eu::cart"}],"listLayers":["FAAS","GENERAL"],"findService":{"name":"shop"}}}`
	if n := b.store.rosters.Load(); r.body != want || n != 1 {
		t.Errorf("%d times: %s", n, r.body)
	}
}

// TestServed: the routes, with the server around them.
func TestServed(t *testing.T) {
	b := newBench(t)
	s, err := server.New(server.Options{HTTPListen: "127.0.0.1:0", HTTPToken: "secret-0123456789", ReadToken: "reader-0123456789"},
		b.handler.Part())
	b.must(err)
	b.must(s.Listen())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	defer func() {
		cancel()
		b.must(<-done)
	}()
	for _, tt := range []struct {
		method, path, token, query string
		status                     int
	}{
		{"POST", "/graphql", "secret-0123456789", "{version}", 200},
		{"POST", "/graphql", "secret-0123456789", "mutation {createProfileTask {id}}", 200},
		{"POST", "/graphql", "reader-0123456789", "{version}", 200},
		{"POST", "/graphql", "reader-0123456789", "mutation {createProfileTask {id}}", 403},
		{"POST", "/graphql", "", "{version}", 401},
		{"GET", "/graphql", "secret-0123456789", "{version}", 405},
		{"POST", "/graphql/x", "secret-0123456789", "{version}", 404},
	} {
		r, err := http.NewRequestWithContext(ctx, tt.method, "http://"+s.HTTPAddr()+tt.path, strings.NewReader(`{"query":"`+tt.query+`"}`))
		b.must(err)
		r.Header.Set("Content-Type", "application/json")
		if tt.token != "" {
			r.Header.Set("Authorization", "Bearer "+tt.token)
		}
		answer, err := http.DefaultClient.Do(r)
		b.must(err)
		answer.Body.Close()
		if answer.StatusCode != tt.status {
			t.Errorf("%s %s %s with %q: %d, want %d", tt.method, tt.path, tt.query, tt.token, answer.StatusCode, tt.status)
		}
	}
}

// TestPathsAreHidden expects errors without the directory of the store, which a read token
// need not know.
func TestPathsAreHidden(t *testing.T) {
	b := newBench(t)
	b.store.broken.Store(true)
	s, err := server.New(server.Options{StoreDir: "/srv/dendro"}, b.handler.Part())
	b.must(err)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/graphql", strings.NewReader(`{"query":"{ checkHealth { details } list: getProfileTaskList { id } }"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if body := w.Body.String(); strings.Contains(body, "/srv") || !strings.Contains(body, "(/list) : x.duckdb: the disk is on fire") {
		t.Errorf("%d %s", w.Code, body)
	}
	r = httptest.NewRequest(http.MethodPost, "http://localhost/graphql", strings.NewReader(`{"query":"{ checkHealth { details } }"}`))
	r.Header.Set("Content-Type", "application/json")
	w = httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if body := w.Body.String(); !strings.Contains(body, "does not answer: x.duckdb: the disk") {
		t.Errorf("%d %s", w.Code, body)
	}
}

// TestTokenMissing: swctl shows the message of the first error in JSON, else only the
// status.
func TestTokenMissing(t *testing.T) {
	b := newBench(t)
	s, err := server.New(server.Options{HTTPToken: "secret-0123456789"}, b.handler.Part())
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query":"{version}"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	var got struct{ Errors []struct{ Message string } }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 401 || w.Header().Get("Content-Type") != "application/json" ||
		len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Message, "A token is needed") {
		t.Errorf("%d %v %s", w.Code, err, w.Body)
	}
	r.SetBasicAuth("anybody", "secret-0123456789")
	r.Body = io.NopCloser(strings.NewReader(`{"query":"{version}"}`))
	w = httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != 200 {
		t.Errorf("with HTTP Basic: %d %s", w.Code, w.Body)
	}
}
