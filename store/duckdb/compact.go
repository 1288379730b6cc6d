package duckdb

import (
	"context"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
	"github.com/dendroprof/dendro/store/duckdb/internal/traces"
)

// Compact implements store.Writer. It writes everything that is in use to a new file
// beside the old one and then renames it: whenever the process dies, one of the two
// is complete and has the name.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.file.EnterToWrite(ctx); err != nil {
		return err
	}
	s.file.Leave()
	next := s.file.Path + ".compact"
	removeDatabase(next)
	defer removeDatabase(next)
	return s.external(func(c *driver.Conn) error {
		return s.copyTo(ctx, c, next)
	}, func() error { return replaceDatabase(s.file.Path, next) })
}

// external runs f on a database that may access other files, and done, which may be
// nil, while the database is closed. No other call uses the store meanwhile.
func (s *Store) external(f func(c *driver.Conn) error, done func() error) error {
	return s.file.External(func(c *driver.Conn) error {
		if err := traces.RegisterDecoders(c); err != nil {
			return err
		}
		if err := profiles.RegisterDecoders(s.profileStore, c); err != nil {
			return err
		}
		return f(c)
	}, done)
}

// fresh is the name under which the new file is attached. DuckDB calls the store
// itself by its file's name up to the first dot, so the two always differ.
const (
	fresh    = "fresh.copy"
	freshSQL = `"` + fresh + `"`
)

// copyTo fills the database next.
func (s *Store) copyTo(ctx context.Context, c *driver.Conn, next string) error {
	if err := c.Exec("ATTACH " + driver.Quote(next) + " AS " + freshSQL); err != nil {
		return err
	}
	if err := createTables(c, freshSQL+"."); err != nil {
		return err
	}
	if err := c.Exec("DELETE FROM " + freshSQL + ".meta; INSERT INTO " + freshSQL + ".meta SELECT * FROM meta WHERE key <> '" + metaViews + "'"); err != nil {
		return err
	}
	if err := profiles.Copy(ctx, s.profileStore, c, fresh); err != nil {
		return err
	}
	if err := traces.Copy(ctx, s.traceStore, c, fresh); err != nil {
		return err
	}
	c.DropAppenders() // they keep the new database attached
	return c.Exec("CHECKPOINT " + freshSQL + "; DETACH " + freshSQL)
}
