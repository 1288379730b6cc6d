package profiles

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/testrun"
)

// selectedTable creates the table with the ids of profiles or functions that a
// statement joins. It is filled inside a transaction that is rolled back, or emptied
// after use.
const selectedTable = `CREATE TEMP TABLE selected(id INTEGER, is_fn BOOLEAN)`

// selectIDs adds ids to table selected.
func selectIDs(c *driver.Conn, ids []int32, functions bool) error {
	return c.Append("temp", "selected", len(ids), ids, slices.Repeat([]bool{functions}, len(ids)))
}

// selection holds the profiles of a query and how SQL finds their rows.
type selection struct {
	profiles []store.Profile // detached: the caller of the store may change them
	lo, hi   int32           // range of their ids
	benches  []int32         // their benchmarks; nil: too many to list
	inRange  int             // stored profiles in the range
	inBench  int             // those of them that are of the benchmarks

	once bool // not to be kept in memory: a part of a selection too large for it

	// place is where the profiles stand in the selection that this is a part
	// of; nil when it is all of it.
	place []int32
}

// selectProfiles evaluates the query over the catalog.
func (s *Store) selectProfiles(q store.Query) *selection {
	sel := s.selectionOf(s.catalog.listing().of(&q))
	for i := range sel.profiles {
		sel.profiles[i] = detached(sel.profiles[i])
	}
	return sel
}

// maxBenches is the maximum number of benchmarks that SQL lists.
const maxBenches = 8

// selectionOf returns the selection of some profiles of the catalog.
func (s *Store) selectionOf(profiles []store.Profile) *selection {
	all := s.catalog.listing()
	sel := &selection{profiles: profiles}
	if len(sel.profiles) == 0 {
		return sel
	}
	sel.lo, sel.hi = int32(sel.profiles[0].Seq), int32(sel.profiles[0].Seq)
	benches := map[testrun.Benchmark]bool{}
	for i := range sel.profiles {
		p := &sel.profiles[i]
		sel.lo, sel.hi = min(sel.lo, int32(p.Seq)), max(sel.hi, int32(p.Seq))
		if len(benches) <= maxBenches {
			benches[p.Benchmark] = true
		}
	}
	sel.inRange = within(all.seqs, sel.lo, sel.hi)
	if len(benches) <= maxBenches {
		for b := range benches {
			sel.inBench += within(all.ofBench[b], sel.lo, sel.hi)
		}
		sel.benches = s.catalog.benchIDs(benches)
	} else {
		sel.inBench = sel.inRange
	}
	return sel
}

// condition returns the SQL condition on the profiles of a table, and whether it joins
// table selected. Ranges use DuckDB's zone maps, large selections are joined, and
// there is never a long list of literals. A loose condition may select other profiles
// of the range, if dropping their rows costs less than a join.
func (sel *selection) condition(t keyed, accept exactness) (where string, join bool) {
	profiles := fmt.Sprintf("profile BETWEEN %d AND %d", sel.lo, sel.hi)
	if sel.lo == sel.hi {
		profiles = fmt.Sprint("profile = ", sel.lo)
	}
	conditions, have := []string{profiles}, sel.inRange
	if t == keyedByBench && sel.benches != nil {
		conditions, have = append(conditions, "bench IN ("+driver.List(sel.benches)+")"), sel.inBench
	}
	join = sel.lo != sel.hi && have != len(sel.profiles) && (accept == exact || have >= maxLoose*len(sel.profiles))
	if join {
		conditions = append(conditions, "profile IN (SELECT id FROM selected WHERE NOT is_fn)")
	}
	return strings.Join(conditions, " AND "), join
}

// keyed is how the rows of a table are ordered: by profile alone, or by benchmark too.
type keyed int

const (
	keyedByProfile keyed = iota
	keyedByBench
)

// exactness is whether a condition may select profiles of the range that are not selected:
// up to maxLoose times as many as are.
type exactness int

const (
	exact exactness = iota
	loose
)

const maxLoose = 4

// manyNodes is the number of call nodes of a selection whose rows and vectors are read in
// parts, because DuckDB keeps the whole result of a statement in memory: 24 bytes for each
// row of a function. ScannedRows is the size of a part of fn_sample.
var manyNodes, scannedRows = 1 << 26, int64(1 << 23)

// nodes returns the number of call nodes of the profiles.
func (sel *selection) nodes() (n int) {
	for i := range sel.profiles {
		n += sel.profiles[i].Nodes
	}
	return n
}

// ids returns the ids of the profiles.
func (sel *selection) ids() []int32 {
	ids := make([]int32, len(sel.profiles))
	for i := range ids {
		ids[i] = int32(sel.profiles[i].Seq)
	}
	return ids
}

