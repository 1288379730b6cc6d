package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dendroprof/dendro/store"
)

// exported are the views that an export holds as rows, for engines that cannot
// decode blobs. An import does not read them.
var exported = []string{"sample", "function_node"}

// ExportParquet writes the whole store into a directory, which is created and
// must not have such files yet: one Parquet file per table, named like it, and
// sample.parquet and function_node.parquet with every call node as a row. The
// store serves nobody else meanwhile.
func (s *Store) ExportParquet(ctx context.Context, dir string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.leave()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	names = append(names, exported...)
	for _, name := range names {
		if _, err := os.Stat(parquetFile(dir, name)); err == nil {
			return fmt.Errorf("export: %s exists already; give a new directory", parquetFile(dir, name))
		}
	}
	return s.external(func(c *conn) error {
		v, err := s.dict.reader(c)
		if err != nil {
			return err
		}
		s.sessions.show(v)
		for _, v := range views {
			if err := c.exec("CREATE TEMP VIEW " + v.name + " AS " + v.sql); err != nil {
				return err
			}
		}
		for _, name := range names {
			sql := fmt.Sprintf("COPY (FROM %s) TO %s (FORMAT parquet, COMPRESSION zstd)", name, quoted(parquetFile(dir, name)))
			if err := c.query(ctx, sql, nil, nil); err != nil {
				return fmt.Errorf("export %s: %w", name, err)
			}
		}
		return nil
	}, nil)
}

func parquetFile(dir, table string) string { return filepath.Join(dir, table+".parquet") }

// ImportParquet fills an empty store with what ExportParquet wrote, in one
// transaction. Answers are those of the exported store.
func (s *Store) ImportParquet(ctx context.Context, dir string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	err := s.writable()
	if len(s.cat.all()) > 0 {
		err = errors.Join(err, fmt.Errorf("%s: an import needs an empty store", s.path))
	}
	s.leave()
	if err != nil {
		return err
	}
	return s.external(func(c *conn) error {
		if err := checkExport(ctx, c, dir); err != nil {
			return err
		}
		if err := c.exec("BEGIN TRANSACTION"); err != nil {
			return err
		}
		err := importTables(ctx, c, dir)
		if err == nil {
			err = c.exec("COMMIT")
		}
		if err != nil {
			c.exec("ROLLBACK")
		}
		return err
	}, nil)
}

// checkExport demands that the directory holds an export of this schema.
func checkExport(ctx context.Context, c *conn, dir string) error {
	version := ""
	err := c.query(ctx, fmt.Sprintf("SELECT value FROM read_parquet(%s) WHERE key = '%s'", quoted(parquetFile(dir, "meta")), metaVersion), nil, func(ch chunk) error {
		version = ch.texts(0)[0]
		return nil
	})
	if err != nil || version == "" {
		return fmt.Errorf("%s: %w: it has no export (%w)", dir, store.ErrNotStore, err)
	}
	if version != fmt.Sprint(schemaVersion) {
		return fmt.Errorf("%s: the export has schema %s, this program reads %d: %w", dir, version, schemaVersion, store.ErrNewer)
	}
	return nil
}

func importTables(ctx context.Context, c *conn, dir string) error {
	for _, t := range tables {
		for _, sql := range []string{
			"DELETE FROM " + t.name,
			fmt.Sprintf("INSERT INTO %s BY NAME FROM read_parquet(%s)", t.name, quoted(parquetFile(dir, t.name))),
		} {
			if err := c.query(ctx, sql, nil, nil); err != nil {
				return fmt.Errorf("import %s: %w", t.name, err)
			}
		}
	}
	return nil
}
