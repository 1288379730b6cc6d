package duckdb

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// selectedTable holds, per connection, the profiles or functions that a
// statement joins. It is filled inside a transaction that is rolled back, or
// emptied after use.
const selectedTable = `CREATE TEMP TABLE selected(id INTEGER, bench INTEGER, whole DOUBLE, y DOUBLE, has_y BOOLEAN)`

// selectIDs fills the table of selected things with ids alone.
func selectIDs(c *conn, ids []int32) error {
	n := len(ids)
	return c.appendTo("temp", "selected", n, ids, make([]int32, n), make([]float64, n), make([]float64, n), make([]bool, n))
}

// selection is the profiles of a question and how SQL finds their rows.
type selection struct {
	profiles []store.Profile // detached: the caller of the store may change them
	lo, hi   int32           // range of their ids
	bench    int32           // all are of this benchmark; -1: of several
	dense    bool            // the range (of the benchmark) has no other profiles
}

// selectProfiles answers the query from the catalog.
func (s *Store) selectProfiles(q store.Query) *selection {
	all := s.cat.all()
	sel := &selection{profiles: q.Filter(all), bench: -1}
	if len(sel.profiles) == 0 {
		return sel
	}
	one := true
	sel.lo, sel.hi = int32(sel.profiles[0].Seq), int32(sel.profiles[0].Seq)
	for i := range sel.profiles {
		p := &sel.profiles[i]
		id := int32(p.Seq)
		sel.lo, sel.hi = min(sel.lo, id), max(sel.hi, id)
		one = one && p.Benchmark == sel.profiles[0].Benchmark
		*p = detached(*p)
	}
	if one {
		sel.bench = s.cat.bench(sel.profiles[0].Benchmark)
	}
	n := 0
	for i := range all {
		if id := int32(all[i].Seq); id >= sel.lo && id <= sel.hi && (!one || all[i].Benchmark == sel.profiles[0].Benchmark) {
			n++
		}
	}
	sel.dense = n == len(sel.profiles)
	return sel
}

// condition returns the SQL condition on a table's profile column, which may
// use table selected, and whether it does. Ranges bring DuckDB's zone maps to
// bear; everything else is a join, never a list of literals.
func (sel *selection) condition(bench bool) (where string, join bool) {
	where = fmt.Sprintf("profile BETWEEN %d AND %d", sel.lo, sel.hi)
	if bench && sel.bench >= 0 {
		where += fmt.Sprintf(" AND bench = %d", sel.bench)
	}
	if sel.dense && (bench || sel.bench < 0) || sel.lo == sel.hi {
		return where, false
	}
	return where + " AND profile IN (SELECT id FROM selected)", true
}

// ids returns the ids of the profiles.
func (sel *selection) ids() []int32 {
	ids := make([]int32, len(sel.profiles))
	for i := range ids {
		ids[i] = int32(sel.profiles[i].Seq)
	}
	return ids
}

// positions returns for each id of the range, less lo, its place in profiles.
func (sel *selection) positions() []int32 {
	if len(sel.profiles) == 0 {
		return nil
	}
	pos := make([]int32, sel.hi-sel.lo+1)
	for i := range sel.profiles {
		pos[int32(sel.profiles[i].Seq)-sel.lo] = int32(i)
	}
	return pos
}

// ask selects profiles and runs f, during which no stored row of theirs goes
// away. Fill says whether f wants the selection in table selected.
func (s *Store) ask(ctx context.Context, q store.Query, f func(c *conn, sel *selection) error) (*selection, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	s.removal.RLock()
	defer s.removal.RUnlock()
	sel := s.selectProfiles(q)
	if len(sel.profiles) == 0 {
		return sel, nil
	}
	return sel, s.with(func(c *conn) error { return f(c, sel) })
}

// joined runs f with table selected filled by fill, and empties it afterwards.
func (c *conn) joined(fill func() error, f func() error) error {
	if err := c.exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	err := fill()
	if err == nil {
		err = f()
	}
	if end := c.exec("ROLLBACK"); err == nil {
		err = end
	}
	return err
}

// Profiles implements store.Reader. It reads no file.
func (s *Store) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	list := q.Filter(s.cat.all())
	for i := range list {
		list[i] = detached(list[i])
	}
	return list, nil
}

// FunctionNames implements store.Reader.
func (s *Store) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	var list []profile.Function
	err := s.with(func(c *conn) error {
		n, err := s.dict.functionNames(c)
		if err != nil {
			return err
		}
		n.index()
		list = make([]profile.Function, len(n.functions))
		for id, rank := range n.rank {
			list[rank] = n.functions[id]
		}
		return nil
	})
	return list, err
}

// columns are rows of fn_sample as they came, chunk by chunk.
type columns struct {
	profile, fn []int32
	self, total []int64
}

// Functions implements store.Reader. The rows are read during the call, 24
// bytes each, so that the stream needs nothing of the store.
func (s *Store) Functions(ctx context.Context, q store.Query, wanted []string) (*store.FunctionSet, error) {
	var chunks []columns
	var n *names
	sel, err := s.ask(ctx, q, func(c *conn, sel *selection) (err error) {
		if n, err = s.dict.functionNames(c); err != nil {
			return err
		}
		chunks, err = readSamples(ctx, c, sel, n, wanted)
		return err
	})
	if err != nil {
		return nil, err
	}
	set := &store.FunctionSet{Profiles: sel.profiles}
	if n == nil {
		set.Rows = func(func(store.FunctionRows, error) bool) {}
		return set, nil
	}
	used := make([]bool, len(n.functions))
	for i := range chunks {
		for _, fn := range chunks[i].fn {
			used[fn] = true
		}
	}
	index := n.place(used, &set.Functions)
	set.Rows = streamRows(ctx, chunks, sel, index)
	return set, nil
}

