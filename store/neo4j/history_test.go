package neo4j

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestHistory makes one random history on all engines. DENDRO_TEST_SEEDS says
// how many there are to be.
func TestHistory(t *testing.T) {
	long(t)
	seeds := uint64(2)
	if n, err := strconv.ParseUint(os.Getenv("DENDRO_TEST_SEEDS"), 10, 32); err == nil {
		seeds = n
	}
	others := []storetest.Engine{
		{Open: func(testing.TB) store.Store { return mem.New() }},
		{Open: func(t testing.TB) store.Store { return openDuckDB(t, filepath.Join(t.TempDir(), "store.duckdb")) }},
	}
	for _, m := range bothModels {
		for seed := range seeds {
			t.Run(string(m)+"/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
				storetest.History(t, seed, append(others, engine(m, nil))...)
			})
		}
	}
}

func openDuckDB(t testing.TB, file string) store.Store {
	t.Helper()
	s, err := duckdb.Open(t.Context(), file, duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
