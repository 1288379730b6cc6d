package agents

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pprofile "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/test/program"
)

const agentsToken = "the-token-of-these-agents"

// witness passes pushes on to a server, and adds up what was acknowledged and what may have
// been stored without an answer, by sample type.
type witness struct {
	*testing.T
	mu           sync.Mutex
	to           string
	acknowledged map[string]int64
	unknown      map[string]int64
	pushes       int
}

func (w *witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		out.WriteHeader(http.StatusBadGateway)
		return
	}
	w.mu.Lock()
	to := w.to
	w.mu.Unlock()
	forward, _ := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.RequestURI(), bytes.NewReader(body))
	forward.Header = r.Header.Clone()
	answer, err := http.DefaultClient.Do(forward)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.count(w.unknown, r, body)
		out.WriteHeader(http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || len(text) > 0 {
		w.Errorf("%s: %d %s", r.URL, answer.StatusCode, text)
	}
	w.count(w.acknowledged, r, body)
	w.pushes++
	out.WriteHeader(answer.StatusCode)
}

// count adds the values of a push, which google/pprof reads.
func (w *witness) count(to map[string]int64, r *http.Request, body []byte) {
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		w.Error(err)
		return
	}
	form, err := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]).ReadForm(64 << 20)
	if err != nil {
		w.Error(err)
		return
	}
	file, err := form.File["profile"][0].Open()
	if err != nil {
		w.Error(err)
		return
	}
	defer file.Close()
	p, err := pprofile.Parse(file)
	if err != nil {
		w.Error(err)
		return
	}
	for i, t := range p.SampleType {
		for _, s := range p.Sample {
			to[t.Type] += s.Value[i]
		}
	}
}

// flame returns the total of a type, and the names in its flame graph.
func flame(t *testing.T, server, query string) (total int64, names []string) {
	t.Helper()
	resp, err := http.Get(server + "/pyroscope/render?" + url.Values{"query": {query}, "from": {"now-1h"}, "until": {"now+1h"}, "max-nodes": {"100000"}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var d struct {
		Flamebearer struct {
			Names    []string
			NumTicks int64
		}
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v %.500s", query, resp.Status, err, text)
	}
	return d.Flamebearer.NumTicks, d.Flamebearer.Names
}

// TestPyroscopeGo: pyroscope-go pushes while the server is killed twice. What was
// acknowledged is there, and the flame graph has the hot function, also by a label.
func TestPyroscopeGo(t *testing.T) {
	needAgents(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "pushed")
	if err := run(t.Context(), "pyroscope", "go", "build", "-o", binary, "."); err != nil {
		t.Fatal(err)
	}
	serve := func(listen string) *program.Server {
		s, err := program.StartServer(dir, "--continuous", "--agent-token", agentsToken, "--http-listen", listen)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		return s
	}
	s := serve("127.0.0.1:0")
	w := &witness{T: t, to: s.HTTP, acknowledged: map[string]int64{}, unknown: map[string]int64{}}
	proxy := httptest.NewServer(w)
	defer proxy.Close()
	pushed := exec.CommandContext(t.Context(), binary, proxy.URL, agentsToken)
	input, err := pushed.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := pushed.Start(); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.pushes
	}
	for range 2 {
		before := count()
		until(t, 60*time.Second, "pushes are acknowledged", func() bool { return count() >= before+8 })
		s.Kill()
		s = serve(strings.TrimPrefix(s.HTTP, "http://"))
	}
	before := count()
	until(t, 60*time.Second, "pushes are acknowledged", func() bool { return count() >= before+8 })
	input.Close()
	if err := pushed.Wait(); err != nil {
		t.Fatal(err)
	}
	const service = `{service_name="pushed.go.app"}`
	for sampleType, query := range map[string]string{
		"cpu":         "process_cpu:cpu:nanoseconds:cpu:nanoseconds" + service,
		"samples":     "process_cpu:samples:count:cpu:nanoseconds" + service,
		"alloc_space": "memory:alloc_space:bytes:space:bytes" + service,
	} {
		total, names := flame(t, s.HTTP, query)
		if least, most := w.acknowledged[sampleType], w.acknowledged[sampleType]+w.unknown[sampleType]; total < least || total > most || least == 0 {
			t.Errorf("%s: %d are stored; %d were acknowledged, %d have no answer", sampleType, total, least, w.unknown[sampleType])
		}
		if !slices.Contains(names, "main.computeTax") {
			t.Errorf("%s: no main.computeTax in %.20q", sampleType, names)
		}
	}
	for _, query := range []string{`process_cpu:cpu:nanoseconds:cpu:nanoseconds{controller="checkout",service_version="1.2.3"}`, "goroutines:goroutine:count:goroutine:count" + service,
		"mutex:delay:nanoseconds:contentions:count" + service, "block:delay:nanoseconds:contentions:count" + service} {
		if total, _ := flame(t, s.HTTP, query); total == 0 {
			t.Errorf("%s: nothing", query)
		}
	}
}
