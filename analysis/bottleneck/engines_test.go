package bottleneck_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestEngines: the embedded engine, which adds up in parallel and in another order,
// answers digit by digit what the engine in memory does.
func TestEngines(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var runs []runtest.Run
	for i := range 60 {
		var b strings.Builder
		for range 40 {
			names := make([]string, 1+rnd.IntN(8))
			for k := range names {
				names[k] = fmt.Sprintf("f%d", rnd.IntN(12))
			}
			fmt.Fprintf(&b, "%s %d,", strings.Join(names, ";"), 1+rnd.IntN(30))
		}
		metric := float64(1 + rnd.IntN(1000))
		if i%11 == 0 {
			metric = 0
		}
		runs = append(runs, runtest.Run{Benchmark: fmt.Sprintf("b%d", i%5), Metric: metric, Unit: []string{"ms", "ms", "ops/s"}[i%5%3],
			Stacks: b.String()})
	}
	st := runtest.Store(t, runs...)
	duck, err := duckdb.Open(t.Context(), filepath.Join(t.TempDir(), "d.duckdb"), duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer duck.Close()
	if err := store.Copy(context.Background(), duck, st, store.CopyOptions{Rules: "test"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range []bottleneck.Options{
		{Contexts: 2}, {Weight: store.BySamples}, {Rank: bottleneck.Subtree, Degree: 3, Contexts: 2},
		{Rank: bottleneck.Subtree, Degree: bottleneck.Everything, Contexts: 2},
		{Rank: bottleneck.Subtree, Degree: 3, Weight: store.BySamples}, {Rank: bottleneck.Correlation},
		{Rank: bottleneck.Correlation, Rows: 3, Contexts: 1},
		{Rank: bottleneck.Correlation, Correlating: bottleneck.Correlating{Raw: true, Samples: true}},
		{Rank: bottleneck.Correlation, Correlating: bottleneck.Correlating{Ranks: true, Over: "max", Least: 5}},
	} {
		want := find(t, st, o)
		if len(want.Rows) == 0 || o.Rank == bottleneck.Correlation && len(want.Negative) == 0 {
			t.Errorf("%+v: nothing to compare", o)
		}
		if diff := cmp.Diff(want, find(t, duck, o)); diff != "" {
			t.Errorf("%+v (-mem +duckdb):\n%s", o, diff)
		}
	}
}
