package querier

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
)

var update = flag.Bool("update", false, "write the expected answers")

// begin is a full minute.
var begin = time.UnixMilli(1764500040000).UTC()

var (
	cpuType  = mustType("process_cpu:cpu:nanoseconds:cpu:nanoseconds")
	heapType = mustType("memory:inuse_space:bytes:space:bytes")
)

func mustType(id string) continuous.Type {
	t, err := continuous.ParseType(id)
	if err != nil {
		panic(err)
	}
	return t
}

// window returns a window of stacks, written `main;work 10`.
func window(typ continuous.Type, start time.Time, service string, labels continuous.Labels, stacks ...string) *continuous.Window {
	w := &continuous.Window{Series: continuous.Series{Service: service, Type: typ, Labels: labels}, Start: start, Length: 15 * time.Second,
		Type: profile.ValueType{Name: "cpu", Unit: typ.SampleUnit, Original: typ.SampleType, Period: 10_000_000, PeriodUnit: "nanoseconds",
			PeriodName: "cpu"}}
	if typ == heapType {
		w.Type = profile.ValueType{Name: "live", Unit: "bytes", Original: "inuse_space", Period: 524288, PeriodUnit: "bytes", PeriodName: "space"}
	}
	forest, values := new(calltree.Forest), map[int32]int64{}
	for _, s := range stacks {
		at := strings.LastIndexByte(s, ' ')
		path, value := calltree.NoNode, int64(0)
		fmt.Sscan(s[at:], &value)
		for _, name := range strings.Split(s[:at], ";") {
			path = forest.Path(path, forest.Function(profile.Function{Name: name}))
		}
		values[path] += value
	}
	for p := range int32(forest.Paths.Len()) {
		if values[p] != 0 {
			w.Self.Nodes, w.Self.Self = append(w.Self.Nodes, p), append(w.Self.Self, values[p])
		}
	}
	h := fnv.New128a()
	fmt.Fprint(h, stacks)
	h.Sum(w.Hash[:0])
	w.Forest = forest
	return w
}

// windows are a minute of two services.
func windows() []*continuous.Window {
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	old := continuous.Labels{{Name: "otel.scope.name", Value: "go"}, {Name: "version", Value: "1.4"}}
	new := continuous.Labels{{Name: "otel.scope.name", Value: "go"}, {Name: "version", Value: "1.5"}}
	return []*continuous.Window{
		window(cpuType, at(0), "checkout", old, "main;work 40", "main;work;parse 30", "main;idle 1", "gc 9"),
		window(cpuType, at(15), "checkout", old, "main;work 41", "main;work;parse 29", "gc 10"),
		window(cpuType, at(15), "checkout", new, "main;work 41", "main;work;parse 60", "main;log;other 2"),
		window(cpuType, at(61), "checkout", new, "main;work 42", "main;work;parse 61", "main;log;<script>alert(1)</script> 3"),
		window(cpuType, at(30), "cart", nil, "main;add 7"),
		window(heapType, at(0), "checkout", old, "main;cache 100"),
		window(heapType, at(15), "checkout", old, "main;cache 300"),
		window(heapType, at(15), "checkout", new, "main;cache 1000"),
	}
}

// lab is a server over a store in memory.
func lab(t testing.TB, list ...*continuous.Window) http.Handler {
	t.Helper()
	q := New(storeOf(t, list...))
	q.now = func() time.Time { return begin.Add(2 * time.Minute) }
	s, err := server.New(server.Options{}, server.Part{Name: "querier", Routes: q.Routes()})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

func storeOf(t testing.TB, list ...*continuous.Window) continuous.Store {
	t.Helper()
	st := any(mem.New()).(continuous.Store)
	if _, err := st.PutWindows(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	return st
}

// request reads a request of testdata.
func request(t testing.TB, file string) *http.Request {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(data), "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	method, path, _ := strings.Cut(line, " ")
	content := []byte(strings.TrimSuffix(body, "\n"))
	if strings.Contains(headers, "application/proto") {
		if content, err = hex.DecodeString(string(content)); err != nil {
			t.Fatal(err)
		}
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(content))
	r.Host = "localhost"
	for l := range strings.Lines(headers) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), ": ")
		r.Header.Add(name, value)
	}
	r.Header.Del("Accept-Encoding")
	return r
}

