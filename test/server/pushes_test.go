package server

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/dendroprof/dendro/test/program"
)

// pushAttack is an attack of one program, which knows the agents' token, on everybody else.
type pushAttack struct {
	name   string
	args   []string // of the server
	most   int64    // bytes of memory
	attack func(t *testing.T, p *process)
	after  func(t *testing.T, p *process, honest int) // the state of the server
}

// TestPushAttacks plays attacks from 127.0.0.1, while a program at 127.0.0.2 pushes a window
// every 50 ms, each of which must be acknowledged. It logs peak memory and latencies:
// `go test ./test/server -run PushAttacks -v`.
func TestPushAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	for _, a := range []pushAttack{
		{name: "nothing", most: 500 << 20, attack: func(*testing.T, *process) { time.Sleep(2 * time.Second) }},
		{name: "labels times sets of labels", most: 1200 << 20, attack: labelsTimesSets, after: func(t *testing.T, p *process, honest int) {
			if n := p.metric(t, "dendro_continuous_active_series"); n > 100 {
				t.Errorf("%.0f series count", n)
			}
			p.stored(t, honest, 0)
		}},
		{name: "long names of files", most: 1500 << 20, attack: longFiles, after: func(t *testing.T, p *process, honest int) {
			bounded(t, p)
			p.stored(t, honest, 100)
		}},
		{name: "random stacks", most: 2200 << 20, attack: randomStacks, after: func(t *testing.T, p *process, honest int) {
			bounded(t, p)
			p.stored(t, honest, 100)
		}},
		{name: "windows of 26 years", most: 700 << 20, attack: oldWindows, after: func(t *testing.T, p *process, honest int) {
			p.stored(t, honest, 20) // of the last 48 hours
		}},
		{name: "windows of 26 years as a backfill", args: []string{"--continuous-max-age", "300000h"}, most: 900 << 20, attack: oldWindows,
			after: func(t *testing.T, p *process, honest int) {
				p.stored(t, honest, 60_000)
			}},
		{name: "a refused request of 60,000 services", most: 1500 << 20, attack: manyServices, after: func(t *testing.T, p *process, honest int) {
			if n := p.metric(t, "dendro_continuous_active_series"); n > 2000 {
				t.Errorf("%.0f series count", n)
			}
			p.stored(t, honest, 0)
		}},
		{name: "entries that say nothing", most: 1500 << 20, attack: emptyEntries, after: func(t *testing.T, p *process, honest int) {
			p.stored(t, honest, 0)
		}},
		{name: "clocks that jump", most: 500 << 20, attack: jumpingClocks},
		{name: "floods of HTTP/2 frames", most: 700 << 20, attack: floods},
		{name: "a label of high cardinality", most: 1200 << 20, attack: func(t *testing.T, p *process) { manyLabels(t, p, "%d") },
			after: func(t *testing.T, p *process, honest int) {
				if n := p.metric(t, "dendro_continuous_folded_samples_total"); n == 0 {
					t.Error("no sample was folded")
				}
				if n := p.metric(t, "dendro_continuous_active_series"); n > 10_001+2*float64(honest) {
					t.Errorf("%.0f series count", n)
				}
			}},
		{name: "long labels", args: []string{"--continuous-max-text", "25000000"}, most: 1200 << 20,
			attack: func(t *testing.T, p *process) { manyLabels(t, p, strings.Repeat("x", 1000)+"%d") },
			after: func(t *testing.T, p *process, honest int) {
				folded, text := p.metric(t, "dendro_continuous_folded_samples_total"), p.metric(t, "dendro_continuous_text_bytes")
				if t.Logf("%.0f samples folded, %.0f bytes of text", folded, text); folded < 50_000 || text > 5.2e6 {
					t.Error("a service has more than its share")
				}
			}},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.play(t)
		})
	}
}

