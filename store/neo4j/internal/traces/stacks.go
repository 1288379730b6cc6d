package traces

import (
	"errors"
	"fmt"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/lru"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// taskStacks is the dictionary of the stacks of a sampled task as this process knows
// it; its ids are the same on every server. It only grows: each commit that brings new
// stacks appends a part while it holds the task's node. So what is known of it stays
// true, and what others added is read behind it.
//
// The writer adds to the dictionary before it commits. Readers may see that: no
// snapshot refers to it yet.
type taskStacks struct {
	id int64

	mu sync.Mutex // guards what follows
	traceprof.Stacks

	// What is known to be in the database.
	parts            int64
	functions, paths int
}

// isLarger reports whether the dictionary is larger than a limit.
func (d *taskStacks) isLarger(limit int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Bytes() > limit
}

// defaultStacks is the maximum size of dictionaries in memory, in bytes. A dictionary
// of half this size is not extended: its task gets another one.
const defaultStacks = 256 << 20

// stackCache caches dictionaries and evicts the least recently used.
type stackCache struct {
	mu   sync.Mutex
	byID lru.Cache[int64, *taskStacks]
}

func newStackCache(limit int64) *stackCache {
	sc := &stackCache{}
	sc.byID.Reset(limit)
	return sc
}

// open returns a dictionary: an empty one if it is not in memory.
func (sc *stackCache) open(id int64) *taskStacks {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	d, ok := sc.byID.Get(id)
	if !ok {
		d = &taskStacks{id: id, Stacks: traceprof.NewStacks()}
		sc.byID.Put(id, d, 0)
	}
	return d
}

// drop removes a dictionary: the database may have other stacks.
func (sc *stackCache) drop(d *taskStacks) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if now, ok := sc.byID.Get(d.id); ok && now == d {
		sc.byID.Remove(d.id)
	}
}

// resize records the size of a dictionary; others may be evicted.
func (sc *stackCache) resize(d *taskStacks) {
	d.mu.Lock()
	bytes := d.Bytes()
	d.mu.Unlock()
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if now, ok := sc.byID.Get(d.id); ok && now == d {
		sc.byID.Put(d.id, d, bytes)
	}
}

// errOtherStacks reports that memory has other stacks than the database: those of a
// transaction that was not committed.
var errOtherStacks = errors.New("the stacks of a task in the database differ from those in memory")

// readParts reads the parts of the dictionary that are not known. The caller holds
// its lock.
func (d *taskStacks) readParts(t *bolt.Tx) error {
	return t.Each(`MATCH (p:StackPart {dictionary: $id}) WHERE p.n >= $known
		RETURN p.n, p.signatures, p.parents, p.functions ORDER BY p.n`, map[string]any{"id": d.id, "known": d.parts}, func(r bolt.Row) error {
		if r.Int(0) != d.parts {
			return bolt.Changed("part %d of the stacks of a task is there without part %d", r.Int(0), d.parts)
		}
		return d.addPart(r.Texts(1), r.Ints(2), r.Ints(3))
	})
}

// addPart adds the next part.
func (d *taskStacks) addPart(signatures []string, parents, functions []int64) error {
	if len(parents) != len(functions) {
		return bolt.Changed("a part of the stacks of a task has %d parents and %d functions", len(parents), len(functions))
	}
	for i, name := range signatures {
		if int(d.Function(profile.Function{Name: name})) != d.functions+i {
			return errOtherStacks
		}
	}
	d.functions += len(signatures)
	for i, parent := range parents {
		id, fn := int64(d.paths+i), functions[i]
		if parent < int64(calltree.NoNode) || parent >= id || fn < 0 || fn >= int64(d.functions) {
			return fmt.Errorf("%w: stack path %d has the parent %d and the signature %d of %d", store.ErrCorrupt, id, parent, fn, d.functions)
		}
		if int64(d.Forest.Path(int32(parent), int32(fn))) != id {
			return errOtherStacks
		}
	}
	d.paths += len(parents)
	d.parts++
	return nil
}

// stackPart is what a commit adds to a dictionary.
type stackPart struct {
	n                  int64
	signatures         []string
	parents, functions []int64
	bytes              int64 // that it counts
}

func (p *stackPart) empty() bool { return len(p.signatures) == 0 && len(p.parents) == 0 }

// newPart returns the stacks that are not in the database. The caller holds the lock
// and has read all parts.
func (d *taskStacks) newPart() stackPart {
	p := stackPart{n: d.parts}
	for _, fn := range d.Forest.Functions[d.functions:] {
		p.signatures = append(p.signatures, fn.Name)
		p.bytes += int64(len(fn.Name)) + 8
	}
	for id := d.paths; id < d.Forest.Paths.Len(); id++ {
		p.parents, p.functions = append(p.parents, int64(d.Forest.Paths.Parent[id])), append(p.functions, int64(d.Forest.Paths.Item[id]))
		p.bytes += 8
	}
	return p
}

// committed records that a part is in the database, unless a reader has done so. The
// caller holds the lock.
func (d *taskStacks) committed(p stackPart) {
	if p.empty() || p.n != d.parts {
		return
	}
	d.parts, d.functions, d.paths = d.parts+1, d.functions+len(p.signatures), d.paths+len(p.parents)
}

// read returns the dictionary with at least so many paths, if the database has
// them.
func (sc *stackCache) read(t *bolt.Tx, id int64, paths int) (*calltree.Forest, error) {
	for try := 1; ; try++ {
		d := sc.open(id)
		d.mu.Lock()
		var err error
		behind := d.paths < paths
		if behind {
			err = d.readParts(t)
		}
		f := d.Forest.Snapshot()
		d.mu.Unlock()
		switch {
		case err == nil && behind:
			sc.resize(d)
			fallthrough
		case err == nil:
			return f, nil
		}
		if sc.drop(d); !errors.Is(err, errOtherStacks) || try == bolt.Tries {
			return nil, err
		}
	}
}