// shown returns an answer as text: a message as JSON.
func shown(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) string {
	t.Helper()
	body := w.Body.Bytes()
	if w.Header().Get("Content-Type") == "application/proto" {
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		var err error
		if body, err = responseOf(name).JSON(body); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s\n\n", w.Code, w.Header().Get("Content-Type"))
	if json.Valid(body) {
		if err := json.Indent(&b, body, "", " "); err != nil {
			t.Fatal(err)
		}
	} else {
		b.Write(body)
	}
	return strings.TrimSpace(b.String()) + "\n"
}

func responseOf(method string) *protobuf.Message {
	for _, m := range new(Querier).service().Methods {
		if m.Name == method {
			return m.Response
		}
	}
	return nil
}

// TestRequests answers what clients really send.
func TestRequests(t *testing.T) {
	files, err := filepath.Glob("testdata/requests/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d requests (%v)", len(files), err)
	}
	h := lab(t, windows()...)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			r, w := request(t, file), httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := shown(t, r, w)
			answer := filepath.Join("testdata/answers", filepath.Base(file))
			if *update {
				if err := os.WriteFile(answer, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(answer)
			if err != nil || got != string(want) {
				t.Errorf("%s\nwant %s (%v)", got, want, err)
			}
		})
	}
}

// TestSeriesOfSums: a series without a time has all windows, also those of which only the sum of an
// hour is left, which begins before the first of them.
func TestSeriesOfSums(t *testing.T) {
	st := storeOf(t, windows()...)
	now := begin.Add(3 * time.Hour)
	if _, err := st.RollUp(t.Context(), now, continuous.Policy{Keep: [3]time.Duration{time.Nanosecond}}); err != nil {
		t.Fatal(err)
	}
	q := New(st)
	q.now = func() time.Time { return now }
	s, err := server.New(server.Options{}, server.Part{Name: "querier", Routes: q.Routes()})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, request(t, "testdata/requests/series-without-time.txt"))
	var answer struct {
		Series []struct{ Points []struct{ Value float64 } }
	}
	if err := json.Unmarshal([]byte(shown(t, request(t, "testdata/requests/series-without-time.txt"), w)[len("200 application/json\n\n"):]),
		&answer); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, line := range answer.Series {
		for _, p := range line.Points {
			sum += p.Value
		}
	}
	if sum != 369+7 {
		t.Errorf("%v in all points: %s", sum, w.Body)
	}
}

// TestNobodyWithoutToken: the queries need the token for reading.
func TestNobodyWithoutToken(t *testing.T) {
	q := New(storeOf(t, windows()...))
	s, err := server.New(server.Options{HTTPToken: "writing-token-0123", ReadToken: "reading-token-0123"},
		server.Part{Name: "querier", Routes: q.Routes()})
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{"": http.StatusUnauthorized, "wrong-token-0123456": http.StatusUnauthorized,
		"reading-token-0123": http.StatusOK} {
		for _, file := range []string{"health", "stacktraces", "render"} {
			r, w := request(t, "testdata/requests/"+file+".txt"), httptest.NewRecorder()
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			s.Handler().ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s with token %q: %d, want %d: %s", file, token, w.Code, want, w.Body)
			}
		}
	}
}

// TestQueryEnds: a query that takes too long is an error that says so.
func TestQueryEnds(t *testing.T) {
	q := New(storeOf(t, windows()...))
	q.timeout = time.Nanosecond
	s, err := server.New(server.Options{}, server.Part{Name: "querier", Routes: q.Routes()})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"stacktraces", "render", "series", "select-series", "diff", "profile-stats"} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, request(t, "testdata/requests/"+file+".txt"))
		if w.Code != http.StatusGatewayTimeout || !strings.Contains(w.Body.String(), "deadline_exceeded") {
			t.Errorf("%s: %d %s", file, w.Code, w.Body)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Nanosecond)
	defer stop()
	<-ctx.Done()
	if err := q.failure(ctx, errors.New("INTERRUPT Error: Interrupted!")); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("what a store says of a query that was ended: %v", err)
	}
}

