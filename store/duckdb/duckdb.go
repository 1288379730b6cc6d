// Package duckdb keeps a store in one DuckDB file.
//
// One process owns the file, through exactly one Store. DuckDB runs without access
// to anything but its file and the one beside it that Compact fills, so that users' SQL
// can run on the same database (Store.SQL).
//
// Package profiles below internal keeps benchmarks, runs and profiles, package traces
// the data of trace profiling, package windows the windows of continuous profiles, each in
// separate tables; package driver is what all know of DuckDB, package schema has the tables.
// This package opens the file, brings it up to date and serves what concerns all of it.
// store/duckdb/FORMAT.md documents the tables.
package duckdb

import (
	"context"
	"errors"
	"os"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
	"github.com/dendroprof/dendro/store/duckdb/internal/schema"
	"github.com/dendroprof/dendro/store/duckdb/internal/traces"
	"github.com/dendroprof/dendro/store/duckdb/internal/usersql"
	"github.com/dendroprof/dendro/store/duckdb/internal/windows"
	"github.com/dendroprof/dendro/traceprof"
)

// Options defines how a file is opened. The zero value opens it for reading and
// writing and creates it if it does not exist.
type Options = driver.Options

// Store is a store in a DuckDB file. It is safe for concurrent use: one Put, Delete,
// PutWindows, RollUp or Compact at a time, one change of traces at the same time, and any number of
// queries.
type Store struct {
	*profileStore
	*traceStore
	*windowStore
	file *driver.File
	sql  *usersql.Host
}

type (
	profileStore = profiles.Store
	traceStore   = traces.Store
	windowStore  = windows.Store
)

var (
	_ store.Store      = (*Store)(nil)
	_ store.Aggregator = (*Store)(nil)
	_ store.Versioned  = (*Store)(nil)
	_ store.Accepter   = (*Store)(nil)

	_ store.VerdictKeeper = (*Store)(nil)
	_ store.LinkKeeper    = (*Store)(nil)

	_ traceprof.Store = (*Store)(nil)

	_ continuous.Store     = (*Store)(nil)
	_ continuous.LineStore = (*Store)(nil)
)

// Open opens the store in the file at path. Errors wrap store.ErrLocked, ErrNewer, ErrOlder,
// ErrNotStore, ErrCorrupt, ErrReadOnly, ErrNoSpace or, when a store to be read is
// missing, fs.ErrNotExist. The context ends the reading of what is kept in
// memory. The caller closes the store.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	file, err := driver.NewFile(path, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{profileStore: profiles.New(file), traceStore: traces.New(file), file: file}
	s.windowStore = windows.New(file, s.profileStore)
	s.sql = newHost(s)
	err = file.Open(ctx, driver.Hooks{
		Session: session,
		Check:   func(ctx context.Context) error { return checkFile(ctx, file.Path, opts) },
		Load:    func(ctx context.Context, c *driver.Conn) error { return s.load(ctx, c, opts.ReadOnly) },
		Closing: s.closing,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// session is the SQL that every connection runs first.
const session = profiles.Session + ";" + traces.Session + ";" + windows.Session

// load prepares a database that was just opened.
func (s *Store) load(ctx context.Context, c *driver.Conn, readOnly bool) error {
	if err := prepareSchema(ctx, c, s.file.Path, readOnly); err != nil {
		return err
	}
	if !readOnly {
		if err := storeViews(ctx, c); err != nil {
			return err
		}
	}
	if err := traces.Load(ctx, s.traceStore, c); err != nil {
		return err
	}
	windows.Load(s.windowStore)
	return profiles.Load(ctx, s.profileStore, c)
}

// closing ends what has the database open.
func (s *Store) closing() {
	s.sql.Close()
	profiles.Unload(s.profileStore)
}

// checkFile reads the schema version of an existing file before it is opened for
// writing, which would already write back its log: a file that is not a store of this program
// stays as it is.
func checkFile(ctx context.Context, path string, opts driver.Options) error {
	opts.ReadOnly = true
	db, err := driver.OpenDB(path, opts, session)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Use(func(c *driver.Conn) error {
		_, err := readVersion(ctx, c, path)
		return err
	})
}

// Aggregates implements store.Aggregator.
func (s *Store) Aggregates() store.Aggregates {
	return store.Aggregates{SumFunctions: s.SumFunctions, FunctionMoments: s.FunctionMoments,
		MergeTrees: s.MergeTreesAbove, Preload: s.Preload}
}

// Close waits for the running calls, ends open results of SQL, writes everything to
// the file and closes it. It may be called more than once.
func (s *Store) Close() error { return s.file.Close() }

// Info implements store.Reader. Until Compact, Functions and Paths include those of
// deleted profiles.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	info := store.Info{Slow: store.Slow(s), Engine: "duckdb", Location: s.file.Path, Schema: len(schema.Steps)}
	err := s.file.Look(ctx, func(c *driver.Conn) error {
		var errs [4]error
		info.Functions, errs[0] = c.Number(ctx, "SELECT count(*) FROM fn")
		info.Paths, errs[1] = c.Number(ctx, "SELECT count(*) FROM call_path")
		info.Series, errs[2] = c.Number(ctx, "SELECT count(*) FROM series")
		info.Windows, errs[3] = c.Number(ctx, "SELECT (SELECT count(*) FROM raw_window) + (SELECT count(*) FROM hour_window) + (SELECT count(*) FROM day_window)")
		profiles.Info(s.profileStore, &info)
		return errors.Join(errs[:]...)
	})
	if err != nil {
		return store.Info{}, err
	}
	info.Bytes = s.bytes()
	return info, nil
}

// bytes returns the size of the file and its log.
func (s *Store) bytes() (n int64) {
	for _, name := range []string{s.file.Path, s.file.Path + ".wal"} {
		if file, err := os.Stat(name); err == nil {
			n += file.Size()
		}
	}
	return n
}
