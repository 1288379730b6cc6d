package duckdb

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/schema"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestReleased: each store that a release wrote has the tables that the steps of its schema make. A
// released step that is edited, together with its hash, fails here: the tables change by a step of their own.
func TestReleased(t *testing.T) {
	stores, err := filepath.Glob("../../test/pipeline/testdata/v*.duckdb.gz")
	if err != nil || len(stores) == 0 {
		t.Fatal(stores, err)
	}
	newest := 0
	for _, packed := range stores {
		released := filepath.Join(t.TempDir(), "released.duckdb")
		if err := os.WriteFile(released, readtest.File(t, filepath.Join("..", packed)), 0o600); err != nil {
			t.Fatal(err)
		}
		version, err := strconv.Atoi(raw(t, released, "", "SELECT value FROM meta WHERE key = '"+metaVersion+"'")[0])
		if err != nil || version < 1 || version > len(schema.Steps) {
			t.Fatalf("%s: schema %d, %v", packed, version, err)
		}
		newest = max(newest, version)
		made := filepath.Join(t.TempDir(), "made.duckdb")
		for n, step := range schema.Steps[:version] {
			raw(t, made, step, "SELECT "+strconv.Itoa(n))
		}
		const tables = `SELECT concat_ws(' ', table_name, column_index, column_name, data_type, is_nullable, column_default)
			FROM duckdb_columns() WHERE NOT internal AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT temporary)
			UNION ALL SELECT concat_ws(' ', table_name, constraint_type, constraint_text) FROM duckdb_constraints()
			UNION ALL SELECT concat_ws(' ', table_name, sql) FROM duckdb_indexes() ORDER BY 1`
		want, got := raw(t, released, "", tables), raw(t, made, "", tables)
		if len(want) < 100 || !cmp.Equal(want, got) {
			t.Errorf("%s has other tables than the steps 1 to %d make; a released step is never edited, add another:\n%s", packed, version, cmp.Diff(want, got))
		}
	}
	if newest < len(schema.Steps)-1 {
		t.Errorf("schema %d has no store of its release in test/pipeline/testdata; only the newest, which is not released yet, needs none", newest+1)
	}
}

// raw runs SQL on a database file as DuckDB alone would, and returns the texts that a query answers.
func raw(t *testing.T, path, sql, query string) (texts []string) {
	t.Helper()
	db, err := driver.OpenDB(path, driver.Options{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Use(func(c *driver.Conn) error {
		if err := c.Exec(sql + ";SELECT 1"); err != nil {
			return err
		}
		return c.Query(t.Context(), "SELECT x::VARCHAR FROM ("+query+") AS _(x)", nil, func(ch driver.Chunk) error {
			texts = append(texts, ch.Texts(0)...)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
