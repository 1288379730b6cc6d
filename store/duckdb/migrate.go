package duckdb

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// migrations[v-1] turns a store of version v into one of version v+1.
var migrations = []func(c *conn) error{
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
	recodeVectors,
}

func statements(sql string) func(*conn) error { return func(c *conn) error { return c.exec(sql) } }

// migrate brings a store of an older version to this one, in one transaction:
// whenever the process dies, the file is of one version or the other. DuckDB's lock
// on the file keeps other processes out meanwhile.
func migrate(path string, opts Options, steps []func(*conn) error) error {
	in, err := openInstance(path, false, false, opts)
	if err != nil {
		return translate(path, err)
	}
	defer in.close()
	c, err := in.connect()
	if err != nil {
		return translate(path, err)
	}
	defer c.close()
	if err := c.exec("BEGIN TRANSACTION"); err != nil {
		return translate(path, err)
	}
	if err = runMigrations(c, path, steps); err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		return translate(path, fmt.Errorf("migrate to schema %d: %w", schemaVersion, err)) // closing rolls back
	}
	return translate(path, c.exec("CHECKPOINT"))
}

// runMigrations runs the steps that the version of the file still needs: another
// process may have migrated it since it was looked at.
func runMigrations(c *conn, path string, steps []func(*conn) error) error {
	version, err := readVersion(c, path)
	if err != nil || version == 0 {
		return err
	}
	for _, step := range steps[version-1:] {
		if err := step(c); err != nil {
			return err
		}
	}
	return c.exec(fmt.Sprintf("UPDATE meta SET value = '%d' WHERE key = '%s'", schemaVersion, metaVersion))
}

// recodeVectors turns vectors of schema 3 into those of schema 4, 256 profiles at
// a time.
func recodeVectors(c *conn) error {
	var limit int64
	err := c.query(context.Background(), "SELECT (coalesce(max(id), -1) + 1)::BIGINT FROM call_path", nil, func(ch chunk) error {
		limit = column[int64](ch, 0)[0]
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range []string{"tree", "tree_mode"} {
		if err := recodeTable(c, table, int(limit)); err != nil {
			return err
		}
	}
	return nil
}

func recodeTable(c *conn, table string, limit int) error {
	last := int64(-1)
	err := c.query(context.Background(), "SELECT coalesce(max(profile), -1)::BIGINT FROM "+table, nil, func(ch chunk) error {
		last = column[int64](ch, 0)[0]
		return nil
	})
	if err == nil {
		err = c.exec(fmt.Sprintf("CREATE TABLE recoded AS FROM %s LIMIT 0", table))
	}
	var encoder vectorEncoder
	for from := int64(0); err == nil && from <= last; from += 256 {
		sql := fmt.Sprintf("SELECT * FROM %s WHERE profile BETWEEN %d AND %d ORDER BY ALL", table, from, from+255)
		err = c.query(context.Background(), sql, nil, func(ch chunk) error {
			columns := []any{slices.Clone(column[int32](ch, 0))}
			if table == "tree_mode" {
				columns = append(columns, slices.Clone(column[uint8](ch, 1)))
			}
			var list [][]byte
			for _, blob := range column[text](ch, len(columns)) {
				v, err := decodeVarintVector(blob.bytes(), limit)
				if err != nil {
					return err
				}
				list = append(list, encoder.encode(v.Nodes, v.Self))
			}
			return c.appendTo("", "recoded", len(list), append(columns, list)...)
		})
	}
	if err != nil {
		return err
	}
	c.dropAppenders() // or the table cannot be renamed
	return c.exec(fmt.Sprintf("DROP TABLE %s; ALTER TABLE recoded RENAME TO %s", table, table))
}

// decodeVarintVector decodes a vector as schemas 1 to 3 have it: n, g, n path ids
// less their predecessors and 1, and n zigzag values divided by g, all as varints.
func decodeVarintVector(blob []byte, limit int) (v calltree.Vector, err error) {
	rest := blob
	next := func() uint64 {
		u, size := binary.Uvarint(rest)
		if size <= 0 {
			err, size = corruptf("a call tree of %d bytes cannot be read", len(blob)), 0
		}
		rest = rest[size:]
		return u
	}
	n, g := next(), int64(next())
	for path := int64(-1); n > 0 && err == nil; n-- {
		u := next()
		if path += int64(u) + 1; u > math.MaxInt32 || path >= int64(limit) {
			return v, corruptf("a call tree has a path that the forest has not")
		}
		v.Nodes = append(v.Nodes, int32(path))
	}
	if err != nil {
		return v, err
	}
	v.Self = make([]int64, len(v.Nodes))
	rest, ok := decodeNumbers(rest, v.Self)
	if !ok || len(rest) > 0 {
		return v, corruptf("a call tree of %d bytes cannot be read", len(blob))
	}
	for i := range v.Self {
		v.Self[i] *= g
	}
	return v, nil
}

// replaceDatabase puts the closed database next in the place of the closed one
// at path. Whenever the process dies, path is either the old or the new one: next
// is complete on disk before it gets the name. The old one must have been closed
// in order, because its write-ahead log would not fit the new one.
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
