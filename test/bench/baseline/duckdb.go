package baseline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/dendroprof/dendro/test/bench"
	duck "github.com/duckdb/duckdb-go-bindings"
)

// schema has no key and no index: on this engine they multiply the time of an
// import by two and the size by almost four, and no query needs them.
const schema = `
CREATE TABLE IF NOT EXISTS fn(id INTEGER, name VARCHAR);
CREATE TABLE IF NOT EXISTS benchmark(id INTEGER, grp VARCHAR, name VARCHAR);
CREATE TABLE IF NOT EXISTS profile(id INTEGER, bench INTEGER, run VARCHAR, seq INTEGER, metric DOUBLE,
	samples BIGINT, nodes INTEGER);
CREATE TABLE IF NOT EXISTS node(profile INTEGER, id INTEGER, parent INTEGER, fn INTEGER, depth INTEGER,
	self BIGINT, total BIGINT, rec INTEGER, recd INTEGER);
`

// DuckDB is the per-node model in DuckDB columns.
type DuckDB struct {
	path    string
	db      *database
	conn    *connection // for queries and names
	workers []*worker
	dict    *dictionary
	benches map[[2]string]int32
	order   [][2]string // of the benchmarks by id
	saved   int         // order[:saved] are in the database
	next    int32       // profile id
}

// worker is one goroutine of an import: a connection with its transaction, a
// parser and the columns of its profile.
type worker struct {
	conn  *connection
	syms  *symbols
	tree  tree
	nodes *appender
	profs *appender
}

var _ bench.Engine = (*DuckDB)(nil)

// OpenDuckDB opens or creates a store in a folder.
func OpenDuckDB(o bench.Options) (*DuckDB, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening the baseline: %w", err)
	}
	e := &DuckDB{
		path:    filepath.Join(o.Dir, "a.duckdb"),
		dict:    newDictionary(o.Names),
		benches: map[[2]string]int32{},
	}
	var err error
	if e.db, err = openDatabase(e.path); err != nil {
		return nil, err
	}
	if err := e.load(max(1, o.Workers)); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// load connects and reads what an import and the answers need to know.
func (e *DuckDB) load(workers int) (err error) {
	if e.conn, err = e.db.connect(); err != nil {
		return err
	}
	for range workers {
		c, err := e.db.connect()
		if err != nil {
			return err
		}
		e.workers = append(e.workers, &worker{conn: c, syms: newSymbols(e.dict)})
	}
	if err := e.conn.exec(schema); err != nil {
		return err
	}
	err = e.conn.each(`SELECT name FROM fn ORDER BY id`, func(c chunk) {
		for i := range c.rows {
			name := c.text(0, i)
			e.dict.ids[name] = int32(len(e.dict.names))
			e.dict.names = append(e.dict.names, name)
		}
	})
	if err != nil {
		return err
	}
	e.dict.stored = len(e.dict.names)
	err = e.conn.each(`SELECT grp, name FROM benchmark ORDER BY id`, func(c chunk) {
		for i := range c.rows {
			e.benchmark(c.text(0, i), c.text(1, i))
		}
	})
	if err != nil {
		return err
	}
	e.saved = len(e.order)
	return e.conn.each(`SELECT coalesce(max(id) + 1, 0)::INTEGER FROM profile`, func(c chunk) {
		e.next = column[int32](c, 0)[0]
	})
}

func (e *DuckDB) benchmark(group, name string) int32 {
	key := [2]string{group, name}
	id, ok := e.benches[key]
	if !ok {
		id = int32(len(e.order))
		e.benches[key] = id
		e.order = append(e.order, key)
	}
	return id
}

