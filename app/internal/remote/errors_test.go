package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/remote"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestOpen reaches for what is no server, or not this one.
func TestOpen(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	answer := func(status int, contentType, body string) string {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
		t.Cleanup(ts.Close)
		return ts.URL
	}
	secured := func() string {
		s, err := server.New(server.Options{HTTPToken: "secret-0123456789"}, api.Part(api.Options{Store: mem.New()}))
		if err != nil {
			t.Fatal(err)
		}
		ts := httptest.NewServer(s.Handler())
		t.Cleanup(ts.Close)
		return ts.URL
	}()
	overTLS := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(overTLS.Close)
	overTLS.Config.ErrorLog = nil
	talker := func() string { // speaks first, and no HTTP
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(c, "220 mail.example ESMTP\r\n")
				c.Close()
			}
		}()
		return "http://" + l.Addr().String()
	}()
	for _, test := range []struct{ name, address, token, want string }{
		{"nobody", "http://" + closed.Addr().String(), "", "start one with `dendro serve`"},
		{"no address", "http://", "", "is not the address of a server"},
		{"another scheme", "ftp://localhost", "", "is not the address of a server"},
		{"a password in the address", "http://user:secret@localhost:1", "", "DENDRO_TOKEN"},
		{"no token", secured, "", "requires a token: set DENDRO_TOKEN"},
		{"wrong token", secured, "secre", "does not accept the token"},
		{"a page", answer(200, "text/html", "<html>"), "", "is not a Dendro server"},
		{"some JSON", answer(200, "application/json", `{"hello":"world"}`), "", "is not a Dendro server"},
		{"not found", answer(404, "text/plain", "404"), "", "is not a Dendro server"},
		{"newer", answer(200, "application/json", `{"product":"dendro","api":2,"version":"9.0"}`), "", "use a newer dendro here"},
		{"TLS for plain", strings.Replace(answer(200, "text/plain", ""), "http:", "https:", 1), "", "does not speak TLS: use http://"},
		{"plain for TLS", strings.Replace(overTLS.URL, "https:", "http:", 1), "", "is not a Dendro server"},
		{"a stranger's certificate", overTLS.URL, "", "is not trusted here"},
		{"mail", talker, "", "is not a Dendro server"},
	} {
		st, err := remote.Open(t.Context(), test.address, remote.Options{Token: test.token})
		if err == nil {
			st.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	// What a server says unasked may be there before the query is sent.
	early := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return http.DefaultTransport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { time.Sleep(20 * time.Millisecond) },
		})))
	})}
	for range 5 {
		if _, err := remote.Open(t.Context(), talker, remote.Options{Client: early}); err == nil || !strings.Contains(err.Error(), "is not a Dendro server") {
			t.Fatalf("a server that speaks first: %v", err)
		}
	}
	if _, err := remote.Open(t.Context(), answer(200, "application/json", `{"product":"dendro","api":2}`), remote.Options{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer server: %v", err)
	}
}

// flaky answers as many requests below /api/v1/store with a fault as it is told.
type flaky struct {
	http.Handler
	faults, asked atomic.Int32
	fault         func(http.ResponseWriter)
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/v1/store/") {
		f.asked.Add(1)
		if f.faults.Add(-1) >= 0 {
			f.fault(w)
			return
		}
	}
	f.Handler.ServeHTTP(w, r)
}

// serveFlaky serves a memory through flaky.
func serveFlaky(t *testing.T, fault func(http.ResponseWriter)) (*remote.Store, *flaky) {
	t.Helper()
	s, err := server.New(server.Options{}, api.Part(api.Options{Store: mem.New()}))
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{Handler: s.Handler(), fault: fault}
	ts := httptest.NewServer(f)
	t.Cleanup(ts.Close)
	st, err := remote.Open(t.Context(), ts.URL, remote.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st, f
}

// TestRetries expects queries to be asked again that did not get through, and
// changes never.
func TestRetries(t *testing.T) {
	busy := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(503)
		io.WriteString(w, `{"type":"urn:dendro:problem:busy","title":"The server is busy","status":503}`)
	}
	hangUp := func(w http.ResponseWriter) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	}
	for name, fault := range map[string]func(http.ResponseWriter){"busy": busy, "hang up": hangUp} {
		st, f := serveFlaky(t, fault)
		f.faults.Store(2)
		if _, err := st.Profiles(t.Context(), store.Query{}); err != nil || f.asked.Load() != 3 {
			t.Errorf("%s: a question was asked %d times: %v", name, f.asked.Load(), err)
		}
		f.faults.Store(100)
		f.asked.Store(0)
		if _, err := st.Profiles(t.Context(), store.Query{}); err == nil || f.asked.Load() != 3 {
			t.Errorf("%s for ever: asked %d times: %v", name, f.asked.Load(), err)
		}
		f.asked.Store(0)
		file := storetest.File("g", "b", "r", profile.CPUSamples, "A")
		if _, err := st.Put(t.Context(), []*store.File{file}, store.PutOptions{Rules: "r"}); err == nil || f.asked.Load() != 1 {
			t.Errorf("%s: a change was asked %d times: %v", name, f.asked.Load(), err)
		}
		f.asked.Store(0)
		if _, err := st.Delete(t.Context(), []store.ProfileID{"0123456789abcdef"}); err == nil || f.asked.Load() != 1 {
			t.Errorf("%s: a deletion was asked %d times: %v", name, f.asked.Load(), err)
		} else if name == "hang up" && !strings.Contains(err.Error(), "may have done") {
			t.Errorf("a deletion whose answer is lost: %v", err)
		}
	}
	// What the server says is not asked again.
	st, f := serveFlaky(t, nil)
	if _, err := st.Source(t.Context(), "0123456789abcdef"); !errors.Is(err, store.ErrNoSource) || f.asked.Load() != 1 {
		t.Errorf("asked %d times: %v", f.asked.Load(), err)
	}
}

