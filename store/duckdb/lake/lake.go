// Package lake answers queries about a lake (package store/iceberg): Iceberg's metadata
// selects the Parquet files of a query, and a DuckDB in memory reads them.
//
// A query reads the current state of all tables at once (a Snapshot), filters the rows of
// table profiles in Go, and gives DuckDB the files that may have rows of the selected
// profiles, by month and bucket. The DuckDB can access the directory of the lake and one
// for what exceeds its memory, and nothing else. Only `dendro publish` adds profiles;
// Delete and Compact rewrite files.
package lake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/usersql"
	"github.com/dendroprof/dendro/store/iceberg"
)

// Store is a lake as a store that takes no new profiles. It is safe for concurrent use.
type Store struct {
	address string
	lake    *iceberg.Lake
	db      *driver.DB
	temp    string

	sql *usersql.Host

	windows // all hours
	hoursMu sync.Mutex
	hours   *iceberg.Lake // nil: its tables are not there, or were not asked for yet

	life   sync.RWMutex // held shared while a call uses the database
	closed bool

	read func(table string, files []iceberg.File) // for tests; may be nil
}

type windows = continuous.Store

var (
	_ store.Store      = (*Store)(nil)
	_ store.Aggregator = (*Store)(nil)
	_ store.SQLSpeaker = (*Store)(nil)
	_ continuous.Store = (*Store)(nil)
)

// Open opens the lake at an address, as package store/iceberg has it. The error wraps
// fs.ErrNotExist if there is none.
func Open(ctx context.Context, address string) (*Store, error) {
	l, err := iceberg.Open(ctx, address, iceberg.Options{})
	if err != nil {
		return nil, err
	}
	s := &Store{lake: l, address: address}
	s.windows = s.Before(nil)
	if s.temp, err = os.MkdirTemp("", "dendro-lake-*"); err == nil {
		s.db, err = driver.OpenMemory(l.Dir, s.temp)
	}
	if err != nil {
		l.Close()
		os.RemoveAll(s.temp)
		return nil, fmt.Errorf("lake %s: %w", l.Name, err)
	}
	s.sql = &usersql.Host{Path: l.Name, Views: s.views, Enter: s.enter, Leave: s.life.RUnlock, Connect: s.db.Connect,
		Reading: func(f func()) {
			s.life.RLock()
			defer s.life.RUnlock()
			f()
		},
		Begin: func(_ context.Context, c *driver.Conn, bind func() error) error {
			if err := c.Exec("BEGIN TRANSACTION READ ONLY"); err != nil {
				return err
			}
			return bind()
		}}
	return s, nil
}

// enter begins a use of the database, which s.life.RUnlock ends.
func (s *Store) enter(ctx context.Context) error {
	s.life.RLock()
	err := ctx.Err()
	if s.closed {
		err = fmt.Errorf("lake %s: the store is closed", s.lake.Name)
	}
	if err != nil {
		s.life.RUnlock()
	}
	return err
}

// SQL implements store.SQLSpeaker over the tables of the lake, which
// docs/lake.md describes.
func (s *Store) SQL(ctx context.Context, query string) (*store.SQLAnswer, error) {
	return s.sql.SQL(ctx, query)
}

// SQLOf implements store.SQLSpeaker with the views of a DuckDB file.
func (s *Store) SQLOf(ctx context.Context, runs store.Reader, query string) (*store.SQLAnswer, error) {
	return duckdb.SQLOf(ctx, runs, query)
}

// views returns the current tables as views. A table without a file has none. Only tables
// that a query names have all their files, which a bucket sends one by one.
func (s *Store) views(ctx context.Context, named map[string]bool) (list []driver.View, err error) {
	hours, err := s.hourLake(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range []*iceberg.Lake{s.lake, hours} {
		if l == nil {
			continue
		}
		now, err := l.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		for _, table := range l.Tables() {
			files, err := now.Files(ctx, table)
			if err == nil {
				if !named[table] {
					files = files[:min(1, len(files))]
				}
				err = l.Fetch(ctx, files)
			}
			if err != nil {
				return nil, err
			}
			if len(files) > 0 {
				list = append(list, driver.View{Name: table, SQL: "SELECT * FROM " + filesSQL(files)})
			}
		}
	}
	return list, nil
}

// Aggregates implements store.Aggregator.
func (s *Store) Aggregates() store.Aggregates {
	return store.Aggregates{SumFunctions: s.SumFunctions,
		MergeTrees: func(ctx context.Context, q store.Query, _ float64) (*calltree.Tree, []store.Profile, error) {
			return s.MergeTrees(ctx, q)
		}}
}

// Close ends the use of the lake. It may be called more than once.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.sql.Close()
	s.db.Close()
	os.RemoveAll(s.temp)
	if s.hours != nil {
		s.hours.Close()
	}
	return s.lake.Close()
}

