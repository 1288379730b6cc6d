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
	"fmt"
	"io/fs"
	"os"
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
