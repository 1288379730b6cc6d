package windows

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
)

// RollUp implements continuous.Store. Hours and days are added up beside pushes, which wait
// only for the transaction that stores the sums. A roll-up is several such rounds, each
// complete and of bounded size, between which pushes are stored: late windows some at a time,
// then the hours, then the days that consist of them. What the policy removes anyway is not
// added up. Paths that nothing uses any more stay until Compact.
func (s *Store) RollUp(ctx context.Context, now time.Time, policy continuous.Policy) (rolled continuous.Rolled, err error) {
	s.rolling.Lock()
	defer s.rolling.Unlock()
	for {
		p, err := s.prepare(ctx, now, &policy)
		if err != nil {
			return continuous.Rolled{}, err
		}
		round, err := s.rollUp(ctx, p, now, policy)
		if err != nil {
			return continuous.Rolled{}, err
		}
		rolled.Made, rolled.Expired = rolled.Made+round.Made, rolled.Expired+round.Expired
		if !p.cut && p.next.Made == p.next.Advance(now, 0).Made {
			return rolled, nil
		}
	}
}

// prepared are sums that the file has not yet, of the windows up to number seq.
type prepared struct {
	st   *state // whose forest the vectors are over; only roll-ups change its progress
	seq  int64
	next continuous.Progress // with these sums
	gone int64               // the policy keeps nothing before
	late bool                // there are late windows
	cut  bool                // there are more of them than one round adds
	sums []levelSums
	of   *sumSeries
}

// levelSums are the sums of one level and start.
type levelSums struct {
	level continuous.Level
	start int64
	rows  sumRows
}

// preparedBytes is how many bytes of vectors, before they are added up, one round reads of a
// level.
var preparedBytes = int64(256 << 20)

// prepare adds up the windows of hours that ended before now, and the hours of days whose hours
// the file has.
func (s *Store) prepare(ctx context.Context, now time.Time, policy *continuous.Policy) (p *prepared, err error) {
	if err := s.file.Writable(); err != nil {
		return nil, err
	}
	err = s.look(ctx, func(st *state) { p = &prepared{st: st, seq: st.seq} },
		func(c *driver.Conn) error { return p.fill(ctx, c, now, policy) })
	return p, err
}

// fill reads the windows of as many hours and days as one round may have.
func (p *prepared) fill(ctx context.Context, c *driver.Conn, now time.Time, policy *continuous.Policy) (err error) {
	was := p.st.progress
	p.sums, p.gone, p.of = nil, policy.Gone(now), &sumSeries{}
	if err := p.cutLate(ctx, c, &was); err != nil {
		return err
	}
	p.next = was.Advance(now, p.seq)
	if p.cut {
		p.next = was
		p.next.Seq = p.seq
		return nil
	}
	p.next.Made[continuous.Day] = max(was.Made[continuous.Day],
		min(p.next.Made[continuous.Day], continuous.Day.Begin(was.Made[continuous.Hour])))
	if p.next.Made == was.Made {
		return nil
	}
	p.of = p.st.sumSeries(policy.Instance, nil)
	if err := p.of.fill(c); err != nil {
		return err
	}
	for _, l := range []continuous.Level{continuous.Hour, continuous.Day} {
		from := max(was.Made[l], p.gone)
		if p.next.Made[l], err = p.level(ctx, c, l, from, p.next.Made[l]); err != nil {
			return err
		}
	}
	return nil
}

// maxStarts is the maximum number of hours, and of days, of one round: each is some statements.
var maxStarts = 64

// cutLate lowers seq if one round cannot have all windows up to it that are late for their sums.
func (p *prepared) cutLate(ctx context.Context, c *driver.Conn, was *continuous.Progress) error {
	sql := fmt.Sprintf("SELECT %s, seq, bytes::BIGINT FROM raw_window WHERE seq > %d AND seq <= %d AND start >= %d AND start < %d ORDER BY seq",
		beginSQL(continuous.Hour.Length()), was.Seq, p.seq, p.gone, was.Made[continuous.Hour])
	starts, bytes := map[int64]bool{}, int64(0)
	p.late, p.cut = false, false
	var start, seq, size int64
	return c.Rows(ctx, sql, nil, []any{&start, &seq, &size}, func() error {
		if p.cut {
			return nil
		}
		p.late, starts[start] = true, true
		if bytes += size; len(starts) > maxStarts || bytes > preparedBytes && bytes > size {
			p.seq, p.cut = seq-1, true
		}
		return nil
	})
}