// errPublish is the error of methods that write.
var errPublish = fmt.Errorf("%w: `dendro publish` adds profiles to a lake", store.ErrReadOnly)

// Put implements store.Writer.
func (s *Store) Put(context.Context, []*store.File, store.PutOptions) ([]store.Outcome, error) {
	return nil, fmt.Errorf("lake %s: %w", s.lake.Name, errPublish)
}

// Source implements store.Reader: a lake has no source files.
func (s *Store) Source(ctx context.Context, _ store.ProfileID) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, store.ErrNoSource
}

// Waiting implements store.Reader: a lake has metrics of profiles only.
func (s *Store) Waiting(ctx context.Context) ([]store.Measurement, error) { return nil, ctx.Err() }

// view is the lake at one time with the selected profiles.
type view struct {
	s        *Store
	now      *iceberg.Snapshot
	profiles []store.Profile
	count    map[iceberg.Partition]int // profiles, also those that are not selected
}

func (s *Store) view(ctx context.Context, q store.Query) (*view, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now, err := s.lake.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	all, err := now.Profiles(ctx, &q)
	if err != nil {
		return nil, err
	}
	v := &view{s: s, now: now, count: map[iceberg.Partition]int{}}
	for i := range all {
		v.count[iceberg.PartitionOf(&all[i])]++
	}
	v.profiles = q.Filter(all)
	return v, nil
}

// whole reports whether some profiles are all those of their partitions, so that rows of
// their files need no condition.
func (v *view) whole(profiles []store.Profile) bool {
	n := 0
	seen := map[iceberg.Partition]bool{}
	for i := range profiles {
		if part := iceberg.PartitionOf(&profiles[i]); !seen[part] {
			seen[part] = true
			n += v.count[part]
		}
	}
	return n == len(profiles)
}

// Info implements store.Reader.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	v, err := s.view(ctx, store.Query{})
	if err != nil {
		return store.Info{}, err
	}
	info := store.Info{Slow: store.Slow(s), Engine: "lake", Location: s.lake.Name, Schema: iceberg.Version, Rules: v.now.Rules(),
		Profiles: int64(len(v.profiles))}
	benchmarks, runs := map[string]bool{}, map[string]bool{}
	for i := range v.profiles {
		benchmarks[v.profiles[i].Benchmark.Group+"\x00"+v.profiles[i].Benchmark.Name] = true
		runs[v.profiles[i].Run.Key] = true
	}
	info.Benchmarks, info.Runs = int64(len(benchmarks)), int64(len(runs))
	if info.Bytes, err = v.now.Bytes(ctx); err != nil || len(v.profiles) == 0 {
		return info, err
	}
	err = s.use(func(c *driver.Conn) error {
		for column, n := range map[string]*int64{"function": &info.Functions, "path": &info.Paths} {
			from, err := v.from(ctx, column+"s", v.profiles)
			if err != nil {
				return err
			}
			if *n, err = c.Number(ctx, "SELECT count(DISTINCT "+column+") FROM "+from); err != nil {
				return err
			}
		}
		return nil
	})
	return info, err
}

// Profiles implements store.Reader.
func (s *Store) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	v, err := s.view(ctx, q)
	if err != nil {
		return nil, err
	}
	return v.profiles, nil
}

// use runs f with a connection.
func (s *Store) use(f func(*driver.Conn) error) error {
	if err := s.enter(context.Background()); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := s.db.Use(f); err != nil {
		return fmt.Errorf("lake %s: %w", s.lake.Name, err)
	}
	return nil
}

