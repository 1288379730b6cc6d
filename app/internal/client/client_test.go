package client_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/client"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/traceprof"
)

// TestOpen reaches for what is no server, or not this one.
func TestOpen(t *testing.T) {
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
		s, err := server.New(server.Options{HTTPToken: "secret of 16 bytes"}, api.Part(api.Options{Store: mem.New()}))
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
		{"nobody", "http://127.0.0.1:1", "", "start one with `dendro serve`"},
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
		st, err := client.Open(t.Context(), test.address, client.Options{Token: test.token})
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
		if _, err := client.Open(t.Context(), talker, client.Options{HTTP: early}); err == nil ||
			!strings.Contains(err.Error(), "is not a Dendro server") {
			t.Fatalf("a server that speaks first: %v", err)
		}
	}
	if _, err := client.Open(t.Context(), answer(200, "application/json", `{"product":"dendro","api":2}`), client.Options{}); !errors.Is(err,
		store.ErrNewer) {
		t.Errorf("a newer server: %v", err)
	}
}

// flaky answers the next `faults` requests with a fault, except requests for /api/v1/info.
type flaky struct {
	http.Handler
	faults, asked atomic.Int32
	fault         func(http.ResponseWriter)
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/info" {
		f.asked.Add(1)
		if f.faults.Add(-1) >= 0 {
			f.fault(w)
			return
		}
	}
	f.Handler.ServeHTTP(w, r)
}

// serveFlaky serves a memory through flaky.
func serveFlaky(t *testing.T, fault func(http.ResponseWriter)) (*client.Client, *flaky) {
	t.Helper()
	s, err := server.New(server.Options{}, api.Part(api.Options{Store: mem.New()}))
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{Handler: s.Handler(), fault: fault}
	ts := httptest.NewServer(f)
	t.Cleanup(ts.Close)
	st, err := client.Open(t.Context(), ts.URL, client.Options{})
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
		// net/http itself asks once more where a connection that was kept is closed.
		if _, err := st.Profiles(t.Context(), store.Query{}); err == nil || f.asked.Load() < 3 || f.asked.Load() > 6 {
			t.Errorf("%s for ever: asked %d times: %v", name, f.asked.Load(), err)
		}
		f.asked.Store(0)
		file := storetest.File("g", "b", "r", profile.CPUSamples, "A")
		if _, err := st.Put(t.Context(), []*store.File{file}, store.PutOptions{Rules: "r"}); err == nil || f.asked.Load() != 1 {
			t.Errorf("%s: a change was asked %d times: %v", name, f.asked.Load(), err)
		}
		if name == "hang up" {
			if _, err := st.Put(t.Context(), nil, store.PutOptions{Rules: "r"}); err == nil || !strings.Contains(err.Error(), "may have done") {
				t.Errorf("an upload whose answer is lost: %v", err)
			}
		}
	}
	// What the server says is not asked again.
	st, f := serveFlaky(t, nil)
	if _, err := st.Sampled(t.Context(), transfer.WantedSamples{Task: "none"}); !errors.Is(err, traceprof.ErrNoTask) || f.asked.Load() != 1 {
		t.Errorf("asked %d times: %v", f.asked.Load(), err)
	}
}

