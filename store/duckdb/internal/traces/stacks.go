package traces

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// taskStacks is a dictionary of the stacks of one sampled task, whose ids are those
// in the file. Readers get snapshots of it; the one writer adds behind their ends.
// When it takes half of the cache, the task gets another one.
type taskStacks struct {
	id   int32
	task string

	mu                sync.Mutex // guards what follows
	traceprof.Stacks             // Forest is nil: not loaded
	growable          bool       // Forest has its hash tables
	signatures, paths int        // that are in the file
	isNew             bool       // the task has no row in the file

	pinned bool // guarded by stackCache.mu: not to be evicted: the writer adds what may not be in the file yet
}

// size estimates the memory of the dictionary. The caller holds its lock.
func (s *taskStacks) size() int64 {
	if s.growable {
		return s.Bytes()
	}
	return 1000 + s.Text + 8*int64(s.paths) + 120*int64(s.signatures)
}

// isLarger loads the dictionary and reports whether it takes more than a limit.
func (s *taskStacks) isLarger(ctx context.Context, c *driver.Conn, limit int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.load(ctx, c)
	return s.size() > limit, err
}

// load reads the dictionary from the file if it was not read before. The caller holds
// its lock.
func (s *taskStacks) load(ctx context.Context, c *driver.Conn) (bool, error) {
	if s.Forest != nil {
		return false, nil
	}
	var functions []profile.Function
	names := int64(0)
	err := s.each(ctx, c, "name FROM stack_signature", func(ch driver.Chunk) {
		for _, name := range ch.Texts(1) {
			functions = append(functions, profile.Function{Name: name})
			names += int64(len(name))
		}
	})
	if err != nil {
		return false, err
	}
	var tree prefixtree.Tree
	err = s.each(ctx, c, "parent, signature FROM stack_path", func(ch driver.Chunk) {
		tree.Parent, tree.Item = append(tree.Parent, driver.Column[int32](ch, 1)...), append(tree.Item, driver.Column[int32](ch, 2)...)
	})
	if err != nil {
		return false, err
	}
	for p, up := range tree.Parent {
		if up < calltree.NoNode || up >= int32(p) || tree.Item[p] < 0 || int(tree.Item[p]) >= len(functions) {
			return false, driver.Corruptf("stack path %d of task %s: parent %d, signature %d", p, s.task, up, tree.Item[p])
		}
	}
	s.Forest = &calltree.Forest{Functions: functions, Paths: tree}
	s.signatures, s.paths, s.Text = len(functions), tree.Len(), names
	return true, nil
}

// each reads columns of a table, behind the ids of the rows, which must be 0, 1, 2, ….
func (s *taskStacks) each(ctx context.Context, c *driver.Conn, columns string, f func(ch driver.Chunk)) error {
	next := int32(0)
	return c.Query(ctx, fmt.Sprintf("SELECT id, %s WHERE task = %d ORDER BY id", columns, s.id), nil, func(ch driver.Chunk) error {
		for _, id := range driver.Column[int32](ch, 0) {
			if id != next {
				return driver.Corruptf("the stacks of task %s have the id %d for %d", s.task, id, next)
			}
			next++
		}
		f(ch)
		return nil
	})
}

// grow makes the dictionary ready for Add. The caller holds its lock.
func (s *taskStacks) grow(ctx context.Context, c *driver.Conn) error {
	if s.growable {
		return nil
	}
	if s.isNew {
		s.Stacks = traceprof.NewStacks()
	} else if _, err := s.load(ctx, c); err != nil {
		return err
	} else {
		// Snapshots of the old forest keep sharing its columns.
		old, text := s.Forest, s.Text
		s.Stacks = traceprof.NewStacks()
		s.Forest.Load(slices.Clip(old.Functions), slices.Clip(old.Paths.Parent), slices.Clip(old.Paths.Item))
		s.Text = text
	}
	s.growable = true
	return nil
}

// write appends the part that is not in the file yet.
func (s *taskStacks) write(d *newStacks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isNew {
		d.task.id, d.task.key, d.task.name = append(d.task.id, s.id), append(d.task.key, textKey(s.task)), append(d.task.name, s.task)
	}
	for id := s.signatures; id < len(s.Forest.Functions); id++ {
		d.signature.task, d.signature.id = append(d.signature.task, s.id), append(d.signature.id, int32(id))
		d.signature.name = append(d.signature.name, s.Forest.Functions[id].Name)
	}
	for id := s.paths; id < s.Forest.Paths.Len(); id++ {
		d.path.task, d.path.id = append(d.path.task, s.id), append(d.path.id, int32(id))
	}
	d.path.parent = append(d.path.parent, s.Forest.Paths.Parent[s.paths:]...)
	d.path.signature = append(d.path.signature, s.Forest.Paths.Item[s.paths:]...)
}

// committed records that everything is in the file. The caller holds the lock, or
// is the only user.
func (s *taskStacks) committed() {
	s.isNew, s.signatures, s.paths = false, len(s.Forest.Functions), s.Forest.Paths.Len()
}

// newStacks are rows of the tables of dictionaries, as columns.
type newStacks struct {
	task struct {
		id   []int32
		key  []int64
		name []string
	}
	signature struct {
		task, id []int32
		name     []string
	}
	path struct{ task, id, parent, signature []int32 }
}

// append writes the rows to the tables of a catalog; empty: the store's.
func (d *newStacks) append(c *driver.Conn, catalog string) error {
	if err := c.Append(catalog, "sampled_task", len(d.task.id), d.task.id, d.task.key, d.task.name); err != nil {
		return err
	}
	if err := c.Append(catalog, "stack_signature", len(d.signature.id), d.signature.task, d.signature.id, d.signature.name); err != nil {
		return err
	}
	return c.Append(catalog, "stack_path", len(d.path.id), d.path.task, d.path.id, d.path.parent, d.path.signature)
}
