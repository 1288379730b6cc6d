package query

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/runtest"
	"github.com/dendroprof/dendro/store"
)

// noTrees is a store that lists and adds up functions: it counts what it is asked for.
type noTrees struct {
	store.Store
	trees, totals int
}

func (s *noTrees) TotalFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	s.totals++
	return store.SumFunctions(ctx, s.Store, q)
}

func (s *noTrees) MergeTrees(ctx context.Context, q store.Query) (*calltree.Tree, []store.Profile, error) {
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
		got, err := Tree(t.Context(), counted, &c.r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if counted.totals != c.totals || counted.trees != c.trees {
			t.Errorf("%s asks for %d sums and %d trees, want %d and %d", c.name, counted.totals, counted.trees, c.totals, c.trees)
		}
		if c.r.View != "functions" {
			continue
		}
		s, err := newScope(t.Context(), c.st, &c.r)
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
