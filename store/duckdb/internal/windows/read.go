package windows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
)

// selection is what a query reads: a snapshot of the state, whose transaction is open.
type selection struct {
	c      *driver.Conn
	list   []*series // that match, as they were, in order of ids
	all    bool      // they are all series
	parts  []continuous.Part
	summed []string // labels that sums lack

	progress continuous.Progress // once there are parts, that of the services of the list
	cuts     continuous.Cuts
}

// selected runs f in a transaction with what the query selects.
func (s *Store) selected(ctx context.Context, q *continuous.Query, coarsest continuous.Level, f func(sel *selection) error) error {
	sel, all := &selection{}, []series(nil)
	var without continuous.Query
	var label string
	return s.look(ctx, func(st *state) {
		all = make([]series, len(st.list))
		for i, e := range st.list {
			all[i] = *e
			sel.summed = continuous.Summed(sel.summed, &e.Series)
		}
		sel.progress, sel.cuts = st.progress, st.cuts
		coarsest, without, label = q.Finest(sel.summed, coarsest)
	}, func(c *driver.Conn) error {
		sel.c = c
		if label != "" {
			if since, err := sel.sums(ctx, &without, all, coarsest); err != nil || since != nil {
				return cmp.Or(err, error(&continuous.SummedError{Label: label, Since: *since}))
			}
		}
		if err := sel.match(ctx, q, all); err != nil || len(sel.list) == 0 {
			return err
		}
		sel.plan(q, coarsest)
		if err := sel.choose(); err != nil {
			return err
		}
		return f(sel)
	})
}

// plan chooses what is read of each level.
func (sel *selection) plan(q *continuous.Query, coarsest continuous.Level) {
	for _, e := range sel.list {
		sel.progress = sel.progress.Of(sel.cuts, e.Service)
	}
	sel.parts = sel.progress.Parts(q.Range(), coarsest)
}

// kept returns from when on there are raw windows.
func (sel *selection) kept() int64 { return sel.progress.Kept[continuous.Raw] }

// sums returns, if what a query selects has sums of instances in the time, since when it has none.
func (sel *selection) sums(ctx context.Context, q *continuous.Query, all []series,
	coarsest continuous.Level) (since *time.Time, err error) {
	var summed []series
	for i := range all {
		if len(all[i].Summed) > 0 {
			summed = append(summed, all[i])
		}
	}
	of := &selection{c: sel.c, progress: sel.progress, cuts: sel.cuts}
	if err := of.match(ctx, q, summed); err != nil || len(of.list) == 0 {
		return nil, err
	}
	of.plan(q, coarsest)
	for _, p := range of.parts {
		if p.Level != continuous.Raw {
			sql := fmt.Sprintf("SELECT count(*) FROM %s WHERE start >= %d AND start < %d AND series IN (%s)", levelTables[p.Level], p.From, p.Until,
				driver.List(of.ids()))
			if n, err := sel.c.Number(ctx, sql); err != nil || n > 0 {
				return new(timeOf(of.kept())), err
			}
		}
	}
	return nil, nil
}

// match fills the list, after the snapshot was taken: patterns take time, in which others
// commit. Labels and facts of a series are replaced by commits, and never changed.
func (sel *selection) match(ctx context.Context, q *continuous.Query, all []series) error {
	matching, err := q.Compile()
	if err != nil {
		return err
	}
	for i := range all {
		ok, err := matching.Matches(ctx, &all[i].Series)
		if err != nil {
			return err
		}
		if ok {
			e := all[i]
			e.Series = e.copied()
			sel.list = append(sel.list, &e)
		}
	}
	sel.all = len(sel.list) == len(all)
	return nil
}

// maxListed is the maximum number of series that SQL lists; more are joined.
const maxListed = 64

// choose fills table chosen if the statements join it.
func (sel *selection) choose() error {
	if sel.all || len(sel.list) <= maxListed {
		return nil
	}
	ids := sel.ids()
	return sel.c.Append("temp", "chosen", len(ids), ids, make([]int64, len(ids)))
}

func (sel *selection) ids() []int32 {
	return column.Of(sel.list, func(e *series) int32 { return e.id })
}

// condition returns the condition on the rows of a part.
func (sel *selection) condition(p continuous.Part) string {
	list := []string{fmt.Sprintf("start >= %d AND start < %d", p.From, p.Until)}
	if p.Late {
		list = append(list, fmt.Sprint("seq > ", sel.progress.Seq))
	}
	switch {
	case sel.all:
	case len(sel.list) <= maxListed:
		list = append(list, "series IN ("+driver.List(sel.ids())+")")
	default:
		list = append(list, "series IN (SELECT series FROM chosen)")
	}
	return strings.Join(list, " AND ")
}

// partRows is the number of rows of a table whose vectors one statement reads: DuckDB keeps
// the result in memory.
var partRows = int64(1 << 16)

// totalColumns are the columns that answer.add reads.
func totalColumns(l continuous.Level) string {
	if l == continuous.Raw {
		return "series, start, length, 1::BIGINT, length, sum, 1::BIGINT"
	}
	return fmt.Sprintf("series, start, %d::BIGINT, parts, covered, sum, instances", l.Length().Milliseconds())
}