// place appends the used functions in byte order of names to list, and returns
// the place of each.
func (n *names) place(used []bool, list *[]profile.Function) []int32 {
	var ids []int32
	for id, is := range used {
		if is {
			ids = append(ids, int32(id))
		}
	}
	if len(ids) > 64 {
		n.index()
		slices.SortFunc(ids, func(a, b int32) int { return cmp.Compare(n.rank[a], n.rank[b]) })
	} else {
		slices.SortFunc(ids, func(a, b int32) int { return strings.Compare(n.functions[a].Name, n.functions[b].Name) })
	}
	index := make([]int32, len(used))
	for i, id := range ids {
		*list = append(*list, n.functions[id])
		index[id] = int32(i)
	}
	return index
}

// readSamples copies the selected rows out of DuckDB.
func readSamples(ctx context.Context, c *conn, sel *selection, n *names, wanted []string) ([]columns, error) {
	where, join := sel.condition(true)
	var fns []int32
	if wanted != nil {
		n.index()
		for _, name := range wanted {
			if id, ok := n.ids[name]; ok && !slices.Contains(fns, id) {
				fns = append(fns, id)
			}
		}
		switch len(fns) {
		case 0:
			return nil, nil
		case 1:
			where += fmt.Sprintf(" AND fn = %d", fns[0])
		default:
			// Table selected holds both; has_y tells functions from profiles.
			where = strings.ReplaceAll(where, "FROM selected", "FROM selected WHERE NOT has_y") +
				" AND fn IN (SELECT id FROM selected WHERE has_y)"
			join = true
		}
	}
	var chunks []columns
	read := func() error {
		return c.once(ctx, "SELECT profile, fn, self, total FROM fn_sample WHERE "+where, func(ch chunk) error {
			chunks = append(chunks, columns{slices.Clone(column[int32](ch, 0)), slices.Clone(column[int32](ch, 1)),
				slices.Clone(column[int64](ch, 2)), slices.Clone(column[int64](ch, 3))})
			return nil
		})
	}
	if !join {
		return chunks, read()
	}
	err := c.joined(func() error {
		if err := selectIDs(c, sel.ids()); err != nil || len(fns) < 2 {
			return err
		}
		k := len(fns)
		mark := slices.Repeat([]bool{true}, k)
		return c.appendTo("temp", "selected", k, fns, make([]int32, k), make([]float64, k), make([]float64, k), mark)
	}, read)
	return chunks, err
}

// streamRows renumbers chunk by chunk.
func streamRows(ctx context.Context, chunks []columns, sel *selection, index []int32) iter.Seq2[store.FunctionRows, error] {
	pos := sel.positions()
	lo := sel.lo
	return func(yield func(store.FunctionRows, error) bool) {
		var rows store.FunctionRows
		for _, ch := range chunks {
			if err := ctx.Err(); err != nil {
				yield(store.FunctionRows{}, err)
				return
			}
			n := len(ch.fn)
			rows.Profile, rows.Function = grown(rows.Profile, n), grown(rows.Function, n)
			rows.Self, rows.Total = grown(rows.Self, n), grown(rows.Total, n)
			for i := range n {
				rows.Profile[i], rows.Function[i] = pos[ch.profile[i]-lo], index[ch.fn[i]]
			}
			copy(rows.Self, ch.self)
			copy(rows.Total, ch.total)
			if !yield(rows, nil) {
				return
			}
		}
	}
}

// RawNames implements store.Reader.
func (s *Store) RawNames(ctx context.Context, group string, wanted []string) (map[string]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	out := map[string]string{}
	err := s.with(func(c *conn) error {
		n, err := s.dict.functionNames(c)
		if err != nil {
			return err
		}
		n.index()
		var ids []int32
		for _, name := range wanted {
			if id, ok := n.ids[name]; ok {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return nil
		}
		return c.joined(func() error { return selectIDs(c, ids) }, func() error {
			const sql = "SELECT fn, arg_min(name, (grp <> ?, name)) FROM raw_name WHERE fn IN (SELECT id FROM selected) GROUP BY fn"
			return c.query(ctx, sql, []any{group}, func(ch chunk) error {
				raw := ch.texts(1)
				for i, fn := range column[int32](ch, 0) {
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
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	s.removal.RLock()
	defer s.removal.RUnlock()
	e := s.cat.entry(id)
	if e == nil || e.source == noSource {
		return nil, fmt.Errorf("profile %s: %w", id, store.ErrNoSource)
	}
	var data []byte
	found := false
	err := s.with(func(c *conn) error {
		return c.query(ctx, "SELECT data FROM source WHERE id = ?", []any{e.source}, func(ch chunk) error {
			data, found = slices.Clone(column[text](ch, 0)[0].bytes()), true
			return nil
		})
	})
	if err == nil && !found {
		err = corruptf("%s: the source of profile %s is missing", s.path, id)
	}
	if data == nil {
		data = []byte{}
	}
	return data, err
}
