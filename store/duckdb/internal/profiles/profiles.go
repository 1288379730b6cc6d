// Package profiles keeps profiles in the tables of a DuckDB file.
//
// All profiles share one forest of call paths: a profile is a sparse vector of self
// values over it, encoded as one blob (table tree). The self and total value of each
// function in each profile are derived from it by queries; Compact writes them as rows
// (table fn_sample) for other programs and users' SQL. There are no indexes and no primary
// keys: this package keeps identities unique, and scans of columns were faster than
// look-ups at every size measured. store/duckdb/FORMAT.md documents every table and every
// byte.
//
// In memory are the catalogs (benchmarks, runs, metrics and the descriptions of
// profiles; at most some kilobytes per profile) and, from the first query that needs
// it, the forest (12 bytes a path; 76 once something is written; 20 more after a merged
// tree of an eighth of the paths). A Put costs time in proportion to the call nodes of its
// files.
package profiles

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	bind "github.com/duckdb/duckdb-go-bindings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// Store keeps profiles in a file. It is safe for concurrent use: one Put or Delete
// at a time, and any number of queries.
type Store struct {
	file *driver.File

	// write is held by the one call that changes something, before it enters the file.
	write   sync.Mutex
	sweeper sweeper
	vectors encoding.Encoder
	rows    rows

	// removal is held shared while a query reads rows of the profiles that it
	// selected, exclusively while a commit removes rows. Rows of a stored profile
	// never change otherwise, so that queries need no transaction.
	removal sync.RWMutex

	// publish is held by a commit until memory and file agree. Users' SQL
	// begins under it, because its decoders must know every path in its snapshot.
	publish sync.RWMutex

	catalog catalog
	dict    dictionary
	cache   cache
	decoded atomic.Pointer[view] // the forest of the decoders
}

// New returns the profiles of a file, to be loaded by Load.
func New(file *driver.File) *Store { return &Store{file: file} }

// Version implements store.Versioned.
func (s *Store) Version() uint64 {
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	return s.catalog.version
}

// writing runs f, as the one call that changes something. Its error begins with what it is about.
func (s *Store) writing(ctx context.Context, what string, f func(c *driver.Conn) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.file.EnterToWrite(ctx); err != nil {
		return err
	}
	defer s.file.Leave()
	if err := s.file.With(f); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// What follows are functions and not methods because package duckdb embeds Store
// and users must not see them.

// Session is the SQL that a connection needs before this package can use it.
const Session = selectedTable + "; " + keysTable

// Load reads the catalogs of a database that was just opened.
func Load(ctx context.Context, s *Store, c *driver.Conn) error {
	if err := RegisterDecoders(s, c); err != nil {
		return err
	}
	s.dict.reset()
	s.cache.reset(defaultCache)
	return s.catalog.load(ctx, c, s.file.Writable() == nil)
}

// Freeze keeps everything from changing until thaw is called. Queries go on.
func Freeze(s *Store) (thaw func()) {
	s.write.Lock()
	return s.write.Unlock
}

// Unload forgets the forest of the decoders, before the database is closed.
func Unload(s *Store) { s.decoded.Store(nil) }

// Info fills in the counts of the catalogs.
func Info(s *Store, info *store.Info) { s.catalog.count(info) }

// ReadSnapshot runs begin, which starts the transaction of users' SQL, and then
// prepare, with decoders that know every path of the transaction's snapshot.
func ReadSnapshot(ctx context.Context, s *Store, c *driver.Conn, begin, prepare func() error) error {
	s.publish.RLock()
	defer s.publish.RUnlock()
	if err := begin(); err != nil {
		return err
	}
	if err := ShowForest(ctx, s, c); err != nil {
		return err
	}
	return prepare()
}

// ShowForest publishes all committed paths to the decoders.
func ShowForest(ctx context.Context, s *Store, c *driver.Conn) error {
	v, err := s.dict.reader(ctx, c)
	if err != nil {
		return err
	}
	for { // a concurrent call may have shown more
		old := s.decoded.Load()
		if old != nil && len(old.rec) > len(v.rec) || s.decoded.CompareAndSwap(old, v) {
			return nil
		}
	}
}

// RegisterDecoders makes functions known to a database that turn blobs into rows:
//
//	dendro_self(blob)   STRUCT(path INTEGER, self BIGINT)[]
//	dendro_nodes(blob)  STRUCT(path INTEGER, self BIGINT, total BIGINT)[], ancestors included
//	dendro_functions(blob)  STRUCT(fn INTEGER, self BIGINT, total BIGINT)[]
func RegisterDecoders(s *Store, c *driver.Conn) error {
	fields := []driver.Field{{Name: "path", Type: bind.TypeInteger}, {Name: "self", Type: bind.TypeBigInt},
		{Name: "total", Type: bind.TypeBigInt}}
	blob := []bind.Type{bind.TypeBlob}
	functions := append([]driver.Field{{Name: "fn", Type: bind.TypeInteger}}, fields[1:]...)
	for _, d := range []struct {
		name   string
		fields []driver.Field
		fill   func(t *tally, vector calltree.Vector, grow func(n int) *driver.Lists)
	}{
		{"dendro_self", fields[:2], fillSelf},
		{"dendro_nodes", fields, fillNodes},
		{"dendro_functions", functions, fillFunctions},
	} {
		decode := func(in driver.Chunk, out *driver.Lists) error {
			v := s.decoded.Load()
			if v == nil {
				return errors.New("the forest is not loaded")
			}
			blobs, valid := driver.Column[driver.Text](in, 0), in.Valid(0)
			var vector calltree.Vector
			all := v.tallies(nil)
			defer all.release()
			for row := range blobs {
				if !valid.At(row) {
					continue
				}
				var err error
				if vector, err = encoding.Decode(blobs[row].Bytes(), len(v.rec), vector); err != nil {
					return err
				}
				d.fill(all.of(0), vector, func(n int) *driver.Lists {
					out.Grow(row, n)
					return out
				})
			}
			return nil
		}
		if err := c.Register(driver.Decoder{Name: d.name, Parameters: blob, Fields: d.fields, Decode: decode}); err != nil {
			return err
		}
	}
	return nil
}

// fillSelf fills the list of length n that grow returns with the entries of a vector.
func fillSelf(_ *tally, vector calltree.Vector, grow func(n int) *driver.Lists) {
	out := grow(len(vector.Nodes))
	copy(driver.FieldOf[int32](out, 0), vector.Nodes)
	copy(driver.FieldOf[int64](out, 1), vector.Self)
}

// fillNodes is fillSelf for all call nodes.
func fillNodes(t *tally, vector calltree.Vector, grow func(n int) *driver.Lists) {
	var nodes columns
	t.add(vector, 0)
	t.walk(func(n *tallyNode, a *amount) { nodes.add(0, n.path, a.self.sum, a.total.sum) })
	nodes.fill(grow)
}

// fillFunctions is fillSelf for the rows of functions.
func fillFunctions(t *tally, vector calltree.Vector, grow func(n int) *driver.Lists) {
	var rows columns
	t.add(vector, 0)
	t.rows(&rows, 0)
	rows.fill(grow)
}

func (r *columns) fill(grow func(n int) *driver.Lists) {
	out := grow(len(r.fn))
	copy(driver.FieldOf[int32](out, 0), r.fn)
	copy(driver.FieldOf[int64](out, 1), r.self)
	copy(driver.FieldOf[int64](out, 2), r.total)
}
