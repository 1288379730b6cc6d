// Package product plugs Dendro itself into the benchmark: its importer and its
// DuckDB engine behind bench.Engine.
//
// Text goes the whole way that a user's files go (detection, the folded reader,
// normalised names, projection, one writer); the only difference is that a
// source is memory and not a file. The queries run through the store's
// contract and its documented fast paths, with the arithmetic that belongs to an
// analysis done here, in Go. The package does not reach into the engine.
package product

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/testrun"
)

// Spec is the entry in the list of engines.
func Spec() bench.Spec {
	return bench.Spec{Name: "Dendro", Model: "one forest of call paths, a sparse vector per profile, in DuckDB", Open: open, Part: 1}
}

type engine struct {
	path     string
	st       *duckdb.Store
	importer *ingest.Importer
}

func open(o bench.Options) (bench.Engine, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	e := &engine{path: filepath.Join(o.Dir, "dendro.duckdb")}
	var err error
	if e.st, err = duckdb.Open(context.Background(), e.path, duckdb.Options{}); err != nil {
		return nil, err
	}
	e.importer = ingest.New(e.st, ingest.Options{Workers: o.Workers})
	return e, nil
}

// Import implements bench.Engine.
func (e *engine) Import(batch []bench.Profile) error {
	sources := make([]ingest.Source, len(batch))
	for i := range batch {
		p := &batch[i]
		sources[i] = ingest.MemorySource(fmt.Sprintf("%s/%s/%s", p.Run, p.Group, p.Benchmark), p.Text)
		sources[i].Label = ingest.Label{Group: p.Group, Benchmark: p.Benchmark, Run: testrun.Run{Key: p.Run, Date: p.Date},
			Metrics: []testrun.Metric{{Name: "time", Mean: p.MetricMean, Unit: p.MetricUnit, Better: testrun.Lower, Primary: true}}}
	}
	var failed error
	sum, err := e.importer.Import(context.Background(), sources, func(r ingest.Result) { failed = errors.Join(failed, r.Err) })
	if err == nil && failed == nil && sum.Profiles != len(batch) {
		failed = fmt.Errorf("%d of %d profiles were stored", sum.Profiles, len(batch))
	}
	return errors.Join(err, failed)
}

// Finish implements bench.Engine: what stays is what `dendro compact` leaves.
func (e *engine) Finish() error { return e.st.Compact(context.Background()) }

// Size implements bench.Engine.
func (e *engine) Size() (int64, error) {
	info, err := os.Stat(e.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Close implements bench.Engine.
func (e *engine) Close() error { return e.st.Close() }

// Names returns the function name that the store has for a frame of text. The
// result may be used by any number of goroutines.
func Names() func(frame string) string {
	names := normalize.New(nil)
	decoder := folded.NewDecoder()
	var mu sync.Mutex
	return func(frame string) string {
		mu.Lock()
		defer mu.Unlock()
		p, err := decoder.Decode(bytes.NewReader([]byte(frame+" 1\n")), profile.NewSymbols(), profile.Limits{})
		if err != nil || len(p.Symbols.Functions) != 1 {
			return frame
		}
		return names.Function(p.Symbols.Functions[0]).Name
	}
}

func (e *engine) query(q bench.Question) store.Query {
	var s store.Query
	if q.Group != "" {
		s.Groups = []string{q.Group}
	}
	if q.Benchmark != "" {
		s.Benchmarks = []string{q.Benchmark}
	}
	if q.Run != "" {
		s.Runs = []string{q.Run}
	}
	return s
}
