package profiles

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// selectedTable creates the table with the ids of profiles or functions that a statement
// joins. It is filled inside a transaction that is rolled back, or emptied after use.
const selectedTable = `CREATE TEMP TABLE selected(id INTEGER)`

// selectIDs adds ids to table selected.
func selectIDs(c *driver.Conn, ids []int32) error {
	return c.Append("temp", "selected", len(ids), ids)
}

// selection holds the profiles of a query and how SQL finds their rows.
type selection struct {
	profiles []store.Profile // shared with other requests
	lo, hi   int32           // range of their ids
	inRange  int             // stored profiles in the range
	all      *listing        // of which they are

	once bool // its vectors are not to be kept: a part of a selection too large for it, or rows are kept instead

	// place is where the profiles stand in the selection that this is a part
	// of; nil when it is all of it.
	place []int32
}

// selectProfiles evaluates the query over the catalog.
func (s *Store) selectProfiles(q store.Query) *selection {
	return s.selectionOf(s.catalog.listing().of(&q))
}

// selectionOf returns the selection of some profiles of the catalog.
func (s *Store) selectionOf(profiles []store.Profile) *selection {
	all := s.catalog.listing()
	sel := &selection{profiles: profiles, all: all}
	if len(sel.profiles) == 0 {
		return sel
	}
	sel.lo, sel.hi = int32(sel.profiles[0].Seq), int32(sel.profiles[0].Seq)
	for i := range sel.profiles {
		id := int32(sel.profiles[i].Seq)
		sel.lo, sel.hi = min(sel.lo, id), max(sel.hi, id)
	}
	sel.inRange = within(all.seqs, sel.lo, sel.hi)
	return sel
}

// condition returns the SQL condition on the profiles of a table, and whether it joins
// table selected. Ranges use DuckDB's zone maps, large selections are joined, and
// there is never a long list of literals.
func (sel *selection) condition() (where string, join bool) {
	if sel.lo == sel.hi {
		return fmt.Sprint("profile = ", sel.lo), false
	}
	where = fmt.Sprintf("profile BETWEEN %d AND %d", sel.lo, sel.hi)
	if join = sel.inRange != len(sel.profiles); join {
		where += " AND profile IN (SELECT id FROM selected)"
	}
	return where, join
}

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
	return column.Places[int32](len(sel.profiles))
}

// positions returns for each id of the range, less lo, its position in the whole
// selection, or -1.
func (sel *selection) positions() []int32 {
	if len(sel.profiles) == 0 {
		return nil
	}
	pos := slices.Repeat([]int32{-1}, int(sel.hi-sel.lo)+1)
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
	return s.catalog.listing().of(&q), nil
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

// Functions implements store.Reader. It reads the rows during the call, 24 bytes each,
// so that the stream does not use the store.
func (s *Store) Functions(ctx context.Context, q store.Query, wanted []string) (*store.FunctionSet, error) {
	chunks := make([][]columns, driver.Workers)
	var v *view
	sel, err := s.withSelection(ctx, q, func(c *driver.Conn, sel *selection) (err error) {
		if v, err = s.dict.reader(ctx, c); err != nil {
			return err
		}
		return s.eachSample(ctx, c, sel, v, wanted, func(w int, r columns) {
			chunks[w] = append(chunks[w], r.clone())
		})
	})
	if err != nil {
		return nil, err
	}
	set := &store.FunctionSet{Profiles: sel.profiles}
	if v == nil {
		set.Rows = func(func(store.FunctionRows, error) bool) {}
		return set, nil
	}
	used := bitset.New(len(v.functions))
	list := slices.Concat(chunks...)
	for i := range list {
		for _, fn := range list[i].fn {
			used.Add(fn)
		}
	}
	ids := v.inOrder(used)
	set.Functions = v.copies(ids)
	index := make([]int32, len(v.functions))
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
	return column.Pick(n.functions, ids)
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
		return c.ReadTx(func() error { return selectIDs(c, ids) }, func() error {
			const sql = "SELECT fn, arg_min(name, (grp <> ?, name)) FROM raw_name WHERE fn IN (SELECT id FROM selected) GROUP BY fn"
			var row rawName
			return c.Rows(ctx, sql, []any{group}, []any{&row.fn, &row.name}, func() error {
				out[n.functions[row.fn].Name] = row.name
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
	err := s.file.With(func(c *driver.Conn) error {
		return c.Rows(ctx, fmt.Sprint("SELECT data FROM source WHERE id = ", e.source), nil, []any{&data}, func() error { return nil })
	})
	if err == nil && data == nil {
		err = driver.Corruptf("%s: the source of profile %s is missing", s.file.Path, id)
	}
	return data, err
}
