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
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/iceberg"
)

// keepSnapshots is how long Compact keeps old states, and files that nobody uses: a
// query or a publication may have begun with them.
const keepSnapshots = 24 * time.Hour

// rewriting is what remains of a table, as SQL.
type rewriting struct{ table, sql string }

// rewrites are the rows of each table that remain when a partition is rewritten, in order.
// Tables that come later use files of earlier ones: $name stands for the new rows of a
// table, $files for its old files, $without for the condition of profiles that stay.
var rewrites = []rewriting{
	{"profiles", "SELECT * FROM $files WHERE $without ORDER BY grp, benchmark, date, run, seq"},
	{"function_samples", "SELECT * FROM $files WHERE $without ORDER BY grp, benchmark, date, profile"},
	{"path_samples", "SELECT * FROM $files WHERE $without ORDER BY grp, benchmark, date, profile"},
	{"metrics", "SELECT * FROM (SELECT DISTINCT ON (grp, benchmark, run, name) * FROM $files WHERE (grp, benchmark, run) IN (SELECT (grp, benchmark, run) FROM $profiles)) ORDER BY grp, benchmark, date, run, name"},
	{"paths", "SELECT * FROM (SELECT DISTINCT ON (grp, benchmark, path) * FROM $files WHERE (grp, benchmark, path) IN (SELECT (grp, benchmark, path) FROM $path_samples)) ORDER BY grp, benchmark, depth"},
	{"functions", "SELECT * FROM (SELECT DISTINCT ON (grp, benchmark, function) * FROM $files WHERE (grp, benchmark, function) IN (SELECT (grp, benchmark, function) FROM $paths)) ORDER BY grp, benchmark, name"},
}

// hourRewrites are those of the tables of hours: of an hour the sum of most windows stays.
var hourRewrites = []rewriting{
	{"series_hours", "SELECT * FROM (SELECT DISTINCT ON (series, partition, hour) * FROM $files ORDER BY windows DESC) ORDER BY service, series, hour"},
	{"series_samples", "SELECT * FROM $files WHERE (series, partition, hour, windows) IN (SELECT (series, partition, hour, windows) FROM $series_hours) ORDER BY service, series, path, hour"},
	{"series_functions", "SELECT * FROM $files WHERE (series, partition, hour, windows) IN (SELECT (series, partition, hour, windows) FROM $series_hours) ORDER BY function, service, hour"},
	{"window_paths", "SELECT * FROM (SELECT DISTINCT ON (service, path) * FROM $files) ORDER BY service, depth"},
	{"window_functions", "SELECT * FROM (SELECT DISTINCT ON (service, function) * FROM $files) ORDER BY service, name"},
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
	_, err = s.rewrite(ctx, s.lake, rewrites, v, parts)
	return len(v.profiles), err
}

// Compact implements store.Writer: of each partition with several files of a table it
// makes one, without the functions and paths that no profile has. It forgets states of the
// lake that are older than a day.
func (s *Store) Compact(ctx context.Context) error {
	one := func(iceberg.Partition) int { return 1 }
	if _, err := s.compact(ctx, s.lake, rewrites, one); err != nil {
		return err
	}
	hours, err := s.hourLake(ctx)
	if hours == nil || err != nil {
		return err
	}
	_, err = s.compact(ctx, hours, hourRewrites, one)
	return err
}

// CompactDays compacts the hours of days that ended before a time, where windows may be as late as some time.
func (s *Store) CompactDays(ctx context.Context, at time.Time, late time.Duration) (continuous.Compaction, error) {
	hours, err := s.hourLake(ctx)
	if hours == nil || err != nil {
		return continuous.Compaction{}, err
	}
	return s.compact(ctx, hours, hourRewrites, iceberg.DayFiles(at, late))
}

// compact makes one file of each table of those parts of a lake that have more than most allows, in a commit
// for each period. Whoever commits first keeps its files; the other looks again what there is to do.
func (s *Store) compact(ctx context.Context, l *iceberg.Lake, list []rewriting, most func(iceberg.Partition) int) (
	done continuous.Compaction, err error) {
	for finished, tries := map[int32]bool{}, 0; ; {
		now, err := l.Snapshot(ctx)
		if err != nil {
			return done, err
		}
		parts, err := now.Split(ctx, most)
		if err != nil {
			return done, err
		}
		if maps.DeleteFunc(parts, func(period int32, _ map[iceberg.Partition]bool) bool { return finished[period] }); len(parts) == 0 {
			break
		}
		period := slices.Min(slices.Collect(maps.Keys(parts)))
		one, err := s.rewrite(ctx, l, list, &view{s: s, now: now}, parts[period])
		if tries++; errors.Is(err, errReplaced) && tries < mostTries {
			continue
		} else if err != nil {
			return done, err
		}
		done.Merged, done.Made = done.Merged+one.Merged, done.Made+one.Made
		finished[period], tries = true, 0
	}
	done.Removed, err = l.Expire(ctx, time.Now().Add(-keepSnapshots))
	return done, err
}

// mostTries is how often a compaction that others were faster than looks again.
const mostTries = 3

// errReplaced is the error of a rewrite whose files are no part of the lake any more.
var errReplaced = errors.New("files were replaced meanwhile: repeat the command")

// rewrite replaces the files of partitions by one each, without the profiles of the view.
func (s *Store) rewrite(ctx context.Context, l *iceberg.Lake, list []rewriting, v *view, parts map[iceberg.Partition]bool) (
	done continuous.Compaction, err error) {
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
			left := maps.Clone(c.Remove)
			for _, f := range files {
				delete(left, f.Path)
			}
			if len(left) > 0 {
				return fmt.Errorf("table %s: %w", table, errReplaced)
			}
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
	replace := []string{"$files", filesSQL(files), "$without", without}
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
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = driver.Quote(f.Path)
	}
	return "read_parquet([" + strings.Join(paths, ", ") + "], union_by_name = true, hive_partitioning = false)"
}