// level adds up the windows of the sums of a level from one time until another, and returns
// the end of what one round may have of them.
func (p *prepared) level(ctx context.Context, c *driver.Conn, to continuous.Level, from, until int64) (end int64, err error) {
	where := fmt.Sprintf("start >= %d AND start < %d", from, until)
	if to == continuous.Hour {
		where += fmt.Sprint(" AND seq <= ", p.seq)
	}
	groups, err := groupsOf(ctx, c, p.of.table(to-1), to.Length(), where)
	if err != nil || len(groups) == 0 {
		return until, err
	}
	sum, err := profiles.NewVectorSum(ctx, c)
	if err != nil {
		return 0, err
	}
	bytes, starts := int64(0), 0
	for i, g := range groups {
		if i == 0 || g.start > groups[i-1].start {
			starts++
		}
		if bytes += g.bytes; (bytes > preparedBytes || starts > maxStarts) && g.start > groups[0].start {
			for groups[i-1].start == g.start {
				i--
			}
			until, groups = g.start, groups[:i]
			break
		}
	}
	for len(groups) > 0 {
		n := together(groups)
		rows, err := addUp(ctx, c, sum, sumSQL(to-1, to, p.of.table(to-1), where, groups[:n]))
		if err != nil {
			return 0, err
		}
		p.sums = append(p.sums, levelSums{to, groups[0].start, rows})
		groups = groups[n:]
	}
	return until, nil
}

// rollUp stores what was prepared and does the rest, in one transaction.
func (s *Store) rollUp(ctx context.Context, p *prepared, now time.Time, policy continuous.Policy) (continuous.Rolled, error) {
	var r *roller
	err := profiles.Grow(ctx, s.base, func(c *driver.Conn, _ *profiles.Growth) error {
		st, err := s.loaded(ctx, c)
		if err != nil {
			return err
		}
		if st != p.st { // the file was compacted meanwhile, so that paths have other numbers
			p.st, p.seq = st, st.seq
			if err := p.fill(ctx, c, now, &policy); err != nil {
				return err
			}
			if err := p.of.empty(c); err != nil {
				return err
			}
		}
		r = &roller{c: c, st: st, prepared: p, next: p.next, instance: policy.Instance, changed: map[int32]*series{},
			known: map[continuous.Key]*series{}}
		expire := func(ctx context.Context) error { return r.expire(ctx, now, &policy) }
		for _, step := range []func(context.Context) error{r.sums, r.writeSeries, expire, r.removeSeries, r.writeTimes, r.writeProgress} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		s.change.Lock()
		defer s.change.Unlock()
		if !r.unchanged() || r.rolled != (continuous.Rolled{}) {
			s.changedAll()
		}
		r.apply()
	})
	if err != nil {
		return continuous.Rolled{}, err
	}
	return r.rolled, nil
}

// roller is a roll-up in the open transaction.
type roller struct {
	c        *driver.Conn
	st       *state
	prepared *prepared
	sum      *profiles.VectorSum // nil until something is added up here
	next     continuous.Progress
	cuts     continuous.Cuts
	rolled   continuous.Rolled
	gone     map[int32]bool // series without windows
	instance []string       // labels that sums lack

	// Series of sums of instances as they are after the commit, by id, and those of them that
	// are new, by key.
	changed map[int32]*series
	known   map[continuous.Key]*series
}

// sums stores the sums that were prepared, and adds late windows to those of their hours and
// days. If there are none, the number of the last window stays too, so that a roll-up writes
// nothing.
func (r *roller) sums(ctx context.Context) error {
	was := &r.st.progress
	for _, s := range r.prepared.sums {
		r.rolled.Made += int64(len(s.rows.series))
		r.resolve(r.prepared.of, &s)
		if err := s.rows.append(r.c, "", s.level, s.start); err != nil {
			return err
		}
	}
	if r.prepared.late {
		if err := r.late(ctx); err != nil {
			return err
		}
	}
	if r.rolled.Made == 0 && r.next.Made == was.Made && !r.prepared.cut {
		r.next.Seq = was.Seq
	}
	return nil
}

