package windows

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
)

// RollUp implements continuous.Store, in one transaction. Paths that nothing uses any more
// stay until Compact.
func (s *Store) RollUp(ctx context.Context, now time.Time, policy continuous.Policy) (rolled continuous.Rolled, err error) {
	var r *roller
	err = profiles.Grow(ctx, s.base, func(c *driver.Conn, g *profiles.Growth) error {
		st, err := s.loaded(ctx, c)
		if err != nil {
			return err
		}
		r = &roller{c: c, g: g, st: st, next: st.progress.Advance(now, st.seq)}
		for _, step := range []func(context.Context) error{r.sums, func(ctx context.Context) error { return r.expire(ctx, now, &policy) }, r.removeSeries, r.writeTimes, r.writeProgress} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}, func() { r.apply() })
	if err != nil {
		return continuous.Rolled{}, err
	}
	return r.rolled, nil
}

// roller is a roll-up in the open transaction.
type roller struct {
	c      *driver.Conn
	g      *profiles.Growth
	st     *state
	next   continuous.Progress
	rolled continuous.Rolled
	gone   map[int32]bool // series without windows
}

// sums adds windows to the sums of hours and days that continuous.Progress.Sums has. If there
// are none, the number of the last window stays too, so that a roll-up writes nothing.
func (r *roller) sums(ctx context.Context) error {
	was := &r.st.progress
	late := fmt.Sprintf("seq > %d AND start < %d", was.Seq, was.Made[continuous.Hour])
	between := func(l continuous.Level) string {
		return fmt.Sprintf("start >= %d AND start < %d", was.Made[l], r.next.Made[l])
	}
	for _, step := range []struct {
		from, to continuous.Level
		where    string
		isNew    bool // no sum exists yet
	}{
		{continuous.Raw, continuous.Hour, between(continuous.Hour), true},
		{continuous.Raw, continuous.Hour, late, false},
		{continuous.Raw, continuous.Day, fmt.Sprintf("seq > %d AND start < %d", was.Seq, was.Made[continuous.Day]), false},
		{continuous.Hour, continuous.Day, between(continuous.Day), true}, // with the sums of before
	} {
		groups, err := groupsOf(ctx, r.c, levelTables[step.from], step.to.Length(), step.where)
		if err != nil {
			return err
		}
		r.rolled.Made += int64(len(groups))
		for len(groups) > 0 {
			n := together(groups)
			if err := r.sum(ctx, step.from, step.to, step.where, groups[:n], step.isNew); err != nil {
				return err
			}
			groups = groups[n:]
		}
	}
	if r.rolled.Made == 0 && r.next.Made == was.Made {
		r.next.Seq = was.Seq
	}
	return nil
}

// group are the windows of a series in a span of time that begins at start, and how many
// bytes their vectors have.
type group struct {
	start  int64
	series int32
	bytes  int64
}

// groupsOf lists groups in order of start and series.
func groupsOf(ctx context.Context, c *driver.Conn, table string, span time.Duration, where string) (list []group, err error) {
	sql := fmt.Sprintf("SELECT %s AS begin, series, sum(bytes)::BIGINT FROM %s WHERE %s GROUP BY ALL ORDER BY begin, series", beginSQL(span), table, where)
	err = c.Query(ctx, sql, nil, func(ch driver.Chunk) error {
		start, bytes := driver.Column[int64](ch, 0), driver.Column[int64](ch, 2)
		for i, id := range driver.Column[int32](ch, 1) {
			list = append(list, group{start[i], id, bytes[i]})
		}
		return nil
	})
	return list, err
}

// beginSQL is the start of the span that column start is in, as continuous.Level.Begin has it.
func beginSQL(span time.Duration) string {
	return fmt.Sprintf("(start - ((start %% %d) + %[1]d) %% %[1]d)", span.Milliseconds())
}

// readBytes is how many bytes of vectors one statement reads that needs them in order.
var readBytes = int64(32 << 20)