// TestBrokenAnswers expects streams that break off, or are none, to be errors that name the
// server.
func TestBrokenAnswers(t *testing.T) {
	begin := fmt.Sprintf("DNDR%c", transfer.Version)
	for name, test := range map[string]struct{ body, want string }{
		"nothing":      {"", "broke off"},
		"half":         {begin + "\x02\x10abc", "broke off"},
		"no end":       {begin + "\x02\x03\x02\x00\x00", "broke off"},
		"a page":       {"<html><body>a proxy's own words</body></html>", "malformed"},
		"next version": {fmt.Sprintf("DNDR%c\x02\x01\x00\x00\x00", transfer.Version+1), "different versions"},
	} {
		st, f := serveFlaky(t, func(w http.ResponseWriter) { io.WriteString(w, test.body) })
		f.faults.Store(100)
		if _, err := st.Files(t.Context(), []store.ProfileID{"0123456789abcdef"}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		file := storetest.File("g", "b", "r", profile.CPUSamples, "A")
		if _, err := st.Put(t.Context(), []*store.File{file}, store.PutOptions{Rules: "r"}); err == nil ||
			!strings.Contains(err.Error(), "put the same again") {
			t.Errorf("%s: Put: %v", name, err)
		}
	}
}

// TestKilledServer expects an answer whose connection ends, as that of a server that is
// killed, to be an error that names the server.
func TestKilledServer(t *testing.T) {
	st, f := serveFlaky(t, func(w http.ResponseWriter) {
		io.WriteString(w, `{"rows":[`)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	f.faults.Store(100)
	_, err := st.Profiles(t.Context(), store.Query{})
	if err == nil || !strings.Contains(err.Error(), "the answer of http://127.0.0.1") ||
		!strings.Contains(err.Error(), "broke off, the server") {
		t.Errorf("%v", err)
	}
}

// TestReadToken expects a token for reading to read and not to change.
func TestReadToken(t *testing.T) {
	s, err := server.New(server.Options{HTTPToken: "full, of 16 bytes", ReadToken: "read, of 16 bytes"},
		api.Part(api.Options{Store: mem.New()}))
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()
	st, err := client.Open(t.Context(), ts.URL, client.Options{Token: "read, of 16 bytes"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Profiles(t.Context(), store.Query{}); err != nil {
		t.Errorf("reading: %v", err)
	}
	if _, err := st.Put(t.Context(), nil, store.PutOptions{Rules: "r"}); err == nil || !strings.Contains(err.Error(), "for reading only") {
		t.Errorf("an upload: %v", err)
	}
}

// TestProfilesTravel copies everything of a store to a server, and from it to another store.
func TestProfilesTravel(t *testing.T) {
	st, _ := serveFlaky(t, nil)
	here, back := mem.New(), mem.New()
	im := storetest.NewImporter()
	a := im.File("g", "a", "r1", profile.CPUSamples, "×3  ×4\nA  A\nB  C")
	im.AddMode(a.Records[0], profile.FrameJIT, "A\nB")
	a.Records[0].RawNames = map[int32]string{0: "A$1"}
	a.Source = []byte("source")
	waiting := storetest.MetricsFile("g", "b", "r1", storetest.Metric("time", 5))
	if _, err := here.Put(t.Context(), []*store.File{a, im.File("g", "a", "r2", profile.Alloc, "×5\nA"), waiting},
		store.PutOptions{Rules: "r"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Copy(t.Context(), st, here, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := store.CopyFrom(t.Context(), back, st, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	describe := func(st store.Store) string {
		var b strings.Builder
		list, err := st.Profiles(t.Context(), store.Query{})
		for i := range list {
			p := &list[i]
			raw, rawErr := st.RawNames(t.Context(), "g", []string{"A", "B"})
			source, sourceErr := st.Source(t.Context(), p.ID)
			tree, _, treeErr := store.MergeTrees(t.Context(), st, store.Query{Profiles: []store.ProfileID{p.ID}})
			fmt.Fprintln(&b, p.ID, p.Benchmark, p.Run, p.Type, p.Default, p.Metrics, p.Samples, p.Sum, p.Nodes, p.Hash, p.File, p.HasSource, raw,
				source, tree.Self, tree.Total, rawErr, treeErr, sourceErr != nil)
		}
		waiting, waitingErr := st.Waiting(t.Context())
		fmt.Fprintln(&b, err, waiting, waitingErr)
		return b.String()
	}
	if want, got := describe(here), describe(back); want != got {
		t.Errorf("from\n%scame\n%s", want, got)
	}
	// Under other names: B and C become one function, whose call nodes are merged.
	rename := store.CopyOptions{Rules: "s", Rename: func(f profile.Function) profile.Function {
		if f.Name == "C" {
			f.Name = "B"
		}
		return f
	}}
	var renamed [2]*mem.Store
	for i, from := range []store.Origin{store.Here(here), st} {
		renamed[i] = mem.New()
		if err := store.CopyFrom(t.Context(), renamed[i], from, rename); err != nil {
			t.Fatal(err)
		}
		raw, err := renamed[i].RawNames(t.Context(), "g", []string{"A", "B"})
		if err != nil || raw["A"] != "A$1" || raw["B"] != "C" {
			t.Errorf("raw names %q, %v", raw, err)
		}
		tree, _, err := store.MergeTrees(t.Context(), renamed[i], store.Query{Types: []string{profile.CPUSamples}})
		if err != nil || tree.Len() != 2 || tree.RootTotal() != 7 {
			t.Errorf("%d call nodes, %d, %v", tree.Len(), tree.RootTotal(), err)
		}
	}
	if want, got := describe(renamed[0]), describe(renamed[1]); want != got {
		t.Errorf("renamed here\n%srenamed there\n%s", want, got)
	}
}

// TestLaterServer copies from a server of a later version, whose exchange is in testdata/later: its
// documents have more members, its message more fields, and frames of a kind that nobody here knows.
func TestLaterServer(t *testing.T) {
	answers := map[string]string{"/api/v1/info": "info.json", "/api/v1/profiles": "profiles.json", transfer.Get: "get.message"}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join("testdata", "later", answers[r.URL.Path]))
	}))
	defer ts.Close()
	st, err := client.Open(t.Context(), ts.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	got := mem.New()
	if err := store.CopyFrom(t.Context(), got, st, store.CopyOptions{Query: store.Query{Groups: []string{"g"}}}); err != nil {
		t.Fatal(err)
	}
	list, err := got.Profiles(t.Context(), store.Query{})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	tree, _, err := store.MergeTrees(t.Context(), got, store.Query{})
	if err != nil || tree.RootTotal() != 12 || tree.Len() != 3 {
		t.Errorf("%v, %v", tree.Total, err)
	}
	if source, err := got.Source(t.Context(), list[0].ID); err != nil || string(source) != "source" {
		t.Errorf("%q, %v", source, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestMissing: Missing gets what the server says its answer lacks, also if the answer is an error.
func TestMissing(t *testing.T) {
	lacks := "1 of 3 workers does not answer"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lacks != "" {
			w.Header().Set("Dendro-Missing", lacks)
		}
		if strings.HasSuffix(r.URL.Path, "/none") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, `{"product":"dendro","api":1}`)
	}))
	defer server.Close()
	var told []string
	c, err := client.Open(t.Context(), server.URL, client.Options{Missing: func(text string) { told = append(told, text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Ask(t.Context(), client.Request{Method: "GET", Path: "/none"}); err == nil {
		t.Error("an error is an answer")
	}
	lacks = ""
	if _, err := c.About(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 of 3 workers does not answer", "1 of 3 workers does not answer"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
