package windows

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// metaNext is the key of table meta for the position in a log whose windows the file holds: the
// next record and, behind a space, from when on it has all windows, in milliseconds.
const metaNext = "windows-next"

// PutRead implements continuous.Follower.
func (s *Store) PutRead(ctx context.Context, list []*continuous.Window, behind continuous.Position) ([]continuous.Outcome, error) {
	if err := check(list); err != nil {
		return nil, err
	}
	text := strconv.FormatInt(behind.Next, 10)
	if !behind.From.IsZero() {
		text += " " + strconv.FormatInt(behind.From.UnixMilli(), 10)
	}
	return s.put(ctx, list, func(c *driver.Conn) error { return c.SetMeta(ctx, metaNext, text) })
}

// Position implements continuous.Follower.
func (s *Store) Position(ctx context.Context) (at continuous.Position, err error) {
	err = s.look(ctx, func(st *state) { at.Kept = st.progress.From() }, func(c *driver.Conn) error {
		text, err := c.Meta(ctx, metaNext)
		if err != nil || text == "" {
			return err
		}
		next, from, missed := strings.Cut(text, " ")
		if at.Next, err = strconv.ParseInt(next, 10, 64); err == nil && missed {
			var ms int64
			ms, err = strconv.ParseInt(from, 10, 64)
			at.From = timeOf(ms)
		}
		if err != nil {
			return driver.Corruptf("the position in the log, %q, is no number", text)
		}
		return nil
	})
	return at, err
}

// Made implements continuous.HourStore.
func (s *Store) Made(ctx context.Context) (until time.Time, err error) {
	return until, s.look(ctx, func(st *state) { until = st.progress.Until() }, func(*driver.Conn) error { return nil })
}