// together returns how many of the groups are read by one statement: neighbouring series of
// one time.
func together(groups []group) int {
	bytes := groups[0].bytes
	for i := 1; i < len(groups); i++ {
		if bytes += groups[i].bytes; bytes > readBytes || groups[i].start != groups[0].start {
			return i
		}
	}
	return len(groups)
}

// sum adds the windows of groups of one time to their sums.
func (r *roller) sum(ctx context.Context, from, to continuous.Level, where string, groups []group, isNew bool) error {
	first, last := groups[0], groups[len(groups)-1]
	parts, source := "1::BIGINT, length", levelTables[from]
	if from != continuous.Raw {
		parts = "parts, covered"
	}
	sql := fmt.Sprintf("SELECT series, %s, sum, paths FROM %s WHERE series BETWEEN %d AND %d AND start >= %d AND start < %d AND %s",
		parts, source, first.series, last.series, first.start, first.start+to.Length().Milliseconds(), where)
	if !isNew {
		ids, starts := make([]int32, len(groups)), make([]int64, len(groups))
		for i, g := range groups {
			ids[i], starts[i] = g.series, g.start
		}
		if err := r.c.Append("temp", "chosen", len(ids), ids, starts); err != nil {
			return err
		}
		have := fmt.Sprintf("FROM %s WHERE start = %d AND series IN (SELECT series FROM chosen)", levelTables[to], first.start)
		sql += " UNION ALL SELECT series, parts, covered, sum, paths " + have
		sql = "SELECT * FROM (" + sql + ") ORDER BY series"
		rows, err := r.add(ctx, sql)
		if err != nil {
			return err
		}
		if err := r.c.Query(ctx, "DELETE "+have, nil, nil); err != nil {
			return err
		}
		if err := r.c.Exec("DELETE FROM chosen"); err != nil {
			return err
		}
		return rows.append(r.c, "", to, first.start)
	}
	rows, err := r.add(ctx, sql+" ORDER BY series")
	if err != nil {
		return err
	}
	return rows.append(r.c, "", to, first.start)
}

// sumRows are rows of a table of sums.
type sumRows struct {
	series              []int32
	parts, covered, sum []int64
	paths               [][]byte
}

// add adds up the rows of each series of a statement, which are neighbours.
func (r *roller) add(ctx context.Context, sql string) (rows sumRows, err error) {
	end := func() {
		if len(rows.series) > 0 {
			rows.paths = append(rows.paths, r.g.Take())
		}
	}
	err = r.c.Query(ctx, sql, nil, func(ch driver.Chunk) error {
		parts, covered, sum, paths := driver.Column[int64](ch, 1), driver.Column[int64](ch, 2), driver.Column[int64](ch, 3), driver.Column[driver.Text](ch, 4)
		for i, id := range driver.Column[int32](ch, 0) {
			n := len(rows.series)
			if n == 0 || rows.series[n-1] != id {
				end()
				rows.series, rows.parts, rows.covered, rows.sum = append(rows.series, id), append(rows.parts, 0), append(rows.covered, 0), append(rows.sum, 0)
				n++
			}
			rows.parts[n-1] += parts[i]
			rows.covered[n-1] += covered[i]
			rows.sum[n-1] += sum[i]
			if err := r.g.Add(paths[i].Bytes()); err != nil {
				return err
			}
		}
		return nil
	})
	end()
	return rows, err
}

func (rows *sumRows) append(c *driver.Conn, catalog string, l continuous.Level, start int64) error {
	starts := make([]int64, len(rows.series))
	for i := range starts {
		starts[i] = start
	}
	return c.Append(catalog, levelTables[l], len(rows.series), rows.series, starts, rows.parts, rows.covered, rows.sum, sizes(rows.paths), rows.paths)
}

