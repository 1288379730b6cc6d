package duckdb

import (
	"context"
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
