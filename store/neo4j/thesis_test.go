package neo4j

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// TestThesisInChunks expects the same tree however many nodes each statement makes.
func TestThesisInChunks(t *testing.T) {
	defer func(n int) { thesisChunk = n }(thesisChunk)
	var trees []string
	for _, thesisChunk = range []int{1, 7, 10_000} {
		where := fresh(t, Thesis)
		file := newHistory(1, 300).next()
		mustPut(t, opened(t, where), store.Refuse, file)
		var tree strings.Builder
		if err := dialed(t, where).Read(t.Context(), func(t *bolt.Tx) error {
			tree.Reset()
			for _, statement := range []string{
				"MATCH (f:Function) RETURN f.key, f.depth, f.codePath, f.baseSamples, f.totalSamples, f.base, f.total ORDER BY f.key",
				"MATCH (a:Function)-[r:INVOKES]->(f:Function) RETURN 'invokes', a.key, f.key ORDER BY f.key",
				"MATCH (a:Function)-[r:RECURS]->(f:Function) RETURN 'recurs', a.key, r.distance, f.key ORDER BY f.key",
			} {
				if err := t.Each(statement, nil, func(r bolt.Row) error { fmt.Fprintln(&tree, r...); return nil }); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree.String())
	}
	if nodes, recursions := strings.Count(trees[0], "invokes"), strings.Count(trees[0], "recurs"); nodes < 100 || recursions < 10 {
		t.Fatalf("%d nodes and %d recursions are too few to say anything", nodes, recursions)
	}
	for _, tree := range trees[1:] {
		if diff := cmp.Diff(trees[0], tree); diff != "" {
			t.Errorf("(-one node each +several)\n%s", diff)
		}
	}
}
