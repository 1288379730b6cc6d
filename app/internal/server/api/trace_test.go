package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
	tracearchive "github.com/dendroprof/dendro/traceprof/archive"
)

// sampled puts a task with a request of two spans into the lab's store and returns
// the path of the task's address.
func (l *lab) sampled() string {
	l.t.Helper()
	ctx, st := l.t.Context(), l.st.(traceprof.Store)
	const at = 1_700_000_000_000
	task, err := st.CreateTask(ctx, traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", ServiceID: "c2hvcD8/.1", Endpoint: "/checkout",
		Created: at, Start: at,
		Duration: traceprof.Minute, Period: tracetest.Period, MaxSegments: 5})
	if err != nil {
		l.t.Fatal(err)
	}
	raw, err := proto.Marshal(&agentv3.SegmentObject{Spans: []*agentv3.SpanObject{
		{SpanId: 0, ParentSpanId: -1, StartTime: at + 1000, EndTime: at + 1060, OperationName: "/checkout"},
		{SpanId: 1, ParentSpanId: 0, StartTime: at + 1025, EndTime: at + 1060, OperationName: "render", SpanType: agentv3.SpanType_Local,
			Peer: "p", IsError: true}}})
	if err != nil {
		l.t.Fatal(err)
	}
	s := tracetest.Picture(task.ID, "s1", "A-B A-B A-B-C A . A")
	for i := range s.Time {
		s.Time[i] += at + 1000
	}
	err = errors.Join(
		st.PutInstances(ctx, traceprof.Instance{Service: "shop", Name: "one", Layer: "GENERAL", Language: "java",
			Properties: []traceprof.Property{{Key: "k", Value: "v"}}, FirstSeen: at, LastSeen: at + 5, Polled: at + 4, Skew: -3},
			traceprof.Instance{Service: "shop", Name: "two", FirstSeen: at, LastSeen: at + 9}),
		st.PutSegments(ctx, traceprof.Segment{ID: "s1", Trace: "t1", Service: "shop", Instance: "one", Endpoint: "/checkout",
			Operation: "/checkout", Start: at + 1000, End: at + 1060, Error: true, Raw: raw}),
		st.PutSnapshots(ctx, s),
		st.AppendLog(ctx, traceprof.Log{Task: task.ID, Instance: "one", Event: traceprof.Notified, Time: at + 1, Text: "x"}))
	if err != nil {
		l.t.Fatal(err)
	}
	return "/api/v1/tasks/" + url.PathEscape(task.ID)
}

// rowsOf asks for a list and returns its rows as JSON, one a line.
func (l *lab) rowsOf(target string) string {
	l.t.Helper()
	var answer struct{ Rows []json.RawMessage }
	l.get(target, &answer)
	var b strings.Builder
	for _, r := range answer.Rows {
		fmt.Fprintf(&b, "%s\n", r)
	}
	return b.String()
}

func TestTraceLists(t *testing.T) {
	l := newLab(t)
	task := l.sampled()
	for _, tt := range []struct{ target, want string }{
		{"/api/v1/services", `{"service":"shop","instances":2,"lastSeen":1700000000009}`},
		{"/api/v1/services?since=2024-01-01", ``},
		{"/api/v1/instances?service=shop&since=2023-11-14T22:13:20.006Z", `{"service":"shop","name":"two","firstSeen":1700000000000,"lastSeen":1700000000009}`},
		{"/api/v1/instances?service=none", ``},
		{"/api/v1/endpoints?service=shop&keyword=CHECK", `{"service":"shop","name":"/checkout","segments":1,"slowest":60,"lastSeen":1700000001000}`},
		{"/api/v1/segments?failed=true&shortest=60&sort=latency&trace=t1", `{"id":"s1","trace":"t1","service":"shop","instance":"one","endpoint":"/checkout","operation":"/checkout","start":1700000001000,"end":1700000001060,"error":true,"latency":60}`},
		{"/api/v1/segments?failed=false", ``},
		{"/api/v1/tasks?kind=async-profiler", ``},
		{task + "/logs", `{"task":"1700000000000_c2hvcD8/.1","instance":"one","event":"NOTIFIED","time":1700000000001,"text":"x"}`},
		{"/api/v1/snapshots?segment=s1&task=none", ``},
	} {
		if got := strings.TrimSpace(l.rowsOf(tt.target)); got != tt.want {
			t.Errorf("%s:\n%s", tt.target, got)
		}
	}
	if got := strings.Count(l.rowsOf("/api/v1/snapshots?segment=s1"), "\n"); got != 6 {
		t.Errorf("%d snapshots", got)
	}
	if got := l.rowsOf("/api/v1/snapshots?segment=s1"); !strings.Contains(got, `"sequence":2,"time":1700000001020,"stack":["A","B","C"]`) ||
		!strings.Contains(got, `"sequence":4,"time":1700000001040,"stack":[]`) {
		t.Errorf("snapshots\n%s", got)
	}
	var one struct {
		ID    string
		State string
		End   int64
	}
	if l.get(task, &one); one.ID != "1700000000000_c2hvcD8/.1" || one.State != "over" || one.End != 1_700_000_060_000 {
		t.Errorf("the task is %+v", one)
	}
	var segment struct {
		Spans []struct{ Operation, Kind string }
	}
	if l.get("/api/v1/segments/s1", &segment); len(segment.Spans) != 2 || segment.Spans[1].Operation != "render" ||
		segment.Spans[1].Kind != "Local" {
		t.Errorf("the segment has %+v", segment.Spans)
	}
}