// Import parses the batch with all workers, each in its own transaction, and
// commits when all have written their rows.
func (e *DuckDB) Import(batch []bench.Profile) error {
	ids := make([]int32, len(batch))
	for i, p := range batch {
		ids[i] = e.benchmark(p.Group, p.Benchmark)
	}
	first := e.next
	e.next += int32(len(batch))

	used := e.workers[:min(len(e.workers), len(batch))]
	errs := make([]error, len(used))
	each := func(f func(w *worker) error) error {
		var wg sync.WaitGroup
		for k, w := range used {
			wg.Go(func() { errs[k] = f(w) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	defer func() {
		for _, w := range used {
			w.end()
		}
	}()
	var next atomic.Int64
	err := each(func(w *worker) error {
		if err := w.begin(); err != nil {
			return err
		}
		for i := next.Add(1) - 1; i < int64(len(batch)); i = next.Add(1) - 1 {
			if err := w.put(&batch[i], first+int32(i), ids[i]); err != nil {
				return fmt.Errorf("importing profile %d: %w", batch[i].Index, err)
			}
		}
		return w.flush()
	})
	// Names are known when all have parsed; one transaction takes them along.
	if err == nil {
		err = e.putNames(used[0].conn)
	}
	if err != nil {
		for _, w := range used {
			err = errors.Join(err, w.conn.exec(`ROLLBACK`))
		}
		return err
	}
	return each(func(w *worker) error { return w.conn.exec(`COMMIT`) })
}

func (w *worker) begin() (err error) {
	if err = w.conn.exec(`BEGIN`); err != nil {
		return err
	}
	const i4, i8 = duck.TypeInteger, duck.TypeBigInt
	if w.nodes, err = w.conn.appender("node", i4, i4, i4, i4, i4, i8, i8, i4, i4); err != nil {
		return err
	}
	w.profs, err = w.conn.appender("profile", i4, i4, duck.TypeVarchar, i4, duck.TypeDouble, i8, i4)
	return err
}

// put parses one profile and appends its rows.
func (w *worker) put(p *bench.Profile, id, benchmark int32) error {
	if err := w.tree.parse(p.Text, w.syms); err != nil {
		return err
	}
	t := &w.tree
	for from := 0; from < len(t.fn); {
		c := w.nodes.full()
		at := w.nodes.rows
		n := min(vectorRows-at, len(t.fn)-from)
		profiles, nodes := column[int32](c, 0)[at:at+n], column[int32](c, 1)[at:at+n]
		for i := range profiles {
			profiles[i] = id
			nodes[i] = int32(from + i)
		}
		copy(column[int32](c, 2)[at:], t.parent[from:from+n])
		copy(column[int32](c, 3)[at:], t.fn[from:from+n])
		copy(column[int32](c, 4)[at:], t.depth[from:from+n])
		copy(column[int64](c, 5)[at:], t.self[from:from+n])
		copy(column[int64](c, 6)[at:], t.total[from:from+n])
		copy(column[int32](c, 7)[at:], t.rec[from:from+n])
		copy(column[int32](c, 8)[at:], t.recd[from:from+n])
		if err := w.nodes.advance(n); err != nil {
			return err
		}
		from += n
	}
	c, at := w.profs.full(), w.profs.rows
	column[int32](c, 0)[at] = id
	column[int32](c, 1)[at] = benchmark
	c.setText(2, at, p.Run)
	column[int32](c, 3)[at] = int32(p.RunIndex)
	column[float64](c, 4)[at] = p.MetricMean
	column[int64](c, 5)[at] = t.samples
	column[int32](c, 6)[at] = int32(len(t.fn))
	return w.profs.advance(1)
}

func (w *worker) flush() error { return errors.Join(w.nodes.flush(), w.profs.flush()) }

func (w *worker) end() {
	for _, a := range []*appender{w.nodes, w.profs} {
		if a != nil {
			a.close()
		}
	}
	w.nodes, w.profs = nil, nil
}

// putNames appends the names and benchmarks that this batch brought.
func (e *DuckDB) putNames(c *connection) error {
	fns, err := c.appender("fn", duck.TypeInteger, duck.TypeVarchar)
	if err != nil {
		return err
	}
	defer fns.close()
	for i, name := range e.dict.names[e.dict.stored:] {
		column[int32](fns.full(), 0)[fns.rows] = int32(e.dict.stored + i)
		fns.full().setText(1, fns.rows, name)
		if err := fns.advance(1); err != nil {
			return err
		}
	}
	benches, err := c.appender("benchmark", duck.TypeInteger, duck.TypeVarchar, duck.TypeVarchar)
	if err != nil {
		return err
	}
	defer benches.close()
	for i, key := range e.order[e.saved:] {
		column[int32](benches.full(), 0)[benches.rows] = int32(e.saved + i)
		benches.full().setText(1, benches.rows, key[0])
		benches.full().setText(2, benches.rows, key[1])
		if err := benches.advance(1); err != nil {
			return err
		}
	}
	if err := errors.Join(fns.flush(), benches.flush()); err != nil {
		return err
	}
	e.dict.stored, e.saved = len(e.dict.names), len(e.order)
	return nil
}

// Finish writes the log into the file.
func (e *DuckDB) Finish() error { return e.conn.exec(`CHECKPOINT`) }

// Size returns the size of the used blocks. Two workers that write at a time
// leave up to a third of the file free, which later imports fill.
func (e *DuckDB) Size() (n int64, err error) {
	err = e.conn.each(`SELECT (used_blocks * block_size)::BIGINT FROM pragma_database_size()`, func(c chunk) {
		n = column[int64](c, 0)[0]
	})
	return n, err
}

// Close closes the store; the file stays.
func (e *DuckDB) Close() error {
	for _, w := range e.workers {
		w.conn.close()
	}
	if e.conn != nil {
		e.conn.close()
	}
	e.db.close()
	return nil
}
