package profiles

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// Rows of functions are derived data, computed from the vectors of profiles. Compact writes
// them to fn_sample, so that other programs find them and a process that answers one query
// need not compute them. From the second query on the cache keeps those of all profiles if it
// has room, wherever they come from.

// columns are some rows of functions; profile is the position in the selection.
type columns struct {
	profile, fn []int32
	self, total []int64
}

func (r *columns) clone() columns {
	return columns{slices.Clone(r.profile), slices.Clone(r.fn), slices.Clone(r.self), slices.Clone(r.total)}
}

func (r *columns) reset() {
	r.profile, r.fn, r.self, r.total = r.profile[:0], r.fn[:0], r.self[:0], r.total[:0]
}

// only drops the rows of other functions than those of a set.
func (r *columns) only(fns bitset.Set) {
	n := 0
	for i, fn := range r.fn {
		if fns.Has(fn) {
			r.profile[n], r.fn[n], r.self[n], r.total[n] = r.profile[i], fn, r.self[i], r.total[i]
			n++
		}
	}
	r.profile, r.fn, r.self, r.total = r.profile[:n], r.fn[:n], r.self[:n], r.total[:n]
}

// split divides positions into those of profiles with rows in the file and the others.
func (sel *selection) split(places []int32) (stored, others []int32) {
	for _, i := range places {
		if _, ok := sel.all.rows[int32(sel.profiles[i].Seq)]; ok {
			stored = append(stored, i)
		} else {
			others = append(others, i)
		}
	}
	return stored, others
}

// eachSample calls f on several goroutines with the selected rows: those of all
// functions, or of the wanted ones. F must not change or keep them.
func (s *Store) eachSample(ctx context.Context, c *driver.Conn, sel *selection, n *names, wanted []string,
	f func(worker int, rows columns)) error {
	fns := n.find(wanted)
	if wanted != nil && len(fns) == 0 {
		return nil
	}
	// In order of benchmarks, as in the file, so that f adds to what the processor's cache has.
	var have, missing []int32
	rows := make([]*packedRows, len(sel.profiles))
	nodes := 0
	for _, i := range sel.byBenchmark() {
		if rows[i] = kept(&s.cache, &s.cache.rows, int32(sel.profiles[i].Seq)); rows[i] != nil {
			have = append(have, i)
			continue
		}
		missing = append(missing, i)
		nodes += sel.profiles[i].Nodes
	}
	if err := eachPacked(ctx, rows, have, fns, f); err != nil || len(missing) == 0 {
		return err
	}
	epoch, keep := s.cache.admit(bytesPerNode * nodes)
	stored, others := sel.split(missing)
	if keep && wanted == nil { // DuckDB finds few rows faster than a vector is read
		stored, others = nil, missing
	}
	if err := s.derive(ctx, c, sel, others, derivation{fns: fns, keep: keep, epoch: epoch}, f); err != nil || len(stored) == 0 {
		return err
	}
	return s.part(sel, stored).scan(ctx, c, fns, f)
}

// eachPacked calls f with rows that are in memory: all, or those of some functions.
func eachPacked(ctx context.Context, rows []*packedRows, places, fns []int32, f func(worker int, rows columns)) error {
	scratch := make([]columns, driver.Workers)
	err := spread(len(places), perWorker, func(w, i int) error {
		switch at := places[i]; {
		case fns != nil:
			rows[at].pick(&scratch[w], at, fns)
		case rows[at].self.len() > 0:
			rows[at].unpack(&scratch[w], at)
			f(w, scratch[w])
		}
		return ctx.Err()
	})
	for w := range scratch {
		if fns != nil && err == nil && len(scratch[w].fn) > 0 {
			f(w, scratch[w])
		}
	}
	return err
}

// byBenchmark returns the positions of the profiles, those of a benchmark together.
func (sel *selection) byBenchmark() []int32 {
	var names []string
	bench := store.BenchmarkIndex(sel.profiles, &names)
	order := column.Places[int32](len(bench))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(bench[a], bench[b]) })
	return order
}

// derivation is what derive does with the rows besides calling f.
type derivation struct {
	fns   []int32 // of which functions f gets rows; nil: all
	keep  bool    // puts all into the cache, if it is still of the epoch
	epoch int
}

// deriver computes rows from vectors. It belongs to one goroutine.
type deriver struct {
	sw     sweeper
	buf    calltree.Vector
	rows   columns
	packer *rowPacker
}

// deriver returns one for this forest, which release keeps for the next query.
func (v *view) deriver() *deriver {
	if d, ok := v.derivers.Get().(*deriver); ok {
		return d
	}
	return &deriver{packer: newRowPacker(len(v.functions))}
}

