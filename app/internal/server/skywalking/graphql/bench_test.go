package graphql

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// BenchmarkAnalyze measures whole requests for analyses as swctl sends them: over
// HTTP on loopback, from the store to the last byte at the client, as text and
// compressed. heap-MB is how much more was in use at most while answering.
func BenchmarkAnalyze(b *testing.B) {
	engines := []struct {
		name string
		open func(b *testing.B) traceprof.Store
	}{
		{"mem", func(*testing.B) traceprof.Store { return mem.New() }},
		{"duckdb", func(b *testing.B) traceprof.Store {
			st, err := duckdb.Open(b.Context(), filepath.Join(b.TempDir(), "traces.duckdb"), duckdb.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { st.Close() })
			return st
		}},
	}
	for _, e := range engines {
		for _, in := range tracetest.Inputs() {
			for _, zipped := range []bool{false, true} {
				form := "text"
				if zipped {
					form = "gzip"
				}
				b.Run(fmt.Sprintf("%s/%s/%s", e.name, in.Name, form), func(b *testing.B) {
					st := e.open(b)
					if err := st.PutSnapshots(b.Context(), in.Snapshots); err != nil {
						b.Fatal(err)
					}
					benchmarkAnalyze(b, st, zipped)
				})
			}
		}
	}
}

func benchmarkAnalyze(b *testing.B, st traceprof.Store, zipped bool) {
	handler := New(Options{Store: st, Dispatcher: traceprof.NewDispatcher(st, traceprof.DispatcherOptions{})})
	s, err := server.New(server.Options{HTTPListen: "127.0.0.1:0"}, handler.Part())
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	const body = `{"query":"query ($queries: [SegmentProfileAnalyzeQuery!]!) { result: getSegmentsProfileAnalyze(queries: $queries) { tip trees { elements { id parentId codeSignature duration durationChildExcluded count } } } }",
		"variables":{"queries":[{"segmentId":"segment","timeRange":{"start":0,"end":2000000000000}}]}}`
	ask := func() int64 {
		r, err := http.NewRequest(http.MethodPost, "http://"+s.HTTPAddr()+"/graphql", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if zipped {
			r.Header.Set("Accept-Encoding", "gzip")
		}
		answer, err := client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		n, err := io.Copy(io.Discard, answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(answer.Status, err)
		}
		return n
	}
	n := ask()
	runtime.GC()
	grown := watchHeap()
	for b.Loop() {
		n = ask()
	}
	b.ReportMetric(float64(grown())/(1<<20), "heap-MB")
	b.ReportMetric(float64(n)/1e6, "answer-MB")
}

// watchHeap looks at the heap until the function that it returns is called, which
// says how much it had grown at most, in bytes.
func watchHeap() func() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapInuse
	var most atomic.Uint64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse))
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(end)
		<-ended
		return max(most.Load(), before) - before
	}
}

// BenchmarkDocuments answers documents that pages send: the services of forty layers, a list
// of traces, the whole schema.
func BenchmarkDocuments(b *testing.B) {
	t := newBench(&testing.T{})
	var services strings.Builder
	for i := range 40 {
		fmt.Fprintf(&services, " l%d: listServices(layer: \"GENERAL\") { id name group shortName layers normal }", i)
	}
	for _, d := range []struct{ name, document string }{
		{"services", "{" + services.String() + "}"},
		{"traces", `{ queryBasicTraces(condition: {traceState: ALL, queryOrder: BY_START_TIME, paging: {pageNum: 1, pageSize: 20}}) { traces { segmentId endpointNames duration start isError traceIds } } }`},
		{"schema", introspection},
	} {
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := t.ask(d.document, "null"); strings.Contains(r.body, `"errors"`) {
					b.Fatal(r.body)
				}
			}
		})
	}
}
