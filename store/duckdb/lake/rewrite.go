package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/iceberg"
)

// rewriting is what remains of a table, as SQL.
type rewriting struct{ table, sql string }

// rewrites are the rows of each table that remain when a partition is rewritten, in order.
// Tables that come later use files of earlier ones: $name stands for the new rows of a
// table, $old_name and $files for its old files, $without for the condition of profiles that stay.
var rewrites = []rewriting{
	{"profiles", "SELECT * FROM $files WHERE $without ORDER BY grp, benchmark, date, run, seq"},
	{"function_samples", "SELECT * FROM $files WHERE $without ORDER BY grp, benchmark, date, profile"},
	{"path_samples", "SELECT * FROM $files WHERE $without ORDER BY grp, benchmark, date, profile"},
	{"metrics", "SELECT * FROM (SELECT DISTINCT ON (grp, benchmark, run, name) * FROM $files WHERE (grp, benchmark, run) IN (SELECT (grp, benchmark, run) FROM $profiles)) ORDER BY grp, benchmark, date, run, name"},
	{"paths", "SELECT * FROM (SELECT DISTINCT ON (grp, benchmark, path) * FROM $files WHERE (grp, benchmark, path) IN (SELECT (grp, benchmark, path) FROM $path_samples)) ORDER BY grp, benchmark, depth"},
	{"functions", "SELECT * FROM (SELECT DISTINCT ON (grp, benchmark, function) * FROM $files WHERE (grp, benchmark, function) IN (SELECT (grp, benchmark, function) FROM $paths)) ORDER BY grp, benchmark, name"},
}

// newest are the hours of a day: of an hour the sum of most windows stays.
const newest = "(SELECT DISTINCT ON (series, partition, hour) * FROM $old_series_hours ORDER BY windows DESC)"

// hourRewrites are those of the tables of hours.
var hourRewrites = []rewriting{
	{"series_hours", "SELECT * FROM " + newest + " ORDER BY service, series, hour"},
	{"series_samples", "SELECT * FROM $files WHERE (series, partition, hour, windows) IN (SELECT (series, partition, hour, windows) FROM $series_hours) ORDER BY service, series, path, hour"},
	{"series_functions", "SELECT * FROM $files WHERE (series, partition, hour, windows) IN (SELECT (series, partition, hour, windows) FROM $series_hours) ORDER BY function, service, hour"},
	{"window_paths", "SELECT * FROM (SELECT DISTINCT ON (service, path) * FROM $files) ORDER BY service, depth"},
	{"window_functions", "SELECT * FROM (SELECT DISTINCT ON (service, function) * FROM $files) ORDER BY service, name"},
}

// dayRewrites make one sum of the hours of a day, which begins with it ($day). What describes the series is that of its
// last hour.
var dayRewrites = append([]rewriting{
	{"series_hours", `SELECT * REPLACE ($day AS hour) FROM (SELECT DISTINCT ON (series, partition) * REPLACE (sum(windows) OVER w::BIGINT AS windows,
		sum(covered) OVER w::BIGINT AS covered, sum(sum) OVER w::BIGINT AS sum, max(instances) OVER w AS instances,
		list_sort(list_distinct(flatten(list(summed) OVER w))) AS summed, min(first_start) OVER w AS first_start, max(last_end) OVER w AS last_end)
		FROM ` + newest + ` WINDOW w AS (PARTITION BY series, partition) ORDER BY hour DESC) ORDER BY service, series`},
	{"series_samples", daySum("path", "sum(s.self)::BIGINT AS self") + " ORDER BY service, series, path"},
	{"series_functions", daySum("function", "sum(s.self)::BIGINT AS self, sum(s.total)::BIGINT AS total") + " ORDER BY function, service"},
}, hourRewrites[3:]...)

// daySum sums up the rows of a table that belong to the hours of a day.
func daySum(of, sums string) string {
	return "SELECT s.series, s.service, $day AS hour, s.partition, d.windows, s." + of + ", " + sums + " FROM $files s JOIN " + newest +
		" h USING (series, partition, hour, windows) JOIN $series_hours d ON d.series = s.series AND d.partition = s.partition GROUP BY ALL"
}

