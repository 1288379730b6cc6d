package profiles

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// sortedNodes is the number of call nodes whose rows are sorted in memory at once, in 20 bytes
// for each row. A variable for tests.
var sortedNodes = 1 << 21

// byBenchmark lists all profiles in the order of rows of functions: by benchmark, type and id.
func (cat *catalog) byBenchmark() []*entry {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	return slices.SortedFunc(maps.Values(cat.profiles), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.bench, b.bench), cmp.Compare(a.p.Type.Name, b.p.Type.Name), cmp.Compare(a.id(), b.id()))
	})
}

// someNodes returns the first profiles of a list, those that have about so many call nodes.
func someNodes(list []*entry, limit int) []*entry {
	nodes := 0
	for i, e := range list {
		if nodes += e.p.Nodes; nodes > limit && i > 0 {
			return list[:i]
		}
	}
	return list
}

// vectorsOf reads the vectors of profiles.
func (s *Store) vectorsOf(ctx context.Context, c *driver.Conn, v *view, list []*entry) (*vectors, error) {
	profiles := column.Of(list, func(e *entry) store.Profile { return e.p })
	sel := s.selectionOf(profiles)
	sel.once = true
	vs, err := s.readVectors(ctx, c, sel, false)
	if err == nil {
		vs.limit = len(v.rec)
	}
	return vs, err
}

// rowWriter appends rows of functions to fn_sample. Those of a benchmark and type are
// ordered so that DuckDB, which gives the values of some thousand rows the bits that the
// largest one needs, has little to store: first functions of which only callees have
// values, then those without callees, and functions with large values before others.
type rowWriter struct {
	c       *driver.Conn
	catalog string
	v       *view
	fn      []int32         // new ids of functions; nil: as they are
	next    map[int32]int32 // slot of each benchmark

	keys []rowKey // of the profiles written so far

	series []rowSeries // by function and kind
	order  []int32     // those with rows, of one benchmark and type
	out    struct {
		bench, slot, fn []int32
		self, callees   []int64
	}
}

// rowKey is how the rows of a profile are stored.
type rowKey struct {
	slot    int32
	divisor int64 // of all values
}

// rowSeries are the rows of one function and kind.
type rowSeries struct {
	count, at int32 // rows, and the place of the next one
	largest   uint64
}

// The kinds of rows.
const (
	calleesOnly = iota
	selfOnly
	selfAndCallees
	rowKinds
)

