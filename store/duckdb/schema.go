package duckdb

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
	"github.com/dendroprof/dendro/store/duckdb/internal/traces"
	"github.com/dendroprof/dendro/store/duckdb/internal/windows"
)

// schemaVersion is the version of the tables and blobs that this program writes.
// docs/schema/duckdb.md has a paragraph per version.
const schemaVersion = 11

// The keys of table meta.
const (
	metaVersion = "schema"
	metaProgram = "program"
	metaViews   = "views" // a hash of the stored views
)

// tables lists the tables in the order in which they are created and exported.
var tables = slices.Concat([]driver.Table{{Name: "meta", Columns: "key VARCHAR, value VARCHAR"}}, profiles.Tables, traces.Tables,
	windows.Tables)

// views lists what users' SQL sees besides the tables.
var views = slices.Concat(profiles.Views, traces.Views, windows.Views)

// prepareSchema checks that the database is a store of this version. It creates the
// tables in an empty one. checkFile has migrated older ones.
func prepareSchema(ctx context.Context, c *driver.Conn, path string, readOnly bool) error {
	version, err := readVersion(ctx, c, path)
	if err != nil || version == schemaVersion {
		return err
	}
	if version > 0 {
		return fmt.Errorf("%s: %w: its schema is %d, this program's is %d: `dendro compact` brings it up to date", path, store.ErrOlder, version, schemaVersion)
	}
	if readOnly {
		return driver.NoStore(path) // whoever created it was killed
	}
	return createTables(c, "")
}

// createTables creates the tables of an empty store in one transaction. The catalog is
// empty or ends in a dot.
func createTables(c *driver.Conn, catalog string) error {
	sql := "BEGIN TRANSACTION;"
	for _, t := range tables {
		sql += fmt.Sprintf("CREATE TABLE %s%s(%s);", catalog, t.Name, t.Columns)
	}
	sql += fmt.Sprintf("INSERT INTO %smeta VALUES ('%s', '%d'), ('%s', 'dendro'); COMMIT;", catalog, metaVersion, schemaVersion, metaProgram)
	return c.Exec(sql)
}

// storeViews puts the views into the file that need no function of this program, for
// other programs. It writes if the file has not these views yet.
func storeViews(ctx context.Context, c *driver.Conn) error {
	sql := ""
	for _, v := range views {
		if v.Stored {
			sql += "CREATE OR REPLACE VIEW " + v.Name + " AS " + cmp.Or(v.StoredSQL, v.SQL) + ";"
		}
	}
	hash := fnv.New64a()
	hash.Write([]byte(sql))
	want, have := fmt.Sprintf("%x", hash.Sum64()), ""
	err := c.Query(ctx, "SELECT value FROM meta WHERE key = '"+metaViews+"'", nil, func(ch driver.Chunk) error {
		have = ch.Texts(0)[0]
		return nil
	})
	if err != nil || have == want {
		return err
	}
	return c.WriteTx(func() error {
		return c.Exec(sql + fmt.Sprintf("DELETE FROM meta WHERE key = '%s'; INSERT INTO meta VALUES ('%[1]s', '%s')", metaViews, want))
	})
}

// readVersion returns the schema version of the database: 0 if it is empty, an error
// if it is not a store or newer than this program.
func readVersion(ctx context.Context, c *driver.Conn, path string) (int, error) {
	meta := map[string]string{}
	unread := c.Query(ctx, "SELECT key::VARCHAR, value::VARCHAR FROM meta", nil, func(ch driver.Chunk) error {
		keys, values := ch.Texts(0), ch.Texts(1)
		for i := range keys {
			meta[keys[i]] = values[i]
		}
		return nil
	})
	version, bad := strconv.Atoi(meta[metaVersion])
	if unread == nil && meta[metaProgram] == "dendro" && bad == nil && version >= 1 {
		if version > schemaVersion {
			return 0, fmt.Errorf("%s: %w: its schema is %d, this program knows %d; use a newer dendro", path, store.ErrNewer, version, schemaVersion)
		}
		return version, nil
	}
	// The list of tables takes ten times as long as the version.
	count, ours := int64(0), false
	err := c.Query(ctx, `SELECT count(*), count(*) FILTER (table_name = 'meta' AND column_count = 2)
		FROM duckdb_tables() WHERE NOT temporary AND NOT internal AND database_name = current_database()`, nil, func(ch driver.Chunk) error {
		count, ours = driver.Column[int64](ch, 0)[0], driver.Column[int64](ch, 1)[0] == 1
		return nil
	})
	switch {
	case err != nil || count == 0:
		return 0, err
	case ours && unread != nil:
		return 0, driver.NotStore(path, "its table meta is not ours")
	}
	return 0, driver.NotStore(path, "it is a DuckDB database with other tables")
}