// play plays an attack.
func (a *pushAttack) play(t *testing.T) {
	dir := t.TempDir()
	p := serveWithin(t, dir, append([]string{"--continuous", "--log-level", "error"}, a.args...)...)
	h := pusher{p: p, stop: make(chan struct{}), client: clientAt("127.0.0.2")}
	var work sync.WaitGroup
	work.Go(h.work)
	began := time.Now()
	a.attack(t, p)
	took := time.Since(began)
	close(h.stop)
	work.Wait()
	for i, wrong := range h.wrong {
		if i == 3 {
			t.Errorf("and %d more", len(h.wrong)-i)
			break
		}
		t.Errorf("an honest push: %s", wrong)
	}
	if len(h.took) > 0 {
		slices.Sort(h.took)
		t.Logf("attack %v; %d honest pushes, p50 %v, p99 %v, slowest %v", took.Round(time.Millisecond), len(h.took),
			h.took[len(h.took)/2].Round(time.Millisecond), h.took[len(h.took)*99/100].Round(time.Millisecond),
			h.took[len(h.took)-1].Round(time.Millisecond))
	}
	if a.after != nil && !t.Failed() {
		a.after(t, p, len(h.took))
	}
	if status := p.end(t, syscall.SIGTERM); status != 0 {
		t.Errorf("status %d: %.2000s", status, p.log)
	}
	peak := program.PeakMemory(p.ProcessState)
	t.Logf("peak memory %d MB, processor time %v", peak>>20, (p.ProcessState.UserTime() + p.ProcessState.SystemTime()).Round(time.Millisecond))
	if peak > a.most {
		t.Errorf("peak memory %d MB, the maximum is %d", peak>>20, a.most>>20)
	}
	if info, err := os.Stat(dir + "/s.duckdb"); err == nil {
		t.Logf("the file has %d MB", info.Size()>>20)
	}
}

// pusher is a program whose pushes must be acknowledged, whatever others do.
type pusher struct {
	p      *process
	client *http.Client
	stop   chan struct{}
	took   []time.Duration
	wrong  []string
}

