// Package engines opens a store by its name. It is the only list of engines.
//
//	dendro.duckdb, ./x/y.db     a DuckDB file
//	mem:                        in memory, gone when the process ends
//	neo4j://user@host:7687/db   a graph database; bolt:// and TLS too
//	lake:DIRECTORY              a lake, which `dendro publish` fills
//	lake:postgres://host/db     a lake with its catalog in PostgreSQL
//
// The scheme of a URL selects the engine; each has one case here. The package opens,
// creates and rewrites stores; package store defines what they answer.
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
	"github.com/dendroprof/dendro/store/duckdb/lake"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/neo4j"
)

// Access describes what a store is opened for.
type Access int

// The kinds of access.
const (
	Read  Access = iota // queries; the store must exist
	Write               // changes; the store is made if it is not there
)

// Secret is where the password of a database comes from. The zero value is the environment.
type Secret struct {
	File string // with the password, instead of the environment's; empty: the environment
	Ask  Password
}

// Password asks a user for the password at a server that neither a file nor the environment
// has; nil: nobody can be asked.
type Password func(ctx context.Context, user, server string) (string, error)

// Open opens the store at the given place. Without Write access a store that
// does not exist is an error that wraps fs.ErrNotExist.
func Open(ctx context.Context, where string, access Access) (store.Store, error) {
	return OpenAsking(ctx, where, access, Secret{})
}

// OpenAsking is Open with a password that does not come from the environment.
func OpenAsking(ctx context.Context, where string, access Access, secret Secret) (store.Store, error) {
	scheme, _, isURL := strings.Cut(where, ":")
	switch {
	case where == "mem:" || where == "mem":
		return mem.New(), nil
	case IsServer(where):
		return nil, fmt.Errorf("%s is a server, not the store of one: this program opens stores only", where)
	case neo4j.IsURL(where):
		st, err := neo4j.Open(ctx, where, neo4j.Options{ReadOnly: access != Write, PasswordFile: secret.File, Password: secret.Ask})
		if err != nil {
			return nil, err // and no store, not one that is a nil pointer
		}
		return st, nil
	case strings.HasPrefix(where, LakeScheme):
		st, err := lake.Open(ctx, strings.TrimPrefix(where, LakeScheme))
		if err != nil {
			return nil, err
		}
		return st, nil
	case isURL && len(scheme) > 1 && strings.Contains(where, "://"):
		return nil, fmt.Errorf("no engine opens %q; a store is a DuckDB file, a database (neo4j://…), a lake (lake:DIRECTORY), mem: or a Dendro server (https://…)", where)
	}
	if access != Write {
		if _, err := os.Stat(where); err != nil {
			return nil, fmt.Errorf("store %s: %w", where, fs.ErrNotExist)
		}
	}
	return duckdb.Open(ctx, where, duckdb.Options{ReadOnly: access != Write})
}

// LakeScheme begins the place of a lake: lake:DIRECTORY or lake:postgres://….
const LakeScheme = "lake:"

// IsDatabase reports whether a place is in a database that a server has: a graph database,
// or a lake whose catalog is in PostgreSQL.
func IsDatabase(where string) bool {
	return neo4j.IsURL(where) || strings.HasPrefix(where, LakeScheme) && strings.Contains(where, "://")
}

// IsServer reports whether a place is the address of another Dendro.
func IsServer(where string) bool {
	return strings.HasPrefix(where, "http://") || strings.HasPrefix(where, "https://")
}

// Rewritable returns an error if the store at a location is not a file: only files can be
// replaced.
func Rewritable(where string) error {
	switch {
	case where == "mem:" || where == "mem":
		return fmt.Errorf("a store in memory cannot be rewritten")
	case IsServer(where):
		return fmt.Errorf("a store is rewritten on the server's machine: stop the server at %s and pass its file as --store", where)
	case strings.HasPrefix(where, LakeScheme):
		return fmt.Errorf("a lake cannot be rewritten: publish to a new one")
	case neo4j.IsURL(where):
		return fmt.Errorf("a graph database cannot be rewritten: copy it into another one (dendro copy --renormalize)")
	}
	return nil
}

// Rewrite replaces the store at a location: copy reads the old one and fills a new
// one, which replaces the old one when copy succeeds. If anything fails, or the
// process dies, the old one stays unchanged.
func Rewrite(ctx context.Context, where string, copy func(from store.Reader, to store.Destination) error) (err error) {
	if err := Rewritable(where); err != nil {
		return err
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