func TestTraceCoverageAndWhy(t *testing.T) {
	l := newLab(t)
	task := l.sampled()
	var c struct {
		Received, Expected, Covered int64
		Share                       float64
		Segments                    []struct{ Segment string }
	}
	if l.get(task+"/coverage", &c); c.Received != 6 || c.Expected != 6 || c.Covered != 50 || c.Share < 0.8 || len(c.Segments) != 1 ||
		c.Segments[0].Segment != "s1" {
		t.Errorf("coverage %+v", c)
	}
	if causes := l.rowsOf(task + "/why"); causes != "" {
		t.Errorf("of a task with all it should have: %s", causes)
	}
	var other struct{ ID string }
	w := l.post("/api/v1/tasks", "application/json", strings.NewReader(`{"service": "shop", "endpoint": "/chekout"}`))
	if err := json.Unmarshal(w.Body.Bytes(), &other); err != nil || w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if causes := l.rowsOf(w.Header().Get("Location") + "/why"); !strings.Contains(causes, `"code":"endpoint-never-seen"`) ||
		!strings.Contains(causes, `"/checkout"`) {
		t.Errorf("of an endpoint that is misspelt: %s", causes)
	}
}

func TestTraceAnalysis(t *testing.T) {
	l := newLab(t)
	l.sampled()
	type answer struct {
		Notes []string
		Rows  []struct {
			Depth, Total, Self, Count int
			Function                  string
		}
	}
	for _, tt := range []struct{ query, want string }{
		{"segment=s1", "A 0 30 10 5; B 1 20 20 3; C 2 0 0 1"}, // the dump without frames breaks the run
		{"task=1700000000000_c2hvcD8%2F.1", "A 0 30 10 5; B 1 20 20 3; C 2 0 0 1"},
		{"task=last&depth=1", "A 0 30 10 5"},
		{"trace=t1&segment=s1&span=1", "A 0 0 0 2"},
		{"segment=s1&own", "A 0 20 0 3; B 1 20 20 3; C 2 0 0 1"},
		{"segment=s1&range=10..21", "A 0 10 0 2; B 1 10 10 2; C 2 0 0 1"},
		{"segment=s1&limit=2", "A 0 10 0 2; B 1 10 10 2"},
	} {
		var a answer
		l.get("/api/v1/analysis?"+tt.query, &a)
		var rows []string
		for _, r := range a.Rows {
			rows = append(rows, fmt.Sprint(r.Function, " ", r.Depth, " ", r.Total, " ", r.Self, " ", r.Count))
		}
		if got := strings.Join(rows, "; "); got != tt.want || (len(a.Notes) > 0) != strings.Contains(tt.query, "limit") {
			t.Errorf("%s: %s, notes %q", tt.query, got, a.Notes)
		}
	}
	var c struct {
		Columns struct {
			Function []string
			Total    []int
		}
	}
	if l.get("/api/v1/analysis?segment=s1&form=columns", &c); strings.Join(c.Columns.Function, " ") != "A B C" || len(c.Columns.Total) != 3 {
		t.Errorf("columns: %+v", c)
	}
}

func TestTraceFiles(t *testing.T) {
	l := newLab(t)
	task := l.sampled()
	w := l.serve(httptest.NewRequest("GET", "/api/v1/trace-profile?segment=s1", nil))
	n := 0
	for d, err := range format.NewReader(profile.Limits{}).Read("trace.json", bytes.NewReader(w.Body.Bytes())) {
		if err != nil {
			t.Fatal(err)
		}
		n += d.Profile.Tables[0].Len()
	}
	if n != 6 {
		t.Errorf("the profile has %d samples", n)
	}
	if w := l.serve(httptest.NewRequest("GET", "/api/v1/trace-profile?segment=s1&format=folded", nil)); !strings.Contains(w.Body.String(),
		"A;B;C 10") {
		t.Errorf("folded: %s", w.Body)
	}
	w = l.serve(httptest.NewRequest("GET", task+"/archive?trace=t1", nil))
	a, err := tracearchive.Read(bytes.NewReader(w.Body.Bytes()), profile.Limits{})
	if err != nil || len(a.Segments) != 1 || a.Segments[0].Snapshots.Len() != 6 {
		t.Errorf("the archive: %+v, %v", a, err)
	}
}

