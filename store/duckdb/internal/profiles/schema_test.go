package profiles

import (
	"slices"
	"testing"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// The columns that are written have the names and the order of the table's.
func TestProfileColumns(t *testing.T) {
	var want, got []string
	err := open(t).file.With(func(c *driver.Conn) error {
		return c.Query(t.Context(), "SELECT column_name FROM duckdb_columns() WHERE table_name = 'profile' ORDER BY column_index", nil, func(ch driver.Chunk) error {
			want = append(want, ch.Texts(0)...)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range profileColumns {
		got = append(got, column.name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("written as %v, the table has %v", got, want)
	}
}
