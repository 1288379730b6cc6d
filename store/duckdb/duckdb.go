// Package duckdb keeps a store in one DuckDB file.
//
// All profiles share one forest of call paths. Each distinct path from a root
// to a call node is stored once (table call_path: dense ids, a parent's id is
// lower than its children's); a profile is a sparse vector of self values over
// it, encoded as one blob (table tree). What each function took in each profile
// is kept beside it as rows (table fn_sample), so that questions about functions
// are plain SQL over one narrow table and questions about trees are sums of
// vectors followed by one sweep of the forest. There are no indexes and no
// primary keys: this package owns uniqueness, and columnar scans beat look-ups
// at every size that was measured. docs/schema/duckdb.md documents every table
// and every byte.
//
// One process owns the file, through exactly one Store: DuckDB's locks are per
// process and vanish as soon as any descriptor of the file is closed, so
// nothing in this package ever opens the file by itself while DuckDB has it.
//
// In memory a Store holds the catalogs (benchmarks, runs, metrics and the
// descriptions of profiles; some kilobytes per profile at most) and, from the
// first question that needs it, the forest (12 bytes a path; 76 once something
// is written). A Put costs time in proportion to the call nodes it brings.
//
// Trace profiling (traceprof.Store) lies in tables, locks and transactions of its
// own, because its commits come every few milliseconds. A task has a dictionary of
// stacks; the snapshots of a segment that come in one commit are one row of packed
// columns over it. Nothing is looked up when they are stored: of repeats the first
// is found when they are read. In memory are the tasks, the dictionaries that were
// used last (256 MiB at most) and two bytes for each segment, which say whether an
// id is surely new.
//
// DuckDB runs without access to anything but its file, so that users' SQL can
// run on the same instance (Store.SQL). Compact and the Parquet methods reopen
// the file with that access and have the store to themselves.
//
// The package does not read profiles and does not judge: see store and analysis.
package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/cgo"
	"sync"
	"sync/atomic"

	"github.com/dendroprof/dendro/store"
)

// Options says how a file is opened. The zero value opens it for reading and
// writing and creates it when it does not exist.
type Options struct {
	ReadOnly    bool   // many processes may read one file at once, if none writes
	MemoryLimit string // of DuckDB, as it writes it: "4GiB"; empty: 80 % of the memory
	Threads     int    // of DuckDB; 0: all processors
	TempDir     string // where DuckDB puts what exceeds MemoryLimit; empty: beside the file
}

// Store is a store in a DuckDB file. It is safe for concurrent use: one Put,
// Delete or Compact at a time, one change of traces beside it, any number of
// questions beside both.
type Store struct {
	path string
	opts Options

	// life is held shared while a call uses the instance, exclusively while the
	// instance is closed or exchanged.
	life   sync.RWMutex
	in     *instance
	broken atomic.Bool // DuckDB gave up on the instance; the next call reopens it

	// write is held by the one call that changes something.
	write   sync.Mutex
	sweeper sweeper
	vectors vectorEncoder
	rows    rows

	// removal is held shared while a question reads rows of the profiles that
	// it selected, exclusively while a commit takes rows away. Rows of a stored
	// profile never change otherwise, so that questions need no transaction.
	removal sync.RWMutex

	// publish is held by a commit until memory knows what the file has. Users'
	// SQL begins under it, because its decoder must know every path it meets.
	publish sync.RWMutex

	cat      catalog
	dict     dictionary
	resident resident
	self     cgo.Handle // of the Store, for the decoders

	sessions sessions // of SQL
	traces   traces
}

var (
	_ store.Store          = (*Store)(nil)
	_ store.FunctionSummer = (*Store)(nil)
	_ store.MomentCounter  = (*Store)(nil)
	_ store.TreeMerger     = (*Store)(nil)
)

// open lists the files that this process has open, by real path. It is the one
// global of the package, because what it guards belongs to the process.
var open = struct {
	sync.Mutex
	files map[string]bool
}{files: map[string]bool{}}

// Open opens the store in the file at path. Errors wrap store.ErrLocked,
// ErrNewer, ErrNotStore, ErrCorrupt, ErrReadOnly, ErrNoSpace or, when a store to
// be read is missing, fs.ErrNotExist. The caller closes the store.
func Open(path string, opts Options) (*Store, error) {
	real, err := realPath(path)
	if err != nil {
		return nil, err
	}
	if err := claim(real); err != nil {
		return nil, err
	}
	s := &Store{path: real, opts: opts}
	if err := s.open(); err != nil {
		release(real)
		return nil, err
	}
	return s, nil
}

// realPath follows links in the path of a file that need not exist.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("%s: the directory of the store cannot be opened: %w", path, err)
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

func claim(path string) error {
	open.Lock()
	defer open.Unlock()
	if open.files[path] {
		return fmt.Errorf("%s: %w: this process (%d) has it open already", path, store.ErrLocked, os.Getpid())
	}
	open.files[path] = true
	return nil
}

func release(path string) {
	open.Lock()
	defer open.Unlock()
	delete(open.files, path)
}

