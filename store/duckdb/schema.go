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
	"github.com/dendroprof/dendro/store/duckdb/internal/schema"
	"github.com/dendroprof/dendro/store/duckdb/internal/traces"
	"github.com/dendroprof/dendro/store/duckdb/internal/views"
	"github.com/dendroprof/dendro/store/duckdb/internal/windows"
)

// The keys of table meta.
const (
	metaVersion = "version" // of the schema
	metaProgram = "program"
	metaViews   = "views" // a hash of the stored views
)

// allViews lists what users' SQL sees besides the tables.
var allViews = slices.Concat(views.Profiles, traces.Views, windows.Views)

// prepareSchema makes the database a store of the newest schema, in one transaction: if the
// process dies, the file has one version or the other. DuckDB's lock on the file keeps other
// processes out.
func prepareSchema(ctx context.Context, c *driver.Conn, path string, readOnly bool) error {
	version, err := readVersion(ctx, c, path)
	switch {
	case err != nil || version == len(schema.Steps):
		return err
	case readOnly && version == 0:
		return driver.NoStore(path) // whoever created it was killed
	case readOnly:
		return fmt.Errorf("%s: %w: its schema is %d, this program's is %d: `dendro compact` brings it up to date",
			path, store.ErrOlder, version, len(schema.Steps))
	}
	err = c.WriteTx(func() error {
		return c.Exec(schema.After(version) + fmt.Sprintf("; DELETE FROM meta WHERE key IN ('%s', '%s'); INSERT INTO meta VALUES ('%[1]s', '%[3]d'), ('%[2]s', 'dendro')",
			metaVersion, metaProgram, len(schema.Steps)))
	})
	if err != nil {
		return fmt.Errorf("make the tables of schema %d: %w", len(schema.Steps), err)
	}
	if version == 0 {
		return nil
	}
	return c.Exec("CHECKPOINT")
}

// storeViews puts the views into the file that need no function of this program, for
// other programs. It writes if the file has not these views yet.
func storeViews(ctx context.Context, c *driver.Conn) error {
	sql := ""
	for _, v := range allViews {
		if v.Stored {
			sql += "CREATE OR REPLACE VIEW " + v.Name + " AS " + cmp.Or(v.StoredSQL, v.SQL) + ";"
		}
	}
	hash := fnv.New64a()
	hash.Write([]byte(sql))
	want := fmt.Sprintf("%x", hash.Sum64())
	have, err := c.Meta(ctx, metaViews)
	if err != nil || have == want {
		return err
	}
	return c.WriteTx(func() error {
		return c.Exec(sql + fmt.Sprintf("DELETE FROM meta WHERE key = '%s'; INSERT INTO meta VALUES ('%[1]s', '%s')", metaViews, want))
	})
}

// readVersion returns the schema version of the database: 0 if it is empty, an error
// if it is not a store, or one that this program cannot read.
func readVersion(ctx context.Context, c *driver.Conn, path string) (int, error) {
	meta, key, value := map[string]string{}, "", ""
	sql := "SELECT key::VARCHAR, value::VARCHAR FROM meta WHERE key IN ('" + metaVersion + "', '" + metaProgram + "')"
	unread := c.Rows(ctx, sql, nil, []any{&key, &value}, func() error {
		meta[key] = value
		return nil
	})
	if unread == nil && meta[metaProgram] == "dendro" {
		return checkVersion(meta[metaVersion], path)
	}
	// The list of tables takes ten times as long as the version.
	count, ours := int64(0), false
	err := c.Rows(ctx, `SELECT count(*), count(*) FILTER (table_name = 'meta' AND column_count = 2) = 1
		FROM duckdb_tables() WHERE NOT temporary AND NOT internal AND database_name = current_database()`, nil, []any{&count, &ours}, func() error { return nil })
	switch {
	case err != nil || count == 0:
		return 0, err
	case ours && unread != nil:
		return 0, driver.NotStore(path, "its table meta is not ours")
	}
	return 0, driver.NotStore(path, "it is a DuckDB database with other tables")
}

// checkVersion parses the version of a store. Before the first release, stores had none
// of this name.
func checkVersion(text, path string) (int, error) {
	version, err := strconv.Atoi(text)
	switch {
	case text == "":
		return 0, fmt.Errorf("%s: %w: one before v0.1.0, whose tables no release reads; import the profiles into a new file (the dendro that wrote this one has `export` for profiles without another copy)",
			path, store.ErrOlder)
	case err != nil || version < 1:
		return 0, fmt.Errorf("%s: %w: its schema is %q, which no version of Dendro wrote", path, store.ErrCorrupt, text)
	case version > len(schema.Steps):
		return 0, fmt.Errorf("%s: %w: its schema is %d, this program knows %d; use a newer dendro", path, store.ErrNewer, version, len(schema.Steps))
	}
	return version, nil
}