// pathsColumn is the column of the vectors behind those.
const pathsColumn = 7

// vectors calls f with the rows of all parts: totalColumns and paths.
func (sel *selection) vectors(ctx context.Context, f func(l continuous.Level, ch driver.Chunk) error) error {
	for _, p := range sel.parts {
		table := levelTables[p.Level]
		rows, err := sel.c.Number(ctx, "SELECT coalesce(max(rowid), -1) + 1 FROM "+table)
		if err != nil {
			return err
		}
		for from := int64(0); from < rows; from += partRows {
			sql := "SELECT " + totalColumns(p.Level) + ", paths FROM " + table + " WHERE " + sel.condition(p)
			if rows > partRows {
				sql += fmt.Sprintf(" AND rowid >= %d AND rowid < %d", from, from+partRows)
			}
			if err := sel.c.Query(ctx, sql, nil, func(ch driver.Chunk) error { return f(p.Level, ch) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer collects the windows of an answer and the series that have one.
type answer struct {
	sel    *selection
	place  map[int32]int32 // of the series with an id, in sel.list
	has    []bool          // by place
	totals []continuous.Total
}

func (sel *selection) answer() *answer {
	a := &answer{sel: sel, place: make(map[int32]int32, len(sel.list)), has: make([]bool, len(sel.list))}
	for i, e := range sel.list {
		a.place[e.id] = int32(i)
	}
	return a
}

// add adds rows whose first columns are totalColumns.
func (a *answer) add(l continuous.Level, ch driver.Chunk) error {
	column := func(i int) []int64 { return driver.Column[int64](ch, i) }
	start, length, parts, covered, sum, instances := column(1), column(2), column(3), column(4), column(5), column(6)
	for i, id := range driver.Column[int32](ch, 0) {
		at, ok := a.place[id]
		if !ok {
			return driver.Corruptf("windows of series %d, which is missing", id)
		}
		a.has[at] = true
		a.totals = append(a.totals, continuous.Total{Series: at, Level: l, Start: timeOf(start[i]),
			Length: time.Duration(length[i]) * time.Millisecond, Parts: parts[i], Covered: time.Duration(covered[i]) * time.Millisecond,
			Sum: sum[i], Instances: instances[i]})
	}
	return nil
}

// series returns the series with a window in order, and their places in the selection. The totals are
// then of places in that order.
func (a *answer) series() (list []continuous.Series, order []int32) {
	for i, has := range a.has {
		if has {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(x, y int32) int { return a.sel.list[x].Compare(&a.sel.list[y].Series) })
	at := make([]int32, len(a.has))
	for i, place := range order {
		at[place] = int32(i)
		list = append(list, a.sel.list[place].Series)
	}
	for i := range a.totals {
		a.totals[i].Series = at[a.totals[i].Series]
	}
	return list, order
}

// Series implements continuous.Store. Of most series it is known without a look into the file: that
// of the newest window.
func (s *Store) Series(ctx context.Context, q continuous.Query) (list []continuous.Series, err error) {
	err = s.selected(ctx, &q, continuous.Raw, func(sel *selection) error {
		a, r := sel.answer(), q.Range()
		all, doubtful := *sel, []*series{}
		for i, e := range sel.list {
			if a.has[i] = e.newest >= max(r.From, sel.kept()) && e.newest < r.Until && e.newest != never; !a.has[i] {
				doubtful = append(doubtful, e)
			}
		}
		if all.list = doubtful; len(doubtful) < len(sel.list) {
			all.all = false
		}
		if err := sel.c.Exec("DELETE FROM chosen"); err != nil {
			return err
		}
		if err := all.choose(); err != nil {
			return err
		}
		for _, p := range sel.parts {
			if len(doubtful) == 0 {
				break
			}
			var id int32
			sql := "SELECT DISTINCT series FROM " + levelTables[p.Level] + " WHERE " + all.condition(p)
			if err := sel.c.Rows(ctx, sql, nil, []any{&id}, func() error {
				if at, ok := a.place[id]; ok {
					a.has[at] = true
				}
				return nil
			}); err != nil {
				return err
			}
		}
		list, _ = a.series()
		return nil
	})
	return list, err
}

// Totals implements continuous.Store.
func (s *Store) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	totals := &continuous.Totals{}
	err := s.selected(ctx, &q, continuous.Coarsest(step), func(sel *selection) error {
		a := sel.answer()
		for _, p := range sel.parts {
			err := sel.c.Query(ctx, "SELECT "+totalColumns(p.Level)+" FROM "+levelTables[p.Level]+" WHERE "+sel.condition(p), nil,
				func(ch driver.Chunk) error {
					return a.add(p.Level, ch)
				})
			if err != nil {
				return err
			}
		}
		totals.Series, _ = a.series()
		totals.Totals = a.totals
		slices.SortFunc(totals.Totals, func(x, y continuous.Total) int { return x.Compare(&y) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return totals, nil
}

// Function implements continuous.Store.
func (s *Store) Function(ctx context.Context, q continuous.Query, name string, step time.Duration) (*continuous.Amounts, error) {
	amounts := &continuous.Amounts{}
	err := s.selected(ctx, &q, continuous.Coarsest(step), func(sel *selection) error {
		a := sel.answer()
		sum, err := profiles.NewFunctionSum(ctx, s.base, sel.c, name)
		if err != nil {
			return err
		}
		defer sum.Release()
		err = sel.vectors(ctx, func(l continuous.Level, ch driver.Chunk) error {
			from := len(a.totals)
			if err := a.add(l, ch); err != nil {
				return err
			}
			amounts.Amounts = append(amounts.Amounts, make([]continuous.Amount, len(a.totals)-from)...)
			return sum.Add(ctx, profiles.CopyBlobs(driver.Column[driver.Text](ch, pathsColumn)), func(i int, self, total int64) {
				amounts.Amounts[from+i].Self, amounts.Amounts[from+i].Whole = self, total
			})
		})
		if err != nil {
			return err
		}
		amounts.Series, _ = a.series()
		for i, t := range a.totals {
			amounts.Amounts[i].Total = t
		}
		slices.SortFunc(amounts.Amounts, func(x, y continuous.Amount) int { return x.Compare(&y.Total) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return amounts, nil
}

// Hours implements continuous.HourStore.
func (s *Store) Hours(ctx context.Context, q continuous.Query) (*continuous.Hours, error) {
	hours := &continuous.Hours{Forest: &calltree.Forest{}}
	err := s.selected(ctx, &q, continuous.Hour, func(sel *selection) error {
		r := q.Range()
		sel.parts = []continuous.Part{{Level: continuous.Hour, Range: r}}
		a := sel.answer()
		sum, err := profiles.NewSum(ctx, s.base, sel.c)
		if err != nil {
			return err
		}
		hours.Forest = sum.Forest()
		err = sel.vectors(ctx, func(l continuous.Level, ch driver.Chunk) error {
			for _, blob := range driver.Column[driver.Text](ch, pathsColumn) {
				self, err := encoding.Decode(blob.Bytes(), hours.Forest.Paths.Len(), calltree.Vector{})
				if err != nil {
					return err
				}
				hours.Self = append(hours.Self, self)
			}
			return a.add(l, ch)
		})
		if err != nil {
			return err
		}
		var order []int32
		hours.Series, order = a.series()
		hours.Totals = a.totals
		for _, place := range order {
			hours.Types = append(hours.Types, *sel.list[place].typ)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	hours.Sort()
	return hours, nil
}

// Tree implements continuous.Store.
func (s *Store) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	var merged continuous.Merged
	var sum *profiles.PathSum
	var valueType profile.ValueType
	err := s.selected(ctx, &q, continuous.Day, func(sel *selection) (err error) {
		if sum, err = profiles.NewSum(ctx, s.base, sel.c); err != nil {
			return err
		}
		a := sel.answer()
		described := column.Of(sel.list, func(e *series) continuous.Series { return e.Series })
		count := continuous.NewInstances(described, sel.summed)
		size := int64(0)
		err = sel.vectors(ctx, func(l continuous.Level, ch driver.Chunk) error {
			a.totals = a.totals[:0]
			if err := a.add(l, ch); err != nil {
				return err
			}
			for i, t := range a.totals {
				count.Add(&a.totals[i])
				merged.Windows++
				merged.Parts += t.Parts
				merged.Covered += t.Covered
				if size += max(t.Sum, -t.Sum); size < 0 {
					return continuous.ErrTooLarge
				}
			}
			return sum.Add(ctx, profiles.CopyBlobs(driver.Column[driver.Text](ch, pathsColumn)))
		})
		if err != nil {
			return err
		}
		merged.Series, _ = a.series()
		count.Tell(&merged)
		if _, err := continuous.OneType(merged.Series); err != nil {
			return err
		}
		for i, e := range sel.list {
			if a.has[i] {
				valueType = cmp.Or(valueType, *e.typ).Plus(*e.typ)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if sum == nil {
		merged.Tree = profiles.NoTree()
		return &merged, nil
	}
	if merged.Tree, err = sum.Tree(ctx, valueType); err != nil {
		return nil, err
	}
	return &merged, nil
}

// WindowStats implements continuous.Store.
func (s *Store) WindowStats(ctx context.Context) (stats continuous.Stats, err error) {
	err = s.look(ctx, func(st *state) {
		stats.Series = int64(len(st.list))
		for i, e := range st.list {
			if i == 0 || e.First.Before(stats.First) {
				stats.First = e.First
			}
			if i == 0 || e.Last.After(stats.Last) {
				stats.Last = e.Last
			}
		}
	}, func(c *driver.Conn) error {
		for l, table := range levelTables {
			sql, dest := "SELECT count(*), coalesce(sum(bytes), 0)::BIGINT FROM "+table, []any{&stats.Windows[l], &stats.Bytes[l]}
			if err := c.Rows(ctx, sql, nil, dest, func() error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	return stats, err
}
