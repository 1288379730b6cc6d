package iceberg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/internal/bucket"
	"github.com/dendroprof/dendro/store"
)

// The properties of table profiles.
const (
	rulesProperty   = "dendro.rules"   // version of the rules that normalised the names
	versionProperty = "dendro.version" // Version, when the lake was made
)

// Lake is Iceberg tables in a warehouse, and their catalog. It is safe for concurrent
// use, also by several processes.
type Lake struct {
	Name      string // for messages: the directory, or the catalog's URL without its password
	Dir       string // absolute: the directory of this machine whose files programs read
	set       *tableSet
	catalog   *catalog
	warehouse *warehouse

	mu sync.Mutex // of what was read of files, which do not change, by path

	files    map[string][]File // of manifests
	profiles map[string][]profileRow
	metrics  map[string][]metricRow
}

// Options are those of opening a lake.
type Options struct {
	Create    bool   // if it is not there
	Hours     bool   // the tables of hours of pushed profiles, not those of runs; each has its own Lake
	Warehouse string // where the files of a new lake are: a bucket (s3://bucket/prefix), or a directory if the catalog is in PostgreSQL
}

// Open opens the lake at an address: a directory, which has its catalog, or the URL of a
// catalog in PostgreSQL (postgres://user@host/database). The error wraps fs.ErrNotExist
// if there is none.
func Open(ctx context.Context, address string, o Options) (*Lake, error) {
	l := &Lake{Name: address, set: runSet, files: map[string][]File{}}
	if o.Hours {
		l.set = hourSet
	}
	if err := l.open(ctx, address, o); err != nil {
		if l.catalog != nil {
			l.catalog.db.Close()
		}
		return nil, l.wrap(err)
	}
	return l, nil
}

func (l *Lake) open(ctx context.Context, address string, o Options) (err error) {
	where, dir := strings.TrimSuffix(o.Warehouse, "/"), ""
	switch {
	case isPostgres(address):
		if u, err := url.Parse(address); err == nil {
			l.Name = u.Redacted()
		}
		if where != "" && !bucket.Is(where) {
			if where, err = filepath.Abs(where); err != nil {
				return err
			}
			where = urlOf(where)
		}
		l.catalog, err = openPostgres(ctx, address)
	case strings.Contains(address, "://"):
		return errors.New("a lake is named by its catalog, postgres://USER@HOST/DATABASE or a directory; `dendro publish --warehouse` says where the files of a new one are")
	default:
		if dir, err = filepath.Abs(address); err != nil {
			return err
		}
		l.Name = dir
		if where != "" && !bucket.Is(where) {
			return fmt.Errorf("its catalog is in a directory, which has its files too: leave out --warehouse %s", where)
		} else if where == "" {
			where = urlOf(dir)
		}
		l.catalog, err = openFile(dir, o.Create)
	}
	if err != nil {
		return err
	}
	if o.Create {
		if err := l.catalog.change(ctx, func(tx *sql.Tx) error { return l.create(ctx, tx, where, dir) }); err != nil {
			return err
		}
	}
	locations, err := l.catalog.locations(ctx, l.catalog.db)
	if err != nil {
		return err
	}
	home := homeOf(locations)
	if home == "" {
		return errNoLake
	}
	if o.Warehouse != "" && home != where {
		return fmt.Errorf("its files are in %s, not in %s: leave out --warehouse", home, where)
	}
	if l.warehouse, err = newWarehouse(ctx, home, dir); err != nil {
		return err
	}
	l.Dir = l.warehouse.dir
	_, err = l.snapshot(ctx, l.catalog.db)
	return err
}

// create creates the tables if there are none, in the warehouse at a URL.
func (l *Lake) create(ctx context.Context, tx *sql.Tx, where, dir string) error {
	if err := l.catalog.create(ctx, tx); err != nil {
		return err
	}
	have, err := l.catalog.locations(ctx, tx)
	if err != nil {
		return err
	}
	if home := homeOf(have); home != "" {
		where = home
	}
	if where == "" {
		return errors.New("there is no lake yet: say where its files are to be (--warehouse s3://BUCKET/PREFIX, or a directory)")
	}
	w, err := newWarehouse(ctx, where, dir)
	if err != nil {
		return err
	}
	for _, set := range slices.Compact([]*tableSet{runSet, l.set}) { // a lake always has tables of runs
		if have[set.main()] != "" {
			continue
		}
		for _, t := range set.tables {
			properties := map[string]string{"write.parquet.compression-codec": "zstd"}
			if t.name == set.main() {
				properties[versionProperty] = strconv.Itoa(set.version)
			}
			m, err := set.newMetadata(w, t.name, t.columns, properties)
			if err != nil {
				return err
			}
			location, err := m.save(ctx, "")
			if err != nil {
				return err
			}
			if err := l.catalog.add(ctx, tx, t.name, location); err != nil {
				return err
			}
		}
	}
	return nil
}

// homeOf returns where the files of the lake are whose tables have their metadata at locations;
// empty: there is none.
func homeOf(locations map[string]string) string {
	home, _, _ := strings.Cut(locations[runSet.main()], "/"+runSet.main()+"/metadata/")
	return home
}

