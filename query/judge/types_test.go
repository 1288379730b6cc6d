package judge

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	queryfind "github.com/dendroprof/dendro/query/find"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// put stores a run of a benchmark in which main calls f, once per value type. A type that
// begins with an asterisk is the default of the file.
func put(t *testing.T, st store.Store, benchmark, run string, types ...profile.ValueType) {
	t.Helper()
	file := &store.File{Name: run, Benchmark: testrun.Benchmark{Name: benchmark}, Run: testrun.Run{Key: run}}
	for i, typ := range types {
		forest := &calltree.Forest{}
		r := &store.Record{Type: typ, Samples: 1, Forest: forest, Self: runtest.Vector(forest, map[string]int64{"main;f": 30, "main": 10}),
			Hash: profile.Hash{byte(i), run[0], benchmark[0]}}
		r.Type.Name, r.Default = strings.CutPrefix(typ.Name, "*")
		file.Records = append(file.Records, r)
	}
	runtest.Put(t, st, file)
}

func TestOneType(t *testing.T) {
	cpu, alloc, live := profile.NamedType("*cpu"), profile.NamedType("alloc"), profile.NamedType("*live")
	for _, c := range []struct {
		name   string
		fill   func(st store.Store)
		types  []string // of the request
		want   []string
		others string
	}{
		{"one type", func(st store.Store) { put(t, st, "b", "r", cpu) }, nil, nil, ""},
		{"asked for", func(st store.Store) { put(t, st, "b", "r", cpu, alloc) }, []string{"alloc"}, []string{"alloc"}, ""},
		{"the default of the file", func(st store.Store) { put(t, st, "b", "r", alloc, live, profile.NamedType("lock")) }, nil, []string{"live"},
			"alloc, lock"},
		{"of most benchmarks", func(st store.Store) {
			put(t, st, "a", "r", cpu)
			put(t, st, "b", "r", live)
			put(t, st, "c", "r", live)
		}, nil, []string{"live"}, "cpu (1 sample)"},
		{"two files of one benchmark", func(st store.Store) {
			put(t, st, "b", "r", live, alloc)
			put(t, st, "b", "r", cpu)
		}, nil, []string{"cpu"}, "alloc, live"},
		{"unknown defaults", func(st store.Store) { put(t, st, "b", "r", alloc, profile.NamedType("cpu-samples")) }, nil,
			[]string{"cpu-samples"}, "alloc"},
	} {
		st := mem.New()
		c.fill(st)
		q, notes, err := query.OneType(t.Context(), st, &query.Selection{Types: c.types})
		if err != nil || !slices.Equal(q.Types, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.name, q.Types, err, c.want)
		}
		if c.others == "" && len(notes) > 0 || c.others != "" &&
			(len(notes) != 1 || !strings.HasSuffix(notes[0], "--type shows others: "+c.others)) {
			t.Errorf("%s: notes %q, want the others: %q", c.name, notes, c.others)
		}
	}
}

// TestPeriods: types that differ in their period do not add, but their shares compare.
func TestPeriods(t *testing.T) {
	st := mem.New()
	slow, fast := profile.NamedType(profile.CPUSamples), profile.NamedType(profile.CPUSamples)
	slow.Period, slow.PeriodUnit = 10_000_000, "nanoseconds"
	fast.Period, fast.PeriodUnit = 1_000_000, "nanoseconds"
	put(t, st, "b", "r1", slow)
	put(t, st, "b", "r2", fast)

	find := queryfind.Request{Pattern: "f"}
	param.Of(&find) // sets the defaults
	found, err := queryfind.Find(t.Context(), st, &find)
	if err != nil || len(found.Rows) != 2 || found.Rows[1].Share != 0.75 {
		t.Errorf("find: %+v, %v", found, err)
	}
	b := BottlenecksRequest{}
	param.Of(&b) // sets the defaults
	if r, err := Bottlenecks(t.Context(), st, &b); err != nil || r.Rows[0].Score != 0.75 || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "sampling periods") {
		t.Errorf("bottlenecks: %+v, %v", r, err)
	}
	b.Weight = "samples"
	var several *store.SeveralTypesError
	if _, err := Bottlenecks(t.Context(), st, &b); !errors.As(err, &several) {
		t.Errorf("bottlenecks by samples: %v", err)
	}
	tree := trees.TreeRequest{View: "tree"}
	_, err = trees.Tree(t.Context(), st, &tree)
	if !errors.As(err, &several) {
		t.Fatalf("tree: %v", err)
	}
	for _, key := range several.Keys { // as the error advises
		tree.Types = []string{key}
		if r, err := trees.Tree(t.Context(), st, &tree); err != nil || r.Profiles != 1 {
			t.Errorf("tree --type %s: %+v, %v", key, r, err)
		}
	}
}