// expire removes what the policy does not keep.
func (r *roller) expire(ctx context.Context, now time.Time, policy *continuous.Policy) (err error) {
	r.next, err = r.next.Expire(now, policy, func(l continuous.Level) ([]continuous.Weight, error) { return r.weigh(ctx, l) })
	if err != nil {
		return err
	}
	for l, table := range levelTables {
		where := fmt.Sprintf(" FROM %s WHERE start < %d", table, r.next.Kept[l])
		n, err := r.c.Number(ctx, "SELECT count(*)"+where)
		if err != nil {
			return err
		}
		if n > 0 {
			if err := r.c.Query(ctx, "DELETE"+where, nil, nil); err != nil {
				return err
			}
		}
		r.rolled.Expired += n
	}
	return nil
}

// weigh implements the argument of continuous.Progress.Expire.
func (r *roller) weigh(ctx context.Context, l continuous.Level) (list []continuous.Weight, err error) {
	sql := fmt.Sprintf("SELECT %s AS begin, sum(bytes)::BIGINT FROM %s GROUP BY begin ORDER BY begin DESC", beginSQL(min(l+1, continuous.Day).Length()), levelTables[l])
	err = r.c.Query(ctx, sql, nil, func(ch driver.Chunk) error {
		bytes := driver.Column[int64](ch, 1)
		for i, start := range driver.Column[int64](ch, 0) {
			list = append(list, continuous.Weight{Start: start, Bytes: bytes[i]})
		}
		return nil
	})
	return list, err
}

// removeSeries removes series that have no window any more.
func (r *roller) removeSeries(ctx context.Context) error {
	r.gone = map[int32]bool{}
	if r.rolled.Expired == 0 {
		return nil
	}
	where := " FROM series WHERE id NOT IN (SELECT series FROM raw_window UNION ALL SELECT series FROM hour_window UNION ALL SELECT series FROM day_window)"
	err := r.c.Query(ctx, "SELECT id"+where, nil, func(ch driver.Chunk) error {
		for _, id := range driver.Column[int32](ch, 0) {
			r.gone[id] = true
		}
		return nil
	})
	if err != nil || len(r.gone) == 0 {
		return err
	}
	return r.c.Query(ctx, "DELETE"+where, nil, nil)
}

// first returns the start of the first window that is kept of a series.
func (r *roller) first(e *series) int64 {
	return max(e.First.UnixMilli(), r.next.Kept[continuous.Day])
}

// writeTimes writes the times of series into their rows, so that the next process need read
// the windows only from here on.
func (r *roller) writeTimes(ctx context.Context) error {
	if r.next == r.st.progress {
		return nil
	}
	var stale []*series
	for _, e := range r.st.list {
		if !r.gone[e.id] && (e.stale || r.first(e) != e.First.UnixMilli()) {
			copied := *e
			copied.First = timeOf(r.first(e))
			stale = append(stale, &copied)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	ids := make([]int32, len(stale))
	for i, e := range stale {
		ids[i] = e.id
	}
	if err := r.c.Append("temp", "chosen", len(ids), ids, make([]int64, len(ids))); err != nil {
		return err
	}
	if err := r.c.Exec("DELETE FROM series WHERE id IN (SELECT series FROM chosen); DELETE FROM chosen"); err != nil {
		return err
	}
	return appendSeries(r.c, "", stale)
}

// writeProgress writes the progress, if it changed.
func (r *roller) writeProgress(ctx context.Context) error {
	if r.next == r.st.progress {
		return nil
	}
	text, err := json.Marshal(r.next)
	if err != nil {
		return err
	}
	if err := r.c.Exec("DELETE FROM meta WHERE key = '" + metaProgress + "'"); err != nil {
		return err
	}
	return r.c.Query(ctx, "INSERT INTO meta VALUES (?, ?)", []any{metaProgress, string(text)}, nil)
}

// apply makes the state that of the commit.
func (r *roller) apply() {
	list := r.st.list[:0:0]
	for _, e := range r.st.list {
		if r.gone[e.id] {
			delete(r.st.byKey, e.Key())
			continue
		}
		if r.next != r.st.progress {
			e.First, e.stale = timeOf(r.first(e)), false
		}
		list = append(list, e)
	}
	r.st.list, r.st.progress = list, r.next
}