func TestTraceChanges(t *testing.T) {
	l := newLab(t)
	order := func(body string) *httptest.ResponseRecorder {
		return l.post("/api/v1/tasks", "application/json", strings.NewReader(body))
	}
	w := order(`{"service": "shop", "endpoint": " /checkout ", "duration": 60000}`)
	var task struct{ ID, Endpoint, State, ServiceID string }
	if err := json.Unmarshal(w.Body.Bytes(), &task); err != nil || w.Code != http.StatusCreated || task.Endpoint != "/checkout" ||
		task.State != "running" || task.ServiceID != "c2hvcA==.1" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	l.problem(order(`{"service": "shop", "endpoint": "/other"}`), http.StatusConflict, "overlap")
	recording := `{"service": "shop", "kind": "async-profiler", "duration": 30000, "events": ["CPU"], "instances": ["one"]}`
	if w := order(recording); w.Code != http.StatusCreated {
		t.Errorf("another kind: %d %s", w.Code, w.Body)
	}
	l.problem(order(recording), http.StatusConflict, "overlap")
	l.problem(order(`{"service": "other", "endpoint": ""}`), http.StatusUnprocessableEntity, "refused")
	l.problem(order(`{"service": "other", "endpoint": "/", "perod": 10}`), http.StatusBadRequest, "bad-request")
	l.problem(order(`{"endpoint": "/"}`), http.StatusBadRequest, "bad-request")
	l.problem(order(`[`), http.StatusBadRequest, "bad-request")

	w = l.post(w.Header().Get("Location")+"/stop", "", nil)
	if err := json.Unmarshal(w.Body.Bytes(), &task); err != nil || task.State != "stopped" {
		t.Errorf("stopped: %d %s", w.Code, w.Body)
	}
	time.Sleep(2 * time.Millisecond) // an end that equals a start overlaps
	if w := order(`{"service": "shop", "endpoint": "/other"}`); w.Code != http.StatusCreated {
		t.Errorf("after the stop: %d %s", w.Code, w.Body)
	}
}

func TestTraceProblems(t *testing.T) {
	l := newLab(t)
	task := l.sampled()
	for _, tt := range []struct {
		target string
		status int
		kind   string
	}{
		{"/api/v1/tasks/none", http.StatusNotFound, "no-such-task"},
		{"/api/v1/tasks/none/why", http.StatusNotFound, "no-such-task"},
		{task + "/archive", http.StatusBadRequest, "bad-request"},
		{task + "/archive?trace=none", http.StatusNotFound, "nothing-sampled"},
		{"/api/v1/segments/none", http.StatusNotFound, "nothing-sampled"},
		{"/api/v1/endpoints", http.StatusBadRequest, "bad-request"},
		{"/api/v1/snapshots", http.StatusBadRequest, "bad-request"},
		{"/api/v1/analysis", http.StatusBadRequest, "bad-request"},
		{"/api/v1/analysis?segment=none", http.StatusNotFound, "nothing-sampled"},
		{"/api/v1/analysis?segment=s1&span=9", http.StatusBadRequest, "bad-request"},
		{"/api/v1/analysis?segment=s1&span=x", http.StatusBadRequest, "bad-request"},
		{"/api/v1/analysis?segment=s1&range=x", http.StatusBadRequest, "bad-request"},
		{"/api/v1/trace-profile?segment=s1&format=none", http.StatusBadRequest, "bad-request"},
		{"/api/v1/trace-profile?segment=s1&format=jfr", http.StatusBadRequest, "bad-request"},
	} {
		l.problem(l.serve(httptest.NewRequest("GET", tt.target, nil)), tt.status, tt.kind)
	}
	bare := labOf(t, struct{ store.Store }{l.st}, server.Options{}, Options{})
	for _, target := range []string{"/api/v1/tasks", "/api/v1/services", "/api/v1/analysis?segment=s"} {
		bare.problem(bare.serve(httptest.NewRequest("GET", target, nil)), http.StatusNotImplemented, "not-here")
	}
	bare.problem(bare.post("/api/v1/tasks", "application/json", strings.NewReader(`{"service": "s", "endpoint": "/"}`)),
		http.StatusNotImplemented, "not-here")
}
