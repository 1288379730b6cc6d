package duckdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// taskStacks is a dictionary of the stacks of one sampled task: signatures and
// paths by their ids in the file, which are dense within it. Readers get
// snapshots of it; the one writer adds behind the end of all of them. When it has
// become too large to be kept in memory with others, the task gets another one.
type taskStacks struct {
	id   int32
	task string

	mu                sync.Mutex       // guards what follows
	forest            *calltree.Forest // nil: not loaded
	growable          bool             // forest has its hash tables
	signatures, paths int              // that are in the file
	names             int64            // bytes of these signatures

	// What follows belongs to the holder of traces.write.
	fresh        bool // the task is not in the file yet
	translations calltree.Translations

	// What follows is guarded by stackCache.mu.
	bytes int64
	used  int64
	busy  bool // the writer has it: what it adds may not be in the file yet
}

// size estimates what a dictionary takes, hash tables and translations included.
// The caller holds its lock.
func (s *taskStacks) size() int64 {
	perPath, perSignature := int64(8), int64(120)
	if s.growable {
		perPath, perSignature = 80, 220
	}
	return 1000 + s.names + perPath*int64(s.paths) + perSignature*int64(s.signatures)
}

// isLarge loads the dictionary and reports whether it takes more than a limit.
func (s *taskStacks) isLarge(ctx context.Context, c *conn, limit int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.load(ctx, c)
	return s.size() > limit, err
}

// load reads the dictionary from the file if it has not been read. The caller
// holds its lock.
func (s *taskStacks) load(ctx context.Context, c *conn) (bool, error) {
	if s.forest != nil {
		return false, nil
	}
	var functions []profile.Function
	var ids []int32
	err := c.query(ctx, fmt.Sprint("SELECT id, name FROM stack_signature WHERE task = ", s.id), nil, func(ch chunk) error {
		ids = append(ids, column[int32](ch, 0)...)
		for _, name := range ch.texts(1) {
			functions = append(functions, profile.Function{Name: name})
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if err := s.inOrder(ids, func(i int, id int32) { functions[i], functions[id] = functions[id], functions[i] }); err != nil {
		return false, err
	}
	var tree prefixtree.Tree
	ids = ids[:0]
	err = c.query(ctx, fmt.Sprint("SELECT id, parent, signature FROM stack_path WHERE task = ", s.id), nil, func(ch chunk) error {
		ids = append(ids, column[int32](ch, 0)...)
		tree.Parent, tree.Item = append(tree.Parent, column[int32](ch, 1)...), append(tree.Item, column[int32](ch, 2)...)
		return nil
	})
	if err != nil {
		return false, err
	}
	err = s.inOrder(ids, func(i int, id int32) {
		tree.Parent[i], tree.Parent[id] = tree.Parent[id], tree.Parent[i]
		tree.Item[i], tree.Item[id] = tree.Item[id], tree.Item[i]
	})
	if err != nil {
		return false, err
	}
	names := int64(0)
	for i := range functions {
		names += int64(len(functions[i].Name))
	}
	for p, up := range tree.Parent {
		if up < calltree.NoNode || up >= int32(p) || tree.Item[p] < 0 || int(tree.Item[p]) >= len(functions) {
			return false, corruptf("stack path %d of task %s: parent %d, signature %d", p, s.task, up, tree.Item[p])
		}
	}
	s.forest = &calltree.Forest{Functions: functions, Paths: tree}
	s.signatures, s.paths, s.names = len(functions), tree.Len(), names
	return true, nil
}

// inOrder brings rows into the order of their ids, which must be 0, 1, 2, …, by
// exchanging two of them at a time.
func (s *taskStacks) inOrder(ids []int32, exchange func(i int, id int32)) error {
	for i := range ids {
		for int(ids[i]) != i {
			id := ids[i]
			if id < 0 || int(id) >= len(ids) || ids[id] == id {
				return corruptf("the stacks of task %s have the id %d of %d", s.task, id, len(ids))
			}
			exchange(i, id)
			ids[i], ids[id] = ids[id], ids[i]
		}
	}
	return nil
}

// newTaskStacks returns an empty dictionary to be added to.
func newTaskStacks(id int32, task string) *taskStacks {
	return &taskStacks{id: id, task: task, fresh: true, growable: true, forest: new(calltree.Forest)}
}

// grow readies the dictionary for being added to. The caller holds its lock.
func (s *taskStacks) grow(ctx context.Context, c *conn) error {
	if s.growable {
		return nil
	}
	if s.fresh {
		s.forest = new(calltree.Forest)
	} else if _, err := s.load(ctx, c); err != nil {
		return err
	}
	// Snapshots of the old forest go on to share its columns.
	old := s.forest
	s.forest = new(calltree.Forest)
	s.forest.Load(slices.Clip(old.Functions), slices.Clip(old.Paths.Parent), slices.Clip(old.Paths.Item))
	s.growable, s.translations = true, calltree.Translations{}
	return nil
}

// translate returns the paths of snapshots over the dictionary, which takes in
// those that are new. The caller holds its lock.
func (s *taskStacks) translate(part *traceprof.Snapshots) []int32 {
	if part.Stacks == nil {
		return slices.Clone(part.Path) // none has a stack
	}
	return s.translations.Of(part.Stacks, s).Paths(part.Stacks, part.Path, nil)
}

// Function implements calltree.Interner. The name is copied: it may be a part of a
// much larger text.
func (s *taskStacks) Function(fn profile.Function) int32 {
	return s.forest.Function(profile.Function{Name: strings.Clone(fn.Name)})
}

// Path implements calltree.Interner.
func (s *taskStacks) Path(parent, fn int32) int32 { return s.forest.Path(parent, fn) }

// write appends what is not in the file yet.
func (s *taskStacks) write(d *newStacks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		d.task.id, d.task.key, d.task.name = append(d.task.id, s.id), append(d.task.key, textKey(s.task)), append(d.task.name, s.task)
	}
	for id := s.signatures; id < len(s.forest.Functions); id++ {
		d.signature.task, d.signature.id = append(d.signature.task, s.id), append(d.signature.id, int32(id))
		name := s.forest.Functions[id].Name
		d.signature.name = append(d.signature.name, name)
		s.names += int64(len(name))
	}
	for id := s.paths; id < s.forest.Paths.Len(); id++ {
		d.path.task, d.path.id = append(d.path.task, s.id), append(d.path.id, int32(id))
	}
	d.path.parent = append(d.path.parent, s.forest.Paths.Parent[s.paths:]...)
	d.path.signature = append(d.path.signature, s.forest.Paths.Item[s.paths:]...)
}

// committed takes in that everything is in the file. The caller holds the lock, or
// is alone.
func (s *taskStacks) committed() {
	s.fresh, s.signatures, s.paths = false, len(s.forest.Functions), s.forest.Paths.Len()
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
func (d *newStacks) append(c *conn, catalog string) error {
	if err := c.appendIn(catalog, "sampled_task", len(d.task.id), d.task.id, d.task.key, d.task.name); err != nil {
		return err
	}
	if err := c.appendIn(catalog, "stack_signature", len(d.signature.id), d.signature.task, d.signature.id, d.signature.name); err != nil {
		return err
	}
	return c.appendIn(catalog, "stack_path", len(d.path.id), d.path.task, d.path.id, d.path.parent, d.path.signature)
}

// appendIn is append to a table of a catalog; empty: the store's.
func (c *conn) appendIn(catalog, table string, n int, columns ...any) error {
	if catalog == "" {
		return c.append(table, n, columns...)
	}
	return c.appendTo(catalog, table, n, columns...)
}
