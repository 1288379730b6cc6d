package windows

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
)

// lineIdentity are the columns that identify a row of line_profile, the day last.
const lineIdentity = "service, name, sample_type, sample_unit, period_type, period_unit, label, version, day"

// lineRow is a row of line_profile. What it has besides the lines is also in there, as another type.
type lineRow struct {
	continuous.Lines
	version      continuous.Label // that the series has, or none
	day, covered int64            // in milliseconds
	bytes        int32
	id           int64 // of the row
}

func (r *lineRow) identity() []any {
	s, t := &r.Series, &r.Series.Type
	return []any{&s.Service, &t.Name, &t.SampleType, &t.SampleUnit, &t.PeriodType, &t.PeriodUnit, &r.version.Name, &r.version.Value, &r.day}
}

func (r *lineRow) fields() []any {
	return append(r.identity(), &r.Windows, &r.covered, &r.bytes, &r.Profile)
}

// PutLines implements continuous.LineStore.
func (s *Store) PutLines(ctx context.Context, list []*continuous.Lines, room continuous.LineRoom) error {
	for _, l := range list {
		if err := l.Check(); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return ctx.Err()
	}
	return profiles.Grow(ctx, s.base, func(c *driver.Conn, _ *profiles.Growth) error {
		type place struct {
			series continuous.Key
			day    int64
		}
		var rows []lineRow
		at := map[place]int{} // of a list, the last of a row counts
		for _, l := range list {
			row := lineRow{Lines: *l, day: l.Day.UnixMilli(), covered: l.Covered.Milliseconds(), bytes: int32(len(l.Profile))}
			if len(l.Series.Labels) > 0 {
				row.version = l.Series.Labels[0]
			}
			of := place{l.Series.Key(), row.day}
			if i, again := at[of]; again {
				rows[i] = row
				continue
			}
			at[of], rows = len(rows), append(rows, row)
			sql := "DELETE FROM line_profile WHERE (" + lineIdentity + ") = (?, ?, ?, ?, ?, ?, ?, ?, ?)"
			if err := c.Query(ctx, sql, row.identity(), nil); err != nil {
				return err
			}
		}
		if err := driver.Insert(c, "", "line_profile", rows, (*lineRow).fields); err != nil {
			return err
		}
		if room.Bytes <= 0 {
			return nil
		}
		// What exceeds the share of its service takes no room of others.
		const order = "ORDER BY day DESC, windows DESC, service, name, sample_type, sample_unit, period_type, period_unit, label, version ROWS UNBOUNDED PRECEDING"
		return c.Exec(fmt.Sprintf(`DELETE FROM line_profile WHERE rowid NOT IN (SELECT id FROM (
			SELECT *, sum(bytes) OVER (%[1]s) AS every FROM (
				SELECT * EXCLUDE (profile), rowid AS id, sum(bytes) OVER (PARTITION BY service %[1]s) AS own FROM line_profile) WHERE own <= %d) WHERE every <= %d)`,
			order, room.Part(), room.Bytes))
	}, func() {})
}

// Lines implements continuous.LineStore. The profiles are read after the selection is made and
// counted.
func (s *Store) Lines(ctx context.Context, q continuous.Query) (list []continuous.Lines, err error) {
	selection, err := q.Compile()
	if err != nil {
		return nil, err
	}
	first, last := q.Days()
	where := "true"
	if !first.IsZero() {
		where += fmt.Sprintf(" AND day >= %d", first.UnixMilli())
	}
	if !last.IsZero() {
		where += fmt.Sprintf(" AND day <= %d", last.UnixMilli())
	}
	err = s.file.Look(ctx, func(c *driver.Conn) error {
		return c.ReadTx(func() error {
			list = nil
			var row lineRow
			var rows []lineRow
			size := int64(0)
			sql := "SELECT " + lineIdentity + ", bytes, rowid FROM line_profile WHERE " + where
			err := c.Rows(ctx, sql, nil, append(row.identity(), &row.bytes, &row.id), func() error {
				r := row
				if r.version.Name != "" {
					r.Series.Labels = continuous.Labels{r.version}
				}
				ok, err := selection.Matches(ctx, &r.Series)
				if ok && err == nil {
					r.Day = timeOf(r.day)
					rows, size = append(rows, r), size+int64(r.bytes)
				}
				return err
			})
			if err != nil {
				return err
			}
			if err := continuous.SpendLines(ctx, size); err != nil {
				return err
			}
			for _, r := range rows {
				sql := fmt.Sprint("SELECT windows, covered, profile FROM line_profile WHERE rowid = ", r.id)
				if err := c.Rows(ctx, sql, nil, []any{&r.Windows, &r.covered, &r.Profile}, func() error {
					r.Covered = time.Duration(r.covered) * time.Millisecond
					list = append(list, r.Lines)
					return nil
				}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	slices.SortFunc(list, func(a, b continuous.Lines) int { return a.Compare(&b) })
	return list, err
}