// Delete implements store.Writer: it rewrites the partitions that have the profiles.
func (s *Store) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	v, err := s.view(ctx, store.Query{})
	if err != nil {
		return 0, err
	}
	wanted := map[store.ProfileID]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	v.profiles = slices.DeleteFunc(v.profiles, func(p store.Profile) bool { return !wanted[p.ID] })
	if len(v.profiles) == 0 {
		return 0, nil
	}
	files, err := v.now.FilesOf(ctx, "profiles", v.profiles)
	if err != nil {
		return 0, err
	}
	parts := map[iceberg.Partition]bool{}
	for _, f := range files {
		parts[f.Partition] = true
	}
	_, err = s.rewrite(ctx, s.lake, rewrites, v, parts, nil)
	return len(v.profiles), err
}

// Compact implements store.Writer: of each partition with several files of a table it
// makes one, without the functions and paths that no profile has. It forgets states of the
// lake that are older than a day.
func (s *Store) Compact(ctx context.Context) error {
	one := func(iceberg.Partition) int { return 1 }
	if err := s.compact(ctx, s.lake, rewrites, one, &continuous.Compaction{}); err != nil {
		return err
	}
	if _, err := s.lake.Expire(ctx, before()); err != nil {
		return err
	}
	hours, err := s.hourLake(ctx)
	if hours == nil || err != nil {
		return err
	}
	if err := s.compact(ctx, hours, hourRewrites, one, &continuous.Compaction{}); err != nil {
		return err
	}
	_, err = hours.Expire(ctx, before())
	return err
}

// before returns when a query or publication that still runs began at the earliest.
func before() time.Time { return time.Now().Add(-iceberg.KeepSnapshots) }

// Upkeep compacts the hours of days that ended before a time, where windows may be as late as some time. Behind
// that time it does what a policy says: it makes days of hours, and removes days. Where another process does the same, or
// an hour came meanwhile, the rest is left to the next one.
func (s *Store) Upkeep(ctx context.Context, at time.Time, late time.Duration, policy *continuous.Policy) (
	done continuous.Compaction, err error) {
	hours, err := s.hourLake(ctx)
	if hours == nil || err != nil {
		return done, err
	}
	if err = s.compact(ctx, hours, hourRewrites, iceberg.DayFiles(at, late), &done); err == nil {
		err = s.expire(ctx, hours, at.Add(-late), policy, &done)
	}
	if err != nil && !errors.Is(err, errReplaced) {
		return done, err
	}
	done.Removed, err = hours.Expire(ctx, before())
	return done, err
}

// expire makes days of hours and removes days, which a policy does not keep.
func (s *Store) expire(ctx context.Context, l *iceberg.Lake, at time.Time, policy *continuous.Policy, done *continuous.Compaction) error {
	for {
		now, err := l.Snapshot(ctx)
		if err != nil {
			return err
		}
		old, err := now.Old(ctx, at, policy)
		switch {
		case err != nil:
			return err
		case old.Parts != nil:
			next := continuous.Kept{Hours: old.Day.Add(24 * time.Hour), Days: now.Kept().Days}
			if _, err := s.rewrite(ctx, l, dayRewrites, &view{s: s, now: now}, old.Parts, &next); err != nil {
				return err
			}
			done.Summed++
		case old.Expired:
			done.Expired, err = l.RemoveDays(ctx, old.Kept)
			return err
		default:
			return nil
		}
	}
}

// compact makes one file of each table of those parts of a lake that have more than most allows, in a commit
// for each period. Whoever commits first keeps its files; the other looks again what there is to do.
func (s *Store) compact(ctx context.Context, l *iceberg.Lake, list []rewriting, most func(iceberg.Partition) int,
	done *continuous.Compaction) error {
	for tries := map[int32]int{}; ; {
		now, err := l.Snapshot(ctx)
		if err != nil {
			return err
		}
		parts, err := now.Split(ctx, most)
		if err != nil {
			return err
		}
		if maps.DeleteFunc(parts, func(period int32, _ map[iceberg.Partition]bool) bool { return tries[period] == mostTries }); len(parts) == 0 {
			return nil
		}
		period := slices.Min(slices.Collect(maps.Keys(parts)))
		one, err := s.rewrite(ctx, l, list, &view{s: s, now: now}, parts[period], nil)
		if tries[period]++; errors.Is(err, errReplaced) && tries[period] < mostTries {
			continue
		} else if err != nil {
			return err
		}
		done.Merged, done.Made = done.Merged+one.Merged, done.Made+one.Made
		tries[period] = mostTries
	}
}