// of computes the rows of a vector, which stand until the next call, as those of the
// profile at a position.
func (d *deriver) of(v *view, vector calltree.Vector, profile int32) {
	v.sweep(&d.sw, vector)
	d.rows.reset()
	d.sw.rows(&d.rows, profile)
	d.sw.reset()
}

// derive calls f on several goroutines with the rows of the profiles at some positions,
// which it computes.
func (s *Store) derive(ctx context.Context, c *driver.Conn, sel *selection, places []int32, x derivation,
	f func(worker int, rows columns)) error {
	for len(places) > 0 {
		n, nodes := 0, 0
		for ; n < len(places) && nodes < manyNodes/2; n++ {
			nodes += sel.profiles[places[n]].Nodes
		}
		part := *s.part(sel, places[:n])
		at := part.places()
		part.place, part.once = nil, true // rows are kept in place of the vectors
		places = places[n:]
		vs, err := s.readVectors(ctx, c, &part, false)
		if err != nil {
			return err
		}
		v, err := s.dict.reader(ctx, c)
		if err != nil {
			return err
		}
		vs.limit = len(v.rec)
		wanted := bitset.New(len(v.functions))
		for _, fn := range x.fns {
			wanted.Add(fn)
		}
		err = v.deriveEach(ctx, vs, func(w, i int, d *deriver) {
			if d.of(v, d.buf, at[i]); x.keep {
				put(&s.cache, &s.cache.rows, x.epoch, vs.ids[i], d.packer.pack(d.rows))
			}
			if x.fns != nil {
				d.rows.only(wanted)
			}
			f(w, d.rows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deriveEach calls f on several goroutines with each vector in the buffer of a deriver.
func (v *view) deriveEach(ctx context.Context, vs *vectors, f func(w, i int, d *deriver)) error {
	derivers := make([]*deriver, driver.Workers)
	defer func() {
		for _, d := range derivers {
			if d != nil {
				v.derivers.Put(d)
			}
		}
	}()
	return spread(len(vs.ids), perWorker, func(w, i int) (err error) {
		if derivers[w] == nil {
			derivers[w] = v.deriver()
		}
		d := derivers[w]
		if d.buf, err = vs.at(i, &d.buf); err != nil {
			return err
		}
		f(w, i, d)
		return ctx.Err()
	})
}

// bytesPerNode estimates the memory of a profile's rows or vector in the cache per call
// node: there are fewer functions, and fewer nodes with a self value.
const bytesPerNode = 1

// keys returns how the rows of the profiles are stored, all of which are.
func (sel *selection) keys() []rowKey {
	keys := make([]rowKey, len(sel.profiles))
	for i := range keys {
		keys[i] = sel.all.rows[int32(sel.profiles[i].Seq)]
	}
	return keys
}

// maxBenches is the maximum number of benchmarks that SQL lists, and maxLoose how many times
// as many profiles as the selected ones a condition may select: dropping the rows of the others
// costs less than a join.
const (
	maxBenches = 8
	maxLoose   = 4
)

// inSelectedRows is the condition that joins table selected_row.
const inSelectedRows = "(bench, slot) IN (SELECT (bench, slot) FROM selected_row)"

// rowCondition returns the SQL condition on the rows of profiles in fn_sample, and whether
// it joins table selected_row.
func (l *listing) rowCondition(keys []rowKey) (where string, join bool) {
	lo, hi := keys[0], keys[0]
	var benches []int32
	for _, k := range keys {
		lo.bench, hi.bench = min(lo.bench, k.bench), max(hi.bench, k.bench)
		lo.slot, hi.slot = min(lo.slot, k.slot), max(hi.slot, k.slot)
		if len(benches) <= maxBenches && !slices.Contains(benches, k.bench) {
			benches = append(benches, k.bench)
		}
	}
	have := 0
	if len(benches) <= maxBenches {
		slices.Sort(benches)
		where = "bench IN (" + driver.List(benches) + ")"
		for _, b := range benches {
			have += within(l.slots[b], lo.slot, hi.slot)
		}
	} else {
		where = fmt.Sprintf("bench BETWEEN %d AND %d", lo.bench, hi.bench)
		for b, slots := range l.slots {
			if lo.bench <= b && b <= hi.bench {
				have += within(slots, lo.slot, hi.slot)
			}
		}
	}
	where += fmt.Sprintf(" AND slot BETWEEN %d AND %d", lo.slot, hi.slot)
	if have >= maxLoose*len(keys) {
		return where + " AND " + inSelectedRows, true
	}
	return where, false
}

// selectRows adds profiles to table selected_row.
func selectRows(c *driver.Conn, keys []rowKey) error {
	benches, slots := make([]int32, len(keys)), make([]int32, len(keys))
	for i, k := range keys {
		benches[i], slots[i] = k.bench, k.slot
	}
	return c.Append("temp", "selected_row", len(keys), benches, slots)
}

// keyIndex finds profiles by how their rows are stored.
type keyIndex struct {
	lo      int32 // of the benchmarks
	benches []slotIndex
}

// slotIndex has the places of the profiles of one benchmark, by slot less lo, or -1.
type slotIndex struct {
	lo int32
	at []int32
}

// indexOf returns an index of the places of keys.
func indexOf(keys []rowKey) keyIndex {
	lo, hi := keys[0].bench, keys[0].bench
	for _, k := range keys {
		lo, hi = min(lo, k.bench), max(hi, k.bench)
	}
	x := keyIndex{lo, make([]slotIndex, hi-lo+1)}
	order := column.Places[int32](len(keys))
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(keys[a].bench, keys[b].bench), cmp.Compare(keys[a].slot, keys[b].slot))
	})
	for _, i := range order {
		b := &x.benches[keys[i].bench-lo]
		if b.at == nil {
			b.lo = keys[i].slot
		}
		for int32(len(b.at)) < keys[i].slot-b.lo {
			b.at = append(b.at, -1)
		}
		b.at = append(b.at, i)
	}
	return x
}

// of returns the place of a key whose benchmark is in the range, or -1.
func (x *keyIndex) of(bench, slot int32) int32 {
	b := &x.benches[bench-x.lo]
	if i := uint32(slot - b.lo); i < uint32(len(b.at)) {
		return b.at[i]
	}
	return -1
}

// manyNodes is the number of call nodes of a selection whose rows and vectors are read in
// parts, because DuckDB keeps the whole result of a statement in memory: 28 bytes for each
// row of a function. ScannedRows is the size of a part of fn_sample.
var manyNodes, scannedRows = 1 << 26, int64(1 << 23)

// scan calls f on several goroutines with the selected rows of the file: those of some
// functions, or of all if fns is empty. All profiles have rows there.
func (sel *selection) scan(ctx context.Context, c *driver.Conn, fns []int32, f func(worker int, rows columns)) error {
	keys := sel.keys()
	where, join := sel.all.rowCondition(keys)
	switch len(fns) {
	case 0:
	case 1:
		where += fmt.Sprintf(" AND fn = %d", fns[0])
	default:
		where += " AND fn IN (SELECT id FROM selected WHERE is_fn)"
	}
	index, places := indexOf(keys), sel.places()
	scratch := make([]columns, driver.Workers)
	scan := func(where string) error {
		return c.QueryParallel(ctx, "SELECT bench, slot, fn, self, callees FROM fn_sample WHERE "+where, func(worker int, ch driver.Chunk) {
			rows := &scratch[worker]
			n, k := ch.Len(), 0
			rows.profile, rows.fn = sized(rows.profile, n), sized(rows.fn, n)
			rows.self, rows.total = sized(rows.self, n), sized(rows.total, n)
			bench, slot, fn := driver.Column[int32](ch, 0), driver.Column[int32](ch, 1), driver.Column[int32](ch, 2)
			self, callees := driver.Column[int64](ch, 3), driver.Column[int64](ch, 4)
			for i, b := range bench {
				if p := index.of(b, slot[i]); p >= 0 {
					d := keys[p].divisor
					rows.profile[k], rows.fn[k], rows.self[k], rows.total[k] = places[p], fn[i], self[i]*d, (self[i]+callees[i])*d
					k++
				}
			}
			f(worker, columns{rows.profile[:k], rows.fn[:k], rows.self[:k], rows.total[:k]})
		})
	}
	read := func() error {
		if len(fns) > 0 || sel.nodes() < manyNodes {
			return scan(where)
		}
		n, err := c.Number(ctx, "SELECT coalesce(max(rowid), 0) FROM fn_sample")
		for from := int64(0); err == nil && from <= n; from += scannedRows {
			err = scan(fmt.Sprintf("%s AND rowid BETWEEN %d AND %d", where, from, from+scannedRows-1))
		}
		return err
	}
	if !join && len(fns) < 2 {
		return read()
	}
	return c.ReadTx(func() error {
		if err := selectRows(c, keys); err != nil {
			return err
		}
		return selectIDs(c, fns, true)
	}, read)
}

// sized returns a slice of length n, in the memory of s if it is large enough. The
// values are arbitrary.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