// write appends the rows of profiles, which are in the order of byBenchmark.
func (w *rowWriter) write(ctx context.Context, vs *vectors, list []*entry) error {
	all, bufs := w.v.tallies(nil), make([]calltree.Vector, driver.Workers)
	defer all.release()
	for from := 0; from < len(list); {
		part := someNodes(list[from:], sortedNodes)
		rows, divisors := make([]columns, len(part)), make([]int64, len(part))
		err := spread(len(part), perWorker, func(worker, i int) error {
			vector, err := vs.at(from+i, &bufs[worker])
			if err != nil {
				return err
			}
			divisors[i], _ = encoding.Divisor(vector.Self)
			t := all.of(worker)
			t.add(vector, 0)
			t.rows(&rows[i], 0)
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		from += len(part)
		for len(part) > 0 {
			n := 1
			for n < len(part) && part[n].bench == part[0].bench && part[n].p.Type.Name == part[0].p.Type.Name {
				n++
			}
			if err := w.group(part[0].bench, rows[:n], divisors[:n]); err != nil {
				return err
			}
			part, rows, divisors = part[n:], rows[n:], divisors[n:]
		}
	}
	return nil
}

// group appends the rows of profiles of one benchmark and type, in order of their slots.
func (w *rowWriter) group(bench int32, rows []columns, divisors []int64) error {
	g, _ := encoding.Divisor(divisors)
	if w.series == nil {
		w.series = make([]rowSeries, rowKinds*len(w.v.functions))
	}
	for i := range rows {
		w.count(&rows[i])
	}
	slices.SortFunc(w.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(a%rowKinds, b%rowKinds), cmp.Compare(w.series[b].largest, w.series[a].largest), cmp.Compare(a, b))
	})
	o := &w.out
	n := int32(len(o.fn))
	for _, id := range w.order {
		w.series[id].at = n
		n += w.series[id].count
	}
	o.bench, o.slot, o.fn = slices.Grow(o.bench, int(n))[:n], slices.Grow(o.slot, int(n))[:n], slices.Grow(o.fn, int(n))[:n]
	o.self, o.callees = slices.Grow(o.self, int(n))[:n], slices.Grow(o.callees, int(n))[:n]
	for i := range rows {
		slot := w.next[bench]
		w.next[bench]++
		w.keys = append(w.keys, rowKey{slot, g})
		for k, fn := range rows[i].fn {
			self, callees := encoding.Quotient(rows[i].self[k], g), encoding.Quotient(rows[i].total[k]-rows[i].self[k], g)
			s := &w.series[seriesOf(fn, self, callees)]
			o.bench[s.at], o.slot[s.at], o.fn[s.at] = bench, slot, w.idOf(fn)
			o.self[s.at], o.callees[s.at] = self, callees
			s.at++
		}
	}
	for _, id := range w.order {
		w.series[id] = rowSeries{}
	}
	w.order = w.order[:0]
	if n < rowGroup {
		return nil
	}
	return w.append(int(n / rowGroup * rowGroup))
}

// rowGroup is the number of rows that DuckDB stores together. Appended by so many, they are
// written once.
const rowGroup = 122_880

// count counts rows.
func (w *rowWriter) count(rows *columns) {
	for k, fn := range rows.fn {
		self, callees := rows.self[k], rows.total[k]-rows.self[k]
		id := seriesOf(fn, self, callees)
		s := &w.series[id]
		if s.count == 0 {
			w.order = append(w.order, id)
		}
		s.count++
		value := callees
		if id%rowKinds == selfOnly {
			value = self
		}
		s.largest = max(s.largest, encoding.Magnitude(value))
	}
}

func seriesOf(fn int32, self, callees int64) int32 {
	switch {
	case self == 0:
		return fn*rowKinds + calleesOnly
	case callees == 0:
		return fn*rowKinds + selfOnly
	}
	return fn*rowKinds + selfAndCallees
}

func (w *rowWriter) idOf(fn int32) int32 {
	if w.fn == nil {
		return fn
	}
	return w.fn[fn]
}

// append appends the first n rows.
func (w *rowWriter) append(n int) error {
	o := &w.out
	err := w.c.Append(w.catalog, "fn_sample", n, o.bench[:n], o.slot[:n], o.fn[:n], o.self[:n], o.callees[:n])
	o.bench, o.slot, o.fn = slices.Delete(o.bench, 0, n), slices.Delete(o.slot, 0, n), slices.Delete(o.fn, 0, n)
	o.self, o.callees = slices.Delete(o.self, 0, n), slices.Delete(o.callees, 0, n)
	return err
}

// flush appends what is left.
func (w *rowWriter) flush() error { return w.append(len(w.out.fn)) }

// keysTable creates the table that showKeys fills.
const keysTable = `CREATE TEMP TABLE row_key(id INTEGER, slot INTEGER, divisor BIGINT)`

// showKeys adds the keys of the profiles to table row_key, for statements that join it.
func (w *rowWriter) showKeys(list []*entry) error {
	ids, slots, divisors := make([]int32, len(list)), make([]int32, len(list)), make([]int64, len(list))
	for i, e := range list {
		ids[i], slots[i], divisors[i] = e.id(), w.keys[i].slot, w.keys[i].divisor
	}
	return w.c.Append("temp", "row_key", len(list), ids, slots, divisors)
}