// open opens the instance, looks at what it is, and loads the catalogs.
func (s *Store) open() error {
	info, err := os.Stat(s.path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && s.opts.ReadOnly:
		return fmt.Errorf("%s: there is no store (import a profile first): %w", s.path, fs.ErrNotExist)
	case err != nil && !missing:
		return fmt.Errorf("%s: %w", s.path, err)
	case err == nil && !info.Mode().IsRegular():
		return notStore(s.path, "it is not a file")
	}
	if !missing && !s.opts.ReadOnly {
		if err := s.inspect(); err != nil {
			return err
		}
	}
	in, err := openInstance(s.path, s.opts.ReadOnly, false, s.opts)
	if err != nil {
		return translate(s.path, err)
	}
	s.in, s.self = in, cgo.NewHandle(s)
	if err := s.load(); err != nil {
		s.in.close()
		s.in = nil
		s.self.Delete()
		return translate(s.path, err)
	}
	return nil
}

// load prepares a freshly opened instance.
func (s *Store) load() error {
	c, err := s.in.get()
	if err != nil {
		return err
	}
	defer s.in.put(c)
	if err := prepareSchema(c, s.path, s.opts.ReadOnly); err != nil {
		return err
	}
	if err := registerDecoders(c, s.self); err != nil {
		return err
	}
	s.dict.reset()
	s.resident.reset(defaultResident)
	if err := s.traces.load(c); err != nil {
		return err
	}
	return s.cat.load(c)
}

// inspect looks at an existing file without the right to write, before it is
// opened with it (which would write back its log): a foreign file stays as it
// is, an older store is migrated.
func (s *Store) inspect() error {
	in, err := openInstance(s.path, true, false, s.opts)
	if err != nil {
		return translate(s.path, err)
	}
	version, err := func() (int, error) {
		c, err := in.get()
		if err != nil {
			return 0, err
		}
		defer in.put(c)
		return readVersion(c, s.path)
	}()
	in.close()
	if err != nil {
		return translate(s.path, err)
	}
	if version > 0 && version < schemaVersion {
		return migrate(s.path, s.opts, migrations)
	}
	return nil
}

// Close waits for the calls that run, ends open results of SQL, writes everything
// to the file and closes it. It may be called more than once.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.in != nil {
		s.closeInstance()
		s.give()
	}
	return nil
}

// closeInstance closes the instance and what users' SQL has open on it.
func (s *Store) closeInstance() {
	s.sessions.closeAll()
	s.in.close()
}

// give lets others have the file; the store is of no use any more.
func (s *Store) give() {
	s.in = nil
	s.self.Delete()
	release(s.path)
}

// enter begins a call that uses the instance; leave ends it.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.broken.Load() {
		if err := s.exclusive(s.repair); err != nil {
			return err
		}
	}
	s.life.RLock()
	if s.in == nil {
		s.life.RUnlock()
		return fmt.Errorf("%s: %w", s.path, errClosed)
	}
	return nil
}

func (s *Store) leave() { s.life.RUnlock() }

// exclusive runs f while no call uses the instance.
func (s *Store) exclusive(f func() error) error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.in == nil {
		return fmt.Errorf("%s: %w", s.path, errClosed)
	}
	return f()
}

// repair replaces an instance that DuckDB has given up (a full disk during a
// commit). The caller holds life exclusively.
func (s *Store) repair() error {
	if !s.broken.Load() {
		return nil
	}
	s.closeInstance()
	return s.reopen()
}

// reopen opens the file again after the instance was closed. If that fails the
// store is closed.
func (s *Store) reopen() error {
	in, err := openInstance(s.path, s.opts.ReadOnly, false, s.opts)
	if err == nil {
		s.in = in
		if err = s.load(); err != nil {
			in.close()
		}
	}
	if err != nil {
		s.give()
		return translate(s.path, err)
	}
	s.broken.Store(false)
	return nil
}

// with runs f with a connection. A connection that saw an error is not reused.
func (s *Store) with(f func(c *conn) error) error {
	c, err := s.in.get()
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		c.close()
		var e *dbError
		if errors.As(err, &e) && isFatal(e) {
			s.broken.Store(true)
		}
		return translate(s.path, err)
	}
	s.in.put(c)
	return nil
}

// Info implements store.Reader. Functions and Paths do not count what only
// deleted profiles had.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	if err := s.enter(ctx); err != nil {
		return store.Info{}, err
	}
	defer s.leave()
	info := store.Info{Engine: "duckdb", Location: s.path, Schema: schemaVersion}
	s.cat.count(&info)
	err := s.with(func(c *conn) error {
		return c.query(ctx, "SELECT (SELECT count(*) FROM fn), (SELECT count(*) FROM call_path)", nil, func(ch chunk) error {
			info.Functions, info.Paths = column[int64](ch, 0)[0], column[int64](ch, 1)[0]
			return nil
		})
	})
	for _, name := range []string{s.path, s.path + ".wal"} {
		if file, err := os.Stat(name); err == nil {
			info.Bytes += file.Size()
		}
	}
	return info, err
}
