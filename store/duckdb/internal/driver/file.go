package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dendroprof/dendro/store"
)

// Hooks are called when the file is opened and closed.
type Hooks struct {
	Session string                             // SQL that every new connection runs
	Check   func(context.Context) error        // before an existing file is opened for writing
	Load    func(context.Context, *Conn) error // after the database was opened, also when it was reopened
	Closing func()                             // before the database is closed
}

// File is a database file that the process has open once. It reopens the database
// when DuckDB has given it up. It is safe for concurrent use.
type File struct {
	Path  string // absolute, without links
	opts  Options
	hooks Hooks

	// life is held shared while a call uses the database, exclusively while the
	// database is closed or replaced.
	life   sync.RWMutex
	db     *DB         // nil: closed
	broken atomic.Bool // DuckDB gave up the database; the next call reopens it
}

// open lists the files that this process has open, by real path. It is global
// because DuckDB's lock belongs to the process.
var open = struct {
	sync.Mutex
	files map[string]bool
}{files: map[string]bool{}}

// NewFile returns the closed file at path, which need not exist.
func NewFile(path string, opts Options) (*File, error) {
	real, err := realPath(path)
	return &File{Path: real, opts: opts}, err
}

// Open opens the file; Close closes it. Without Options.ReadOnly it creates a file
// that does not exist.
func (f *File) Open(ctx context.Context, hooks Hooks) error {
	open.Lock()
	claimed := open.files[f.Path]
	open.files[f.Path] = true
	open.Unlock()
	if claimed {
		return fmt.Errorf("%s: %w: this process (%d) has it open already", f.Path, store.ErrLocked, os.Getpid())
	}
	f.hooks = hooks
	err := f.check(ctx)
	if err == nil {
		err = f.reopen(ctx)
	}
	if err != nil {
		f.release()
	}
	err = Translate(f.Path, err)
	if f.opts.ReadOnly && errors.Is(err, store.ErrReadOnly) { // the system refuses to open it even for reading
		err = fmt.Errorf("%s: the store cannot be read: %w: a store belongs to the user who created it, who can share it with chmod or serve it with dendro serve", f.Path, fs.ErrPermission)
	}
	return err
}

// realPath resolves the links in the path of a file that need not exist.
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

// NoStore returns the error of a store to be read that does not exist yet. Whoever was
// killed while creating it may have left an empty file, which is as good as none.
func NoStore(path string) error {
	return fmt.Errorf("%s: there is no store (import a profile first): %w", path, fs.ErrNotExist)
}

// creation is longer than any process takes from creating a file to filling it: an empty
// file that is older was left.
const creation = 10 * time.Second

func (f *File) check(ctx context.Context) error {
	info, err := os.Stat(f.Path)
	missing := errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
	switch {
	case missing && f.opts.ReadOnly:
		return NoStore(f.Path)
	case missing && err == nil:
		return f.awaitCreation(ctx)
	case missing:
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", f.Path, err)
	case !info.Mode().IsRegular():
		return NotStore(f.Path, "it is not a file")
	case f.opts.ReadOnly:
		return nil
	}
	return f.hooks.Check(ctx)
}