// wrap adds the name of the lake to an error, and store.ErrNoSpace to that of a full disk.
func (l *Lake) wrap(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ENOSPC) || fullCatalog(err) {
		err = fmt.Errorf("%w: free some space and repeat the command; what was committed is safe, nothing of the failed commit is in the lake (%w)", store.ErrNoSpace, err)
	}
	return fmt.Errorf("lake %s: %w", l.Name, err)
}

// Close closes the catalog.
func (l *Lake) Close() error { return l.catalog.db.Close() }

// Moved returns the URL of the directory that the metadata names, if it is not that of
// the lake any more. Dendro finds the files all the same; other programs do not.
func (l *Lake) Moved() string {
	if l.warehouse.bucket != nil {
		return ""
	}
	was, err := os.Stat(filepath.FromSlash(plain(l.warehouse.url)))
	if is, statErr := os.Stat(l.Dir); err == nil && statErr == nil && os.SameFile(was, is) {
		return ""
	}
	return l.warehouse.url
}

// Tables lists the names of the tables.
func (l *Lake) Tables() (names []string) {
	for _, t := range l.set.tables {
		names = append(names, t.name)
	}
	return names
}

// Snapshot is the state of all tables at one time.
type Snapshot struct {
	lake      *Lake
	locations map[string]string // of the metadata of each table
	tables    map[string]*metadata
}

func (l *Lake) snapshot(ctx context.Context, q querier) (*Snapshot, error) {
	s := &Snapshot{lake: l, tables: map[string]*metadata{}}
	var err error
	if s.locations, err = l.catalog.locations(ctx, q); err != nil {
		return nil, err
	}
	var paths []string
	for _, t := range l.set.tables {
		if s.locations[t.name] == "" {
			return nil, fmt.Errorf("the catalog has no table %s: %w", t.name, fs.ErrNotExist)
		}
		paths = append(paths, l.warehouse.path(s.locations[t.name]))
	}
	if err := l.warehouse.fetch(ctx, paths...); err != nil {
		return nil, err
	}
	for _, t := range l.set.tables {
		if s.tables[t.name], err = readMetadata(ctx, l.warehouse, s.locations[t.name]); err != nil {
			return nil, err
		}
	}
	if version, _ := strconv.Atoi(s.tables[l.set.main()].Properties[versionProperty]); version > l.set.version {
		return nil, fmt.Errorf("its tables have version %d, this program knows %d: use a newer dendro", version, l.set.version)
	}
	return s, nil
}

// eachTable calls f for all tables at once: a file of a bucket takes its time, and the
// catalog is locked meanwhile.
func (s *Snapshot) eachTable(ctx context.Context, f func(context.Context, tableSchema, *metadata) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range s.lake.set.tables {
		g.Go(func() error { return f(ctx, t, s.tables[t.name]) })
	}
	return g.Wait()
}

// Snapshot returns the current state.
func (l *Lake) Snapshot(ctx context.Context) (*Snapshot, error) {
	s, err := l.snapshot(ctx, l.catalog.db)
	return s, l.wrap(err)
}

// Is reports whether two snapshots are the same.
func (s *Snapshot) Is(other *Snapshot) bool {
	return s != nil && other != nil && s.locations[s.lake.set.main()] == other.locations[other.lake.set.main()]
}

// Rules returns the version of the rules that normalised the names, empty if nothing was
// published.
func (s *Snapshot) Rules() string { return s.tables["profiles"].Properties[rulesProperty] }

// Files lists the files of a table.
func (s *Snapshot) Files(ctx context.Context, table string) (list []File, err error) {
	m, l := s.tables[table], s.lake
	manifests, err := m.manifests(ctx)
	if err != nil {
		return nil, l.wrap(err)
	}
	for _, manifest := range manifests {
		l.mu.Lock()
		files, known := l.files[manifest.FilePath()]
		l.mu.Unlock()
		if !known {
			all, err := m.entries(ctx, manifest)
			if err != nil {
				return nil, l.wrap(err)
			}
			for _, e := range all {
				files = append(files, m.fileOf(e))
			}
			l.mu.Lock()
			l.files[manifest.FilePath()] = files
			l.mu.Unlock()
		}
		list = append(list, files...)
	}
	return list, nil
}

// Split returns the parts of which the main table has more files than most allows, by period. Each commit
// adds one to each of its parts.
func (s *Snapshot) Split(ctx context.Context, most func(Partition) int) (map[int32]map[Partition]bool, error) {
	files, err := s.Files(ctx, s.lake.set.main())
	n, parts := map[Partition]int{}, map[int32]map[Partition]bool{}
	for _, f := range files {
		if n[f.Partition]++; n[f.Partition] > most(f.Partition) {
			if parts[f.Period] == nil {
				parts[f.Period] = map[Partition]bool{}
			}
			parts[f.Period][f.Partition] = true
		}
	}
	return parts, err
}

