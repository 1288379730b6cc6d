// Package traces keeps the data of trace profiling in the tables of a DuckDB file.
//
// A task has a dictionary of stacks. The snapshots of a segment that come together
// are one row of packed columns over it. A write looks nothing up: if a
// snapshot comes twice, the reader finds the first one. In memory are the tasks, the
// dictionaries that were used last and two bytes for each segment, which show whether
// an id is certainly new. store/duckdb/FORMAT.md documents every table and every byte.
package traces

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// Store keeps the data of trace profiling in a file. It has separate locks: its
// rows and those of profiles do not refer to each other, and a commit every few
// milliseconds must not wait for an import.
type Store struct {
	file *driver.File

	// write is held by the one call that changes something, before it enters the file.
	write sync.Mutex

	// removal is held shared while a query reads snapshots and the stacks that they
	// refer to, exclusively while a commit removes them.
	removal sync.RWMutex

	mu    sync.Mutex                // guards tasks
	tasks map[string]traceprof.Task // all that are stored

	stacks stackCache

	// Keys of stored segments, and how many of them are not stored any more; they
	// belong to the holder of write.
	seen    keyFilter
	removed int

	// The next free numbers; they belong to the holder of write.
	nextTask               int32 // in table sampled_task
	nextSegment, nextChunk int64
}

var _ traceprof.Store = (*Store)(nil)

// New returns the traces of a file, to be loaded by Load.
func New(file *driver.File) *Store { return &Store{file: file} }

// What follows are functions and not methods because package duckdb embeds Store
// and users must not see them.

// Session is the SQL that a connection needs before this package can use it.
const Session = wantedTable

// Freeze keeps everything from changing until thaw is called. Queries go on.
func Freeze(s *Store) (thaw func()) {
	s.write.Lock()
	return s.write.Unlock
}

// LimitStacks implements traceprof.Store; the default is 256 MiB.
func (s *Store) LimitStacks(bytes int64) { s.stacks.reset(bytes) }

// Load reads what memory must know of a database that was just opened.
func Load(ctx context.Context, s *Store, c *driver.Conn) error {
	if err := RegisterDecoders(c); err != nil {
		return err
	}
	tasks, err := loadTasks(ctx, c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.tasks = tasks
	s.mu.Unlock()
	s.stacks.reset(cmp.Or(s.stacks.byID.Limit(), defaultStacks))
	s.seen, s.removed = keyFilter{}, 0
	if s.file.Writable() != nil {
		return nil // nobody needs the next numbers
	}
	const next = `SELECT (SELECT coalesce(max(id), -1) + 1 FROM sampled_task)::INTEGER,
		(SELECT coalesce(max(seq), -1) + 1 FROM segment)::BIGINT, (SELECT coalesce(max(seq), -1) + 1 FROM snapshot)::BIGINT`
	return c.Rows(ctx, next, nil, []any{&s.nextTask, &s.nextSegment, &s.nextChunk}, func() error { return nil })
}

// change runs f as the one call that changes traces, in one transaction that is
// committed if f returns nil. Then end, which may be nil, updates memory to the
// file, before another change can depend on a part that was not committed.
func (s *Store) change(ctx context.Context, f func(c *driver.Conn) error, end func(committed bool)) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.file.EnterToWrite(ctx); err != nil {
		return err
	}
	defer s.file.Leave()
	return s.file.With(func(c *driver.Conn) error {
		err := c.WriteTx(func() error {
			if err := f(c); err != nil {
				return err
			}
			return ctx.Err()
		})
		if end != nil {
			end(err == nil)
		}
		return err
	})
}

// read runs f in one transaction that changes nothing.
func (s *Store) read(ctx context.Context, f func(c *driver.Conn) error) error {
	return s.file.Look(ctx, func(c *driver.Conn) error {
		return c.ReadTx(ctx.Err, func() error { return f(c) })
	})
}

// wantedTable creates the table with the texts that a statement joins, in groups. It
// is filled inside a transaction that is rolled back, or emptied after use.
const wantedTable = `CREATE TEMP TABLE wanted(grp UTINYINT, key BIGINT, name VARCHAR)`

// textKey returns the key of a text in narrow columns: its xxh3-64. The text is
// compared too wherever equal keys of different texts would matter.
func textKey(text string) int64 { return int64(xxh3.HashString(text)) }

// want adds texts and their keys to table wanted, as a group of that number.
func want(c *driver.Conn, group uint8, texts []string) error {
	keys := column.Of(texts, textKey)
	return c.Append("temp", "wanted", len(texts), slices.Repeat([]uint8{group}, len(texts)), keys, texts)
}

// wantKeys is want for keys without texts.
func wantKeys(c *driver.Conn, group uint8, keys []int64) error {
	n := len(keys)
	return c.Append("temp", "wanted", n, slices.Repeat([]uint8{group}, n), keys, make([]string, n))
}

// isWanted returns the condition that a text and its key are in a group of table
// wanted: the narrow column of keys finds the rows, the text distinguishes texts with
// one key.
func isWanted(group uint8, key, text string) string {
	return fmt.Sprintf("%s IN (SELECT key FROM wanted WHERE grp = %d) AND %s IN (SELECT name FROM wanted WHERE grp = %d)", key, group, text, group)
}

// few is the maximum number of texts that a statement lists without table wanted.
const few = 8

// textsOf is the condition that a text column, with its column of keys, has one of a
// list of values. An empty list is always met.
type textsOf struct {
	key, text string
	list      []string
}

// among returns the SQL for conditions, with its parameters. Long lists go to table
// wanted, each in a group.
func among(c *driver.Conn, lists ...textsOf) (condition string, args []any, err error) {
	condition = "true"
	for group, l := range lists {
		if len(l.list) > few {
			if err := want(c, uint8(group), l.list); err != nil {
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
