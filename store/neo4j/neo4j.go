// Package neo4j is the graph engine: a store in a Neo4j database behind Bolt,
// for data that outgrows a file, for several machines at once, and for queries in
// Cypher.
//
// It has two models of the same content, chosen when a database is initialised
// and recorded in it; docs/schema/neo4j.md describes both:
//
//   - Shared keeps one forest of call node paths for all profiles; a profile is a
//     node with lists of paths and values, and a relationship to each of its
//     functions.
//   - Thesis keeps one tree of nodes per profile, as Lundberg and Rettig do, so
//     that their Cypher runs as it was written.
//
// What both have in common (groups, benchmarks, runs, profiles, measurements,
// distinct functions with their attributes and raw names, sources, compile
// modes) is written once; a model defines only how trees are represented.
//
// The key of a node follows from its content, so that importers need no generated
// numbers and load nothing at the start: see ids.go. An import is one transaction
// per file. Importers run in parallel in any number of processes; deleting and
// compacting wait for them, and they for it: see gate.go.
//
// Queries read committed data without locks, so a result can include half of a
// change. Every result is checked against the numbers of its profiles, and the query
// is repeated if they do not agree. Columns that are collected side by side say what stands
// for a missing value: of a node that is being deleted one property may be there and
// another not, and collect leaves out what is not.
//
// Package bolt below internal runs transactions, package traces keeps the data of
// trace profiling.
package neo4j

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/cypher"
	"github.com/dendroprof/dendro/store/neo4j/internal/gate"
	"github.com/dendroprof/dendro/store/neo4j/internal/traces"
	"github.com/dendroprof/dendro/traceprof"
)

// Options defines how a store is opened.
type Options struct {
	ReadOnly bool  // the store must exist and is not changed
	Model    Model // wanted; empty: that of the database, Shared for an empty one

	// PasswordFile names a file with the password; empty: the environment's.
	PasswordFile string
	// Password prompts for the password if neither the environment nor a file has it. It
	// may be nil.
	Password func(ctx context.Context, user, server string) (string, error)
}

// The environment variables with the password, and with a file that holds it.
const (
	PasswordEnv     = bolt.PasswordEnv
	PasswordFileEnv = bolt.PasswordFileEnv
)

// IsURL reports whether a location is the URL of a Neo4j database: neo4j routes to the
// members of a cluster, bolt connects to one server; +s encrypts, +ssc also without
// checking the certificate.
func IsURL(where string) bool { return bolt.IsURL(where) }

func (o Options) connection() bolt.Options {
	return bolt.Options{PasswordFile: o.PasswordFile, Password: o.Password}
}

// Store is the engine. It is safe for concurrent use.
type Store struct {
	*traceStore

	db       *bolt.DB
	model    model
	readOnly bool
	slot     int64 // of the gate that its imports go through

	putting chan struct{} // holds one token: imports of one Store run one by one
	sources origins       // what importers' forests are called in the database; for who has the token
	known   dictionary    // paths and functions that were read
	recent  recent        // profiles that were selected
}

type traceStore = traces.Store

// Open opens the store in a database. It initialises an empty database, or with
// ReadOnly returns an error that wraps fs.ErrNotExist.
func Open(ctx context.Context, where string, opts Options) (*Store, error) {
	db, err := bolt.Dial(ctx, where, opts.connection())
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, db, opts)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func open(ctx context.Context, db *bolt.DB, opts Options) (*Store, error) {
	mark, err := readMark(ctx, db)
	if err != nil {
		return nil, err
	}
	if !mark.ready && opts.ReadOnly {
		if err := checkEmpty(ctx, db); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("store %s: the database is not initialised: %w", db.Address, fs.ErrNotExist)
	}
	if !mark.ready {
		if mark, err = prepare(ctx, db, InitOptions{Model: opts.Model}); err != nil {
			return nil, err
		}
	}
	if err := mark.check(db.Address, opts.Model); err != nil {
		return nil, err
	}
	s := &Store{db: db, model: mark.trees(), readOnly: opts.ReadOnly, slot: gate.AnySlot(), putting: make(chan struct{}, 1)}
	s.traceStore = traces.New(db, s.tracesUsable)
	s.putting <- struct{}{}
	s.known.reset()
	return s, nil
}

// Close ends the connections.
func (s *Store) Close() error { return s.db.Close() }

// Model returns the model of the database.
func (s *Store) Model() Model { return s.model.name() }

// tracesUsable reports why traces cannot be read or written.
func (s *Store) tracesUsable(write bool) error {
	if m := s.Model(); m != Shared {
		return fmt.Errorf("%s: %w: that needs a database of the model %s, this one has the model %s: initialise another one with `dendro store init --model %s`",
			s.db.Address, traceprof.ErrNotKept, Shared, m, Shared)
	}
	if write {
		return s.writable()
	}
	return nil
}

// writable reports why the store cannot be written.
func (s *Store) writable() error {
	if s.readOnly {
		return fmt.Errorf("%w: %s was opened for reading", store.ErrReadOnly, s.db.Address)
	}
	return nil
}

var (
	_ store.Store     = (*Store)(nil)
	_ traceprof.Store = (*Store)(nil)
)

var _ store.CypherSpeaker = (*Store)(nil)

// Cypher implements store.CypherSpeaker.
func (s *Store) Cypher(ctx context.Context, query string, params map[string]any) (*store.CypherAnswer, error) {
	return cypher.Run(ctx, s.db, query, params)
}