// TestHostileLabels: what clients send and what programs pushed is text everywhere.
func TestHostileLabels(t *testing.T) {
	hostile := []string{"<script>alert(1)</script>", "' OR '1'='1' -- DROP TABLE series", "\"} | {\"", "\x00\x1b[31m\r\n",
		strings.Repeat("long", 1<<16), "\\\"", "日本"}
	var list []*continuous.Window
	for i, v := range hostile {
		labels := continuous.Labels{{Name: v, Value: v}, {Name: "zone", Value: v}}
		if v > "zone" {
			labels[0], labels[1] = labels[1], labels[0]
		}
		list = append(list, window(cpuType, begin.Add(time.Duration(i)*time.Second), v, labels, v+";"+v+" 1"))
	}
	h := lab(t, list...)
	for _, v := range hostile {
		selector := fmt.Sprintf("{service_name=%q, %q=%q}", v, v, v)
		for path, body := range map[string]map[string]any{
			"SelectMergeStacktraces": {"profileTypeID": cpuType.String(), "labelSelector": selector},
			"SelectSeries":           {"profileTypeID": cpuType.String(), "labelSelector": selector, "step": 15, "groupBy": []string{v}},
			"LabelValues":            {"name": v, "matchers": []string{selector}},
			"Series":                 {"matchers": []string{selector}},
		} {
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			r, w := httptest.NewRequest("POST", "/querier.v1.QuerierService/"+path, bytes.NewReader(text)), httptest.NewRecorder()
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, r)
			if long := len(selector) > 1<<16; long && w.Code == http.StatusBadRequest && w.Body.Len() < 2000 {
				continue // the error says how long it is
			}
			var answer any
			if err := json.Unmarshal(w.Body.Bytes(), &answer); w.Code != http.StatusOK || err != nil {
				t.Fatalf("%s of %.40q: %d %.300s (%v)", path, v, w.Code, w.Body, err)
			}
			if !contains(answer, v) {
				t.Errorf("%s of %.40q: %.300s", path, v, w.Body)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: Content-Type %s", path, got)
			}
		}
	}
	for _, request := range [][2]string{
		{"Series", `{"matchers":["{a=\"` + strings.Repeat("x", 10<<20) + `\"}"]}`},
		{"LabelValues", `{"name":"a","matchers":[` + strings.TrimSuffix(strings.Repeat(`"{}",`, 20_000), ",") + `]}`},
		{"SelectMergeStacktraces", `{"profileTypeID":"` + strings.Repeat("a:", 1<<20) + `"}`},
		{"SelectMergeProfile", `{"profileTypeID":"` + cpuType.String() + `","stackTraceSelector":{"callSite":[` +
			strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, 20_000), ",") + `]}}`},
		{"SelectSeries", `{"profileTypeID":"` + cpuType.String() + `","step":15,"groupBy":[` +
			strings.TrimSuffix(strings.Repeat(`"a",`, 2000), ",") + `]}`},
		{"Series", `{"labelNames":[` + strings.TrimSuffix(strings.Repeat(`"a",`, 2000), ",") + `]}`},
	} {
		path, body := request[0], request[1]
		r, w := httptest.NewRequest("POST", "/querier.v1.QuerierService/"+path, strings.NewReader(body)), httptest.NewRecorder()
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest || w.Body.Len() > 2000 {
			t.Errorf("%s: %d, %d bytes: %.300s", path, w.Code, w.Body.Len(), w.Body)
		}
	}
}

// contains reports whether a JSON value has a text.
func contains(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		for _, e := range v {
			if contains(e, text) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if contains(e, text) {
				return true
			}
		}
	}
	return false
}

