package windows

import (
	"context"
	"strconv"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// metaNext is the key of table meta for the position in a log whose windows the file holds.
const metaNext = "windows-next"

// PutRead implements continuous.Follower.
func (s *Store) PutRead(ctx context.Context, list []*continuous.Window, next int64) ([]continuous.Outcome, error) {
	if err := check(list); err != nil {
		return nil, err
	}
	return s.put(ctx, list, func(c *driver.Conn) error { return setMeta(ctx, c, metaNext, strconv.FormatInt(next, 10)) })
}

// Next implements continuous.Follower.
func (s *Store) Next(ctx context.Context) (next int64, err error) {
	err = s.file.Look(ctx, func(c *driver.Conn) error {
		text, err := meta(ctx, c, metaNext)
		if err != nil || text == "" {
			return err
		}
		if next, err = strconv.ParseInt(text, 10, 64); err != nil {
			return driver.Corruptf("the position in the log, %q, is no number", text)
		}
		return nil
	})
	return next, err
}

// meta returns the value of a key of table meta; empty if there is none.
func meta(ctx context.Context, c *driver.Conn, key string) (value string, err error) {
	err = c.Query(ctx, "SELECT value FROM meta WHERE key = '"+key+"'", nil, func(ch driver.Chunk) error {
		value = ch.Texts(0)[0]
		return nil
	})
	return value, err
}

// setMeta sets the value of a key of table meta.
func setMeta(ctx context.Context, c *driver.Conn, key, value string) error {
	if err := c.Exec("DELETE FROM meta WHERE key = '" + key + "'"); err != nil {
		return err
	}
	return c.Query(ctx, "INSERT INTO meta VALUES (?, ?)", []any{key, value}, nil)
}