func (h *pusher) work() {
	for i := 0; ; i++ {
		select {
		case <-h.stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
		began := time.Now()
		// Now and then a service and a pod that the server does not know yet.
		at := began.Add(-time.Duration(i) * time.Second)
		answer, err := h.p.ingest(h.client, fmt.Sprintf("honest%d{pod=%d}", i/20, i/5), at, windowOf(i))
		if err != nil {
			h.wrong = append(h.wrong, err.Error())
			continue
		}
		if answer != "" {
			h.wrong = append(h.wrong, answer)
		}
		h.took = append(h.took, time.Since(began))
	}
}

// windowOf returns a small profile, no two of which are equal.
func windowOf(n int) []byte {
	return pprofBytes(func(b *pprofBuilder) {
		for i := range 20 {
			b.sample(int64(1+(n+i)%7), nil, "main", "serve", fmt.Sprint("handler", i%5), fmt.Sprint("work", i))
		}
		b.sample(int64(n+1), nil, "main", "idle")
	})
}

// ingest pushes a pprof profile; the answer is empty, or the status and what it says.
func (p *process) ingest(c *http.Client, name string, at time.Time, content []byte) (answer string, err error) {
	return post(c, fmt.Sprintf("%s/ingest?format=pprof&name=%s&from=%d&until=%d", p.http, url.QueryEscape(name),
		at.Add(-time.Second).UnixMilli(), at.UnixMilli()), "", content)
}

func post(c *http.Client, address, contentType string, body []byte) (answer string, err error) {
	r, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode == http.StatusOK {
		return "", err
	}
	return resp.Status + " " + string(text), nil
}

// push sends a PushRequest of push.v1, compressed, and returns the answer if it is an error.
func (p *process) push(t *testing.T, request []byte) string {
	t.Helper()
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	z.Write(request)
	z.Close()
	t.Logf("a request of %d bytes, %d compressed", len(request), body.Len())
	answer, err := post(clientAt("127.0.0.1"), p.http+"/push.v1.PusherService/Push", "application/proto", body.Bytes())
	if err != nil {
		t.Logf("a push of the attack: %v", err) // the server may have closed the connection
	}
	t.Logf("answer: %.300s", answer)
	return answer
}

// metric returns a value of /metrics.
func (p *process) metric(t *testing.T, name string) float64 {
	t.Helper()
	resp, err := http.Get(p.http + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("/metrics has no %s", name)
	return 0
}

// stored expects the windows of the honest program, and at most so many others.
func (p *process) stored(t *testing.T, honest, others int) {
	t.Helper()
	var doc struct{ Rows [][]any }
	resp, err := http.Post(p.http+"/api/v1/sql", "application/sql", strings.NewReader("SELECT count(*) FILTER (WHERE service LIKE 'honest%'), count(*) FILTER (WHERE service NOT LIKE 'honest%') FROM windows WHERE level = 'raw'"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil || len(doc.Rows) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	t.Logf("windows of the honest program and others: %v", doc.Rows[0])
	if got, attacker := doc.Rows[0][0].(float64), doc.Rows[0][1].(float64); int(got) != honest || int(attacker) > others {
		t.Errorf("%v honest windows of %d, %v others, the maximum is %d", got, honest, attacker, others)
	}
}

// pprofBuilder builds a pprof profile.
type pprofBuilder struct {
	p         profile.Profile
	locations map[string]*profile.Location
	file      string // of all functions
}

// pprofBytes returns a profile of the processor, without compression.
func pprofBytes(fill func(*pprofBuilder)) []byte {
	b := &pprofBuilder{locations: map[string]*profile.Location{}, p: profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period: 1}}
	fill(b)
	var out bytes.Buffer
	if err := b.p.WriteUncompressed(&out); err != nil {
		panic(err) // it is built by this file
	}
	return out.Bytes()
}

// sample adds a sample; the stack begins at its root.
func (b *pprofBuilder) sample(value int64, labels map[string][]string, stack ...string) {
	s := &profile.Sample{Value: []int64{value}, Label: labels}
	for _, name := range slices.Backward(stack) {
		l := b.locations[name]
		if l == nil {
			id := uint64(len(b.locations) + 1)
			f := &profile.Function{ID: id, Name: name, Filename: b.file}
			l = &profile.Location{ID: id, Line: []profile.Line{{Function: f}}}
			b.locations[name] = l
			b.p.Function, b.p.Location = append(b.p.Function, f), append(b.p.Location, l)
		}
		s.Location = append(s.Location, l)
	}
	b.p.Sample = append(b.p.Sample, s)
}

// field appends a field of bytes of a message.
func field(to []byte, num int, content []byte) []byte {
	to = binary.AppendUvarint(to, uint64(num<<3|2))
	return append(binary.AppendUvarint(to, uint64(len(content))), content...)
}

// series returns a RawProfileSeries of push.v1.
func series(profiles [][]byte, labels ...string) (msg []byte) {
	for i := 0; i < len(labels); i += 2 {
		msg = field(msg, 1, field(field(nil, 1, []byte(labels[i])), 2, []byte(labels[i+1])))
	}
	for _, p := range profiles {
		msg = field(msg, 2, field(nil, 1, p))
	}
	return msg
}

// labelsTimesSets pushes long labels of a request and many sets of labels of its samples.
func labelsTimesSets(t *testing.T, p *process) {
	labels := []string{"service_name", "attacker"}
	for i := range 60 {
		labels = append(labels, fmt.Sprintf("%02d%s", i, strings.Repeat("n", 4000)), strings.Repeat("v", 4000))
	}
	content := pprofBytes(func(b *pprofBuilder) {
		for i := range 8000 {
			b.sample(1, map[string][]string{"id": {fmt.Sprint(i)}}, "main", "f")
		}
	})
	answer := p.push(t, field(nil, 1, series([][]byte{content}, labels...)))
	if !strings.Contains(answer, "--continuous-max-series-bytes") {
		t.Errorf("answer: %s", answer)
	}
	// Within the limit of a series.
	answer = p.push(t, field(nil, 1, series([][]byte{content}, labels[:6]...)))
	if !strings.Contains(answer, "--continuous-max-pending") {
		t.Errorf("answer: %s", answer)
	}
}

// bounded expects paths and texts within their limits.
func bounded(t *testing.T, p *process) {
	t.Helper()
	paths, text, folded := p.metric(t, "dendro_continuous_paths"), p.metric(t, "dendro_continuous_text_bytes"),
		p.metric(t, "dendro_continuous_folded_stacks_total")
	t.Logf("%.0f paths, %.0f bytes of text, %.0f stacks in (other)", paths, text, folded)
	if paths > 1_100_000 || text > 120<<20 || folded == 0 {
		t.Error("a service has more than its share")
	}
}

// longFiles pushes functions with long names of files.
func longFiles(t *testing.T, p *process) {
	for n := range 24 {
		content := pprofBytes(func(b *pprofBuilder) {
			for i := range 7000 {
				b.file = fmt.Sprintf("%d/%d/%s", n, i, strings.Repeat("f", 4000))
				b.sample(1, nil, "main", fmt.Sprintf("f%d_%d", n, i))
			}
		})
		p.attacked(t, content, n)
	}
}

// randomStacks pushes stacks of which no two share a path.
func randomStacks(t *testing.T, p *process) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		content := pprofBytes(func(b *pprofBuilder) {
			for range 4000 {
				stack := make([]string, 40)
				for i := range stack {
					stack[i] = fmt.Sprint("f", r.IntN(2000))
				}
				b.sample(1, nil, stack...)
			}
		})
		p.attacked(t, content, n)
	}
}

// zipped returns content with gzip.
func zipped(content []byte) []byte {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	z.Write(content)
	z.Close()
	return body.Bytes()
}

// attacked pushes a profile of one service, again while the server asks to wait.
func (p *process) attacked(t *testing.T, content []byte, n int) {
	t.Helper()
	body := zipped(content)
	for range 20 {
		answer, err := p.ingest(clientAt("127.0.0.1"), "attacker", time.Now().Add(-time.Duration(n)*time.Second), body)
		if err != nil {
			t.Logf("a push of the attack: %v", err)
			return
		}
		if answer == "" {
			return
		}
		if !strings.HasPrefix(answer, "429") && !strings.HasPrefix(answer, "503") {
			t.Errorf("answer: %s", answer)
			return
		}
		time.Sleep(time.Second)
	}
}

// oldWindows pushes 60,000 windows of 26 years, and waits until the server rolls up.
func oldWindows(t *testing.T, p *process) {
	now, step := time.Now(), 26*365*24*time.Hour/60_000
	for n := range 3 {
		profiles := make([][]byte, 20_000)
		for i := range profiles {
			at := now.Add(-time.Duration(3*i+n) * step)
			// A profile is small and differs in its time only.
			profiles[i] = slices.Concat([]byte{0x0a, 4, 8, 1, 16, 2}, []byte{0x12, 6, 0x0a, 1, 1, 0x12, 1, 1},
				[]byte{0x22, 8, 8, 1, 0x22, 4, 8, 1, 16, 0}, []byte{0x2a, 4, 8, 1, 16, 3},
				[]byte{0x32, 0}, field(nil, 6, []byte("cpu")), field(nil, 6, []byte("nanoseconds")), field(nil, 6, []byte("main")),
				binary.AppendUvarint([]byte{0x48}, uint64(at.UnixNano())), []byte{0x5a, 4, 8, 1, 16, 2})
		}
		p.push(t, field(nil, 1, series(profiles, "service_name", "attacker")))
	}
	time.Sleep(70 * time.Second) // two rounds of the roll-up begin
}

// manyServices pushes series of 60,000 services, and a damaged one at the end.
func manyServices(t *testing.T, p *process) {
	content := windowOf(0)
	for n := range 4 {
		var request []byte
		for i := range 15_000 {
			request = field(request, 1, series([][]byte{content}, "service_name", fmt.Sprintf("s%d_%d", n, i)))
		}
		if answer := p.push(t, append(request, 0x0a, 0xff)); answer == "" {
			t.Error("the request was not refused")
		}
	}
}

// manyLabels pushes samples of 60,000 users.
func manyLabels(t *testing.T, p *process, user string) {
	for n := range 12 {
		p.attacked(t, pprofBytes(func(b *pprofBuilder) {
			for i := range 5000 {
				b.sample(1, map[string][]string{"user": {fmt.Sprintf(user, n*5000+i)}}, "main", "f")
			}
		}), n)
	}
}

// jumpingClocks pushes windows of a program whose clock jumps: to 1970, ahead by hours and years,
// back, and with an end before the begin. Each is stored at a time that can be true, or refused.
func jumpingClocks(t *testing.T, p *process) {
	client, now, content := clientAt("127.0.0.1"), time.Now(), windowOf(0)
	for n := range 10 {
		for _, jump := range []time.Duration{0, -now.Sub(time.Unix(1, 0)), 3 * time.Hour, -3 * time.Hour, 26 * 365 * 24 * time.Hour,
			-26 * 365 * 24 * time.Hour, 5 * time.Minute} {
			at := now.Add(jump + time.Duration(n)*time.Second)
			if answer, err := p.ingest(client, "attacker", at, content); err != nil || answer != "" && !strings.HasPrefix(answer, "400 ") {
				t.Fatalf("a clock that is %s off: %s %v", jump, answer, err)
			}
			address := fmt.Sprintf("%s/ingest?format=pprof&name=attacker&from=%d&until=%d", p.http, at.Unix(), at.Add(-time.Hour).Unix())
			if answer, err := post(client, address, "", content); err != nil || answer != "" && !strings.HasPrefix(answer, "400 ") {
				t.Fatalf("an end before the begin: %s %v", answer, err)
			}
		}
	}
	_, answer, err := answerOf(client, "POST", p.http+"/api/v1/sql", "SELECT count(*) FROM windows WHERE start > now() + INTERVAL 1 HOUR")
	if !strings.Contains(answer, `"rows":[[0]]`) {
		t.Errorf("windows in the future: %s %v", answer, err)
	}
}

// floods opens calls that push and resets them, and sends pings, settings and endless headers, on
// many connections for some seconds.
func floods(t *testing.T, p *process) {
	var head bytes.Buffer
	e := hpack.NewEncoder(&head)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/push.v1.PusherService/Push"},
		{":authority", "localhost"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	floods := []func(f *http2.Framer, stream uint32) error{
		func(f *http2.Framer, stream uint32) error {
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true})
			return errors.Join(err, f.WriteRSTStream(stream, http2.ErrCodeCancel))
		},
		func(f *http2.Framer, stream uint32) error {
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true})
			return errors.Join(err, f.WriteData(stream, false, []byte{0, 0, 1, 0, 0}))
		},
		func(f *http2.Framer, _ uint32) error { return f.WritePing(false, [8]byte{}) },
		func(f *http2.Framer, stream uint32) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: stream})
		},
		func(f *http2.Framer, stream uint32) error {
			if stream == 1 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes()})
			}
			return f.WriteContinuation(1, false, head.Bytes())
		},
	}
	var wg sync.WaitGroup
	end := time.Now().Add(5 * time.Second)
	for _, flood := range floods {
		for range 2 {
			wg.Go(func() {
				d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.1")}, Timeout: time.Second}
				for time.Now().Before(end) {
					c, err := d.Dial("tcp", p.grpc)
					if err != nil {
						return
					}
					go func() { _, _ = io.Copy(io.Discard, c) }()
					_ = c.SetDeadline(end)
					f := http2.NewFramer(c, c)
					_, err = io.WriteString(c, http2.ClientPreface)
					err = errors.Join(err, f.WriteSettings())
					for stream := uint32(1); err == nil; stream += 2 {
						err = flood(f, stream)
					}
					c.Close()
				}
			})
		}
	}
	wg.Wait()
}
