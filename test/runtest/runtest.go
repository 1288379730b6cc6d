// Package runtest puts runs of benchmarks, written as text, into a store, so that the
// test of an analysis shows what was measured and nothing else.
//
// A run is folded stacks with their values, "main;load 6, main;query 12", and the
// metric of its benchmark, if the test needs one. What a store adds to that (keys,
// hashes, groups) is filled in and is the same each time. Tests that need more of a
// file, such as dates, machines or branches, make it themselves and use Vector and
// Put.
//
// The package is for tests only; nothing outside of tests imports it. Pictures of
// single profiles and of trees are proftest's, bytes of files readtest's.
package runtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// Run is one profile of a test.
type Run struct {
	Benchmark   string  // of the group g
	Stacks      string  // as Counts reads them
	Interpreted string  // the part of Stacks that ran so, the rest is compiled; empty: nothing is known
	Metric      float64 // 0: none
	Unit        string  // of Metric; default ms
	Type        string  // default cpu-samples
	Operations  float64 // 0: unknown
	Branch      string
	Process     string // of which the run is a snapshot
	Key, Commit string // default: the number of the run, and none
}

// Store returns a store with runs 01, 02, … in that order.
func Store(t testing.TB, runs ...Run) *mem.Store {
	t.Helper()
	st := mem.New()
	files := make([]*store.File, len(runs))
	for i := range runs {
		files[i] = runs[i].file(t, i+1)
	}
	Put(t, st, files...)
	return st
}

// file is the n-th run as a store takes it.
func (r *Run) file(t testing.TB, n int) *store.File {
	t.Helper()
	forest := &calltree.Forest{}
	rec := &store.Record{Type: profile.NamedType(cmp.Or(r.Type, profile.CPUSamples)), Hash: profile.Hash{byte(n), byte(len(r.Stacks))},
		Forest: forest}
	rec.Self = Vector(forest, Counts(t, r.Stacks))
	if r.Interpreted != "" {
		part := Vector(forest, Counts(t, r.Interpreted))
		minus := calltree.Vector{Nodes: part.Nodes}
		for _, v := range part.Self {
			minus.Self = append(minus.Self, -v)
		}
		rec.Modes = []store.ModeVector{{Mode: profile.FrameInterpreted, Vector: part},
			{Mode: profile.FrameJIT, Vector: calltree.AddVectors(rec.Self, minus)}}
	}
	key := fmt.Sprintf("%02d", n)
	f := &store.File{Name: key, Benchmark: testrun.Benchmark{Group: "g", Name: r.Benchmark}, Records: []*store.Record{rec},
		Run: testrun.Run{Key: cmp.Or(r.Key, key), Branch: r.Branch, Commit: r.Commit}}
	if r.Process != "" {
		f.Run.Attributes = map[string]string{"process": r.Process}
	}
	if r.Metric != 0 {
		unit := cmp.Or(r.Unit, "ms")
		f.Metrics = []testrun.Metric{{Name: "m", Mean: r.Metric, Unit: unit, Better: testrun.BetterOf(unit), Primary: true}}
	}
	if r.Operations > 0 {
		f.Metrics = append(f.Metrics, testrun.NewOperations(r.Operations, false))
	}
	return f
}

// PutRun stores a profile of the n-th run, whose date is that day.
func PutRun(t testing.TB, st store.Store, n int, r Run) {
	t.Helper()
	f := r.file(t, n)
	f.Run.Date = time.Date(2026, 1, n, 2, 0, 0, 0, time.UTC)
	Put(t, st, f)
}

// Put stores files and ends the test if one of them is not taken.
func Put(t testing.TB, st store.Store, files ...*store.File) {
	t.Helper()
	outcomes, err := st.Put(context.Background(), files, store.PutOptions{Rules: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
}

// Counts reads stacks with their values, "A;B 6, A 2", separated by commas or line
// ends. Equal stacks are added up.
func Counts(t testing.TB, text string) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' }) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseInt(line[at+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		counts[line[:max(at, 0)]] += v
	}
	return counts
}

// Vector adds the stacks "A;B" to a forest and returns their values over its paths;
// values of 0 are omitted.
func Vector(f *calltree.Forest, counts map[string]int64) calltree.Vector {
	stacks := slices.Sorted(maps.Keys(counts)) // in any other order paths have other numbers
	values := map[int32]int64{}
	for _, stack := range stacks {
		path := calltree.NoNode
		for name := range strings.SplitSeq(stack, ";") {
			path = f.Path(path, f.Function(profile.Function{Name: name}))
		}
		values[path] += counts[stack]
	}
	var v calltree.Vector
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if x := values[path]; x != 0 {
			v.Nodes, v.Self = append(v.Nodes, path), append(v.Self, x)
		}
	}
	return v
}
