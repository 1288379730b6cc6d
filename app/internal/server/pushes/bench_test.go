package pushes

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/readtest"
)

// BenchmarkPush pushes a recorded profile of Go over HTTP, as SDKs do, from 32 programs at the same
// time into a DuckDB file: what a server takes from request to commit. A push is a window
// of each of its value types and labels. The clients compute on the same cores.
func BenchmarkPush(b *testing.B) {
	body, err := os.ReadFile("../../../../format/pprof/testdata/go-cpu.pb.gz")
	if err != nil {
		b.Fatal(err)
	}
	st, err := duckdb.Open(b.Context(), filepath.Join(b.TempDir(), "s.duckdb"), duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	p, err := New(st, Options{Log: slog.New(slog.DiscardHandler), Intake: intake.Options{MaxRate: 1 << 40}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	s, err := server.New(server.Options{Log: slog.New(slog.DiscardHandler)}, p.Parts...)
	if err != nil {
		b.Fatal(err)
	}
	listener := httptest.NewServer(s.Handler())
	defer listener.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var next atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	cpu := readtest.CPUTime()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := next.Add(1)
			from := 1795622400 + 15*(n/200)
			resp, err := client.Post(fmt.Sprintf("%s/ingest?format=pprof&name=service%d&from=%d&until=%d", listener.URL, n%200, from, from+15), "",
				bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				b.Error(resp.Status, string(text))
				return
			}
		}
	})
	m, cpu := p.in.Metrics(), readtest.CPUTime()-cpu
	if m.Stored == 0 || m.Stored%int64(b.N) != 0 || m.Failed > 0 {
		b.Errorf("%d windows of %d pushes are stored", m.Stored, b.N)
	}
	b.ReportMetric(float64(m.Stored)/b.Elapsed().Seconds(), "windows/s")
	b.ReportMetric(float64(cpu.Microseconds())/float64(m.Stored), "cpu-µs/window")
	b.ReportMetric(float64(m.Stored)/float64(b.N), "windows/push")
}
