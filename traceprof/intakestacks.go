package traceprof

import (
	"math/rand/v2"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/lru"
	"github.com/dendroprof/dendro/profile"
)

// intakeStacks holds the dictionaries of the tasks with the most recent snapshots. All
// methods but key need the lock of the Intake.
//
// A stack is identified by the 128-bit xxh3 of its bytes with a secret seed, so that
// clients cannot construct collisions.
type intakeStacks struct {
	seed  uint64
	tasks lru.Cache[string, *dictionary]
	known int64 // stacks in all dictionaries
}

// dictionary holds the stacks of a task.
type dictionary struct {
	Stacks
	task    string
	paths   map[xxh3.Uint128]int32 // of each stack by its hash
	full    bool                   // larger than half of the limit: the next snapshot starts another one
	retired bool                   // it was evicted and is empty
	view    *calltree.Forest       // a snapshot of the forest; nil: outdated
}

func newIntakeStacks(limit int64) *intakeStacks {
	k := &intakeStacks{seed: rand.Uint64()}
	k.tasks.Reset(limit)
	k.tasks.Evict = func(_ string, d *dictionary) bool { return k.retire(d) }
	return k
}

// key returns the hash of a stack.
func (k *intakeStacks) key(stack []byte) xxh3.Uint128 { return xxh3.Hash128Seed(stack, k.seed) }

// of returns the dictionary of a task.
func (k *intakeStacks) of(task string) *dictionary {
	d, ok := k.tasks.Get(task)
	if ok && !d.full {
		return d
	}
	if ok {
		k.retire(d)
	}
	d = &dictionary{task: task, Stacks: NewStacks(), paths: map[xxh3.Uint128]int32{}}
	k.tasks.Put(task, d, d.bytes())
	return d
}

// retire empties a dictionary, so that an idle stream that refers to it does not keep its
// forest in memory. Batches refer to the forest itself.
func (k *intakeStacks) retire(d *dictionary) bool {
	k.known -= int64(len(d.paths))
	*d = dictionary{task: d.task, retired: true}
	return true
}

// bytes estimates the memory of the dictionary.
func (d *dictionary) bytes() int64 {
	const perStack = 50
	return d.Stacks.Bytes() + perStack*int64(len(d.paths))
}

// decode adds a new stack and returns its path and how many bytes the dictionary
// grew by.
func (k *intakeStacks) decode(d *dictionary, key xxh3.Uint128, s *Snapshot) (path int32, grown int64, err error) {
	before := d.bytes()
	path = calltree.NoNode
	err = s.Frames(s.Stack, func(signature []byte) bool {
		path = d.Path(path, d.Function(profile.Function{Name: string(signature)}))
		return true
	})
	if err == nil {
		d.paths[key] = path
		k.known++
	}
	return path, k.grown(d, before), err
}

// add returns the paths of decoded snapshots, and how many bytes the dictionary grew by.
func (k *intakeStacks) add(d *dictionary, s *Snapshots) ([]int32, int64) {
	before := d.bytes()
	return d.Add(s), k.grown(d, before)
}

// grown records the new size of a dictionary and returns the difference. Other
// dictionaries may be evicted.
func (k *intakeStacks) grown(d *dictionary, before int64) int64 {
	now := d.bytes()
	d.view, d.full = nil, now > k.tasks.Limit()/2
	k.tasks.Put(d.task, d, now)
	return now - before
}

// snapshot returns an immutable view of the forest for the store.
func (d *dictionary) snapshot() *calltree.Forest {
	if d.view == nil {
		d.view = d.Forest.Snapshot()
	}
	return d.view
}
