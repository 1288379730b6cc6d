package duckdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/traceprof"
)

// traces is the part of the store that holds trace profiling. It has locks of
// its own: nothing in it refers to profiles or they to it, and a commit every
// few milliseconds must not wait for an import.
type traces struct {
	// write is held by the one call that changes something.
	write sync.Mutex

	// removal is held shared while a question reads snapshots and the stacks
	// they refer to, exclusively while a commit takes them away.
	removal sync.RWMutex

	mu    sync.Mutex                // guards tasks
	tasks map[string]traceprof.Task // all that are stored

	stacks stackCache

	// Keys of stored segments, and of how many that are not stored any more; they
	// belong to the holder of write.
	seen    keyFilter
	removed int

	// Numbers to be given next; they belong to the holder of write.
	nextTask               int32 // in table sampled_task
	nextSegment, nextChunk int64
}

var _ traceprof.Store = (*Store)(nil)

// load forgets what memory knows and reads what it must know of the file.
func (t *traces) load(c *conn) error {
	tasks, err := loadTasks(c)
	if err != nil {
		return err
	}
	const numbers = `SELECT (SELECT coalesce(max(id), -1) + 1 FROM sampled_task)::INTEGER,
		(SELECT coalesce(max(seq), -1) + 1 FROM segment)::BIGINT, (SELECT coalesce(max(seq), -1) + 1 FROM snapshot)::BIGINT`
	err = c.query(context.Background(), numbers, nil, func(ch chunk) error {
		t.nextTask, t.nextSegment, t.nextChunk = column[int32](ch, 0)[0], column[int64](ch, 1)[0], column[int64](ch, 2)[0]
		return nil
	})
	t.mu.Lock()
	t.tasks = tasks
	t.mu.Unlock()
	t.stacks.reset(defaultStacks)
	t.seen, t.removed = keyFilter{}, 0
	return err
}

// changeTraces runs f as the one call that changes traces, in one transaction that is
// committed when f returns nil. Then end, which may be nil, brings memory to what is
// in the file: before anything else changes traces, which must not build on what was
// not committed.
func (s *Store) changeTraces(ctx context.Context, f func(c *conn) error, end func(committed bool)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.writable(); err != nil {
		return err
	}
	s.traces.write.Lock()
	defer s.traces.write.Unlock()
	return s.with(func(c *conn) error {
		if err := c.exec("BEGIN TRANSACTION"); err != nil {
			return err
		}
		err := f(c)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = c.exec("COMMIT")
		}
		if err != nil {
			c.exec("ROLLBACK") // the first error says more
		}
		if end != nil {
			end(err == nil)
		}
		return err
	})
}

// look runs f with a connection.
func (s *Store) look(ctx context.Context, f func(c *conn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.with(f)
}

// lookTraces is look in one transaction that changes nothing.
func (s *Store) lookTraces(ctx context.Context, f func(c *conn) error) error {
	return s.look(ctx, func(c *conn) error {
		return c.joined(ctx.Err, func() error { return f(c) })
	})
}

// wantedTable holds, per connection, the texts that a statement joins, in groups.
// It is filled and used like selectedTable.
const wantedTable = `CREATE TEMP TABLE wanted(grp UTINYINT, key BIGINT, name VARCHAR)`

// textKey returns what stands for a text in narrow columns: its xxh3-64. Texts
// are compared as well wherever equal keys of different texts would matter.
func textKey(text string) int64 { return int64(xxh3.HashString(text)) }

// want adds texts and their keys to table wanted, as a group of that number.
func (c *conn) want(group uint8, texts []string) error {
	keys := make([]int64, len(texts))
	for i, text := range texts {
		keys[i] = textKey(text)
	}
	return c.appendTo("temp", "wanted", len(texts), slices.Repeat([]uint8{group}, len(texts)), keys, texts)
}

// wantKeys is want with keys alone.
func (c *conn) wantKeys(group uint8, keys []int64) error {
	n := len(keys)
	return c.appendTo("temp", "wanted", n, slices.Repeat([]uint8{group}, n), keys, make([]string, n))
}

// isWanted returns the condition that a text is in a group of table wanted and
// that its key says so: the narrow column of keys finds the rows, the text
// decides between texts of one key.
func isWanted(group uint8, key, text string) string {
	return fmt.Sprintf("%s IN (SELECT key FROM wanted WHERE grp = %d) AND %s IN (SELECT name FROM wanted WHERE grp = %d)", key, group, text, group)
}

// few is up to how many texts are looked for without table wanted.
const few = 8

// textsOf is a list that a text column must be in one of, with its column of keys.
// An empty list demands nothing.
type textsOf struct {
	key, text string
	list      []string
}

// among returns the condition that texts are in their lists and that their keys
// say so, with its parameters. Long lists go to table wanted, in groups by their
// places.
func (c *conn) among(lists ...textsOf) (condition string, args []any, err error) {
	condition = "true"
	for group, l := range lists {
		if len(l.list) > few {
			if err := c.want(uint8(group), l.list); err != nil {
				return "", nil, err
			}
			condition += " AND " + isWanted(uint8(group), l.key, l.text)
			continue
		}
		if len(l.list) == 0 {
			continue
		}
		keys := make([]string, len(l.list))
		for i, t := range l.list {
			keys[i], args = fmt.Sprint(textKey(t)), append(args, t)
		}
		condition += fmt.Sprintf(" AND %s IN (%s) AND %s IN (?%s)", l.key, strings.Join(keys, ", "), l.text, strings.Repeat(", ?", len(keys)-1))
	}
	return condition, args, nil
}