// FuzzRequests: no message breaks a method, and what a method answers is a message.
func FuzzRequests(f *testing.F) {
	q := New(storeOf(f, windows()...))
	q.now = func() time.Time { return begin.Add(2 * time.Minute) }
	methods := q.service().Methods
	files, err := filepath.Glob("testdata/requests/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		r := request(f, file)
		var body bytes.Buffer
		if _, err := body.ReadFrom(bufio.NewReader(r.Body)); err != nil {
			f.Fatal(err)
		}
		for i, m := range methods {
			if strings.HasSuffix(r.URL.Path, "/"+m.Name) && r.Header.Get("Content-Type") == "application/proto" {
				f.Add(uint8(i), body.Bytes())
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, msg []byte) {
		m := methods[int(which)%len(methods)]
		answer, err := m.Handle(t.Context(), msg)
		if err != nil {
			return
		}
		if _, err := m.Response.JSON(answer); err != nil {
			t.Fatalf("%s %x: the answer %x: %v", m.Name, msg, answer, err)
		}
	})
}

// TestTimes: every time is answered, or is an error of the request that names it.
func TestTimes(t *testing.T) {
	h := lab(t, windows()...)
	times := []string{"", "0", "1", "20260301", "now", "now-1h", "now-90y", "now+90y", "99999999999999999999", "1099511627776", "x"}
	for _, from := range times {
		for _, until := range times {
			query := "?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds%7B%7D&groupBy=version&from=" + url.QueryEscape(from) + "&until=" + url.QueryEscape(until)
			r, w := httptest.NewRequest("GET", "/pyroscope/render"+query, nil), httptest.NewRecorder()
			r.Host = "localhost"
			h.ServeHTTP(w, r)
			if w.Code != 200 && w.Code != 400 || from == "1" && until == "0" && !strings.Contains(w.Body.String(), "until is before from") {
				t.Errorf("from %q until %q: %d %s", from, until, w.Code, w.Body)
			}
		}
	}
}

// FuzzRender: no parameter breaks a page.
func FuzzRender(f *testing.F) {
	h := lab(f, windows()...)
	f.Add("query=process_cpu:cpu:nanoseconds:cpu:nanoseconds%7B%7D&from=now-1h&until=now&format=dot&max-nodes=3")
	f.Add("query=process_cpu:cpu:nanoseconds:cpu:nanoseconds%7B%7D&from=1&until=0")
	f.Add("query=%7B%7D&from=20260301&until=1764500900000&groupBy=version&aggregation=avg")
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"render", "render-diff", "label-values"} {
			r, w := httptest.NewRequest("GET", "/pyroscope/"+path, nil), httptest.NewRecorder()
			r.Host, r.URL.RawQuery = "localhost", query
			h.ServeHTTP(w, r)
			if w.Code >= 500 {
				t.Fatalf("%s?%q: %d %s", path, query, w.Code, w.Body)
			}
		}
	})
}

// decodeTree reads treeBytes as paths and self values.
func decodeTree(b []byte) (map[string]int64, error) {
	values := map[string]int64{}
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		b = b[max(size, 0):]
		return n
	}
	var pending []string // prefixes of the nodes to come, the next last
	pending = append(pending, "")
	for first := true; len(pending) > 0; first = false {
		prefix := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		n := number()
		if uint64(len(b)) < n {
			return nil, fmt.Errorf("a name of %d bytes, %d left", n, len(b))
		}
		path := prefix + string(b[:n])
		b = b[n:]
		if v := number(); v != 0 {
			values[path] += int64(v)
		}
		if !first {
			path += ";"
		}
		for range number() {
			pending = append(pending, path)
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes are left", len(b))
	}
	return values, nil
}

// TestNoErrorsInLog: whatever clients ask, nothing of it is an error of the server.
func TestNoErrorsInLog(t *testing.T) {
	files, err := filepath.Glob("testdata/requests/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var log bytes.Buffer
	s, err := server.New(server.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, Part(storeOf(t, windows()...)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		s.Handler().ServeHTTP(httptest.NewRecorder(), request(t, file))
	}
	if text := log.String(); !strings.Contains(text, "status=501") || strings.Contains(text, "level=ERROR") {
		t.Error(text)
	}
}
