// Package neo4j is the graph engine: a store in a Neo4j database behind Bolt,
// for data that outgrows a file, for several machines at once, and for people
// who ask in Cypher.
//
// It has two models of the same content, chosen when a database is made ready
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
// modes) is written once; a model decides only how trees lie in the graph.
//
// Nodes have keys that follow from their content, so that importers need no
// numbers handed out and nothing loaded at start: see ids.go. An import is one
// transaction per file. Importers run side by side in any number of processes;
// what must not happen beside an import (deleting, compacting) waits for them
// and they for it, see gate.go.
//
// Questions read committed data without locks, so an answer can meet a change
// half-way. Every answer is checked against the numbers of its profiles and asked
// again if they do not agree.
package neo4j

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dendroprof/dendro/store"
)

// Options says how a store is opened.
type Options struct {
	ReadOnly bool  // the store must exist and is not changed
	Model    Model // wanted; empty: that of the database, Shared for an empty one

	// PasswordFile names a file with the password; empty: the environment's.
	PasswordFile string
	// Password asks the user for it when neither the environment nor a file
	// says any. It may be nil.
	Password func(ctx context.Context, user, server string) (string, error)
}

// Store is the engine. It is safe for concurrent use.
type Store struct {
	graph    *graph
	model    model
	readOnly bool
	slot     int64 // of the gate that its imports go through

	putting chan struct{} // holds one token: imports of one Store run one by one
	sources origins       // what importers' forests are called in the database; for who has the token
	known   dictionary    // paths and functions that were read

	traces traces
}

// Open opens the store in a database. One that is empty is made ready first,
// unless the store is to be read only: then the error wraps fs.ErrNotExist.
func Open(ctx context.Context, where string, opts Options) (*Store, error) {
	g, err := dial(ctx, where, opts)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, g, opts)
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return s, nil
}

func open(ctx context.Context, g *graph, opts Options) (*Store, error) {
	mark, err := g.readMark(ctx)
	if err != nil {
		return nil, err
	}
	if !mark.ready && opts.ReadOnly {
		if err := g.checkEmpty(ctx); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("store %s: no store has been made in the database yet: %w", g.address, fs.ErrNotExist)
	}
	if !mark.ready {
		if mark, err = g.prepare(ctx, InitOptions{Model: opts.Model}); err != nil {
			return nil, err
		}
	}
	if err := mark.check(g.address, opts.Model); err != nil {
		return nil, err
	}
	s := &Store{graph: g, model: mark.trees(), readOnly: opts.ReadOnly, slot: anySlot(), putting: make(chan struct{}, 1), traces: newTraces()}
	s.putting <- struct{}{}
	s.known.reset()
	return s, nil
}

// Close ends the connections.
func (s *Store) Close() error { return s.graph.close() }

// Model returns the model of the database.
func (s *Store) Model() Model { return s.model.name() }

// writable reports why the store cannot be written.
func (s *Store) writable() error {
	if s.readOnly {
		return fmt.Errorf("%w: %s was opened for reading", store.ErrReadOnly, s.graph.address)
	}
	return nil
}

var _ store.Store = (*Store)(nil)
