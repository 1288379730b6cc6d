package duckdb

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
)

// defaultStacks is how many bytes of dictionaries of stacks stay in memory.
const defaultStacks = 256 << 20

// stackCache holds the dictionaries that were used last, each once, so that
// whoever adds to it and whoever reads it agree.
type stackCache struct {
	mu     sync.Mutex
	limit  int64
	bytes  int64
	clock  int64
	byID   map[int32]*taskStacks
	byTask map[string]*taskStacks // those that snapshots are added to
}

// reset forgets everything.
func (sc *stackCache) reset(limit int64) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.limit, sc.bytes, sc.byID, sc.byTask = limit, 0, map[int32]*taskStacks{}, map[string]*taskStacks{}
}

// hold returns the dictionary that a task's snapshots are added to if it is
// there. It stays until release. Full: it has become too large for that.
func (sc *stackCache) hold(task string) (s *taskStacks, full bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if s = sc.byTask[task]; s == nil {
		return nil, false
	}
	if s.bytes > sc.limit/2 {
		return nil, true
	}
	sc.clock++
	s.used, s.busy = sc.clock, true
	return s, false
}

// release ends hold and openToAdd.
func (sc *stackCache) release(list []*taskStacks) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, s := range list {
		s.busy = false
	}
}

// open returns a dictionary, an empty one that must be loaded if it is not there.
func (sc *stackCache) open(id int32, task string) *taskStacks {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.get(id, task)
}

// openToAdd is open for the writer: the dictionary stays until release, and
// further snapshots of the task are added to it.
func (sc *stackCache) openToAdd(id int32, task string) *taskStacks {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	s := sc.get(id, task)
	s.busy = true
	sc.byTask[task] = s
	return s
}

// get is open by a caller that holds the lock.
func (sc *stackCache) get(id int32, task string) *taskStacks {
	s := sc.byID[id]
	if s == nil {
		s = &taskStacks{id: id, task: task}
		sc.byID[id] = s
	}
	sc.clock++
	s.used = sc.clock
	return s
}

// drop forgets dictionaries.
func (sc *stackCache) drop(list []*taskStacks) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, s := range list {
		sc.remove(s)
	}
}

// dropIDs is drop by ids.
func (sc *stackCache) dropIDs(ids []int32) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, id := range ids {
		if s := sc.byID[id]; s != nil {
			sc.remove(s)
		}
	}
}

func (sc *stackCache) remove(s *taskStacks) {
	if sc.byID[s.id] == s {
		sc.bytes -= s.bytes
		delete(sc.byID, s.id)
	}
	if sc.byTask[s.task] == s {
		delete(sc.byTask, s.task)
	}
}

// weigh takes in how large a dictionary is by now. Beyond the limit, those that
// were not used for longest go until half of it is free.
func (sc *stackCache) weigh(s *taskStacks, bytes int64) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.byID[s.id] != s {
		return
	}
	sc.bytes += bytes - s.bytes
	s.bytes = bytes
	if sc.bytes <= sc.limit {
		return
	}
	list := make([]*taskStacks, 0, len(sc.byID))
	for _, s := range sc.byID {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *taskStacks) int { return cmp.Compare(a.used, b.used) })
	for _, old := range list {
		if sc.bytes <= sc.limit/2 {
			return
		}
		if !old.busy {
			sc.remove(old)
		}
	}
}

// read returns the dictionary to be read, with everything that is in the file.
func (sc *stackCache) read(ctx context.Context, c *conn, id int32, task string) (*calltree.Forest, error) {
	s := sc.open(id, task)
	s.mu.Lock()
	loaded, err := s.load(ctx, c)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	f, bytes := s.forest.Snapshot(), s.size()
	s.mu.Unlock()
	if loaded {
		sc.weigh(s, bytes)
	}
	return f, nil
}
