package agents

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	pprofile "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dendroprof/dendro/test/program"
)

// witness passes the pushes of a program on to a server, and keeps what was acknowledged and
// what may have been stored without an answer.
type witness struct {
	*testing.T
	read func(content []byte) (map[string]int64, error) // adds up the values of a push by sample type

	mu           sync.Mutex
	to           string
	pushed       map[string]*push // by address and content: who tries again pushes the same
	acknowledged int
}

// push is what a request has; it counts once, however often it was sent.
type push struct {
	content      []byte
	acknowledged bool
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
	forward.Header, forward.ContentLength = r.Header.Clone(), r.ContentLength // -1: in chunks
	answer, err := http.DefaultClient.Do(forward)
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.keep(r, body)
	if err != nil {
		out.WriteHeader(http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || len(text) > 0 {
		w.Errorf("%s: %d %s", r.URL, answer.StatusCode, text)
	}
	p.acknowledged = true
	w.acknowledged++
	out.WriteHeader(answer.StatusCode)
}

// keep returns the push that a request makes.
func (w *witness) keep(r *http.Request, body []byte) *push {
	content, err := content(r.Header.Get("Content-Type"), body)
	if err != nil {
		w.Errorf("%s: %v", r.URL, err)
	}
	key := r.URL.String() + " " + string(content)
	if w.pushed[key] == nil {
		w.pushed[key] = &push{content: content}
	}
	return w.pushed[key]
}

// content returns the profile in a body, which may be a part of a form, unpacked.
func content(contentType string, body []byte) ([]byte, error) {
	if media, parameters, err := mime.ParseMediaType(contentType); err != nil {
		return nil, err
	} else if media == "multipart/form-data" {
		form, err := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]).ReadForm(64 << 20)
		if err != nil {
			return nil, err
		}
		files := append(form.File["profile"], form.File["jfr"]...)
		if len(files) != 1 {
			return nil, fmt.Errorf("%d profiles in the form", len(files))
		}
		file, err := files[0].Open()
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if body, err = io.ReadAll(file); err != nil {
			return nil, err
		}
	}
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body, nil
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked)
}

// count returns how many pushes were acknowledged.
func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acknowledged
}

// sums returns by sample type what was acknowledged, and what may be stored besides.
func (w *witness) sums() (acknowledged, unknown map[string]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	acknowledged, unknown = map[string]int64{}, map[string]int64{}
	for _, p := range w.pushed {
		values, err := w.read(p.content)
		if err != nil {
			w.Error(err)
		}
		to := unknown
		if p.acknowledged {
			to = acknowledged
		}
		for name, v := range values {
			to[name] += v
		}
	}
	return acknowledged, unknown
}

// watch lets a program push to a new server in dir while it is killed so many times, each time and
// before its end after so many pushes were acknowledged. It returns the server once the program
// has ended.
func watch(t *testing.T, dir string, w *witness, kills, pushes int, start func(address string) *exec.Cmd) *program.Server {
	t.Helper()
	serve := func(listen string) *program.Server {
		s, err := program.StartServer(dir, "--continuous", "--agent-token", agentsToken, "--http-listen", listen)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		return s
	}
	s := serve("127.0.0.1:0")
	w.T, w.to, w.pushed = t, s.HTTP, map[string]*push{}
	proxy := httptest.NewServer(w)
	defer proxy.Close()
	pushing, output := start(proxy.URL), &tail{}
	pushing.Stdout, pushing.Stderr = output, output
	defer func() {
		if t.Failed() {
			t.Logf("the program said\n%s", output)
		}
	}()
	input, err := pushing.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := pushing.Start(); err != nil {
		t.Fatal(err)
	}
	for i := range kills + 1 {
		if i > 0 {
			s.Kill()
			s = serve(strings.TrimPrefix(s.HTTP, "http://"))
		}
		before := w.count()
		until(t, 90*time.Second, "pushes are acknowledged", func() bool { return w.count() >= before+pushes })
	}
	input.Close()
	if err := pushing.Wait(); err != nil {
		t.Error(err)
	}
	return s
}

// pprofSums reads a pprof file with google/pprof.
func pprofSums(content []byte) (map[string]int64, error) {
	p, err := pprofile.ParseData(content)
	if err != nil {
		return nil, err
	}
	sums := map[string]int64{}
	for i, t := range p.SampleType {
		for _, s := range p.Sample {
			sums[t.Type] += s.Value[i]
		}
	}
	return sums, nil
}

// pushSums reads a PushRequest, whose profiles are pprof files.
func pushSums(content []byte) (map[string]int64, error) {
	files, err := fields(content, 1, 2, 1) // series, samples, raw_profile
	if err != nil {
		return nil, err
	}
	sums := map[string]int64{}
	for _, file := range files {
		one, err := pprofSums(file)
		if err != nil {
			return nil, err
		}
		for name, v := range one {
			sums[name] += v
		}
	}
	return sums, nil
}

// otlpSums reads an ExportProfilesServiceRequest whose values have one type, which is called cpu.
func otlpSums(content []byte) (map[string]int64, error) {
	samples, err := fields(content, 1, 2, 2, 2) // resource_profiles, scope_profiles, profiles, samples
	if err != nil {
		return nil, err
	}
	var sum int64
	for _, sample := range samples {
		for len(sample) > 0 {
			number, kind, n := protowire.ConsumeTag(sample)
			if sample = sample[max(n, 0):]; number == 4 && kind == protowire.VarintType { // the agent does not pack values
				v, _ := protowire.ConsumeVarint(sample)
				sum += int64(v)
			}
			if n = protowire.ConsumeFieldValue(number, kind, sample); n < 0 {
				return nil, protowire.ParseError(n)
			}
			sample = sample[n:]
		}
	}
	return map[string]int64{"cpu": sum}, nil
}

// fields returns the contents of the fields of a message to which a path of numbers leads.
func fields(message []byte, path ...protowire.Number) (list [][]byte, err error) {
	if len(path) == 0 {
		return [][]byte{message}, nil
	}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil, protowire.ParseError(n)
		}
		if number == path[0] && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			inner, err := fields(value, path[1:]...)
			if err != nil {
				return nil, err
			}
			list = append(list, inner...)
		}
		message = message[n:]
	}
	return list, nil
}

// jfrInterval is the agent's time between two samples.
const jfrInterval = 10 * time.Millisecond

// jfrSums returns a reader of JFR recordings, which the JDK's own program counts the samples of.
func jfrSums(dir string) func(content []byte) (map[string]int64, error) {
	return func(content []byte) (map[string]int64, error) {
		file := filepath.Join(dir, "pushed.jfr")
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, err
		}
		text, err := exec.Command("jfr", "summary", file).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("jfr: %w\n%s", err, text)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "jdk.ExecutionSample" {
				n, err := strconv.ParseInt(f[1], 10, 64)
				return map[string]int64{"cpu": n * int64(jfrInterval)}, err
			}
		}
		return nil, fmt.Errorf("jfr counts no samples:\n%s", text)
	}
}
