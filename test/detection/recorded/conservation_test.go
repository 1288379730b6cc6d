package recorded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/detection"
	"github.com/dendroprof/dendro/testrun"
)

// TestConservation: of everything recorded here, whole and by single runs, the amounts of
// findings are consistent: costs add up over all findings of a comparison.
func TestConservation(t *testing.T) {
	compared, found := 0, 0
	check := func(name string, st store.Reader, base, head []store.Profile) {
		t.Helper()
		c, err := gate.Compare(t.Context(), st, gate.Sides{Base: history.Distinct(base), Head: history.Distinct(head)}, regression.Request{})
		if err != nil {
			t.Fatal(name, err)
		}
		for i := range c.Benchmarks {
			wrong, findings, err := detection.Conservation(t.Context(), st, &c.Benchmarks[i])
			if err != nil {
				t.Fatal(name, err)
			}
			for _, text := range wrong {
				t.Errorf("%s, %s: %s", name, c.Benchmarks[i].Benchmark.Name, text)
			}
			compared++
			found += min(findings, 1)
		}
	}
	for _, of := range recordings(t) {
		base, head := sidesOf(t.Context(), t, of.store, of.base), sidesOf(t.Context(), t, of.store, of.head)
		check(of.name, of.store, slices.Concat(base...), slices.Concat(head...))
		for i := range head {
			check(fmt.Sprintf("%s, run %d of the head", of.name, i+1), of.store, slices.Concat(base...), head[i])
			for k := i + 1; k < len(head); k++ {
				check(fmt.Sprintf("%s, runs %d and %d of the head", of.name, i+1, k+1), of.store, slices.Concat(base...),
					slices.Concat(head[i], head[k]))
			}
		}
		for i := range base {
			others := slices.Delete(slices.Clone(base), i, i+1)
			check(fmt.Sprintf("%s, run %d of the base", of.name, i+1), of.store, slices.Concat(others...), base[i])
		}
	}
	if compared < 200 || found < 40 {
		t.Errorf("%d comparisons, %d with findings: too few to prove anything", compared, found)
	}
	t.Logf("%d comparisons, %d with findings", compared, found)
}

// recording is the runs of two commits in a store; base and head are values of the attribute side.
type recording struct {
	name       string
	store      store.Store
	base, head string
}

// recordings are those of Billing, Jobs, and the version bumps.
func recordings(t *testing.T) []recording {
	var billing []ingest.Source
	for n := range BaseRuns + HeadRuns {
		key, side := fmt.Sprintf("%03d", n+1), "base"
		if n >= BaseRuns {
			side = "head"
		}
		billing = append(billing, sourcesOf(t, filepath.Join("testdata", "runs", key), "example.com/billing", testrun.Run{Key: key, Machine: "m",
			Attributes: map[string]string{"side": side}, Date: time.Date(2026, 11, 23, n, 0, 0, 0, time.UTC)})...)
	}
	all := []int{1, 2, 3, 4}
	list := []recording{{"jobs", importJobs(t, all, all), "base", "head"}, {"billing", stores(t, billing), "base", "head"}}
	folders, err := filepath.Glob(filepath.Join("testdata", "turns", "*"))
	if err != nil || len(folders) < 3 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		sources, err := ingest.ReadManifestFS(os.DirFS(folder), "manifest.json")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, recording{filepath.Base(folder), stores(t, sources), "pr-base", "pr-head"})
	}
	return list
}

// sidesOf returns the profiles of each run of a side.
func sidesOf(ctx context.Context, t *testing.T, st store.Reader, side string) (runs [][]store.Profile) {
	t.Helper()
	list, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i := range list {
		p := &list[i]
		if p.Run.Attributes["side"] != side {
			continue
		}
		if _, ok := at[p.Run.Key]; !ok {
			at[p.Run.Key] = len(runs)
			runs = append(runs, nil)
		}
		runs[at[p.Run.Key]] = append(runs[at[p.Run.Key]], *p)
	}
	return runs
}

// stores imports sources into a new store.
func stores(t *testing.T, sources []ingest.Source) store.Store {
	t.Helper()
	st := mem.New()
	var failed error
	if _, err := ingest.Run(t.Context(), st, sources, ingest.Options{}, func(r ingest.Result) {
		if r.Err != nil {
			failed = r.Err
		}
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return st
}
