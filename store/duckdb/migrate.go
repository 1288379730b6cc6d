package duckdb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
	"github.com/dendroprof/dendro/store/duckdb/internal/windows"
)

// migrations[v-1] migrates a store of version v to version v+1.
var migrations = []func(context.Context, *driver.Conn) error{
	// 2: a sum of profiles remembers the parts it was made of. Those of sums
	// made before are not known.
	statements("ALTER TABLE profile ADD COLUMN parts VARCHAR DEFAULT ''"),
	// 3: trace profiling.
	statements(`CREATE TABLE task(id VARCHAR, kind VARCHAR, service VARCHAR, service_id VARCHAR, created BIGINT, start BIGINT, duration BIGINT, stopped BIGINT, endpoint VARCHAR, min_duration BIGINT, period BIGINT, max_segments BIGINT, instances VARCHAR, events VARCHAR, arguments VARCHAR);
	CREATE TABLE task_log(task VARCHAR, instance VARCHAR, event VARCHAR, time BIGINT, text VARCHAR);
	CREATE TABLE instance(service VARCHAR, name VARCHAR, layer VARCHAR, language VARCHAR, properties VARCHAR, first_seen BIGINT, last_seen BIGINT, polled BIGINT, skew BIGINT);
	CREATE TABLE segment(seq BIGINT, key BIGINT, id VARCHAR, trace_key BIGINT, trace VARCHAR, service VARCHAR, instance VARCHAR, endpoint VARCHAR, operation VARCHAR, start BIGINT, latency BIGINT, failed BOOLEAN, size BIGINT, raw BLOB);
	CREATE TABLE sampled_task(id INTEGER, key BIGINT, name VARCHAR);
	CREATE TABLE stack_signature(task INTEGER, id INTEGER, name VARCHAR);
	CREATE TABLE stack_path(task INTEGER, id INTEGER, parent INTEGER, signature INTEGER);
	CREATE TABLE snapshot(task INTEGER, seq BIGINT, key BIGINT, segment VARCHAR, language UTINYINT, n INTEGER, newest BIGINT, size BIGINT, data BLOB)`),
	// 4: vectors of Golomb codes in place of varints.
	profiles.RecodeVectors,
	// 5: the value type that the format of a file calls default. That of files imported
	// before is not known.
	statements("ALTER TABLE profile ADD COLUMN is_default BOOLEAN; UPDATE profile SET is_default = false"),
	// 6: the measurements behind a metric, and its error. Those of metrics stored before
	// are not known.
	statements("ALTER TABLE metric ADD COLUMN samples VARCHAR; ALTER TABLE metric ADD COLUMN error DOUBLE; UPDATE metric SET samples = '', error = 0"),
	// 7: when a segment arrived. Those stored before arrived when they started.
	statements("ALTER TABLE segment ADD COLUMN arrived BIGINT; UPDATE segment SET arrived = start"),
	// 8: accepted changes.
	statements("CREATE TABLE accepted(finding VARCHAR, benchmark VARCHAR, by_whom VARCHAR, accepted_at BIGINT, until BIGINT, up_to DOUBLE, reason VARCHAR)"),
	// 9: windows of continuous profiles.
	statements(windows.Create),
	// 10: rows of functions are of slots of benchmarks, and Compact writes them.
	func(_ context.Context, c *driver.Conn) error {
		c.DropAppenders() // or the table cannot be dropped
		return c.Exec(profiles.DropDerived)
	},
	// 11: verdicts on benchmarks.
	statements(profiles.CreateVerdicts),
}

func statements(sql string) func(context.Context, *driver.Conn) error {
	return func(_ context.Context, c *driver.Conn) error { return c.Exec(sql) }
}

// migrate migrates a store of an older version to this one, in one transaction: if the
// process dies, the file has one version or the other. DuckDB's lock on the file keeps
// other processes out.
func migrate(ctx context.Context, path string, opts driver.Options, steps []func(context.Context, *driver.Conn) error) error {
	db, err := driver.OpenDB(path, opts, session)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Use(func(c *driver.Conn) error {
		err := c.WriteTx(func() error { return runMigrations(ctx, c, path, steps) })
		if err != nil {
			return fmt.Errorf("migrate to schema %d: %w", schemaVersion, err)
		}
		return c.Exec("CHECKPOINT")
	})
}

// runMigrations runs the steps that the version of the file still needs: another
// process may have migrated it in the meantime.
func runMigrations(ctx context.Context, c *driver.Conn, path string, steps []func(context.Context, *driver.Conn) error) error {
	version, err := readVersion(ctx, c, path)
	if err != nil || version == 0 {
		return err
	}
	for _, step := range steps[version-1:] {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return c.Exec(fmt.Sprintf("UPDATE meta SET value = '%d' WHERE key = '%s'", schemaVersion, metaVersion))
}

// replaceDatabase renames the closed database next to path. If the process dies, path
// is either the old or the new one: next is complete on disk before it gets the name.
// The old one must have been closed properly, because its write-ahead log would not
// fit the new one.
func replaceDatabase(path, next string) error {
	if _, err := os.Stat(path + ".wal"); !os.IsNotExist(err) {
		return fmt.Errorf("%s.wal is in the way", path)
	}
	if err := syncFile(next); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncFile(filepath.Dir(path))
}

// removeDatabase removes a database that was not completed.
func removeDatabase(path string) {
	os.Remove(path)
	os.Remove(path + ".wal")
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
