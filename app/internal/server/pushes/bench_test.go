package pushes

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/continuous/record"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/readtest"
)

// The fleet of BenchmarkPush.
var (
	fleetServices = flag.Int("services", 50, "services of BenchmarkPush")
	fleetPods     = flag.Int("pods", 10, "pods of each service of BenchmarkPush")
	fleetLines    = flag.Int64("lines", 1<<30, "bytes of lines that BenchmarkPush keeps; 0: none")
)

// BenchmarkPush pushes pprof files over HTTP, as SDKs do, into a DuckDB file: what a server takes
// from request to commit, beside what google/pprof takes to parse the same bytes. The pushes are
// of a recorded profile of Go, whose labels make several windows of one, and of a fleet: pods of
// services with functions of their own, windows of 250 stacks. The clients compute on the same
// cores, and are counted.
func BenchmarkPush(b *testing.B) {
	recorded, err := os.ReadFile("../../../../format/pprof/testdata/go-cpu.pb.gz")
	if err != nil {
		b.Fatal(err)
	}
	var fleet [][]byte
	for _, shape := range []struct {
		name   string
		bodies func() [][]byte
		pods   int
	}{
		{"recorded", func() [][]byte { return [][]byte{recorded} }, 1},
		{"fleet", func() [][]byte {
			if fleet == nil {
				fleet = fleetWindows(b, *fleetServices)
			}
			return fleet
		}, *fleetPods},
	} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/clients=%d", shape.name, clients), func(b *testing.B) {
				benchPush(b, shape.bodies(), *fleetServices, shape.pods, clients)
			})
		}
	}
}

// gateway takes windows as that of a fleet does, but for Kafka: the windows of a commit are a record
// for each service, compressed.
type gateway struct {
	pack          *zstd.Encoder
	records       atomic.Int64
	plain, packed atomic.Int64 // bytes
}

func (g *gateway) PutWindows(_ context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	services := map[string][]*continuous.Window{}
	for _, w := range list {
		services[w.Series.Service] = append(services[w.Series.Service], w)
	}
	for _, windows := range services {
		content := record.Append(nil, windows)
		g.records.Add(1)
		g.plain.Add(int64(len(content)))
		g.packed.Add(int64(len(g.pack.EncodeAll(content, nil))))
	}
	return make([]continuous.Outcome, len(list)), nil
}

// BenchmarkGateway is BenchmarkPush for a gateway of a fleet.
func BenchmarkGateway(b *testing.B) {
	bodies := fleetWindows(b, *fleetServices)
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			pack, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
			if err != nil {
				b.Fatal(err)
			}
			g := &gateway{pack: pack}
			p := To(g, pushOptions)
			benchPushes(b, p, bodies, *fleetServices, *fleetPods, clients)
			windows := float64(p.in.Metrics().Stored)
			b.ReportMetric(float64(g.plain.Load())/windows, "B/window")
			b.ReportMetric(float64(g.packed.Load())/windows, "packed-B/window")
			b.ReportMetric(windows/float64(g.records.Load()), "windows/record")
		})
	}
}

// BenchmarkWorker is what a worker of a fleet takes to store what a gateway wrote.
func BenchmarkWorker(b *testing.B) {
	st, err := duckdb.Open(b.Context(), filepath.Join(b.TempDir(), "s.duckdb"), duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	var contents [][]byte
	kept := taker(func(list []*continuous.Window) {
		for _, w := range list {
			contents = append(contents, record.Append(nil, []*continuous.Window{w}))
		}
	})
	benchPushes(b, To(kept, pushOptions), fleetWindows(b, *fleetServices), *fleetServices, *fleetPods, 16)
	b.ResetTimer()
	cpu := readtest.CPUTime()
	var reader record.Reader
	for from := 0; from < len(contents); from += 500 {
		var list []*continuous.Window
		for _, content := range contents[from:min(from+500, len(contents))] {
			windows, err := reader.Read(content)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, windows...)
		}
		if _, err := st.PutRead(b.Context(), list, continuous.Position{Next: int64(from)}); err != nil {
			b.Fatal(err)
		}
	}
	cpu = readtest.CPUTime() - cpu
	b.ReportMetric(float64(cpu.Microseconds())/float64(len(contents)), "worker-µs/window")
}

// taker is a continuous.Taker.
type taker func(list []*continuous.Window)

func (t taker) PutWindows(_ context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	t(list)
	return make([]continuous.Outcome, len(list)), nil
}

