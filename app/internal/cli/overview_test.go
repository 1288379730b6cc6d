package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/testrun"
)

// BenchmarkOverview is the start page of a store with 5,000 profiles: 25 benchmarks, 200
// runs, a metric each.
func BenchmarkOverview(b *testing.B) {
	st, err := engines.Open(b.Context(), filepath.Join(b.TempDir(), "a.duckdb"), engines.Write)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	im := ingest.New(st, ingest.Options{})
	var sources []ingest.Source
	for run := range 200 {
		for n := range 25 {
			s := ingest.ReaderSource("a.folded", strings.NewReader(fmt.Sprintf("main;a %d\nmain;b %d\n", 100+run, n+1)))
			s.Label = ingest.Label{Group: "g", Benchmark: fmt.Sprintf("b%02d", n),
				Run:     testrun.Run{Key: fmt.Sprintf("r%03d", run), Date: time.Date(2026, 1, 1, run, 0, 0, 0, time.UTC), Branch: "main", Machine: "m"},
				Metrics: []testrun.Metric{{Name: "time/op", Mean: float64(100 + run%7), Unit: "ns/op", Primary: true}}}
			sources = append(sources, s)
		}
	}
	if _, err := im.Import(b.Context(), sources, func(ingest.Result) {}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := judge.Overview(b.Context(), st, &judge.OverviewRequest{Points: 30, Quick: true})
		if err != nil || r.Profiles != 5000 || len(r.Benchmarks) != 25 {
			b.Fatal(r, err)
		}
	}
}
