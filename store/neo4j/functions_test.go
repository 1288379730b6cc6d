package neo4j

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/test/proftest"
)

// TestSumInParts has a sum divided among transactions, as that over a large
// selection is.
func TestSumInParts(t *testing.T) {
	defer func(n int) { sumRows = n }(sumRows)
	sumRows = 1
	ctx := context.Background()
	for _, m := range []Model{Shared, Thesis} {
		t.Run(string(m), func(t *testing.T) {
			s, plain := opened(t, fresh(t, m)), mem.New()
			defer plain.Close()
			h := newHistory(3, 300)
			for range 12 {
				file := h.next()
				mustPut(t, s, store.Refuse, file)
				mustPut(t, plain, store.Refuse, file)
			}
			if _, err := s.withSelection(ctx, store.Query{}, func(t2 *bolt.Tx, sel *selection) error {
				answers, err := s.sumInParts(t2, sel)
				if want := s.db.ServerProcessors(ctx); len(answers) < want {
					t.Errorf("%d parts, want %d", len(answers), want)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			got, err := store.SumFunctions(ctx, s, store.Query{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := store.SumFunctions(ctx, plain, store.Query{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Rows, got.Rows, cmpopts.EquateApprox(0, 1e-12)); diff != "" || len(want.Rows) == 0 {
				t.Errorf("%d rows; -want +got:\n%s", len(want.Rows), diff)
			}
		})
	}
}

// TestTreesInParts has the paths of trees requested in several transactions, as
// those of large ones are.
func TestTreesInParts(t *testing.T) {
	defer func(chunk, all, nodes int) { structureChunk, allPaths, readNodes = chunk, all, nodes }(structureChunk, allPaths, readNodes)
	structureChunk, readNodes = 50, 300
	ctx := context.Background()
	where, plain := fresh(t, Shared), mem.New()
	defer plain.Close()
	s := opened(t, where)
	h := newHistory(3, 300)
	for range 6 {
		file := h.next()
		mustPut(t, s, store.Refuse, file)
		mustPut(t, plain, store.Refuse, file)
	}
	want, _, err := store.MergeTrees(ctx, plain, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, allPaths = range []int{8, 1} { // all at once, and by lookups
		got, _, err := store.MergeTrees(ctx, opened(t, where), store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(proftest.Draw(want), proftest.Draw(got)); diff != "" || want.Len() < 10*structureChunk {
			t.Errorf("%d nodes; -want +got:\n%s", want.Len(), diff)
		}
	}
}
