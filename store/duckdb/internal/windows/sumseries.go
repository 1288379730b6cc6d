package windows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// sumSeries says which series sums are of: those of instances are of a series without the labels
// that tell instances apart, the others of their own.
type sumSeries struct {
	own, sum  []int32           // series of instances, and that of their sums
	described map[int32]*series // those of sums
	added     []*series         // of these, which do not exist yet: their ids are -1, -2, …
}

// sumSeries returns those of the state, and of series that a roll-up has made.
func (st *state) sumSeries(instance []string, known map[continuous.Key]*series) *sumSeries {
	of := &sumSeries{described: map[int32]*series{}}
	ids := map[continuous.Key]int32{}
	for _, e := range st.list {
		described, other := e.Sum(instance)
		if !other {
			continue
		}
		key := described.Key()
		id, ok := ids[key]
		if !ok {
			if have := cmp.Or(st.byKey[key], known[key]); have != nil {
				id = have.id
			} else {
				id = -1 - int32(len(of.added))
				of.added = append(of.added, &series{id: id, Series: described, typ: e.typ, newest: never})
			}
			ids[key], of.described[id] = id, &series{Series: described}
		}
		d := of.described[id]
		d.Summed = continuous.Summed(d.Summed, &described)
		of.own, of.sum = append(of.own, e.id), append(of.sum, id)
	}
	return of
}

// never is the start of the newest window of a series that has nothing but sums.
var never = time.Time{}.UnixMilli()

// fill fills the table that the statements join; the end of the transaction or empty empties it.
func (of *sumSeries) fill(c *driver.Conn) error {
	if len(of.own) == 0 {
		return nil
	}
	return c.Append("temp", "other", len(of.own), of.own, of.sum)
}

func (of *sumSeries) empty(c *driver.Conn) error {
	if len(of.own) == 0 {
		return nil
	}
	return c.Exec("DELETE FROM other")
}

// table returns the windows of a level as SQL, with the series of their sums in place of their own.
func (of *sumSeries) table(l continuous.Level) string {
	if len(of.own) == 0 {
		return "(SELECT *, series AS own FROM " + levelTables[l] + ")"
	}
	return fmt.Sprintf("(SELECT coalesce(o.sum, w.series) AS series, w.series AS own, w.* EXCLUDE (series) FROM %s w LEFT JOIN other o ON o.series = w.series)",
		levelTables[l])
}

// resolve gives the new series of sums their ids, and notes what the sums say of series of
// instances.
func (r *roller) resolve(of *sumSeries, s *levelSums) {
	for i, id := range s.rows.series {
		described := of.described[id]
		if described == nil {
			continue
		}
		e := r.changed[id]
		switch {
		case id < 0:
			key := described.Key()
			if e = r.known[key]; e == nil {
				e = of.added[-1-id]
				e.id = r.st.nextID + int32(len(r.known))
				r.known[key], r.changed[e.id] = e, e
			}
			s.rows.series[i] = e.id
		case e == nil:
			have, _ := r.st.of(id)
			e = new(*have)
			r.changed[id] = e
		}
		e.Summed = continuous.Summed(slices.Clone(e.Summed), &described.Series)
		slices.Sort(e.Summed)
		if begin := timeOf(s.start); s.level == continuous.Hour || e.First.IsZero() {
			e.First, e.Last = continuous.Earlier(e.First, begin), continuous.Later(e.Last, begin.Add(s.level.Length()))
		}
	}
}

// writeSeries writes the series of sums of instances that are new, or lack more labels than before.
func (r *roller) writeSeries(ctx context.Context) error {
	var old []int32
	var rows []*series
	for id, e := range r.changed {
		have, ok := r.st.of(id)
		if ok && len(have.Summed) == len(e.Summed) {
			continue
		}
		if rows = append(rows, e); ok {
			old = append(old, id)
		}
	}
	slices.SortFunc(rows, func(a, b *series) int { return cmp.Compare(a.id, b.id) })
	return replaceSeries(ctx, r.c, old, rows)
}

// replaceSeries writes rows of table series, in place of those with some ids.
func replaceSeries(ctx context.Context, c *driver.Conn, old []int32, rows []*series) error {
	if len(old) > 0 {
		if err := c.Append("temp", "chosen", len(old), old, make([]int64, len(old))); err != nil {
			return err
		}
		if err := c.Query(ctx, "DELETE FROM series WHERE id IN (SELECT series FROM chosen)", nil, nil); err != nil {
			return err
		}
		if err := c.Exec("DELETE FROM chosen"); err != nil {
			return err
		}
	}
	return appendSeries(c, "", rows)
}