// fleetWindows returns some windows of each service, one service after the other.
func fleetWindows(b *testing.B, services int) (list [][]byte) {
	const functions, stacks, drawn, windows = 600, 1000, 250, 4
	for service := range services {
		rnd := rand.New(rand.NewPCG(uint64(service), 1))
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000, DurationNanos: int64(15 * time.Second)}
		m := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x900000, File: "/app/service", HasFunctions: true}
		p.Mapping = []*profile.Mapping{m}
		for i := range uint64(functions) {
			fn := &profile.Function{ID: i + 1, Name: fmt.Sprintf("example.com/service%d/internal/package%d.(*Type%d).Method%d", service, i%23, i%7, i),
				Filename: fmt.Sprintf("/app/internal/package%d/file%d.go", i%23, i%5)}
			fn.SystemName = fn.Name
			p.Function = append(p.Function, fn)
			p.Location = append(p.Location, &profile.Location{ID: i + 1, Mapping: m, Address: 0x400000 + 16*i,
				Line: []profile.Line{{Function: fn, Line: int64(i)}}})
		}
		var tree [][]*profile.Location
		for len(tree) < stacks { // a stack has most of another one
			var s []*profile.Location
			if n := len(tree); n > 0 {
				s = tree[rnd.IntN(n)]
				s = s[rnd.IntN(1+len(s)/2):]
			}
			for len(s) < 12+rnd.IntN(10) {
				s = append([]*profile.Location{p.Location[rnd.IntN(functions)]}, s...)
			}
			tree = append(tree, s)
		}
		for range windows {
			w := p.Copy()
			w.Sample = nil
			for _, i := range rnd.Perm(stacks)[:drawn] {
				n := 1 + rnd.Int64N(5)
				s := &profile.Sample{Value: []int64{n, n * p.Period}}
				for _, l := range tree[i] {
					s.Location = append(s.Location, w.Location[l.ID-1])
				}
				w.Sample = append(w.Sample, s)
			}
			var body bytes.Buffer
			if err := w.Compact().Write(&body); err != nil {
				b.Fatal(err)
			}
			list = append(list, body.Bytes())
		}
	}
	return list
}

func benchPush(b *testing.B, bodies [][]byte, services, pods, clients int) {
	st, err := duckdb.Open(b.Context(), filepath.Join(b.TempDir(), "s.duckdb"), duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	o := pushOptions
	o.Lines = *fleetLines
	p, err := New(st, o)
	if err != nil {
		b.Fatal(err)
	}
	benchPushes(b, p, bodies, services, pods, clients)
}

var pushOptions = Options{Log: slog.New(slog.DiscardHandler), Intake: intake.Options{MaxRate: 1 << 40}}

// pusher returns what pushes a profile of a pod of a service, in a round of 15 seconds, and what ends that.
func pusher(b *testing.B, p *Pushes) (push func(service, pod, round int, body []byte), done func()) {
	s, err := server.New(server.Options{Log: slog.New(slog.DiscardHandler)}, p.Parts...)
	if err != nil {
		b.Fatal(err)
	}
	listener := httptest.NewServer(s.Handler())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	push = func(service, pod, round int, body []byte) {
		from := 1795622400 + 15*round
		resp, err := client.Post(fmt.Sprintf("%s/ingest?format=pprof&name=service%d%%7Bpod=%d%%7D&from=%d&until=%d", listener.URL, service, pod, from,
			from+15), "", bytes.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			b.Error(resp.Status, string(text))
		}
	}
	return push, func() {
		client.CloseIdleConnections()
		listener.Close()
		p.Close()
	}
}

// concurrently calls do with 0 to count-1, from so many goroutines.
func concurrently(clients, count int, do func(n int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for n := int(next.Add(1)) - 1; n < count; n = int(next.Add(1)) - 1 {
				do(n)
			}
		})
	}
	wait.Wait()
}

func benchPushes(b *testing.B, p *Pushes, bodies [][]byte, services, pods, clients int) {
	push, done := pusher(b, p)
	defer done()
	// Every push of a round is of another pod, and a round is 15 seconds.
	send := func(n int) {
		pod, round := n%(services*pods), n/(services*pods)
		service := pod / pods
		each := len(bodies) / services // windows of a service; 0: all have the same
		body := bodies[0]
		if each > 0 {
			body = bodies[service*each+(pod+round)%each]
		}
		push(service, pod, round, body)
	}
	pushed := func(first, count int) { concurrently(clients, count, func(n int) { send(first + n) }) }
	warm := min(services*pods, b.N)
	pushed(0, warm) // what is new of programs: their functions and paths
	before := p.in.Metrics()
	b.ResetTimer()
	cpu := readtest.CPUTime()
	pushed(warm, b.N)
	cpu = readtest.CPUTime() - cpu
	b.StopTimer()
	m := p.in.Metrics()
	stored := m.Stored - before.Stored
	if stored == 0 || stored%int64(b.N) != 0 || m.Failed > 0 {
		b.Errorf("%d windows of %d pushes are stored", stored, b.N)
	}
	parse := readtest.CPUTime()
	for n := range b.N {
		if _, err := profile.ParseData(bodies[n%len(bodies)]); err != nil {
			b.Fatal(err)
		}
	}
	parse = readtest.CPUTime() - parse
	if p.lines != nil { // what is due each hour, and was collected meanwhile
		start := readtest.CPUTime()
		written, err := p.lines.Keep(b.Context(), time.Now(), true)
		if err != nil {
			b.Error(err)
		}
		b.ReportMetric(float64((readtest.CPUTime()-start).Microseconds())/float64(written), "cpu-µs/lines")
		b.ReportMetric(float64(p.in.Metrics().LostLines), "lost-lines")
	}
	perPush := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	b.ReportMetric(perPush(cpu), "cpu-µs/push")
	b.ReportMetric(perPush(parse), "pprof-µs/parse")
	b.ReportMetric(float64(cpu)/float64(parse), "x-parse")
	b.ReportMetric(float64(stored)/float64(b.N), "windows/push")
	b.ReportMetric(float64(m.Batches-before.Batches)/float64(b.N), "commits/push")
}
