package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/iceberg"
)

// Before returns the hours of pushed profiles that start before a time, of each partition of
// their topic; all of a partition that has none.
func (s *Store) Before(until map[int32]time.Time) continuous.Store { return &hours{s, until} }

// Reach returns which hours the lake has, of each partition of their topic.
func (s *Store) Reach(ctx context.Context) (map[int32]continuous.Reach, error) {
	l, err := s.hourLake(ctx)
	if l == nil || err != nil {
		return nil, err
	}
	now, err := l.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return now.Reach(), nil // never nil
}

// hourLake returns the tables of hours; nil: nobody has made them yet.
func (s *Store) hourLake(ctx context.Context) (l *iceberg.Lake, err error) {
	s.hoursMu.Lock()
	defer s.hoursMu.Unlock()
	if s.hours == nil {
		if s.hours, err = iceberg.Open(ctx, s.address, iceberg.Options{Hours: true}); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return s.hours, err
}

// PutWindows implements continuous.Store.
func (s *Store) PutWindows(context.Context, []*continuous.Window) ([]continuous.Outcome, error) {
	return nil, fmt.Errorf("lake %s: %w: workers of a fleet hand hours over to a lake", s.lake.Name, store.ErrReadOnly)
}

// RollUp implements continuous.Store: there is nothing to do.
func (s *Store) RollUp(ctx context.Context, _ time.Time, _ continuous.Policy) (continuous.Rolled, error) {
	return continuous.Rolled{}, ctx.Err()
}

// hours are the windows of a lake: sums of hours, and of days where hours are not kept. Others of days are computed.
type hours struct {
	*Store
	until map[int32]time.Time
}

// selectedHours is what a query reads: the files that may have it, and the series.
type selectedHours struct {
	c      *driver.Conn
	files  map[string][]iceberg.File // of each table
	parts  []continuous.Part
	where  string // condition of all hours of the series, but for their time
	bound  string // time of a row before which hours are read, in milliseconds
	kept   continuous.Kept
	series []hourSeries
	summed []string // labels that some hours of the time lack
	place  map[continuous.Key]int32
}

// hourSeries is a series and how to read its values.
type hourSeries struct {
	continuous.Series
	typ   profile.ValueType
	bound int64 // of its hours, the latest
}

// selected runs f with what the query selects, if there is something.
func (h *hours) selected(ctx context.Context, q *continuous.Query, coarsest continuous.Level, f func(*selectedHours) error) error {
	matching, err := q.Compile()
	if err != nil {
		return err
	}
	l, err := h.hourLake(ctx)
	if l == nil || err != nil {
		return err
	}
	now, err := l.Snapshot(ctx)
	if err != nil {
		return err
	}
	until := time.Time{} // before which all days are whole
	for _, r := range now.Reach() {
		until = continuous.Earlier(until, r.Until)
	}
	for _, t := range h.until {
		if !t.Equal(continuous.DayOf(t)) {
			until = continuous.Earlier(until, t)
		}
	}
	sel := &selectedHours{files: map[string][]iceberg.File{}, place: map[continuous.Key]int32{}, bound: h.bound(), kept: now.Kept()}
	parts := func(l continuous.Level) {
		progress := continuous.OnlyHours(until, sel.kept)
		sel.parts = slices.DeleteFunc(progress.Parts(q.Range(), l), func(p continuous.Part) bool { return p.Level == continuous.Raw })
	}
	if parts(coarsest); len(sel.parts) == 0 {
		return ctx.Err()
	}
	chosen := iceberg.HoursOf(q)
	for _, table := range l.Tables() {
		files, err := now.Files(ctx, table)
		if err != nil {
			return err
		}
		sel.files[table] = slices.DeleteFunc(files, func(f iceberg.File) bool { return !chosen(f) })
	}
	if len(sel.files["series_hours"]) == 0 {
		return ctx.Err()
	}
	return h.use(func(c *driver.Conn) error {
		sel.c, sel.where = c, where(q, sel.bound)
		if err := l.Fetch(ctx, sel.files["series_hours"]); err != nil {
			return err
		}
		if err := sel.match(ctx, q, matching); err != nil || len(sel.series) == 0 {
			return err
		}
		finest, _, _ := q.Finest(sel.summed, coarsest)
		parts(finest) // of the same time
		return f(sel)
	})
}

// noBound is the bound of a partition all of whose hours are read.
const noBound = math.MaxInt64

// bound returns the time before which hours are read, in milliseconds, of the partition of a row.
func (h *hours) bound() string {
	all := fmt.Sprint(int64(noBound))
	if len(h.until) == 0 {
		return all
	}
	cases := "CASE partition"
	for _, number := range slices.Sorted(maps.Keys(h.until)) {
		cases += fmt.Sprintf(" WHEN %d THEN %d", number, h.until[number].UnixMilli())
	}
	return "(" + cases + " ELSE " + all + " END)"
}

// where returns the conditions of rows that need no series.
func where(q *continuous.Query, bound string) string {
	list := []string{"epoch_ms(hour) < " + bound}
	if t := q.Type; t != (continuous.Type{}) {
		list = append(list, fmt.Sprintf("(name, sample_type, sample_unit, period_type, period_unit) = (%s, %s, %s, %s, %s)", driver.Quote(t.Name),
			driver.Quote(t.SampleType), driver.Quote(t.SampleUnit), driver.Quote(t.PeriodType), driver.Quote(t.PeriodUnit)))
	}
	for _, m := range q.Matchers {
		if m.Name == continuous.ServiceLabel && m.Op == continuous.Equal {
			list = append(list, "service = "+driver.Quote(m.Value))
		}
	}
	return strings.Join(list, " AND ")
}

// inSQL is the condition of the time of a part.
func inSQL(p continuous.Part) string {
	return fmt.Sprintf("epoch_ms(hour) >= %d AND epoch_ms(hour) < %d", p.From, p.Until)
}

// match finds the series of the selection that have an hour, and narrows the condition to them.
// Where hours that lack a label of the selection may have some of it, it is refused.
func (sel *selectedHours) match(ctx context.Context, q *continuous.Query, matching *continuous.Selection) error {
	times := column.Of(sel.parts, inSQL)
	sql := `SELECT any_value(service), any_value(name), any_value(sample_type), any_value(sample_unit), any_value(period_type),
		any_value(period_unit), any_value(labels), arg_max(facts, hour), any_value(value_type), any_value(unit), any_value(scale), any_value(period),
		any_value(value_period_unit), any_value(period_name), any_value(original), epoch_ms(min(first_start)), epoch_ms(max(last_end)),
		list_sort(list_distinct(flatten(list(summed)))), max(` + sel.bound + `)::BIGINT
		FROM ` + filesSQL(sel.files["series_hours"]) + " WHERE (" + strings.Join(times, " OR ") + ") AND " + sel.where + " GROUP BY series"
	all, sums := true, []hourSeries(nil)
	var row hourSeries
	var labels, facts map[string]string
	var first, last int64
	var scale int32
	t, v := &row.Type, &row.typ
	dest := []any{&row.Service, &t.Name, &t.SampleType, &t.SampleUnit, &t.PeriodType, &t.PeriodUnit, &labels, &facts, &v.Name, &v.Unit, &scale,
		&v.Period, &v.PeriodUnit, &v.PeriodName, &v.Original, &first, &last, &row.Summed, &row.bound}
	err := sel.c.Rows(ctx, sql, nil, dest, func() error {
		s := row
		s.Labels, s.Facts, s.typ.Scale = labelsOf(labels), labelsOf(facts), int(scale)
		s.First, s.Last = continuous.Later(time.UnixMilli(first).UTC(), sel.kept.Days), time.UnixMilli(last).UTC()
		if len(s.Summed) > 0 {
			sums, sel.summed = append(sums, s), continuous.Summed(sel.summed, &s.Series)
		}
		ok, err := matching.Matches(ctx, &s.Series)
		if all = all && ok; ok && err == nil {
			sel.series = append(sel.series, s)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := sel.refuse(ctx, q, sums); err != nil {
		return err
	}
	slices.SortFunc(sel.series, func(a, b hourSeries) int { return a.Compare(&b.Series) })
	var ids []string
	for i := range sel.series {
		key := sel.series[i].Key()
		sel.place[key] = int32(i)
		ids = append(ids, fmt.Sprintf("unhex('%x')", key))
	}
	if !all {
		sel.where += " AND series IN (" + strings.Join(ids, ", ") + ")"
	}
	return nil
}

// refuse returns an error of a selection by a label that sums lack, some of which may belong to it.
func (sel *selectedHours) refuse(ctx context.Context, q *continuous.Query, sums []hourSeries) error {
	_, without, label := q.Finest(sel.summed, continuous.Hour)
	if label == "" {
		return nil
	}
	matching, err := without.Compile()
	if err != nil {
		return err
	}
	bound, has := int64(math.MinInt64), false // from which on windows are not read from here
	for i := range sums {
		ok, err := matching.Matches(ctx, &sums[i].Series)
		if err != nil {
			return err
		}
		if ok {
			bound, has = max(bound, sums[i].bound), true
		}
	}
	if !has {
		return nil
	}
	e := &continuous.SummedError{Label: label}
	if bound < noBound {
		e.Since = time.UnixMilli(bound).UTC()
	}
	return e
}

func labelsOf(m map[string]string) (list continuous.Labels) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, continuous.Label{Name: name, Value: m[name]})
	}
	return list
}

func (sel *selectedHours) list() (list []continuous.Series) {
	for i := range sel.series {
		list = append(list, sel.series[i].Series)
	}
	return list
}

// rows are the hours of a part as SQL: of several sums of an hour that of most windows.
func (sel *selectedHours) rows(p continuous.Part) string {
	return "(SELECT series, partition, hour, max(windows) AS windows, arg_max(covered, windows) AS covered, arg_max(sum, windows) AS sum, " +
		"arg_max(instances, windows) AS instances FROM " +
		filesSQL(sel.files["series_hours"]) + " WHERE " + inSQL(p) + " AND " + sel.where + " GROUP BY ALL)"
}

// of are the rows of a table that belong to those of a part.
func (sel *selectedHours) of(table string, p continuous.Part) string {
	return filesSQL(sel.files[table]) + " JOIN " + sel.rows(p) + " USING (series, partition, hour, windows)"
}

// begin is the start of the window of a part's level that has column hour in it.
func begin(p continuous.Part) string {
	n := p.Level.Length().Milliseconds()
	return fmt.Sprintf("(epoch_ms(hour) - ((epoch_ms(hour) %% %d) + %[1]d) %% %[1]d)", n)
}

// totals returns the windows of the selection.
func (sel *selectedHours) totals(ctx context.Context) (list []continuous.Total, err error) {
	for _, p := range sel.parts {
		sql := "SELECT series, " + begin(p) + " AS start, sum(windows)::BIGINT, sum(covered)::BIGINT, sum(sum)::BIGINT, max(instances) FROM " +
			sel.rows(p) + " GROUP BY ALL"
		var key *driver.Text
		var start, covered int64
		t := continuous.Total{Level: p.Level, Length: p.Level.Length()}
		err := sel.c.Rows(ctx, sql, nil, []any{&key, &start, &t.Parts, &covered, &t.Sum, &t.Instances}, func() error {
			t.Series, t.Start = sel.place[continuous.Key(key.Bytes())], time.UnixMilli(start).UTC()
			t.Covered = time.Duration(covered) * time.Millisecond
			list = append(list, t)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b continuous.Total) int { return a.Compare(&b) })
	return list, nil
}

// Series implements continuous.Store.
func (h *hours) Series(ctx context.Context, q continuous.Query) (list []continuous.Series, err error) {
	err = h.selected(ctx, &q, continuous.Day, func(sel *selectedHours) error {
		list = sel.list()
		return nil
	})
	return list, err
}

// Totals implements continuous.Store.
func (h *hours) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	totals := &continuous.Totals{}
	return totals, h.selected(ctx, &q, continuous.Coarsest(step), func(sel *selectedHours) (err error) {
		totals.Series = sel.list()
		totals.Totals, err = sel.totals(ctx)
		return err
	})
}

// Function implements continuous.Store.
func (h *hours) Function(ctx context.Context, q continuous.Query, name string, step time.Duration) (*continuous.Amounts, error) {
	amounts := &continuous.Amounts{}
	return amounts, h.selected(ctx, &q, continuous.Coarsest(step), func(sel *selectedHours) error {
		totals, err := sel.totals(ctx)
		if err != nil {
			return err
		}
		type place struct {
			series int32
			start  int64
		}
		at := map[place]int{}
		for i, t := range totals {
			at[place{t.Series, t.Start.UnixMilli()}] = i
			amounts.Amounts = append(amounts.Amounts, continuous.Amount{Total: t})
		}
		amounts.Series = sel.list()
		if len(sel.files["series_functions"]) == 0 {
			return nil
		}
		if err := h.fetch(ctx, sel, "series_functions"); err != nil {
			return err
		}
		for _, p := range sel.parts {
			sql := fmt.Sprintf("SELECT series, %s AS start, sum(self)::BIGINT, sum(total)::BIGINT FROM %s WHERE function = %d GROUP BY ALL", begin(p),
				sel.of("series_functions", p), store.FunctionID(name))
			var key *driver.Text
			var start, self, total int64
			err := sel.c.Rows(ctx, sql, nil, []any{&key, &start, &self, &total}, func() error {
				a := &amounts.Amounts[at[place{sel.place[continuous.Key(key.Bytes())], start}]]
				a.Self, a.Whole = self, total
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fetch brings the files of tables to this machine.
func (h *hours) fetch(ctx context.Context, sel *selectedHours, tables ...string) error {
	for _, table := range tables {
		if err := h.hours.Fetch(ctx, sel.files[table]); err != nil {
			return err
		}
	}
	return nil
}

// Tree implements continuous.Store.
func (h *hours) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	merged := &continuous.Merged{}
	f, typ := &forest{paths: map[iceberg.PathID]int32{}}, profile.ValueType{}
	err := h.selected(ctx, &q, continuous.Day, func(sel *selectedHours) error {
		merged.Series = sel.list()
		of, err := continuous.OneType(merged.Series)
		if err != nil {
			return err
		}
		typ = sel.series[0].typ
		totals, err := sel.totals(ctx)
		if err != nil {
			return err
		}
		size, count := int64(0), continuous.NewInstances(merged.Series, sel.summed)
		for i := range totals {
			t := &totals[i]
			count.Add(t)
			merged.Windows++
			merged.Parts += t.Parts
			merged.Covered += t.Covered
			if size += max(t.Sum, -t.Sum); size < 0 {
				return fmt.Errorf("%s: %w", of, continuous.ErrTooLarge)
			}
		}
		count.Tell(merged)
		if len(sel.files["series_samples"]) == 0 {
			return nil
		}
		if err := h.fetch(ctx, sel, "window_functions", "window_paths", "series_samples"); err != nil {
			return err
		}
		services := map[string]bool{}
		for i := range sel.series {
			services[driver.Quote(sel.series[i].Service)] = true
		}
		among := " WHERE service IN (" + strings.Join(slices.Sorted(maps.Keys(services)), ", ") + ")"
		functions, err := functionsOf(ctx, sel.c, filesSQL(sel.files["window_functions"])+among)
		if err != nil {
			return err
		}
		if err := f.read(ctx, sel.c, filesSQL(sel.files["window_paths"])+among, functions); err != nil {
			return err
		}
		parts := column.Of(sel.parts, func(p continuous.Part) string { return "SELECT path, self FROM " + sel.of("series_samples", p) })
		return f.use(ctx, sel.c, "SELECT path, sum(self)::BIGINT FROM ("+strings.Join(parts, " UNION ALL ")+") GROUP BY path")
	})
	if err != nil {
		return nil, err
	}
	merged.Tree = f.tree(typ)
	return merged, nil
}

// WindowStats implements continuous.Store.
func (h *hours) WindowStats(ctx context.Context) (stats continuous.Stats, err error) {
	q := continuous.Query{}
	return stats, h.selected(ctx, &q, continuous.Hour, func(sel *selectedHours) error {
		stats.Series = int64(len(sel.series))
		totals, err := sel.totals(ctx)
		for i := range totals {
			stats.Windows[totals[i].Level]++
		}
		for i := range sel.series {
			stats.First = continuous.Earlier(stats.First, sel.series[i].First)
			stats.Last = continuous.Later(stats.Last, sel.series[i].Last)
		}
		for _, f := range sel.files["series_samples"] {
			level := continuous.Hour
			if f.Day().Before(sel.kept.Hours) {
				level = continuous.Day
			}
			stats.Bytes[level] += f.Size
		}
		return err
	})
}
