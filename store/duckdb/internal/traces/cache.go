package traces

import (
	"context"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/lru"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// defaultStacks is the maximum size of dictionaries of stacks in memory, in bytes.
const defaultStacks = 256 << 20

// stackCache holds the dictionaries that were least recently used, each once, so
// that the writer and readers share it.
type stackCache struct {
	mu     sync.Mutex
	byID   lru.Cache[int32, *taskStacks]
	byTask map[string]*taskStacks // the dictionaries that the writer adds to
}

// reset removes everything and sets the limit.
func (sc *stackCache) reset(limit int64) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.byTask = map[string]*taskStacks{}
	sc.byID.Evict = func(_ int32, s *taskStacks) bool {
		if s.pinned {
			return false
		}
		sc.forgetTask(s)
		return true
	}
	sc.byID.Reset(limit)
}

// maxSize is the size from which on a dictionary is not added to: its task gets
// another one.
func (sc *stackCache) maxSize() int64 { return sc.byID.Limit() / 2 }

// pin returns the dictionary that a task's snapshots were added to last, if it is in
// memory. It is not evicted until unpin.
func (sc *stackCache) pin(task string) *taskStacks {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	s := sc.byTask[task]
	if s != nil {
		sc.byID.Get(s.id)
		s.pinned = true
	}
	return s
}

// unpin allows the eviction of dictionaries.
func (sc *stackCache) unpin(list []*taskStacks) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, s := range list {
		s.pinned = false
	}
}

// get returns a dictionary: an empty one, to be loaded, if it is not in memory. The caller
// holds the lock.
func (sc *stackCache) get(id int32, task string) *taskStacks {
	s, ok := sc.byID.Get(id)
	if !ok {
		s = &taskStacks{id: id, task: task}
		sc.byID.Put(id, s, 0)
	}
	return s
}

// openPinned is get for the writer, which adds further snapshots of the task to
// the dictionary. It is not evicted until unpin.
func (sc *stackCache) openPinned(id int32, task string) *taskStacks {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	s := sc.get(id, task)
	s.pinned = true
	sc.byTask[task] = s
	return s
}

// drop removes dictionaries by their ids.
func (sc *stackCache) drop(ids ...int32) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, id := range ids {
		if s, ok := sc.byID.Get(id); ok {
			sc.forgetTask(s)
			sc.byID.Remove(id)
		}
	}
}

func (sc *stackCache) forgetTask(s *taskStacks) {
	if sc.byTask[s.task] == s {
		delete(sc.byTask, s.task)
	}
}

// resize records the size of a dictionary; others may be evicted.
func (sc *stackCache) resize(s *taskStacks, bytes int64) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if now, ok := sc.byID.Get(s.id); ok && now == s {
		sc.byID.Put(s.id, s, bytes)
	}
}

// read returns the stacks of a dictionary, with everything that is in the file.
func (sc *stackCache) read(ctx context.Context, c *driver.Conn, id int32, task string) (*calltree.Forest, error) {
	sc.mu.Lock()
	s := sc.get(id, task)
	sc.mu.Unlock()
	s.mu.Lock()
	loaded, err := s.load(ctx, c)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	f, bytes := s.Forest.Snapshot(), s.size()
	s.mu.Unlock()
	if loaded {
		sc.resize(s, bytes)
	}
	return f, nil
}
