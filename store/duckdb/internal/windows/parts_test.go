package windows

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestParts reads vectors a few rows at a time, and rolls up a few series at a time, as
// large stores do.
func TestParts(t *testing.T) {
	rows, bytes := partRows, readBytes
	defer func() { partRows, readBytes = rows, bytes }()
	partRows, readBytes = 7, 40
	simple := storetest.WindowEngine{Open: func(testing.TB) continuous.Store { return mem.New() }}
	for seed := range uint64(3) {
		storetest.WindowHistory(t, seed, simple, storetest.WindowEngine{Open: openTables})
	}
}

// openTables opens a new file with the tables that windows need.
func openTables(t testing.TB) continuous.Store {
	file, err := driver.NewFile(filepath.Join(t.TempDir(), "windows.duckdb"), driver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	base := profiles.New(file)
	s := New(file, base)
	err = file.Open(t.Context(), driver.Hooks{
		Session: profiles.Session + ";" + Session,
		Load: func(ctx context.Context, c *driver.Conn) error {
			var sql strings.Builder
			sql.WriteString("CREATE TABLE meta(key VARCHAR, value VARCHAR);")
			for _, table := range profiles.Tables {
				fmt.Fprintf(&sql, "CREATE TABLE %s(%s);", table.Name, table.Columns)
			}
			if err := c.Exec(sql.String() + Create); err != nil {
				return err
			}
			return profiles.Load(ctx, base, c)
		},
		Closing: func() { profiles.Unload(base) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return s
}
