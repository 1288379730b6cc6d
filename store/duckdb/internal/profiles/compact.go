package profiles

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// Vectors are those of other tables over the forest, for Copy.
type Vectors interface {
	// Each calls f with all of them, some at a time.
	Each(ctx context.Context, c *driver.Conn, f func(blobs []driver.Text) error) error
	// Copy copies the tables into an attached catalog, with vectors as recode returns them.
	Copy(ctx context.Context, c *driver.Conn, catalog string, recode func(blobs []driver.Text) ([][]byte, error)) error
}

// Copy copies all profiles and the vectors of others into the tables of an attached, empty
// catalog: paths and functions numbered densely, and the rows of functions of all profiles.
func Copy(ctx context.Context, s *Store, c *driver.Conn, catalog string, others Vectors) error {
	r, err := newRewriter(ctx, s, c, others)
	if err != nil {
		return err
	}
	r.catalog, r.catalogSQL = catalog, `"`+catalog+`".`
	g, ctx := errgroup.WithContext(ctx)
	// DuckDB fills blocks better with all that one transaction writes.
	write := func(f func(c *driver.Conn) error) {
		g.Go(func() error {
			return s.file.With(func(c *driver.Conn) error {
				defer c.DropAppenders() // they keep the new database attached
				return c.WriteTx(func() error { return f(c) })
			})
		})
	}
	write(func(c *driver.Conn) error { return r.writeRows(ctx, c) })
	write(func(c *driver.Conn) error {
		r := *r
		r.c = c
		steps := []func(context.Context) error{r.copyTables, r.writeFunctions, r.writePaths, r.copyRawNames, r.writeTrees, r.writeOthers}
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}

// Unused returns how many paths Copy would leave out. It reads all vectors, beside changes.
func Unused(ctx context.Context, s *Store, c *driver.Conn, others Vectors) (paths int64, err error) {
	err = ReadSnapshot(ctx, s, c, func() error {
		if err := c.Exec("BEGIN TRANSACTION"); err != nil {
			return err
		}
		_, err := c.Number(ctx, "SELECT count(*) FROM meta") // the snapshot begins
		return err
	}, func() error { return nil })
	defer c.Exec("ROLLBACK")
	if err != nil {
		return 0, err
	}
	r, err := newRewriter(ctx, s, c, others)
	if err != nil {
		return 0, err
	}
	return int64(len(r.path) - len(r.oldPaths)), nil
}

// rewriter copies profiles into an attached database.
type rewriter struct {
	s          *Store
	c          *driver.Conn
	v          *view
	catalog    string // that is attached, and its prefix in SQL
	catalogSQL string
	profiles   []int32 // ids, ascending
	others     Vectors

	path, fn           []int32 // new ids; -1: not used
	oldPaths, oldFuncs []int32 // by new id
}

// newRewriter returns one for all profiles and others, whose paths and functions have new ids.
func newRewriter(ctx context.Context, s *Store, c *driver.Conn, others Vectors) (*rewriter, error) {
	v, err := s.dict.reader(ctx, c)
	if err != nil {
		return nil, err
	}
	r := &rewriter{s: s, c: c, v: v, others: others, profiles: s.catalog.listing().seqs}
	return r, r.number(ctx)
}

// eachBlob calls f with all rows of a table of blobs, in order.
func (r *rewriter) eachBlob(ctx context.Context, table, columns string, f func(ch driver.Chunk) error) error {
	for part := range slices.Chunk(r.profiles, 256) {
		sql := fmt.Sprintf("SELECT profile, paths%s FROM %s WHERE profile BETWEEN %d AND %d ORDER BY profile", columns, table, part[0], part[len(part)-1])
		if err := r.c.Query(ctx, sql, nil, f); err != nil {
			return err
		}
	}
	return nil
}

// number assigns new ids to the paths and functions in use. Paths keep their order, so
// that vectors still ascend and parents come before children.
func (r *rewriter) number(ctx context.Context) error {
	used := newMarks(len(r.v.rec))
	bufs := make([]calltree.Vector, driver.Workers) // by worker
	mark := func(col []driver.Text) error {
		return spread(len(col), perWorker, func(w, i int) (err error) {
			bufs[w], err = encoding.Decode(col[i].Bytes(), len(r.v.rec), bufs[w])
			used.add(w, bufs[w])
			return err
		})
	}
	for _, table := range []string{"tree", "tree_mode"} {
		if err := r.eachBlob(ctx, table, "", func(ch driver.Chunk) error { return mark(driver.Column[driver.Text](ch, 1)) }); err != nil {
			return err
		}
	}
	if err := r.others.Each(ctx, r.c, mark); err != nil {
		return err
	}
	paths, functions := used.all(), bitset.New(len(r.v.functions))
	parent, item := r.v.forest.Paths.Parent, r.v.forest.Paths.Item
	for p := int32(len(parent)) - 1; p >= 0; p-- { // parents are before their children
		if paths.Has(p) {
			functions.Add(item[p])
			if parent[p] != calltree.NoNode {
				paths.Add(parent[p])
			}
		}
	}
	r.path, r.oldPaths = renumber(paths, len(parent))
	r.fn, r.oldFuncs = renumber(functions, len(r.v.functions))
	return nil
}

// renumber assigns new ids to those of n things that are used.
func renumber(used bitset.Set, n int) (newID, old []int32) {
	newID, old = make([]int32, n), used.Members()
	for id := range newID {
		newID[id] = -1
	}
	for id, was := range old {
		newID[was] = int32(id)
	}
	return newID, old
}

func (r *rewriter) copyTables(context.Context) error {
	return r.c.Exec(strings.ReplaceAll(`INSERT INTO fresh.benchmark SELECT * FROM benchmark ORDER BY id;
		INSERT INTO fresh.run SELECT * FROM run ORDER BY id;
		INSERT INTO fresh.metric SELECT * FROM metric ORDER BY bench, run, name;
		INSERT INTO fresh.source SELECT * FROM source ORDER BY id;
		INSERT INTO fresh.verdict SELECT * FROM verdict ORDER BY bench, key;
		INSERT INTO fresh.accepted SELECT * FROM accepted ORDER BY finding;`, "fresh.", r.catalogSQL))
}

func (r *rewriter) writeFunctions(context.Context) error {
	rows := make([]functionRow, len(r.oldFuncs))
	for id, old := range r.oldFuncs {
		rows[id] = functionRow{int32(id), r.v.functions[old]}
	}
	return driver.Insert(r.c, r.catalog, "fn", rows, (*functionRow).fields)
}

func (r *rewriter) writePaths(context.Context) error {
	depth := make([]int32, len(r.oldPaths))
	var id, parent, fn, rec []int32 // of a part
	of := func(old int32) int32 {
		if old == calltree.NoNode {
			return old
		}
		return r.path[old]
	}
	for from := 0; from < len(depth); from += len(id) {
		n := min(rowGroup, len(depth)-from)
		id, parent, fn, rec = sized(id, n), sized(parent, n), sized(fn, n), sized(rec, n)
		for i, old := range r.oldPaths[from : from+n] {
			id[i], parent[i], rec[i] = int32(from+i), of(r.v.forest.Paths.Parent[old]), of(r.v.rec[old])
			fn[i] = r.fn[r.v.forest.Paths.Item[old]]
			if parent[i] >= 0 {
				depth[from+i] = depth[parent[i]] + 1
			}
		}
		if err := r.c.Append(r.catalog, "call_path", n, id, parent, fn, depth[from:from+n], rec); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes the rows of functions of all profiles through c, and then the profiles,
// which have the keys of the rows.
func (r *rewriter) writeRows(ctx context.Context, c *driver.Conn) error {
	list := r.s.catalog.byBenchmark()
	w := rowWriter{c: c, catalog: r.catalog, v: r.v, fn: r.fn, next: map[int32]int32{}}
	for rest := list; len(rest) > 0; {
		part := someNodes(rest, manyNodes/2)
		rest = rest[len(part):]
		vs, err := r.s.vectorsOf(ctx, r.c, r.v, part)
		if err != nil {
			return err
		}
		if err := w.write(ctx, vs, part); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.showKeys(list); err != nil {
		return err
	}
	return c.Exec(`INSERT INTO ` + r.catalogSQL + `profile SELECT p.* REPLACE (k.slot AS slot, k.divisor AS divisor) FROM profile p JOIN row_key k USING (id) ORDER BY id;
		DELETE FROM row_key`)
}

// copyRawNames copies the names with the new ids of their functions.
func (r *rewriter) copyRawNames(ctx context.Context) error {
	var row rawName
	var rows []rawName
	err := r.c.Rows(ctx, "FROM raw_name ORDER BY ALL", nil, row.fields(), func() error {
		if uint(row.fn) < uint(len(r.fn)) && r.fn[row.fn] >= 0 {
			rows = append(rows, rawName{row.group, r.fn[row.fn], row.name})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return driver.Insert(r.c, r.catalog, "raw_name", rows, (*rawName).fields)
}

// recoder translates encoded vectors to the new ids.
func (r *rewriter) recoder() func(col []driver.Text) ([][]byte, error) {
	bufs := make([]calltree.Vector, driver.Workers) // by worker
	encoders := make([]encoding.Encoder, driver.Workers)
	var list [][]byte
	return func(col []driver.Text) ([][]byte, error) {
		list = sized(list, len(col))
		return list, spread(len(col), perWorker, func(w, i int) (err error) {
			if bufs[w], err = encoding.Decode(col[i].Bytes(), len(r.path), bufs[w]); err != nil {
				return err
			}
			for k, p := range bufs[w].Nodes {
				bufs[w].Nodes[k] = r.path[p]
			}
			list[i] = encoders[w].Encode(bufs[w].Nodes, bufs[w].Self)
			return nil
		})
	}
}

// writeTrees writes the vectors of profiles with the new ids.
func (r *rewriter) writeTrees(ctx context.Context) error {
	recode := r.recoder()
	err := r.eachBlob(ctx, "tree", "", func(ch driver.Chunk) error {
		list, err := recode(driver.Column[driver.Text](ch, 1))
		if err != nil {
			return err
		}
		return r.c.Append(r.catalog, "tree", len(list), slices.Clone(driver.Column[int32](ch, 0)), list)
	})
	if err != nil {
		return err
	}
	return r.eachBlob(ctx, "tree_mode", ", mode", func(ch driver.Chunk) error {
		list, err := recode(driver.Column[driver.Text](ch, 1))
		if err != nil {
			return err
		}
		return r.c.Append(r.catalog, "tree_mode", len(list), slices.Clone(driver.Column[int32](ch, 0)),
			slices.Clone(driver.Column[uint8](ch, 2)), list)
	})
}

// writeOthers writes the vectors of others with the new ids.
func (r *rewriter) writeOthers(ctx context.Context) error {
	return r.others.Copy(ctx, r.c, r.catalog, r.recoder())
}
