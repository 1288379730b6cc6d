package duckdb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
)

// exported are the views that an export contains as rows, for engines that cannot
// decode blobs. An import does not read them.
var exported = []string{"sample", "function_node"}

// ExportParquet writes the whole store into a directory, which it creates and which
// must not contain such files: one Parquet file per table, named like it, and
// sample.parquet and function_node.parquet with every call node as a row. No other
// call uses the store at the same time.
func (s *Store) ExportParquet(ctx context.Context, dir string) error {
	if err := s.file.Enter(ctx); err != nil {
		return err
	}
	s.file.Leave()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	names = append(names, exported...)
	for _, name := range names {
		if _, err := os.Stat(parquetFile(dir, name)); err == nil {
			return fmt.Errorf("export: %s exists already; give a new directory", parquetFile(dir, name))
		}
	}
	return s.external(func(c *driver.Conn) error {
		if err := profiles.ShowForest(s.profileStore, c); err != nil {
			return err
		}
		for _, v := range views {
			if err := c.Exec("CREATE TEMP VIEW " + v.Name + " AS " + v.SQL); err != nil {
				return err
			}
		}
		for _, name := range names {
			sql := fmt.Sprintf("COPY (FROM %s) TO %s (FORMAT parquet, COMPRESSION zstd)", name, driver.Quote(parquetFile(dir, name)))
			if err := c.Query(ctx, sql, nil, nil); err != nil {
				return fmt.Errorf("export %s: %w", name, err)
			}
		}
		return nil
	}, nil)
}

func parquetFile(dir, table string) string { return filepath.Join(dir, table+".parquet") }

// ImportParquet fills an empty store with an export, in one transaction. Its results
// are those of the exported store.
func (s *Store) ImportParquet(ctx context.Context, dir string) error {
	if err := s.file.Writable(); err != nil {
		return err
	}
	if list, err := s.Profiles(ctx, store.Query{}); err != nil {
		return err
	} else if len(list) > 0 {
		return fmt.Errorf("%s: an import needs an empty store", s.file.Path)
	}
	return s.external(func(c *driver.Conn) error {
		if err := checkExport(ctx, c, dir); err != nil {
			return err
		}
		return c.WriteTx(func() error { return importTables(ctx, c, dir) })
	}, nil)
}

// checkExport checks that the directory holds an export of this schema.
func checkExport(ctx context.Context, c *driver.Conn, dir string) error {
	version := ""
	err := c.Query(ctx, fmt.Sprintf("SELECT value FROM read_parquet(%s) WHERE key = '%s'", driver.Quote(parquetFile(dir, "meta")), metaVersion), nil, func(ch driver.Chunk) error {
		version = ch.Texts(0)[0]
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

func importTables(ctx context.Context, c *driver.Conn, dir string) error {
	for _, t := range tables {
		for _, sql := range []string{
			"DELETE FROM " + t.Name,
			fmt.Sprintf("INSERT INTO %s BY NAME FROM read_parquet(%s)", t.Name, driver.Quote(parquetFile(dir, t.Name))),
		} {
			if err := c.Query(ctx, sql, nil, nil); err != nil {
				return fmt.Errorf("import %s: %w", t.Name, err)
			}
		}
	}
	return nil
}