// awaitCreation waits until whoever created the empty file has filled it. One that stays empty was
// left, by a process that was killed before it wrote the first byte, and is removed.
func (f *File) awaitCreation(ctx context.Context) error {
	for {
		info, err := os.Stat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", f.Path, err)
		case info.Size() > 0:
			return f.hooks.Check(ctx)
		case time.Since(info.ModTime()) > creation:
			return os.Remove(f.Path)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// reopen opens the database and loads what its owner keeps of it.
func (f *File) reopen(ctx context.Context) error {
	db, err := OpenDB(f.Path, f.opts, f.hooks.Session)
	if err != nil {
		return err
	}
	if !f.opts.ReadOnly {
		emptySpill(f.Path)
	}
	if err := db.Use(func(c *Conn) error { return f.hooks.Load(ctx, c) }); err != nil {
		db.Close()
		return err
	}
	f.db = db
	f.broken.Store(false)
	return nil
}

// release allows other stores to open the file.
func (f *File) release() {
	f.db = nil
	open.Lock()
	defer open.Unlock()
	delete(open.files, f.Path)
}

// Close waits for the running calls and closes the file. It may be called more
// than once.
func (f *File) Close() error {
	f.life.Lock()
	defer f.life.Unlock()
	if f.db != nil {
		f.close()
		f.release()
	}
	return nil
}

func (f *File) close() {
	f.hooks.Closing()
	f.db.Close()
}

// Writable returns an error that wraps store.ErrReadOnly if the file was opened
// read-only.
func (f *File) Writable() error {
	if f.opts.ReadOnly {
		return fmt.Errorf("%s: %w: it was opened read-only", f.Path, store.ErrReadOnly)
	}
	return nil
}

// Enter begins a call that uses the database; Leave ends it.
func (f *File) Enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.broken.Load() {
		if err := f.exclusive(func() error { return f.repair(ctx) }); err != nil {
			return err
		}
	}
	f.life.RLock()
	if f.db == nil {
		f.life.RUnlock()
		return fmt.Errorf("%s: %w", f.Path, errClosed)
	}
	return nil
}

// Leave ends a call that began with Enter.
func (f *File) Leave() { f.life.RUnlock() }

// EnterToWrite is Enter for calls that change the file.
func (f *File) EnterToWrite(ctx context.Context) error {
	if err := f.Enter(ctx); err != nil {
		return err
	}
	if err := f.Writable(); err != nil {
		f.Leave()
		return err
	}
	return nil
}

// exclusive runs do while no call uses the database.
func (f *File) exclusive(do func() error) error {
	f.life.Lock()
	defer f.life.Unlock()
	if f.db == nil {
		return fmt.Errorf("%s: %w", f.Path, errClosed)
	}
	return do()
}

// repair replaces a database that DuckDB has given up, after a disk was full
// during a commit. The caller holds life exclusively. A call that ends meanwhile does not
// end the repair: without it the store would stay closed.
func (f *File) repair(ctx context.Context) error {
	if !f.broken.Load() {
		return nil
	}
	f.close()
	return f.orRelease(f.reopen(context.WithoutCancel(ctx)))
}

// orRelease leaves the file closed for good if it could not be reopened.
func (f *File) orRelease(err error) error {
	if err != nil {
		f.release()
	}
	return Translate(f.Path, err)
}

// With runs do with a connection, between Enter and Leave.
func (f *File) With(do func(c *Conn) error) error {
	err := f.db.Use(do)
	if e, ok := errors.AsType[*Error](err); ok && isFatal(e) {
		f.broken.Store(true)
	}
	return Translate(f.Path, err)
}

// Look is With for a whole call.
func (f *File) Look(ctx context.Context, do func(c *Conn) error) error {
	if err := f.Enter(ctx); err != nil {
		return err
	}
	defer f.Leave()
	return f.With(do)
}

// Connect returns a new connection, which the caller closes, before the database
// is closed.
func (f *File) Connect() (*Conn, error) { return f.db.Connect() }

// Reading runs do while the database stays open, if it is open at all. Close and
// Replace do not wait between two calls: do must expect that Hooks.Closing ran.
func (f *File) Reading(do func()) {
	f.life.RLock()
	defer f.life.RUnlock()
	do()
}

// Replace waits for the running calls, closes the database, runs rename, which gives its
// name to another file, and opens that.
func (f *File) Replace(ctx context.Context, rename func() error) error {
	return f.exclusive(func() error {
		f.close()
		err := rename()
		if again := f.orRelease(f.reopen(context.WithoutCancel(ctx))); again != nil {
			return again
		}
		return Translate(f.Path, err)
	})
}