// part returns the selection of the profiles at some positions.
func (s *Store) part(sel *selection, places []int32) *selection {
	if len(places) == len(sel.profiles) {
		return sel
	}
	profiles := make([]store.Profile, len(places))
	for i, at := range places {
		profiles[i] = sel.profiles[at]
	}
	part := s.selectionOf(profiles)
	part.place = places
	return part
}

// places returns where the profiles stand in the whole selection.
func (sel *selection) places() []int32 {
	if sel.place != nil {
		return sel.place
	}
	places := make([]int32, len(sel.profiles))
	for i := range places {
		places[i] = int32(i)
	}
	return places
}

// positions returns for each id of the range, less lo, its position in the whole
// selection, or -1.
func (sel *selection) positions() []int32 {
	if len(sel.profiles) == 0 {
		return nil
	}
	pos := make([]int32, sel.hi-sel.lo+1)
	for i := range pos {
		pos[i] = -1
	}
	for i, at := range sel.places() {
		pos[int32(sel.profiles[i].Seq)-sel.lo] = at
	}
	return pos
}

// withSelection selects profiles and runs f. None of their rows is removed at the same
// time.
func (s *Store) withSelection(ctx context.Context, q store.Query, f func(c *driver.Conn, sel *selection) error) (*selection, error) {
	if err := s.file.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.file.Leave()
	s.removal.RLock()
	defer s.removal.RUnlock()
	sel := s.selectProfiles(q)
	if len(sel.profiles) == 0 {
		return sel, nil
	}
	return sel, s.file.With(func(c *driver.Conn) error { return f(c, sel) })
}

// Profiles implements store.Reader. It reads no file.
func (s *Store) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	if err := s.file.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.file.Leave()
	list := s.catalog.listing().of(&q)
	for i := range list {
		list[i] = detached(list[i])
	}
	return list, nil
}

// FunctionNames implements store.Reader.
func (s *Store) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	var list []profile.Function
	err := s.file.Look(ctx, func(c *driver.Conn) error {
		n, err := s.dict.functionNames(ctx, c)
		if err != nil {
			return err
		}
		n.index()
		list = n.copies(n.sorted)
		return nil
	})
	return list, err
}

// columns are some rows of fn_sample; profile is the position in the selection.
type columns struct {
	profile, fn []int32
	self, total []int64
}

func (r columns) clone() columns {
	return columns{slices.Clone(r.profile), slices.Clone(r.fn), slices.Clone(r.self), slices.Clone(r.total)}
}

// Functions implements store.Reader. It reads the rows during the call, 24 bytes each,
// so that the stream does not use the store.
func (s *Store) Functions(ctx context.Context, q store.Query, wanted []string) (*store.FunctionSet, error) {
	chunks := make([][]columns, driver.Workers)
	var n *names
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if n, err = s.dict.functionNames(ctx, c); err != nil {
			return err
		}
		return s.eachSample(ctx, c, sel, n, wanted, func(w int, r columns) {
			chunks[w] = append(chunks[w], r.clone())
		})
	})
	if err != nil {
		return nil, err
	}
	set := &store.FunctionSet{Profiles: sel.profiles}
	if n == nil {
		set.Rows = func(func(store.FunctionRows, error) bool) {}
		return set, nil
	}
	used := bitset.New(len(n.functions))
	list := slices.Concat(chunks...)
	for i := range list {
		for _, fn := range list[i].fn {
			used.Add(fn)
		}
	}
	ids := n.inOrder(used)
	set.Functions = n.copies(ids)
	index := make([]int32, len(n.functions))
	for at, id := range ids {
		index[id] = int32(at)
	}
	set.Rows = streamRows(ctx, list, index)
	return set, nil
}

