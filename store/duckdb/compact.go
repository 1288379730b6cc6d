package duckdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
	"github.com/dendroprof/dendro/store/duckdb/internal/schema"
	"github.com/dendroprof/dendro/store/duckdb/internal/traces"
	"github.com/dendroprof/dendro/store/duckdb/internal/windows"
)

// Compact implements store.Writer. It writes everything that is in use to a new file
// beside the old one and then renames it: whenever the process dies, one of the two
// is complete and has the name. Changes wait until it is done, queries only while the
// database is closed and opened again: its log is written back before, while they run.
func (s *Store) Compact(ctx context.Context) error {
	defer profiles.Freeze(s.profileStore)()
	defer traces.Freeze(s.traceStore)()
	if err := s.file.EnterToWrite(ctx); err != nil {
		return err
	}
	next := driver.Spare(s.file.Path)
	removeDatabase(next)
	defer removeDatabase(next)
	err := s.file.With(func(c *driver.Conn) error { return s.copyTo(ctx, c, next) })
	s.file.Leave()
	if errors.Is(err, store.ErrNoSpace) {
		return fmt.Errorf("compact: the store is unchanged; it needs up to %d MB of free space for the new file: %w", s.bytes()/1e6+1, err)
	}
	if err != nil {
		return err
	}
	return s.file.Replace(ctx, func() error { return replaceDatabase(s.file.Path, next) })
}

// fresh is the name under which the new file is attached. DuckDB calls the store
// itself by its file's name up to the first dot, so the two always differ.
const (
	fresh    = "fresh.copy"
	freshSQL = `"` + fresh + `"`
)

// copyTo fills the database next.
func (s *Store) copyTo(ctx context.Context, c *driver.Conn, next string) error {
	if err := c.Exec("ATTACH " + driver.Quote(next) + " AS " + freshSQL + " (STORAGE_VERSION '" + driver.StorageVersion +
		"', RECOVERY_MODE 'NO_WAL_WRITES')"); err != nil {
		return err
	}
	defer c.Exec("DETACH " + freshSQL)
	err := inCatalog(ctx, c, freshSQL, func() error { return c.WriteTx(func() error { return c.Exec(schema.After(0)) }) })
	if err == nil {
		err = c.Exec("INSERT INTO " + freshSQL + ".meta SELECT * FROM meta WHERE key <> '" + metaViews + "'")
	}
	if err != nil {
		return err
	}
	beside := make(chan error, 1)
	go func() { beside <- s.file.With(func(c *driver.Conn) error { return s.copyBeside(ctx, c) }) }()
	err = profiles.Copy(ctx, s.profileStore, c, fresh, windows.Vectors{})
	if err = cmp.Or(err, <-beside); err != nil {
		return err
	}
	return c.Exec("CHECKPOINT " + freshSQL)
}

// copyBeside does what needs no profiles: it writes back the log of the store, and fills the
// other tables of the new database.
func (s *Store) copyBeside(ctx context.Context, c *driver.Conn) error {
	defer c.DropAppenders() // they keep the new database attached
	if err := c.Exec("CHECKPOINT"); err != nil {
		return err
	}
	if err := traces.Copy(ctx, s.traceStore, c, fresh); err != nil {
		return err
	}
	return inCatalog(ctx, c, freshSQL, func() error { return storeViews(ctx, c) }) // so that whoever opens it need not write
}

// inCatalog calls f while an attached database is the one that statements mean.
func inCatalog(ctx context.Context, c *driver.Conn, catalog string, f func() error) error {
	name := ""
	err := c.Query(ctx, "SELECT current_database()", nil, func(ch driver.Chunk) error {
		name = ch.Texts(0)[0]
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.Exec("USE " + catalog); err != nil {
		return err
	}
	err = f()
	return cmp.Or(c.Exec(`USE "`+strings.ReplaceAll(name, `"`, `""`)+`"`), err)
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
