package trees

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/runtest"
)

// noTrees is a store that lists and adds up functions: it counts what it is asked for.
type noTrees struct {
	store.Store
	trees, totals int
}

func (s *noTrees) Aggregates() store.Aggregates {
	return store.Aggregates{SumFunctions: s.SumFunctions, MergeTrees: s.MergeTrees}
}

func (s *noTrees) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	s.totals++
	return store.SumFunctions(ctx, s.Store, q)
}

func (s *noTrees) MergeTrees(ctx context.Context, q store.Query, _ float64) (*calltree.Tree, []store.Profile, error) {
	s.trees++
	return store.MergeTrees(ctx, s.Store, q)
}

// A list of functions is made of their sums, without a tree, and equals that of the tree.
// What needs the tree reads it: other views, and values that cancel.
func TestTopReadsNoTree(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "a", Stacks: "main;load 6, main;query;load 2, main;query 4, main;load;load 3"},
		runtest.Run{Benchmark: "b", Stacks: "main;query 5, other 5"})
	cancelling := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "main;load 6, main;a;b 2, main;c;b -2"})
	for _, c := range []struct {
		name          string
		st            store.Store
		r             TreeRequest
		totals, trees int
	}{
		{"top", st, TreeRequest{View: "functions"}, 1, 0},
		{"by total", st, TreeRequest{View: "functions", Sort: "total"}, 1, 0},
		{"two rows", st, TreeRequest{View: "functions", Cut: Cut{Rows: 2}}, 1, 0},
		{"large ones", st, TreeRequest{View: "functions", Cut: Cut{MinPercent: 30}}, 1, 0},
		{"tree", st, TreeRequest{View: "tree"}, 0, 1},
		{"callees", st, TreeRequest{View: "functions", Filter: Filter{Callees: "query"}}, 0, 1},
		{"search", st, TreeRequest{View: "functions", Filter: Filter{SampleFilter: SampleFilter{Search: "load"}}}, 0, 1},
		{"values that cancel", cancelling, TreeRequest{View: "functions"}, 1, 1},
	} {
		counted := &noTrees{Store: c.st}
		got, err := TreeView(&c.r).Answer(t.Context(), counted, &c.r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if counted.totals != c.totals || counted.trees != c.trees {
			t.Errorf("%s asks for %d sums and %d trees, want %d and %d", c.name, counted.totals, counted.trees, c.totals, c.trees)
		}
		if c.r.View != "functions" {
			continue
		}
		s, err := newScope(t.Context(), c.st, &c.r, c.r.View)
		if err != nil {
			t.Fatal(err)
		}
		want := s.functions(s.tree.FunctionRows(), s.tree.RootTotal())
		if a, b := jsonOf(t, got), jsonOf(t, want); !bytes.Equal(a, b) {
			t.Errorf("%s:\n%s\nwant, from the tree,\n%s", c.name, a, b)
		}
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pruning is a store that prunes as much as store.MergeTreesAbove allows.
type pruning struct {
	store.Store
	percent float64
}

func (s *pruning) Aggregates() store.Aggregates {
	return store.Aggregates{MergeTrees: s.MergeTreesAbove}
}

func (s *pruning) MergeTreesAbove(ctx context.Context, q store.Query, percent float64) (*calltree.Tree, []store.Profile, error) {
	s.percent = percent
	return store.MergeTrees(ctx, s.Store, q)
}

// Details are left out only for a plain tree of which nothing but rows is read.
func TestTreePrunes(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "a", Stacks: "main;load 6, main;query;load 2, main;query 4"})
	small := Cut{MinPercent: 20}
	for _, c := range []struct {
		name string
		r    TreeRequest
		want float64
	}{
		{"rows", TreeRequest{View: "tree", Cut: small, RowsOnly: true}, 20},
		{"all rows", TreeRequest{View: "tree", RowsOnly: true}, 0},
		{"columns", TreeRequest{View: "tree", Cut: small}, 0},
		{"flame graph", TreeRequest{View: "flame", Cut: small, RowsOnly: true}, 0},
		{"inverted", TreeRequest{View: "tree", Cut: small, Filter: Filter{Invert: true}, RowsOnly: true}, 0},
		{"callers", TreeRequest{View: "tree", Cut: small, Filter: Filter{Callers: "load"}, RowsOnly: true}, 0},
		{"below a path", TreeRequest{View: "tree", Cut: small, Filter: Filter{Under: "query"}, RowsOnly: true}, 0},
		{"a transform", TreeRequest{View: "tree", Cut: small, Filter: Filter{Transforms: []string{"merge-function:query"}}, RowsOnly: true}, 0},
	} {
		s := &pruning{Store: st}
		if _, err := TreeView(&c.r).Answer(t.Context(), s, &c.r); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if s.percent != c.want {
			t.Errorf("%s: pruned below %v %%, want %v", c.name, s.percent, c.want)
		}
	}
}