// mostTries is how often a compaction of a period that others were faster than looks again.
const mostTries = 3

// errReplaced is the error of a rewrite whose files are no part of the lake any more.
var errReplaced = errors.New("files were replaced meanwhile: repeat the command")

// rewrite replaces the files of partitions by one each, without the profiles of the view. Kept, if not nil, is what is
// left of hours then: no other files may have been added to the partitions.
func (s *Store) rewrite(ctx context.Context, l *iceberg.Lake, list []rewriting, v *view, parts map[iceberg.Partition]bool,
	kept *continuous.Kept) (done continuous.Compaction, err error) {
	changes := map[string]iceberg.Change{}
	defer func() {
		for _, c := range changes {
			l.Undo(ctx, err, c.Add)
		}
	}()
	for p := range parts {
		added := map[string]string{} // new rows of each table, as SQL
		for _, r := range list {
			if err := s.rewriteTable(ctx, l, v, p, r, added, changes); err != nil {
				return done, err
			}
		}
	}
	for _, c := range changes {
		done.Merged, done.Made = done.Merged+len(c.Remove), done.Made+len(c.Add)
	}
	return done, l.Commit(ctx, changes, func(now *iceberg.Snapshot) error {
		for table, c := range changes {
			files, err := now.Files(ctx, table)
			if err != nil {
				return err
			}
			left, added := maps.Clone(c.Remove), false
			for _, f := range files {
				added = added || kept != nil && parts[f.Partition] && !c.Remove[f.Path]
				delete(left, f.Path)
			}
			if len(left) > 0 || added {
				return fmt.Errorf("table %s: %w", table, errReplaced)
			}
		}
		if kept != nil {
			return now.SetKept(*kept)
		}
		return nil
	})
}

// copyOptions are how files are rewritten: without Bloom filters, because DuckDB 1.5 does not find a
// BLOB that equals a constant by those that it writes itself (TestCompactHours).
const copyOptions = " (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 262144, WRITE_BLOOM_FILTER false)"

// rewriteTable rewrites a partition of a table.
func (s *Store) rewriteTable(ctx context.Context, l *iceberg.Lake, v *view, p iceberg.Partition, r rewriting, added map[string]string,
	changes map[string]iceberg.Change) error {
	table := r.table
	files, err := v.now.Files(ctx, table)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f iceberg.File) bool { return f.Partition != p })
	if len(files) == 0 {
		return nil // metrics
	}
	if err := l.Fetch(ctx, files); err != nil {
		return err
	}
	c := changes[table]
	if c.Remove == nil {
		c.Remove = map[string]bool{}
	}
	for _, f := range files {
		c.Remove[f.Path] = true
	}
	without := "true"
	if len(v.profiles) > 0 {
		without = "NOT (" + amongIDs(v.profiles) + ")"
	}
	added["old_"+table] = filesSQL(files)
	replace := []string{"$files", filesSQL(files), "$without", without, "$day",
		"TIMESTAMPTZ '" + p.Day().Format(time.DateOnly) + " 00:00:00+00'"}
	for name, rows := range added {
		replace = append(replace, "$"+name, rows)
	}
	f := iceberg.File{Partition: p, Path: filepath.Join(filepath.Dir(files[0].Path), uuid.NewString()+".parquet")}
	err = s.use(func(c *driver.Conn) error {
		return c.Query(ctx, "COPY ("+strings.NewReplacer(replace...).Replace(r.sql)+") TO "+driver.Quote(f.Path)+
			copyOptions, nil, nil)
	})
	if err == nil {
		f, err = l.Keep(ctx, p, f.Path)
	}
	if err != nil {
		return errors.Join(err, l.Remove(context.WithoutCancel(ctx), []iceberg.File{f}))
	}
	added[table] = filesSQL([]iceberg.File{f})
	c.Add = append(c.Add, f)
	changes[table] = c
	return nil
}

// filesSQL returns the rows of files as SQL.
func filesSQL(files []iceberg.File) string {
	paths := column.Of(files, func(f iceberg.File) string { return driver.Quote(f.Path) })
	return "read_parquet([" + strings.Join(paths, ", ") + "], union_by_name = true, hive_partitioning = false)"
}
