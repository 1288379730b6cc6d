package lake

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the catalog's driver

	"github.com/dendroprof/dendro/store"
)

// The names under which the catalog has the tables: lake.dendro.profiles.
const (
	catalogName = "lake"
	namespace   = "dendro"
	catalogFile = "catalog.db"
)

// rulesProperty is the property of table profiles with the version of the rules that
// normalised the names.
const rulesProperty = "dendro.rules"

// Lake is a directory with Iceberg tables and their catalog. It is safe for concurrent
// use, also by several processes.
type Lake struct {
	Dir string // absolute
	db  *sql.DB

	mu sync.Mutex // of what was read of files, which do not change, by path

	files    map[string][]File // of manifests
	profiles map[string][]profileRow
	metrics  map[string][]metricRow
}

// Open opens the lake in a directory. One that is not there wraps fs.ErrNotExist, unless
// it is to be created.
func Open(ctx context.Context, dir string, create bool) (*Lake, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("lake %s: %w", dir, err)
	}
	file := filepath.Join(dir, catalogFile)
	if create {
		err = os.MkdirAll(dir, 0o777)
	} else {
		_, err = os.Stat(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("lake %s: there is no lake (dendro publish creates one): %w", dir, fs.ErrNotExist)
	} else if err != nil {
		return nil, fmt.Errorf("lake %s: %w", dir, err)
	}
	// A transaction takes the lock when it begins. Others wait for it.
	address := url.URL{Scheme: "file", Path: file, RawQuery: "_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=synchronous(full)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, fmt.Errorf("lake %s: %w", dir, err)
	}
	l := &Lake{Dir: dir, db: db, files: map[string][]File{}}
	if create {
		err = l.change(ctx, l.createTables)
	}
	if err == nil {
		_, err = l.Snapshot(ctx)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return l, nil
}

// Close closes the catalog.
func (l *Lake) Close() error { return l.db.Close() }

// Snapshot is the state of all tables at one time.
type Snapshot struct {
	lake      *Lake
	locations map[string]string // of the metadata of each table
	tables    map[string]*metadata
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (l *Lake) snapshot(ctx context.Context, q querier) (*Snapshot, error) {
	s := &Snapshot{lake: l, locations: map[string]string{}, tables: map[string]*metadata{}}
	rows, err := q.QueryContext(ctx, "SELECT table_name, metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?", catalogName, namespace)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, location string
		if err := rows.Scan(&name, &location); err != nil {
			return nil, err
		}
		s.locations[name] = location
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, t := range tables {
		if s.locations[t.name] == "" {
			return nil, fmt.Errorf("the catalog has no table %s", t.name)
		}
		if s.tables[t.name], err = readMetadata(s.locations[t.name]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Snapshot returns the current state.
func (l *Lake) Snapshot(ctx context.Context) (*Snapshot, error) {
	s, err := l.snapshot(ctx, l.db)
	if err != nil {
		return nil, fmt.Errorf("lake %s: %w", l.Dir, err)
	}
	return s, nil
}

// Is reports whether two snapshots are the same.
func (s *Snapshot) Is(other *Snapshot) bool {
	return s != nil && other != nil && s.locations["profiles"] == other.locations["profiles"]
}

// Rules returns the version of the rules that normalised the names, empty if nothing was
// published.
func (s *Snapshot) Rules() string { return s.tables["profiles"].Properties[rulesProperty] }

// Partition is a part of each table of a lake: the rows of the runs of a month and of the
// benchmarks of a bucket.
type Partition struct {
	Month  int32 // since January 1970
	Dated  bool  // the month is known
	Bucket int32
}

// File is a Parquet file of a table.
type File struct {
	Partition
	Path string
	Rows int64
	Size int64
}

// Files lists the files of a table.
func (s *Snapshot) Files(table string) (list []File, err error) {
	manifests, err := s.tables[table].manifests()
	if err != nil {
		return nil, fmt.Errorf("lake %s: %w", s.lake.Dir, err)
	}
	for _, m := range manifests {
		s.lake.mu.Lock()
		files, known := s.lake.files[m.FilePath()]
		s.lake.mu.Unlock()
		if !known {
			all, err := entries(m)
			if err != nil {
				return nil, fmt.Errorf("lake %s: %w", s.lake.Dir, err)
			}
			for _, e := range all {
				files = append(files, fileOf(e))
			}
			s.lake.mu.Lock()
			s.lake.files[m.FilePath()] = files
			s.lake.mu.Unlock()
		}
		list = append(list, files...)
	}
	return list, nil
}

// change runs f in a transaction that holds the catalog's lock.
func (l *Lake) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("lake %s: %w", l.Dir, err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return fmt.Errorf("lake %s: %w", l.Dir, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("lake %s: %w", l.Dir, err)
	}
	return nil
}

// createTables creates the tables that are missing. The catalog's own tables are those of
// Iceberg's JDBC catalog, version 1.
func (l *Lake) createTables(tx *sql.Tx) error {
	_, err := tx.Exec(`CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5),
  PRIMARY KEY (catalog_name, table_namespace, table_name));
CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL,
  property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key));
INSERT OR IGNORE INTO iceberg_namespace_properties VALUES ('` + catalogName + `', '` + namespace + `', 'exists', 'true')`)
	if err != nil {
		return err
	}
	for _, t := range tables {
		n := 0
		if err := tx.QueryRow("SELECT count(*) FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?",
			catalogName, namespace, t.name).Scan(&n); err != nil || n > 0 {
			return err // all tables are there, or none
		}
		m, err := newMetadata(urlOf(filepath.Join(l.Dir, t.name)), t.columns, map[string]string{"write.parquet.compression-codec": "zstd"})
		if err != nil {
			return err
		}
		location, err := m.save("")
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, 'TABLE')", catalogName, namespace, t.name, location); err != nil {
			return err
		}
	}
	return nil
}

// Commit changes tables, all at once. Prepare is called with the state that the changes
// are made to, which nobody else changes meanwhile; if it returns an error, nothing
// changes.
func (l *Lake) Commit(ctx context.Context, changes map[string]Change, prepare func(*Snapshot) error) error {
	return l.change(ctx, func(tx *sql.Tx) error {
		now, err := l.snapshot(ctx, tx)
		if err != nil {
			return err
		}
		if err := prepare(now); err != nil {
			return err
		}
		for _, t := range tables {
			m := now.tables[t.name]
			if err := m.evolve(t.columns); err != nil {
				return err
			}
			if err := m.apply(changes[t.name]); err != nil {
				return err
			}
			if err := l.replace(tx, t.name, m, now.locations[t.name]); err != nil {
				return err
			}
		}
		return nil
	})
}

// replace makes a table's metadata current.
func (l *Lake) replace(tx *sql.Tx, name string, m *metadata, previous string) error {
	location, err := m.save(previous)
	if err != nil {
		return err
	}
	r, err := tx.Exec("UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?",
		location, previous, catalogName, namespace, name, previous)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, fmt.Errorf("table %s was changed meanwhile", name))
	}
	return nil
}

// sameRules checks that names were normalised by the rules of the lake, and records the
// rules of the first publication.
func (s *Snapshot) sameRules(rules string) error {
	if have := s.Rules(); have != "" && have != rules {
		return fmt.Errorf("its names were normalised by the rules %s, those of the store by %s (dendro copy --renormalize): %w", have, rules, store.ErrOtherRules)
	}
	s.tables["profiles"].Properties[rulesProperty] = rules
	return nil
}

// Expire forgets the snapshots before a time, and removes files that no snapshot has and
// that were not changed since.
func (l *Lake) Expire(ctx context.Context, before time.Time) error {
	used := map[string]bool{}
	err := l.change(ctx, func(tx *sql.Tx) error {
		now, err := l.snapshot(ctx, tx)
		if err != nil {
			return err
		}
		for _, t := range tables {
			m := now.tables[t.name]
			m.expire(before)
			if err := errors.Join(l.replace(tx, t.name, m, now.locations[t.name]), m.use(used)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range tables {
		err := filepath.WalkDir(filepath.Join(l.Dir, t.name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || used[path] {
				return err
			}
			info, err := d.Info()
			if err == nil && info.ModTime().Before(before) {
				err = os.Remove(path)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("lake %s: %w", l.Dir, err)
		}
	}
	return nil
}

// use marks the file of the metadata and those of all its snapshots.
func (m *metadata) use(used map[string]bool) error {
	used[pathOf(m.Saved)] = true
	for _, s := range m.Snapshots {
		used[pathOf(s.ManifestList)] = true
		list, err := readManifestList(s.ManifestList)
		if err != nil {
			return err
		}
		for _, manifest := range list {
			if path := pathOf(manifest.FilePath()); !used[path] {
				used[path] = true
				all, err := entries(manifest)
				if err != nil {
					return err
				}
				for _, e := range all {
					used[pathOf(e.DataFile().FilePath())] = true
				}
			}
		}
	}
	return nil
}