// from returns the rows of a table that may be of some profiles, as SQL. Its files
// are those of their months and of the buckets of their benchmarks.
func (v *view) from(ctx context.Context, table string, profiles []store.Profile) (string, error) {
	files, err := v.now.FilesOf(ctx, table, profiles)
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("no file of table %s has the selected profiles", table)
	}
	if v.s.read != nil {
		v.s.read(table, files)
	}
	if err := v.s.lake.Fetch(ctx, files); err != nil {
		return "", err
	}
	if v.whole(profiles) {
		return filesSQL(files) + " WHERE true", nil
	}
	return filesSQL(files) + " WHERE " +
		among("benchmark", profiles, func(p *store.Profile) string { return p.Benchmark.Name }), nil
}

// samplesOf is from for function_samples and path_samples: the rows of exactly the
// profiles. The other conditions let DuckDB skip parts of files.
func (v *view) samplesOf(ctx context.Context, table string, profiles []store.Profile) (string, error) {
	from, err := v.from(ctx, table, profiles)
	if err != nil || v.whole(profiles) {
		return from, err
	}
	return from + " AND " + among("type", profiles, func(p *store.Profile) string { return p.Type.Name }) +
		" AND " + amongIDs(profiles), nil
}

// amongIDs returns the condition that a row is of one of the profiles.
func amongIDs(profiles []store.Profile) string {
	return among("profile", profiles, func(p *store.Profile) string { return string(p.ID) })
}

// among returns the condition that a column has one of the values of profiles.
func among(column string, profiles []store.Profile, value func(*store.Profile) string) string {
	values := make([]string, len(profiles))
	for i := range profiles {
		values[i] = driver.Quote(value(&profiles[i]))
	}
	slices.Sort(values)
	return column + " IN (" + strings.Join(slices.Compact(values), ", ") + ")"
}

// functions reads the functions that the selected profiles may have, by id.
func (v *view) functions(ctx context.Context, c *driver.Conn) (map[int64]profile.Function, error) {
	from, err := v.from(ctx, "functions", v.profiles)
	if err != nil {
		return nil, err
	}
	return functionsOf(ctx, c, from)
}

// functionsOf reads the functions of rows that SQL selects, by id.
func functionsOf(ctx context.Context, c *driver.Conn, from string) (map[int64]profile.Function, error) {
	list := map[int64]profile.Function{}
	var id int64
	var row profile.Function
	var kind string
	dest := []any{&id, &row.Name, &kind, &row.Module, &row.File, &row.Language, &row.SystemName, &row.StartLine, &row.Column}
	err := c.Rows(ctx, "SELECT DISTINCT function, name, coalesce(kind, ''), module, file, language, system_name, start_line, start_column FROM "+from, nil, dest, func() error {
		fn := row
		fn.Kind, _ = profile.ParseKind(kind) // of a newer version: unknown
		if have, known := list[id]; known {
			if have.Name != fn.Name {
				return fmt.Errorf("%w: functions %q and %q have the same id %d", store.ErrCorrupt, have.Name, fn.Name, id)
			}
			fn = calltree.MergeAttributes(have, fn)
		}
		list[id] = fn
		return nil
	})
	return list, err
}

// batchNodes are the rows that are in memory at a time.
const batchNodes = 1 << 21

// batches cuts a list of profiles into parts, each of at most batchNodes call nodes or
// one profile.
func batches(list []store.Profile) (parts [][]store.Profile) {
	begin, nodes := 0, 0
	for i := range list {
		if nodes += list[i].Nodes; nodes > batchNodes && i > begin {
			parts, begin, nodes = append(parts, list[begin:i]), i, list[i].Nodes
		}
	}
	return append(parts, list[begin:])
}

// batchesOfFiles is batches for readers to whom the order of profiles does not matter: a file
// is read for one batch, unless its profiles are more than that.
func batchesOfFiles(list []store.Profile) (parts [][]store.Profile) {
	of := map[iceberg.Partition][]store.Profile{}
	nodes := map[iceberg.Partition]int{}
	for i := range list {
		part := iceberg.PartitionOf(&list[i])
		of[part] = append(of[part], list[i])
		nodes[part] += list[i].Nodes
	}
	order := slices.SortedFunc(maps.Keys(of), func(a, b iceberg.Partition) int {
		return cmp.Or(cmp.Compare(a.Period, b.Period), cmp.Compare(a.Bucket, b.Bucket))
	})
	var next []store.Profile
	n := 0
	for _, part := range order {
		if n += nodes[part]; n > batchNodes && len(next) > 0 {
			parts, next, n = append(parts, batches(next)...), nil, nodes[part]
		}
		next = append(next, of[part]...)
	}
	return append(parts, batches(next)...)
}
