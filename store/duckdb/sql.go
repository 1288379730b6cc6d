package duckdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
	"github.com/dendroprof/dendro/store/duckdb/internal/usersql"
)

// ErrNotAllowed reports a statement that users may not run, because it changes the
// store or accesses anything else.
var ErrNotAllowed = usersql.ErrNotAllowed

// SQL runs one SELECT (or EXPLAIN, DESCRIBE, SHOW, SUMMARIZE) of a user over the
// tables and over the views profiles, functions, function_sample, path, sample,
// function_node, invokes and recurs, which docs/schema/duckdb.md describes.
//
// It cannot change anything and cannot reach files or the network: only these
// statements are accepted, in a read-only transaction, without functions that read
// files, on a database without access to files and network. Values are bool, int64,
// float64, string, time.Time, []byte or nil; others (large integers, decimals, lists,
// structs) are text.
func (s *Store) SQL(ctx context.Context, query string) (*store.SQLAnswer, error) {
	return s.sql.SQL(ctx, query)
}

// SQLOf implements store.SQLSpeaker.
func (s *Store) SQLOf(ctx context.Context, runs store.Reader, query string) (*store.SQLAnswer, error) {
	return SQLOf(ctx, runs, query)
}

// SQLOf runs a user's query over a copy of runs, which is gone once the rows are read.
func SQLOf(ctx context.Context, runs store.Reader, query string) (*store.SQLAnswer, error) {
	dir, err := os.MkdirTemp("", "dendro-sql-*")
	if err != nil {
		return nil, err
	}
	copied, err := Open(ctx, filepath.Join(dir, "runs.duckdb"), Options{MemoryLimit: copyMemory})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	remove := func() error { return errors.Join(copied.Close(), os.RemoveAll(dir)) }
	var answer *store.SQLAnswer
	if err = store.Copy(ctx, copied, runs, store.CopyOptions{}); err == nil {
		answer, err = copied.SQL(ctx, query)
	}
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	rows := answer.Rows
	answer.Rows = func(yield func([]any, error) bool) {
		defer remove()
		rows(yield)
	}
	return answer, nil
}

// copyMemory is that of the DuckDB of a copy of runs, which has thousands of them at most.
const copyMemory = "256MiB"

// newHost returns the store as a database for users' SQL.
func newHost(s *Store) *usersql.Host {
	return &usersql.Host{Path: filepath.Base(s.file.Path),
		Views: func(context.Context, map[string]bool) ([]driver.View, error) { return allViews, nil }, Enter: s.file.Enter, Leave: s.file.Leave,
		Reading: s.file.Reading, Connect: s.file.Connect,
		Begin: func(ctx context.Context, c *driver.Conn, bind func() error) error {
			return profiles.ReadSnapshot(ctx, s.profileStore, c, func() error {
				if err := c.Exec("BEGIN TRANSACTION READ ONLY"); err != nil {
					return err
				}
				return c.Query(ctx, "SELECT key FROM meta", nil, nil) // takes the snapshot
			}, bind)
		}}
}
