package pushes

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/readtest"
)

// BenchmarkMemory is what call paths and series take in the memory of a server that pushes fill, in
// bytes of Go's heap, of which DuckDB's cached blocks are no part; and what a start takes after
// the server was killed. The tables of the newest pushes, which are bounded, are among the bytes of
// a path, and of those of the store not.
func BenchmarkMemory(b *testing.B) {
	const first = 5 // services that have series
	services := max(2*first, *fleetServices)
	bodies := fleetWindows(b, services)
	each := len(bodies) / services
	path := filepath.Join(b.TempDir(), "s.duckdb")
	st, err := duckdb.Open(b.Context(), path, duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	p, err := New(st, pushOptions)
	if err != nil {
		b.Fatal(err)
	}
	push, done := pusher(b, p)
	was, had := heap(), store.Info{}
	empty := was
	grown := func() (bytes, paths, series float64) {
		now := heap()
		has, err := st.Info(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		bytes, paths, series = float64(now)-float64(was), float64(has.Paths-had.Paths), float64(has.Series-had.Series)
		was, had = now, has
		return bytes, paths, series
	}
	concurrently(16, 16*first*each, func(n int) { push(n%first, 0, n, bodies[n%first*each+n/first%each]) }) // all workers know them
	grown()
	concurrently(16, 2000*first, func(n int) { push(n%first, 1+n/first, 0, bodies[n%first*each]) })
	bytes, _, series := grown()
	b.ReportMetric(bytes/series, "B/series")
	concurrently(16, len(bodies)-first*each, func(n int) { push(first+n/each, 0, n%each, bodies[first*each+n]) })
	bytes, paths, _ := grown()
	b.ReportMetric(bytes/paths, "B/path")
	b.ReportMetric(float64(had.Paths), "paths")
	killed := filepath.Join(b.TempDir(), "killed.duckdb")
	for _, name := range []string{"", ".wal"} {
		data, err := os.ReadFile(path + name)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(killed+name, data, 0o600); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(data))/1e6, "MB"+name)
	}
	done()
	b.ReportMetric((float64(heap())-float64(empty))/float64(had.Paths), "store-B/path")
	cpu := readtest.CPUTime()
	again, err := duckdb.Open(b.Context(), killed, duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer again.Close()
	if list, err := again.Series(b.Context(), continuous.Query{}); err != nil || int64(len(list)) != had.Series {
		b.Fatalf("%d of %d series, %v", len(list), had.Series, err)
	}
	b.ReportMetric((readtest.CPUTime() - cpu).Seconds(), "cpu-s/start")
	runtime.KeepAlive(st)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
