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

// Vectors are the vectors of all windows.
type Vectors struct{}

var _ profiles.Vectors = Vectors{}

// spans are how long the spans are in which Copy orders the windows of a level by series:
// the windows of a series are together, and those that a policy removes still are too.
var spans = [...]time.Duration{continuous.Raw: time.Hour, continuous.Hour: 24 * time.Hour, continuous.Day: 30 * 24 * time.Hour}

const sumNumbers = "series, start, parts, covered, sum, instances"

// numbers is how many of the columns that are copied are BIGINT.
const numbers = 5

// copied are the columns that Copy copies, besides paths.
var copied = [...]string{continuous.Raw: "series, start, length, seq, sum, hash", continuous.Hour: sumNumbers, continuous.Day: sumNumbers}

// Each implements profiles.Vectors.
func (Vectors) Each(ctx context.Context, c *driver.Conn, f func(blobs []driver.Text) error) error {
	for l := range levelTables {
		if err := each(ctx, c, continuous.Level(l), "paths",
			func(ch driver.Chunk) error { return f(driver.Column[driver.Text](ch, 0)) }); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with all rows of a level, in the order of Copy.
func each(ctx context.Context, c *driver.Conn, l continuous.Level, columns string, f func(driver.Chunk) error) error {
	groups, err := groupsOf(ctx, c, levelTables[l], spans[l], "true")
	if err != nil {
		return err
	}
	for len(groups) > 0 {
		n := together(groups)
		sql := fmt.Sprintf("SELECT %s FROM %s WHERE start >= %d AND start < %d AND series BETWEEN %d AND %d ORDER BY series, start", columns, levelTables[l],
			groups[0].start, groups[0].start+spans[l].Milliseconds(), groups[0].series, groups[n-1].series)
		if err := c.Query(ctx, sql, nil, f); err != nil {
			return err
		}
		groups = groups[n:]
	}
	return nil
}

// Copy implements profiles.Vectors.
func (Vectors) Copy(ctx context.Context, c *driver.Conn, catalog string, recode func([]driver.Text) ([][]byte, error)) error {
	if err := c.Exec(fmt.Sprintf(`INSERT INTO "%s".series SELECT * FROM series ORDER BY id`, catalog)); err != nil {
		return err
	}
	if err := c.Exec(fmt.Sprintf(`INSERT INTO "%s".line_profile SELECT * FROM line_profile ORDER BY day, service`, catalog)); err != nil {
		return err
	}
	for l := range levelTables {
		err := each(ctx, c, continuous.Level(l), copied[l]+", paths", func(ch driver.Chunk) error {
			columns := []any{slices.Clone(driver.Column[int32](ch, 0))}
			for i := range numbers {
				columns = append(columns, slices.Clone(driver.Column[int64](ch, i+1)))
			}
			paths, err := recode(driver.Column[driver.Text](ch, numbers+1))
			if err != nil {
				return err
			}
			return c.Append(catalog, levelTables[l], len(paths), append(columns, sizes(paths), paths)...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