// inOrder lists the used functions in byte order of names.
func (n *names) inOrder(used bitset.Set) []int32 {
	ids := used.Members()
	if len(ids) <= 64 { // all names need not be sorted for them
		n.sortByName(ids)
		return ids
	}
	n.index()
	ids = ids[:0]
	for _, id := range n.sorted {
		if used.Has(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// copies returns copies of functions.
func (n *names) copies(ids []int32) []profile.Function {
	list := make([]profile.Function, len(ids))
	for i, id := range ids {
		list[i] = n.functions[id]
	}
	return list
}

// eachSample calls f on several goroutines with the selected rows: those of all
// functions, or of the wanted ones. F must not change or keep them.
func (s *Store) eachSample(ctx context.Context, c *driver.Conn, sel *selection, n *names, wanted []string, f func(worker int, rows columns)) error {
	// In order of benchmarks, as in the file, so that f adds to what the processor's cache has.
	order := sel.byBenchmark()
	var missing []int32
	have := make([]*packedRows, len(sel.profiles))
	nodes := 0
	for _, i := range order {
		if have[i] = s.cache.functions(int32(sel.profiles[i].Seq)); have[i] == nil {
			missing = append(missing, i)
			nodes += sel.profiles[i].Nodes
		}
	}
	scratch := make([]columns, driver.Workers)
	if wanted != nil {
		fns := n.find(wanted)
		switch {
		case len(fns) == 0:
			return nil
		case len(missing) > 0: // DuckDB finds few rows faster than it reads all
			return sel.scan(ctx, c, fns, f)
		}
		err := spread(len(have), perWorker, func(w, i int) error {
			have[i].pick(&scratch[w], int32(i), fns)
			return ctx.Err()
		})
		for w, rows := range scratch {
			if len(rows.fn) > 0 && err == nil {
				f(w, rows)
			}
		}
		return err
	}
	if len(missing) < len(sel.profiles) {
		if err := spread(len(have), perWorker, func(w, i int) error {
			if p := have[order[i]]; p != nil && p.self.len() > 0 {
				p.unpack(&scratch[w], order[i])
				f(w, scratch[w])
			}
			return ctx.Err()
		}); err != nil || len(missing) == 0 {
			return err
		}
	}
	epoch, keep := s.cache.admit(bytesPerNode * nodes)
	if !keep {
		return s.part(sel, missing).scan(ctx, c, nil, f)
	}
	for len(missing) > 0 {
		part := s.part(sel, sel.someOf(missing))
		missing = missing[len(part.profiles):]
		if err := s.keepSamples(ctx, c, part, n, epoch, f); err != nil {
			return err
		}
	}
	return nil
}

// someOf returns the first of some positions, with so few call nodes that their rows may
// be held in memory: all, or those of so few benchmarks that SQL selects these.
func (sel *selection) someOf(places []int32) []int32 {
	nodes, benches, fit := 0, 0, len(places)
	for i, at := range places {
		p := &sel.profiles[at]
		nodes += p.Nodes
		if i == 0 || p.Benchmark != sel.profiles[places[i-1]].Benchmark {
			benches++
		}
		if i > 0 && i < fit && (nodes > manyNodes/8 || benches > maxBenches) {
			fit = i
		}
	}
	if nodes <= manyNodes/8 {
		return places
	}
	return places[:fit]
}

// byBenchmark returns the positions of the profiles, those of a benchmark together.
func (sel *selection) byBenchmark() []int32 {
	var names []string
	bench := store.BenchmarkIndex(sel.profiles, &names)
	order := make([]int32, len(bench))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(bench[a], bench[b]) })
	return order
}

// keepSamples is eachSample for profiles that are not in the cache, and adds them to it.
func (s *Store) keepSamples(ctx context.Context, c *driver.Conn, sel *selection, n *names, epoch int, f func(worker int, rows columns)) error {
	read := make([][]columns, driver.Workers)
	err := sel.scan(ctx, c, nil, func(w int, rows columns) {
		f(w, rows)
		read[w] = append(read[w], rows.clone())
	})
	if err != nil {
		return err
	}
	list := byProfile(slices.Concat(read...), sel.places())
	packers := make([]*rowPacker, driver.Workers)
	return spread(len(list), perWorker, func(w, i int) error {
		if packers[w] == nil {
			packers[w] = newRowPacker(len(n.functions))
		}
		s.cache.addFunctions(epoch, int32(sel.profiles[i].Seq), packers[w].pack(list[i]))
		return ctx.Err()
	})
}

// bytesPerNode estimates the memory of a profile's rows or vector in the cache per call
// node: there are fewer functions, and fewer nodes with a self value.
const bytesPerNode = 1

// byProfile sorts rows by profile. It returns those of each profile at some positions.
func byProfile(list []columns, of []int32) []columns {
	part := make([]int32, slices.Max(of)+1) // of each position
	for i, p := range of {
		part[p] = int32(i)
	}
	begin := make([]int, len(of)+1)
	for _, rows := range list {
		for _, p := range rows.profile {
			begin[part[p]+1]++
		}
	}
	for i := range of {
		begin[i+1] += begin[i]
	}
	n := begin[len(of)]
	all := columns{fn: make([]int32, n), self: make([]int64, n), total: make([]int64, n)}
	next := slices.Clone(begin)
	for _, rows := range list {
		for i, p := range rows.profile {
			k := next[part[p]]
			all.fn[k], all.self[k], all.total[k] = rows.fn[i], rows.self[i], rows.total[i]
			next[part[p]]++
		}
	}
	parts := make([]columns, len(of))
	for i := range of {
		from, to := begin[i], begin[i+1]
		parts[i] = columns{fn: all.fn[from:to:to], self: all.self[from:to:to], total: all.total[from:to:to]}
	}
	return parts
}

// scan calls f on several goroutines with the selected rows of the file: those of some
// functions, or of all if fns is empty.
func (sel *selection) scan(ctx context.Context, c *driver.Conn, fns []int32, f func(worker int, rows columns)) error {
	where, join := sel.condition(keyedByBench, loose)
	switch len(fns) {
	case 0:
	case 1:
		where += fmt.Sprintf(" AND fn = %d", fns[0])
	default:
		where += " AND fn IN (SELECT id FROM selected WHERE is_fn)"
	}
	pos, lo := sel.positions(), sel.lo
	scratch := make([]columns, driver.Workers)
	scan := func(where string) error {
		return c.QueryParallel(ctx, "SELECT profile, fn, self, total FROM fn_sample WHERE "+where, func(worker int, ch driver.Chunk) {
			rows := &scratch[worker]
			n, k := ch.Len(), 0
			rows.profile, rows.fn = sized(rows.profile, n), sized(rows.fn, n)
			rows.self, rows.total = sized(rows.self, n), sized(rows.total, n)
			fn, self, total := driver.Column[int32](ch, 1), driver.Column[int64](ch, 2), driver.Column[int64](ch, 3)
			for i, id := range driver.Column[int32](ch, 0) {
				if p := pos[id-lo]; p >= 0 {
					rows.profile[k], rows.fn[k], rows.self[k], rows.total[k] = p, fn[i], self[i], total[i]
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
		if err := selectIDs(c, sel.ids(), false); err != nil {
			return err
		}
		return selectIDs(c, fns, true)
	}, read)
}

// streamRows renumbers chunk by chunk.
func streamRows(ctx context.Context, chunks []columns, index []int32) iter.Seq2[store.FunctionRows, error] {
	return func(yield func(store.FunctionRows, error) bool) {
		var rows store.FunctionRows
		for _, ch := range chunks {
			if err := ctx.Err(); err != nil {
				yield(store.FunctionRows{}, err)
				return
			}
			n := len(ch.fn)
			rows.Profile, rows.Function = append(rows.Profile[:0], ch.profile...), sized(rows.Function, n)
			for i, fn := range ch.fn {
				rows.Function[i] = index[fn]
			}
			rows.Self, rows.Total = append(rows.Self[:0], ch.self...), append(rows.Total[:0], ch.total...)
			if !yield(rows, nil) {
				return
			}
		}
	}
}

// Waiting implements store.Reader.
func (s *Store) Waiting(ctx context.Context) ([]store.Measurement, error) {
	if err := s.file.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.file.Leave()
	return s.catalog.waiting(), nil
}

// RawNames implements store.Reader.
func (s *Store) RawNames(ctx context.Context, group string, wanted []string) (map[string]string, error) {
	out := map[string]string{}
	err := s.file.Look(ctx, func(c *driver.Conn) error {
		n, err := s.dict.functionNames(ctx, c)
		if err != nil {
			return err
		}
		ids := n.find(wanted)
		if len(ids) == 0 {
			return nil
		}
		return c.ReadTx(func() error { return selectIDs(c, ids, true) }, func() error {
			const sql = "SELECT fn, arg_min(name, (grp <> ?, name)) FROM raw_name WHERE fn IN (SELECT id FROM selected) GROUP BY fn"
			return c.Query(ctx, sql, []any{group}, func(ch driver.Chunk) error {
				raw := ch.Texts(1)
				for i, fn := range driver.Column[int32](ch, 0) {
					out[n.functions[fn].Name] = raw[i]
				}
				return nil
			})
		})
	})
	return out, err
}

// Source implements store.Reader.
func (s *Store) Source(ctx context.Context, id store.ProfileID) ([]byte, error) {
	if err := s.file.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.file.Leave()
	s.removal.RLock()
	defer s.removal.RUnlock()
	e := s.catalog.entry(id)
	if e == nil || e.source == noSource {
		return nil, fmt.Errorf("profile %s: %w", id, store.ErrNoSource)
	}
	var data []byte
	found := false
	err := s.file.With(func(c *driver.Conn) error {
		return c.Query(ctx, fmt.Sprint("SELECT data FROM source WHERE id = ", e.source), nil, func(ch driver.Chunk) error {
			data, found = slices.Clone(driver.Column[driver.Text](ch, 0)[0].Bytes()), true
			return nil
		})
	})
	if err == nil && !found {
		err = driver.Corruptf("%s: the source of profile %s is missing", s.file.Path, id)
	}
	if data == nil {
		data = []byte{}
	}
	return data, err
}