// Fetch makes sure that programs of this machine can read files.
func (l *Lake) Fetch(ctx context.Context, files []File) error {
	return l.wrap(l.warehouse.fetch(ctx, pathsOf(files)...))
}

// Keep makes a complete Parquet file durable, for a later Commit.
func (l *Lake) Keep(ctx context.Context, part Partition, path string) (File, error) {
	f, err := describe(part, path)
	if err == nil {
		err = l.warehouse.keep(ctx, path)
	}
	return f, l.wrap(err)
}

// Undo removes files that a change, which failed if there is an error, did not add to a table. If nobody knows whether
// it did, they stay: Expire removes those that no table has.
func (l *Lake) Undo(ctx context.Context, err error, files []File) {
	if err != nil && !errors.Is(err, errUnsure) {
		l.Remove(context.WithoutCancel(ctx), files)
	}
}

// Remove removes files that no table has.
func (l *Lake) Remove(ctx context.Context, files []File) error {
	return l.wrap(l.warehouse.remove(ctx, pathsOf(files)...))
}

func pathsOf(files []File) []string {
	paths := make([]string, len(files))
	for i := range files {
		paths[i] = files[i].Path
	}
	return paths
}

// change changes all tables in a transaction of the catalog. F changes the metadata of
// the current state.
func (l *Lake) change(ctx context.Context, f func(*Snapshot) error) error {
	return l.wrap(l.catalog.change(ctx, func(tx *sql.Tx) error {
		now, err := l.snapshot(ctx, tx)
		if err != nil {
			return err
		}
		if err := f(now); err != nil {
			return err
		}
		err = now.eachTable(ctx, func(ctx context.Context, t tableSchema, m *metadata) error {
			_, err := m.save(ctx, now.locations[t.name])
			return err
		})
		if err != nil {
			return err
		}
		for _, t := range l.set.tables {
			if err := l.catalog.replace(ctx, tx, t.name, now.tables[t.name].Saved, now.locations[t.name]); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Commit changes tables, all at once. Prepare is called with the state that the changes
// are made to, which nobody else changes meanwhile; if it returns an error, nothing
// changes.
func (l *Lake) Commit(ctx context.Context, changes map[string]Change, prepare func(*Snapshot) error) error {
	return l.change(ctx, func(now *Snapshot) error {
		if err := prepare(now); err != nil {
			return err
		}
		return now.eachTable(ctx, func(ctx context.Context, t tableSchema, m *metadata) error {
			if err := m.evolve(t.columns); err != nil {
				return err
			}
			return m.apply(ctx, changes[t.name])
		})
	})
}

// Relocate writes metadata with the present directory of a lake that was moved. States
// before are forgotten.
func (l *Lake) Relocate(ctx context.Context) error {
	to := &warehouse{url: urlOf(l.Dir), dir: l.Dir}
	err := l.change(ctx, func(now *Snapshot) error {
		for _, t := range l.set.tables {
			files, err := now.Files(ctx, t.name)
			if err != nil {
				return err
			}
			for i, f := range files {
				if files[i], err = describe(f.Partition, f.Path); err != nil {
					return err
				}
			}
			m := now.tables[t.name]
			m.warehouse, m.Location = to, to.url+"/"+t.name
			m.CurrentSnapshot, m.Refs, m.Snapshots, m.SnapshotLog = nil, nil, nil, nil
			if err := m.apply(ctx, Change{Add: files}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		l.warehouse = to
	}
	return err
}

// Expire forgets the snapshots that were replaced before a time, and removes files that no snapshot has and
// that were not changed since. It returns how many.
func (l *Lake) Expire(ctx context.Context, before time.Time) (removed int, err error) {
	used := map[string]bool{}
	var now *Snapshot
	err = l.change(ctx, func(s *Snapshot) error {
		now = s
		for _, t := range l.set.tables {
			s.tables[t.name].expire(before)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, t := range l.set.tables {
		if err := now.tables[t.name].use(ctx, used); err != nil {
			return 0, l.wrap(err)
		}
	}
	for _, t := range l.set.tables {
		old, err := l.warehouse.before(ctx, t.name, before)
		old = slices.DeleteFunc(old, func(path string) bool { return used[path] })
		if err == nil {
			err = l.warehouse.remove(ctx, old...)
		}
		if err != nil {
			return removed, l.wrap(err)
		}
		removed += len(old)
	}
	return removed, nil
}

// use marks the file of the metadata and those of all its snapshots.
func (m *metadata) use(ctx context.Context, used map[string]bool) error {
	used[m.warehouse.path(m.Saved)] = true
	for i := range m.Snapshots {
		used[m.warehouse.path(m.Snapshots[i].ManifestList)] = true
		list, err := m.manifestsOf(ctx, &m.Snapshots[i])
		if err != nil {
			return err
		}
		for _, manifest := range list {
			if path := m.warehouse.path(manifest.FilePath()); !used[path] {
				used[path] = true
				all, err := m.entries(ctx, manifest)
				if err != nil {
					return err
				}
				for _, e := range all {
					used[m.warehouse.path(e.DataFile().FilePath())] = true
				}
			}
		}
	}
	return nil
}
