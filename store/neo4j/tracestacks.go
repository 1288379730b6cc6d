package neo4j

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// taskStacks is a dictionary of the stacks of a sampled task as this process
// knows it: signatures and paths by their ids, which are dense and the same on
// every server. It only grows: each commit that brings new stacks adds a part
// behind the others while it holds the task's node. So what is known of it stays
// true, and what others added is read behind it.
//
// The writer adds to the forest before it commits. Readers may see that: no
// snapshot refers to it yet.
type taskStacks struct {
	id int64

	mu     sync.Mutex
	forest *calltree.Forest
	coming calltree.Translations // of the forests that snapshots come over

	// What is known to be in the database.
	parts            int64
	functions, paths int
	names            int64 // bytes of the signatures

	// Guarded by stackCache.mu.
	bytes, used int64
}

// defaultStacks is how many bytes of dictionaries stay in memory. A dictionary
// that takes half of it is added to no more: its task gets another one.
const defaultStacks = 256 << 20

// stackCache holds the dictionaries that were used last.
type stackCache struct {
	mu           sync.Mutex
	limit        int64
	bytes, clock int64
	byID         map[int64]*taskStacks
}

func newStackCache(limit int64) *stackCache {
	return &stackCache{limit: limit, byID: map[int64]*taskStacks{}}
}

// open returns a dictionary, an empty one that nothing is known of at first.
func (sc *stackCache) open(id int64) *taskStacks {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	d := sc.byID[id]
	if d == nil {
		d = &taskStacks{id: id, forest: new(calltree.Forest)}
		sc.byID[id] = d
	}
	sc.clock++
	d.used = sc.clock
	return d
}

// drop forgets a dictionary: the database may have something else.
func (sc *stackCache) drop(d *taskStacks) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.byID[d.id] == d {
		sc.bytes -= d.bytes
		delete(sc.byID, d.id)
	}
}

// weigh takes in how large a dictionary is by now. Beyond the limit, the others
// go, those first that were not used for longest.
func (sc *stackCache) weigh(d *taskStacks) {
	d.mu.Lock()
	bytes := d.size()
	d.mu.Unlock()
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.byID[d.id] != d {
		return
	}
	sc.bytes, d.bytes = sc.bytes+bytes-d.bytes, bytes
	for sc.bytes > sc.limit {
		var oldest *taskStacks
		for _, other := range sc.byID {
			if other != d && (oldest == nil || other.used < oldest.used) {
				oldest = other
			}
		}
		if oldest == nil {
			return
		}
		sc.bytes -= oldest.bytes
		delete(sc.byID, oldest.id)
	}
}

// size is about how many bytes the dictionary takes, hash tables included. The
// caller holds its lock.
func (d *taskStacks) size() int64 {
	return 1000 + d.names + 220*int64(d.functions) + 80*int64(d.paths) + 4*int64(d.coming.Size())
}

// errOtherStacks says that the database has other stacks than are known here:
// those of a transaction that was not committed.
var errOtherStacks = errors.New("the stacks of a task are others than those that are known")

// catchUp reads the parts of the dictionary that are not known. The caller holds
// its lock.
func (d *taskStacks) catchUp(t *tx) error {
	return t.each(`MATCH (p:StackPart {dictionary: $id}) WHERE p.n >= $known
		RETURN p.n, p.signatures, p.parents, p.functions ORDER BY p.n`, map[string]any{"id": d.id, "known": d.parts}, func(r row) error {
		if r.int(0) != d.parts {
			return &changedError{fmt.Sprintf("part %d of the stacks of a task is there without part %d", r.int(0), d.parts)}
		}
		return d.takeIn(r.texts(1), r.ints(2), r.ints(3))
	})
}

// takeIn adds the next part.
func (d *taskStacks) takeIn(signatures []string, parents, functions []int64) error {
	if len(parents) != len(functions) {
		return &changedError{fmt.Sprintf("a part of the stacks of a task has %d parents and %d functions", len(parents), len(functions))}
	}
	for i, name := range signatures {
		if int(d.forest.Function(profile.Function{Name: name})) != d.functions+i {
			return errOtherStacks
		}
		d.names += int64(len(name))
	}
	d.functions += len(signatures)
	for i, parent := range parents {
		id, fn := int64(d.paths+i), functions[i]
		if parent < int64(calltree.NoNode) || parent >= id || fn < 0 || fn >= int64(d.functions) {
			return fmt.Errorf("%w: stack path %d has the parent %d and the signature %d of %d", store.ErrCorrupt, id, parent, fn, d.functions)
		}
		if int64(d.forest.Path(int32(parent), int32(fn))) != id {
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

// fresh returns what of the forest is not in the database. The caller holds the
// lock and has caught up.
func (d *taskStacks) fresh() stackPart {
	p := stackPart{n: d.parts}
	for _, fn := range d.forest.Functions[d.functions:] {
		p.signatures = append(p.signatures, fn.Name)
		p.bytes += int64(len(fn.Name)) + 8
	}
	for id := d.paths; id < d.forest.Paths.Len(); id++ {
		p.parents, p.functions = append(p.parents, int64(d.forest.Paths.Parent[id])), append(p.functions, int64(d.forest.Paths.Item[id]))
		p.bytes += 8
	}
	return p
}

// settle takes in that a part is in the database that the forest has already,
// unless a reader has found that out. The caller holds the lock.
func (d *taskStacks) settle(p stackPart) {
	if p.empty() || p.n != d.parts {
		return
	}
	d.parts, d.functions, d.paths = d.parts+1, d.functions+len(p.signatures), d.paths+len(p.parents)
	for _, name := range p.signatures {
		d.names += int64(len(name))
	}
}

// read returns the dictionary with at least so many paths, if the database has
// them.
func (sc *stackCache) read(t *tx, id int64, paths int) (*calltree.Forest, error) {
	for try := 1; ; try++ {
		d := sc.open(id)
		d.mu.Lock()
		var err error
		behind := d.paths < paths
		if behind {
			err = d.catchUp(t)
		}
		f := d.forest.Snapshot()
		d.mu.Unlock()
		switch {
		case err == nil && behind:
			sc.weigh(d)
			fallthrough
		case err == nil:
			return f, nil
		}
		if sc.drop(d); !errors.Is(err, errOtherStacks) || try == tries {
			return nil, err
		}
	}
}

// Function implements calltree.Interner. The name is copied: it may be a part of a
// much larger text.
func (d *taskStacks) Function(fn profile.Function) int32 {
	return d.forest.Function(profile.Function{Name: strings.Clone(fn.Name)})
}

// Path implements calltree.Interner.
func (d *taskStacks) Path(parent, fn int32) int32 { return d.forest.Path(parent, fn) }

// translate returns the paths of snapshots over the dictionary, which takes in
// those that are new. The caller holds its lock.
func (d *taskStacks) translate(part *traceprof.Snapshots) []int32 {
	if part.Stacks == nil {
		return slices.Clone(part.Path) // none has a stack
	}
	return d.coming.Of(part.Stacks, d).Paths(part.Stacks, part.Path, nil)
}
