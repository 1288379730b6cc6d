package windows

import (
	"bytes"
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

// lineArgs returns the values of lineIdentity.
func lineArgs(l *continuous.Lines) []any {
	t, version := &l.Series.Type, continuous.Label{}
	if len(l.Series.Labels) > 0 {
		version = l.Series.Labels[0]
	}
	return []any{l.Series.Service, t.Name, t.SampleType, t.SampleUnit, t.PeriodType, t.PeriodUnit, version.Name, version.Value,
		l.Day.UnixMilli()}
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
		texts := make([][]string, 8)
		var days, windows, covered []int64
		var sizes []int32
		var data [][]byte
		type row struct {
			series continuous.Key
			day    int64
		}
		last := map[row]*continuous.Lines{} // of a list, the last of a row counts
		for _, l := range list {
			last[row{l.Series.Key(), l.Day.UnixMilli()}] = l
		}
		for _, l := range list {
			args := lineArgs(l)
			if err := c.Query(ctx, "DELETE FROM line_profile WHERE ("+lineIdentity+") = (?, ?, ?, ?, ?, ?, ?, ?, ?)", args,
				func(driver.Chunk) error { return nil }); err != nil {
				return err
			}
			if last[row{l.Series.Key(), l.Day.UnixMilli()}] != l {
				continue
			}
			for k := range texts {
				texts[k] = append(texts[k], args[k].(string))
			}
			days, windows, covered = append(days, l.Day.UnixMilli()), append(windows, l.Windows), append(covered, l.Covered.Milliseconds())
			sizes, data = append(sizes, int32(len(l.Profile))), append(data, l.Profile)
		}
		columns := []any{}
		for k := range texts {
			columns = append(columns, texts[k])
		}
		if err := c.Append("", "line_profile", len(data), append(columns, days, windows, covered, sizes, data)...); err != nil {
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
			var rows []string
			size := int64(0)
			err := c.Query(ctx, "SELECT "+lineIdentity+", bytes, rowid FROM line_profile WHERE "+where, nil, func(ch driver.Chunk) error {
				texts := make([][]string, 8)
				for i := range texts {
					texts[i] = ch.Texts(i)
				}
				days, sizes, ids := driver.Column[int64](ch, 8), driver.Column[int32](ch, 9), driver.Column[int64](ch, 10)
				for i := range days {
					of := continuous.Series{Service: texts[0][i], Type: continuous.Type{Name: texts[1][i], SampleType: texts[2][i],
						SampleUnit: texts[3][i], PeriodType: texts[4][i], PeriodUnit: texts[5][i]}}
					if texts[6][i] != "" {
						of.Labels = continuous.Labels{{Name: texts[6][i], Value: texts[7][i]}}
					}
					ok, err := selection.Matches(ctx, &of)
					if err != nil {
						return err
					}
					if ok {
						list = append(list, continuous.Lines{Series: of, Day: timeOf(days[i])})
						rows, size = append(rows, fmt.Sprint(ids[i])), size+int64(sizes[i])
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if err := continuous.SpendLines(ctx, size); err != nil {
				return err
			}
			for i := range list {
				l := &list[i]
				if err := c.Query(ctx, "SELECT windows, covered, profile FROM line_profile WHERE rowid = "+rows[i], nil, func(ch driver.Chunk) error {
					l.Windows = driver.Column[int64](ch, 0)[0]
					l.Covered = time.Duration(driver.Column[int64](ch, 1)[0]) * time.Millisecond
					l.Profile = bytes.Clone(driver.Column[driver.Text](ch, 2)[0].Bytes())
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
