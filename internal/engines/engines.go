// Package engines opens a store by its name: the one list of the engines there
// are.
//
//	dendro.duckdb, ./x/y.db     a DuckDB file
//	mem:                        in memory, gone when the process ends
//
// Further engines (a graph database, another Dendro over HTTP) are told apart
// by the scheme of a URL and get one case here. The package knows how to open
// and nothing else: what can be asked is package store.
package engines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
)

// Access says what a store is opened for.
type Access int

// The kinds of access.
const (
	Read  Access = iota // questions; the store must exist
	Write               // changes; the store is made if it is not there
)

// Open opens the store at the given place. Without Write access a store that
// does not exist is an error that wraps fs.ErrNotExist.
func Open(_ context.Context, where string, access Access) (store.Store, error) {
	scheme, _, isURL := strings.Cut(where, ":")
	switch {
	case where == "mem:" || where == "mem":
		return mem.New(), nil
	case isURL && len(scheme) > 1 && strings.Contains(where, "://"):
		return nil, fmt.Errorf("no engine opens %q; a store is a DuckDB file or mem: so far", where)
	}
	if access != Write {
		if _, err := os.Stat(where); err != nil {
			return nil, fmt.Errorf("store %s: %w", where, fs.ErrNotExist)
		}
	}
	return duckdb.Open(where, duckdb.Options{ReadOnly: access != Write})
}

// Rewrite replaces the store at a place by what copy makes of it: copy reads the
// old one and fills a new one, which takes the old one's place when copy
// succeeds. If anything fails, or the process dies, the old one stays as it was.
func Rewrite(ctx context.Context, where string, copy func(from store.Reader, to store.Writer) error) (err error) {
	if where == "mem:" || where == "mem" {
		return fmt.Errorf("a store in memory is not rewritten")
	}
	if real, err := filepath.EvalSymlinks(where); err == nil {
		where = real
	}
	from, err := Open(ctx, where, Read)
	if err != nil {
		return err
	}
	fresh := where + ".rewrite"
	remove := func() {
		os.Remove(fresh)
		os.Remove(fresh + ".wal")
	}
	remove() // left by a process that died
	to, err := Open(ctx, fresh, Write)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	err = copy(from, to)
	if err == nil {
		err = to.Compact(ctx)
	}
	err = errors.Join(err, to.Close(), from.Close())
	if err == nil {
		err = os.Rename(fresh, where)
	}
	if err != nil {
		remove()
	}
	return err
}