// late adds late windows to the sums of their hours and days.
func (r *roller) late(ctx context.Context) error {
	was := &r.st.progress
	of := r.st.sumSeries(r.instance, r.known)
	if err := of.fill(r.c); err != nil {
		return err
	}
	// The hours of which days were prepared are without these. Windows that were stored since
	// are late for the next roll-up.
	before := [...]int64{continuous.Hour: was.Made[continuous.Hour], continuous.Day: r.next.Made[continuous.Day]}
	for _, to := range []continuous.Level{continuous.Hour, continuous.Day} {
		where := fmt.Sprintf("seq > %d AND seq <= %d AND start >= %d AND start < %d", was.Seq, r.prepared.seq, r.prepared.gone, before[to])
		groups, err := groupsOf(ctx, r.c, of.table(continuous.Raw), to.Length(), where)
		if err != nil {
			return err
		}
		r.rolled.Made += int64(len(groups))
		for len(groups) > 0 {
			n := together(groups)
			if err := r.add(ctx, of, to, where, groups[:n]); err != nil {
				return err
			}
			groups = groups[n:]
		}
	}
	return of.empty(r.c)
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
	var g group
	err = c.Rows(ctx, sql, nil, []any{&g.start, &g.series, &g.bytes}, func() error {
		list = append(list, g)
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

// sumSQL selects the windows of groups of one time that a sum of a level is made of: raw ones with
// their series and hour, by which they are counted.
func sumSQL(from, to continuous.Level, table, where string, groups []group) string {
	first, last := groups[0], groups[len(groups)-1]
	columns := "1::BIGINT, length, sum, paths, 0::BIGINT, own, " + beginSQL(continuous.Hour.Length())
	if from != continuous.Raw {
		columns = "parts, covered, sum, paths, instances, -1::INTEGER, 0::BIGINT"
	}
	return fmt.Sprintf("SELECT series, %s FROM %s WHERE series BETWEEN %d AND %d AND start >= %d AND start < %d AND %s",
		columns, table, first.series, last.series, first.start, first.start+to.Length().Milliseconds(), where)
}

// add adds late windows of groups of one time to their sums.
func (r *roller) add(ctx context.Context, of *sumSeries, to continuous.Level, where string, groups []group) (err error) {
	if r.sum == nil {
		if r.sum, err = profiles.NewVectorSum(ctx, r.c); err != nil {
			return err
		}
	}
	ids, starts := make([]int32, len(groups)), make([]int64, len(groups))
	for i, g := range groups {
		ids[i], starts[i] = g.series, g.start
	}
	if err := r.c.Append("temp", "chosen", len(ids), ids, starts); err != nil {
		return err
	}
	have := fmt.Sprintf("FROM %s WHERE start = %d AND series IN (SELECT series FROM chosen)", levelTables[to], groups[0].start)
	sql := sumSQL(continuous.Raw, to, of.table(continuous.Raw), where, groups) +
		" UNION ALL SELECT series, parts, covered, sum, paths, instances, -1::INTEGER, 0::BIGINT " + have
	rows, err := addUp(ctx, r.c, r.sum, "SELECT * FROM ("+sql+")")
	if err != nil {
		return err
	}
	if err := r.c.Query(ctx, "DELETE "+have, nil, nil); err != nil {
		return err
	}
	if err := r.c.Exec("DELETE FROM chosen"); err != nil {
		return err
	}
	s := levelSums{to, groups[0].start, rows}
	r.resolve(of, &s)
	return s.rows.append(r.c, "", to, s.start)
}

// sumRows are rows of a table of sums.
type sumRows struct {
	series              []int32
	parts, covered, sum []int64
	instances           []int64
	paths               [][]byte
}

// addUp adds up the rows of each series of a statement (sumSQL), and counts the series of its raw
// windows.
func addUp(ctx context.Context, c *driver.Conn, sum *profiles.VectorSum, sql string) (rows sumRows, err error) {
	end := func() {
		if len(rows.series) > 0 {
			rows.paths = append(rows.paths, sum.Take())
		}
	}
	var hour, count int64
	var own int32
	err = c.Query(ctx, sql+" ORDER BY 1, 8, 7", nil, func(ch driver.Chunk) error {
		parts, covered, values, paths := driver.Column[int64](ch, 1), driver.Column[int64](ch, 2), driver.Column[int64](ch, 3),
			driver.Column[driver.Text](ch, 4)
		instances, owns, hours := driver.Column[int64](ch, 5), driver.Column[int32](ch, 6), driver.Column[int64](ch, 7)
		for i, id := range driver.Column[int32](ch, 0) {
			n := len(rows.series)
			if n == 0 || rows.series[n-1] != id {
				end()
				rows.series, rows.parts, rows.covered, rows.sum = append(rows.series, id), append(rows.parts, 0), append(rows.covered, 0),
					append(rows.sum, 0)
				rows.instances = append(rows.instances, 0)
				n++
				own, count = -1, 0
			}
			if hours[i] != hour {
				hour, own, count = hours[i], -1, 0
			}
			if owns[i] != own {
				own = owns[i]
				count++
			}
			rows.instances[n-1] = max(rows.instances[n-1], instances[i], count)
			rows.parts[n-1] += parts[i]
			rows.covered[n-1] += covered[i]
			rows.sum[n-1] += values[i]
			if err := sum.Add(paths[i].Bytes()); err != nil {
				return err
			}
		}
		return nil
	})
	end()
	return rows, err
}

func (rows *sumRows) append(c *driver.Conn, catalog string, l continuous.Level, start int64) error {
	starts := slices.Repeat([]int64{start}, len(rows.series))
	return c.Append(catalog, levelTables[l], len(rows.series), rows.series, starts, rows.parts, rows.covered, rows.sum, rows.instances,
		sizes(rows.paths), rows.paths)
}

// expire removes what the policy does not keep.
func (r *roller) expire(ctx context.Context, now time.Time, policy *continuous.Policy) (err error) {
	r.next, r.cuts, err = r.next.Expire(now, policy, r.st.cuts,
		func(l continuous.Level) ([]continuous.Weight, error) { return r.weigh(ctx, l) })
	if err != nil {
		return err
	}
	for l := range levelTables {
		if err := r.remove(ctx, continuous.Level(l), fmt.Sprintf("start < %d", r.next.Kept[l])); err != nil {
			return err
		}
		for _, service := range slices.Sorted(maps.Keys(r.cuts)) {
			where := fmt.Sprintf("start < %d AND series IN (SELECT id FROM series WHERE service = %s)", r.cuts[service][l], driver.Quote(service))
			if err := r.remove(ctx, continuous.Level(l), where); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes the windows of a level that meet a condition and are in a sum.
func (r *roller) remove(ctx context.Context, l continuous.Level, condition string) error {
	where := fmt.Sprintf(" FROM %s WHERE %s", levelTables[l], condition)
	if l == continuous.Raw {
		where += fmt.Sprint(" AND seq <= ", r.prepared.seq)
	}
	n, err := r.c.Number(ctx, "SELECT count(*)"+where)
	if err != nil || n == 0 {
		return err
	}
	r.rolled.Expired += n
	return r.c.Query(ctx, "DELETE"+where, nil, nil)
}

// weigh implements the argument of continuous.Progress.Expire.
func (r *roller) weigh(ctx context.Context, l continuous.Level) (list []continuous.Weight, err error) {
	sql := fmt.Sprintf("SELECT service, %s AS begin, sum(bytes)::BIGINT FROM %s w JOIN series s ON s.id = w.series GROUP BY service, begin",
		beginSQL(min(l+1, continuous.Day).Length()), levelTables[l])
	var w continuous.Weight
	err = r.c.Rows(ctx, sql, nil, []any{&w.Service, &w.Start, &w.Bytes}, func() error {
		list = append(list, w)
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
	var id int32
	err := r.c.Rows(ctx, "SELECT id"+where, nil, []any{&id}, func() error {
		r.gone[id] = true
		return nil
	})
	if err != nil || len(r.gone) == 0 {
		return err
	}
	return r.c.Query(ctx, "DELETE"+where, nil, nil)
}

// first returns the start of the first window that is kept of a series.
func (r *roller) first(e *series) int64 {
	return max(e.First.UnixMilli(), r.next.Of(r.cuts, e.Service).Kept[continuous.Day])
}

// writeTimes writes the times of series into their rows, so that the next process need read
// the windows only from here on. Their labels, which may be long, are not written again.
func (r *roller) writeTimes(ctx context.Context) error {
	if r.unchanged() {
		return nil
	}
	var ids []int32
	var times [3][]int64
	for _, e := range r.st.list {
		changed := r.changed[e.id]
		if changed != nil {
			e = changed
		}
		if first := r.first(e); !r.gone[e.id] && (changed != nil || e.stale || first != e.First.UnixMilli()) {
			ids = append(ids, e.id)
			for i, at := range []int64{first, e.Last.UnixMilli(), e.newest} {
				times[i] = append(times[i], at)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := r.c.Append("temp", "seen", len(ids), ids, times[0], times[1], times[2]); err != nil {
		return err
	}
	err := r.c.Query(ctx, "UPDATE series SET first_start = t.first, last_end = t.last, newest_start = t.newest FROM seen t WHERE series.id = t.series", nil, nil)
	if err != nil {
		return err
	}
	return r.c.Exec("DELETE FROM seen")
}

// writeProgress writes the progress, if it changed.
func (r *roller) writeProgress(ctx context.Context) error {
	if r.unchanged() {
		return nil
	}
	for key, value := range map[string]any{metaProgress: r.next, metaCuts: r.cuts} {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if err := r.c.SetMeta(ctx, key, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// unchanged reports whether the progress is that of the state.
func (r *roller) unchanged() bool { return r.next == r.st.progress && maps.Equal(r.cuts, r.st.cuts) }

// apply makes the state that of the commit.
func (r *roller) apply() {
	list := r.st.list[:0:0]
	for _, e := range r.st.list {
		if changed := r.changed[e.id]; changed != nil {
			*e = *changed
		}
		if r.gone[e.id] {
			r.st.remove(e)
			continue
		}
		if !r.unchanged() {
			e.First, e.stale = timeOf(r.first(e)), false
		}
		list = append(list, e)
	}
	r.st.list, r.st.progress, r.st.cuts = list, r.next, r.cuts
	for _, e := range slices.SortedFunc(maps.Values(r.known), func(a, b *series) int { return cmp.Compare(a.id, b.id) }) {
		r.st.count(e)
	}
}