// TestBrokenAnswers expects answers that break off, or are none, to be errors.
func TestBrokenAnswers(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"nothing":      {"", "broke off"},
		"half":         {"DNDR\x05\x02\x10abc", "broke off"},
		"no end":       {"DNDR\x05\x02\x01\x00", "broke off"},
		"a page":       {"<html><body>a proxy's own words</body></html>", "malformed"},
		"next version": {"DNDR\x06\x02\x01\x00\x00\x00", "different versions"},
	} {
		st, f := serveFlaky(t, func(w http.ResponseWriter) { io.WriteString(w, test.body) })
		f.faults.Store(100)
		if _, err := st.Profiles(t.Context(), store.Query{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if _, err := st.Trees(t.Context(), store.Query{}, store.TreeOptions{}); err == nil {
			t.Errorf("%s: a tree came of it", name)
		}
		file := storetest.File("g", "b", "r", profile.CPUSamples, "A")
		if _, err := st.Put(t.Context(), []*store.File{file}, store.PutOptions{Rules: "r"}); err == nil || !strings.Contains(err.Error(), "put the same again") {
			t.Errorf("%s: Put: %v", name, err)
		}
	}
}

// TestBrokenStreams expects a stream that breaks off behind its head to say whose.
func TestBrokenStreams(t *testing.T) {
	const head, chunk = "DNDR\x05\x02\x02\x00\x00", "\x03\x7f"
	st, f := serveFlaky(t, func(w http.ResponseWriter) { io.WriteString(w, head+chunk) })
	f.faults.Store(100)
	set, err := st.Functions(t.Context(), store.Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range set.Rows {
	}
	answer, sqlErr := st.SQL(t.Context(), "SELECT 1")
	if sqlErr != nil {
		t.Fatal(sqlErr)
	}
	for _, sqlErr = range answer.Rows {
	}
	for _, err := range []error{err, sqlErr} {
		if err == nil || !strings.Contains(err.Error(), "the answer of http://127.0.0.1") || !strings.Contains(err.Error(), "broke off") {
			t.Errorf("a stream that breaks off: %v", err)
		}
	}
}

// TestKilledServer expects an answer whose connection ends, as that of a server that is
// killed, to be an error that names the server.
func TestKilledServer(t *testing.T) {
	st, f := serveFlaky(t, func(w http.ResponseWriter) {
		io.WriteString(w, "DNDR\x05\x02\x10abc")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	f.faults.Store(100)
	_, err := st.Profiles(t.Context(), store.Query{})
	if err == nil || !strings.Contains(err.Error(), "the answer of http://127.0.0.1") || !strings.Contains(err.Error(), "broke off, the server") {
		t.Errorf("%v", err)
	}
}

// TestReadToken expects a token for reading to read and not to change.
func TestReadToken(t *testing.T) {
	s, err := server.New(server.Options{HTTPToken: "full-0123456789ab", ReadToken: "read-0123456789ab"}, api.Part(api.Options{Store: mem.New()}))
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()
	st, err := remote.Open(t.Context(), ts.URL, remote.Options{Token: "read-0123456789ab"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.FunctionNames(t.Context()); err != nil {
		t.Errorf("reading: %v", err)
	}
	for name, err := range map[string]error{
		"Compact": st.Compact(t.Context()),
		"Put": func() error {
			_, err := st.Put(t.Context(), nil, store.PutOptions{Rules: "r"})
			return err
		}(),
	} {
		if err == nil || !strings.Contains(err.Error(), "for reading only") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnreadStreams forgets streams without reading them: their connections come
// back all the same.
func TestUnreadStreams(t *testing.T) {
	s := serve(t, mem.New())
	defer s.Close()
	im := storetest.NewImporter()
	for run := range 40 {
		var samples []storetest.Sample
		for fn := range 2000 {
			samples = append(samples, storetest.Sample{Stack: []string{"main", fmt.Sprint("function", fn)}, Value: int64(run + fn + 1)})
		}
		f := im.File("g", "b", fmt.Sprint("r", run), profile.Alloc, "A")
		f.Records = nil
		im.AddSamples(f, profile.CPUSamples, samples...)
		if _, err := s.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	before := runtime.NumGoroutine()
	func() {
		for range 20 {
			if _, err := s.Functions(t.Context(), store.Query{}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}()
	for until := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before+8; time.Sleep(20 * time.Millisecond) {
		runtime.GC()
		if time.Now().After(until) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestClose ends a stream that is being read, and refuses what comes after.
func TestClose(t *testing.T) {
	s := serve(t, mem.New())
	defer s.Close()
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Info(context.Background()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed store: %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
