package duckdb

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dendroprof/dendro/store"
)

// schemaVersion is the version of the tables and blobs that this program
// writes. docs/schema/duckdb.md has a paragraph per version.
const schemaVersion = 4

// The keys of table meta.
const (
	metaVersion = "schema"
	metaRules   = "rules"
	metaProgram = "program"
)

// tables lists the tables in the order in which they are created, copied and
// exported, each with its columns.
var tables = []struct{ name, columns string }{
	{"meta", `key VARCHAR, value VARCHAR`},
	{"fn", `id INTEGER, name VARCHAR, kind UTINYINT, module VARCHAR, file VARCHAR, start_line INTEGER,
		start_column INTEGER, language VARCHAR, system_name VARCHAR`},
	{"benchmark", `id INTEGER, grp VARCHAR, name VARCHAR, base VARCHAR, params MAP(VARCHAR, VARCHAR)`},
	{"run", `id INTEGER, key VARCHAR, date TIMESTAMP_NS, commit_id VARCHAR, branch VARCHAR, repository VARCHAR,
		machine VARCHAR, attributes MAP(VARCHAR, VARCHAR)`},
	{"metric", `bench INTEGER, run INTEGER, name VARCHAR, mean DOUBLE, unit VARCHAR, better VARCHAR, n BIGINT, is_primary BOOLEAN`},
	{"profile", `id INTEGER, uid VARCHAR, bench INTEGER, run INTEGER, type VARCHAR, unit VARCHAR, scale INTEGER,
		period BIGINT, period_unit VARCHAR, period_name VARCHAR, original VARCHAR, profiler VARCHAR, version VARCHAR,
		duration BIGINT, samples BIGINT, sum BIGINT, nodes INTEGER, hash VARCHAR, file VARCHAR, source INTEGER, parts VARCHAR`},
	{"call_path", `id INTEGER, parent INTEGER, fn INTEGER, depth INTEGER, rec INTEGER, recd INTEGER`},
	{"tree", `profile INTEGER, paths BLOB`},
	{"tree_mode", `profile INTEGER, mode UTINYINT, paths BLOB`},
	{"fn_sample", `bench INTEGER, profile INTEGER, fn INTEGER, self BIGINT, total BIGINT`},
	{"raw_name", `grp VARCHAR, fn INTEGER, name VARCHAR`},
	{"source", `id INTEGER, data BLOB`},
	{"task", `id VARCHAR, kind VARCHAR, service VARCHAR, service_id VARCHAR, created BIGINT, start BIGINT, duration BIGINT,
		stopped BIGINT, endpoint VARCHAR, min_duration BIGINT, period BIGINT, max_segments BIGINT, instances VARCHAR, events VARCHAR, arguments VARCHAR`},
	{"task_log", `task VARCHAR, instance VARCHAR, event VARCHAR, time BIGINT, text VARCHAR`},
	{"instance", `service VARCHAR, name VARCHAR, layer VARCHAR, language VARCHAR, properties VARCHAR,
		first_seen BIGINT, last_seen BIGINT, polled BIGINT, skew BIGINT`},
	{"segment", `seq BIGINT, key BIGINT, id VARCHAR, trace_key BIGINT, trace VARCHAR, service VARCHAR, instance VARCHAR, endpoint VARCHAR,
		operation VARCHAR, start BIGINT, latency BIGINT, failed BOOLEAN, size BIGINT, raw BLOB`},
	{"sampled_task", `id INTEGER, key BIGINT, name VARCHAR`},
	{"stack_signature", `task INTEGER, id INTEGER, name VARCHAR`},
	{"stack_path", `task INTEGER, id INTEGER, parent INTEGER, signature INTEGER`},
	{"snapshot", `task INTEGER, seq BIGINT, key BIGINT, segment VARCHAR, language UTINYINT, n INTEGER, newest BIGINT, size BIGINT, data BLOB`},
}

// prepareSchema checks that the database is a store of this version, and makes
// it one if it is empty. One that is written was migrated before.
func prepareSchema(c *conn, path string, readOnly bool) error {
	version, err := readVersion(c, path)
	if err != nil || version == schemaVersion {
		return err
	}
	if version > 0 {
		return fmt.Errorf("%s: %w: its schema is %d, this program's is %d: `dendro compact` brings it up to date", path, store.ErrOlder, version, schemaVersion)
	}
	if readOnly {
		return notStore(path, "it is empty")
	}
	return createTables(c, "")
}

// createTables makes the tables of an empty store in one transaction. The
// catalog is empty or ends in a dot.
func createTables(c *conn, catalog string) error {
	sql := "BEGIN TRANSACTION;"
	for _, t := range tables {
		sql += fmt.Sprintf("CREATE TABLE %s%s(%s);", catalog, t.name, t.columns)
	}
	sql += fmt.Sprintf("INSERT INTO %smeta VALUES ('%s', '%d'), ('%s', 'dendro'); COMMIT;", catalog, metaVersion, schemaVersion, metaProgram)
	return c.exec(sql)
}

// readVersion returns the schema version of the database: 0 if it is empty, an
// error if it is something else or newer than this program.
func readVersion(c *conn, path string) (int, error) {
	ctx := context.Background()
	count, ours := int64(0), false
	err := c.query(ctx, `SELECT count(*), count(*) FILTER (table_name = 'meta' AND column_count = 2)
		FROM duckdb_tables() WHERE NOT temporary AND NOT internal AND database_name = current_database()`, nil, func(ch chunk) error {
		count, ours = column[int64](ch, 0)[0], column[int64](ch, 1)[0] == 1
		return nil
	})
	if err != nil || count == 0 {
		return 0, err
	}
	meta := map[string]string{}
	if ours {
		err = c.query(ctx, "SELECT key, value FROM meta", nil, func(ch chunk) error {
			keys, values := ch.texts(0), ch.texts(1)
			for i := range keys {
				meta[keys[i]] = values[i]
			}
			return nil
		})
	}
	version, bad := strconv.Atoi(meta[metaVersion])
	switch {
	case err != nil:
		return 0, notStore(path, "its table meta is not ours")
	case !ours || meta[metaProgram] != "dendro" || bad != nil || version < 1:
		return 0, notStore(path, "it is a DuckDB database with other tables")
	case version > schemaVersion:
		return 0, fmt.Errorf("%s: %w: its schema is %d, this program knows %d; use a newer dendro", path, store.ErrNewer, version, schemaVersion)
	}
	return version, nil
}
