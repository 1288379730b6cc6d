package windows

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
)

// key identifies windows of a series but for their starts. Of the hash it has the first 64
// bits.
type key struct {
	series       continuous.Key
	length, hash int64
}

func keyOf(w *continuous.Window) key {
	return key{w.Series.Key(), w.Length.Milliseconds(), shortHash(w.Hash)}
}

func shortHash(h profile.Hash) int64 { return int64(binary.LittleEndian.Uint64(h[:8])) }

// batch is what a PutWindows adds.
type batch struct {
	st      *state
	added   []*series                  // new ones
	changed map[continuous.Key]*series // copies of series, by key: what they are after the commit
	facts   map[int32]bool             // series in the file whose facts changed
	limits  continuous.Room
	text    int64             // bytes that were added
	grown   map[string]growth // what services have added, with this
	folded  int64
	rows    struct {
		series                        []int32
		start, length, seq, sum, hash []int64
		paths                         [][]byte
	}
}

// PutWindows implements continuous.Store. It looks in the file only for repeats of windows
// that do not start after all others of their series.
func (s *Store) PutWindows(ctx context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	if err := check(list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, ctx.Err()
	}
	return s.put(ctx, list, nil)
}

// put stores windows that were checked, and what also writes, if there is something, in one
// transaction.
func (s *Store) put(ctx context.Context, list []*continuous.Window, also func(c *driver.Conn) error) ([]continuous.Outcome, error) {
	outcomes := make([]continuous.Outcome, len(list))
	var b *batch
	err := profiles.Grow(ctx, s.base, func(c *driver.Conn, g *profiles.Growth) error {
		st, err := s.loaded(ctx, c)
		if err != nil {
			return err
		}
		b = &batch{st: st, changed: map[continuous.Key]*series{}, facts: map[int32]bool{}, limits: s.limits, grown: map[string]growth{}}
		known, err := st.known(ctx, c, list)
		if err != nil {
			return err
		}
		for i, w := range list {
			k, start := keyOf(w), w.Start.UnixMilli()
			if slices.ContainsFunc(known[k], func(at int64) bool { return max(at-start, start-at) <= around(w) }) {
				outcomes[i] = continuous.Repeated
				continue
			}
			known[k] = append(known[k], start)
			b.add(w, k, g)
		}
		if also != nil {
			if err := also(c); err != nil {
				return err
			}
		}
		return b.write(ctx, c)
	}, func() {
		s.change.Lock()
		defer s.change.Unlock()
		b.apply()
		s.version++
		for _, e := range b.changed {
			s.versions[e.Service] = s.version
		}
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

func check(list []*continuous.Window) error {
	for _, w := range list {
		if err := w.Check(); err != nil {
			return err
		}
	}
	return nil
}

// around returns how many milliseconds from a window its repeat may start.
func around(w *continuous.Window) int64 {
	if w.Untimed {
		return continuous.RepeatWithin.Milliseconds()
	}
	return 0
}

// starts are starts of windows by their keys.
type starts map[key][]int64

// known returns the starts of stored windows that some of the list may repeat. A window that
// starts after all of its series repeats none.
func (st *state) known(ctx context.Context, c *driver.Conn, list []*continuous.Window) (starts, error) {
	known := starts{}
	var doubtful []*continuous.Window
	for _, w := range list {
		if e := st.byKey[w.Series.Key()]; e != nil && w.Start.UnixMilli()-around(w) <= e.newest {
			doubtful = append(doubtful, w)
		}
	}
	slices.SortFunc(doubtful, func(a, b *continuous.Window) int {
		return cmp.Or(cmp.Compare(around(a), around(b)), a.Start.Compare(b.Start))
	})
	for looks := 1; len(doubtful) > 0; looks++ {
		n := 1
		for n < len(doubtful) && doubtful[n].Untimed == doubtful[0].Untimed &&
			(looks == maxLooks || doubtful[n].Start.Sub(doubtful[n-1].Start) < neighbours) {
			n++
		}
		if err := st.look(ctx, c, doubtful[:n], known); err != nil {
			return nil, err
		}
		doubtful = doubtful[n:]
	}
	return known, nil
}

// maxLooks is the maximum number of statements that look for scattered windows: the last reads
// all rows between those that are left.
const maxLooks = 64

// neighbours is how far apart two windows may start that one statement looks for: it reads
// all rows between the first and the last.
const neighbours = 10 * time.Minute

// look adds the stored windows that some of a list, in order of starts, may repeat.
func (st *state) look(ctx context.Context, c *driver.Conn, list []*continuous.Window, known starts) error {
	var ids []int32
	var at []int64
	for _, w := range list {
		ids, at = append(ids, st.byKey[w.Series.Key()].id), append(at, w.Start.UnixMilli())
	}
	if err := c.Append("temp", "chosen", len(ids), ids, at); err != nil {
		return err
	}
	columns := "(series, start)"
	if list[0].Untimed {
		columns = "series"
	}
	sql := fmt.Sprintf(`SELECT series, start, length, hash FROM raw_window WHERE start BETWEEN %d AND %d AND %[3]s IN (SELECT %[3]s FROM chosen)`,
		at[0]-around(list[0]), at[len(at)-1]+around(list[0]), columns)
	var id int32
	var start int64
	var k key
	err := c.Rows(ctx, sql, nil, []any{&id, &start, &k.length, &k.hash}, func() error {
		e, ok := st.of(id)
		if !ok {
			return driver.Corruptf("windows of series %d, which is missing", id)
		}
		k.series = e.Key()
		known[k] = append(known[k], start)
		return nil
	})
	if err != nil {
		return err
	}
	return c.Exec("DELETE FROM chosen")
}

// add adds a window that is not stored yet.
func (b *batch) add(w *continuous.Window, k key, g *profiles.Growth) {
	start := w.Start.UnixMilli()
	e := b.changed[k.series]
	if e == nil {
		if old := b.st.byKey[k.series]; old != nil {
			e = new(*old)
		} else {
			e = &series{id: b.st.nextID + int32(len(b.added)), typ: &w.Type, newest: start,
				Series: continuous.Series{Service: w.Series.Service, Type: w.Series.Type, Labels: slices.Clone(w.Series.Labels), First: timeOf(start),
					Last: timeOf(start)}}
			b.added = append(b.added, e)
			b.grow(e.Service, 0, e.labelBytes())
		}
		b.changed[k.series] = e
	}
	if start >= e.newest && !slices.Equal(w.Series.Facts, e.Facts) {
		b.grow(e.Service, 0, w.Series.Facts.Bytes()-e.Facts.Bytes())
		e.Facts = slices.Clone(w.Series.Facts)
		if e.id < b.st.nextID {
			b.facts[e.id] = true
		}
	}
	e.extend(start, start, start+k.length)
	r := &b.rows
	r.series, r.start, r.length, r.hash = append(r.series, e.id), append(r.start, start), append(r.length, k.length), append(r.hash, k.hash)
	r.seq = append(r.seq, b.st.seq+int64(len(r.seq))+1)
	blob, folded := g.Encode(w.Forest, w.Self, b.room(w.Series.Service, g), continuous.Other)
	b.folded += int64(folded)
	r.sum, r.paths = append(r.sum, w.Self.Sum()), append(r.paths, blob)
}

// growth is what was added: paths, and bytes of names and places of functions, and of labels and
// facts of series.
type growth struct{ paths, text int64 }

// has returns what a service has added, with this batch.
func (b *batch) has(service string) growth {
	if has, ok := b.grown[service]; ok {
		return has
	}
	return b.st.grown[service]
}

func (b *batch) grow(service string, paths, text int64) {
	has := b.has(service)
	b.grown[service] = growth{has.paths + paths, has.text + text}
	b.text += text
}

// room returns what a service may still add to the forest.
func (b *batch) room(service string, g *profiles.Growth) profiles.Room {
	if b.limits == (continuous.Room{}) {
		return nil
	}
	return func(paths int, text int64) bool {
		has, l, more := b.has(service), &b.limits, int64(max(1, paths)) // a new function is on a new path
		if l.Paths > 0 && (int64(g.Paths())+more > l.Paths || has.paths+more > l.Part(l.Paths)) ||
			l.Text > 0 && text > 0 && (b.st.text+b.text+text > l.Text || has.text+text > l.Part(l.Text)) {
			return false
		}
		b.grow(service, int64(paths), text)
		return true
	}
}

// write fills the open transaction.
func (b *batch) write(ctx context.Context, c *driver.Conn) error {
	rows, ids := slices.Clone(b.added), slices.Collect(maps.Keys(b.facts))
	for _, id := range ids {
		e, _ := b.st.of(id)
		rows = append(rows, b.changed[e.Key()])
	}
	if err := replaceSeries(ctx, c, ids, rows); err != nil {
		return err
	}
	r := &b.rows
	return c.Append("", "raw_window", len(r.series), r.series, r.start, r.length, r.seq, r.sum, r.hash, sizes(r.paths), r.paths)
}

// sizes returns the column bytes of vectors.
func sizes(paths [][]byte) []int32 {
	return column.Of(paths, func(blob []byte) int32 { return int32(len(blob)) })
}

// apply makes the state that of the commit.
func (b *batch) apply() {
	for _, e := range b.added {
		b.st.add(e)
	}
	for k, e := range b.changed {
		*b.st.byKey[k] = *e
	}
	b.st.seq += int64(len(b.rows.seq))
	b.st.text += b.text
	maps.Copy(b.st.grown, b.grown)
	b.st.folded += b.folded
}
