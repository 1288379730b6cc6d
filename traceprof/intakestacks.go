package traceprof

import (
	"math/rand/v2"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/lru"
	"github.com/dendroprof/dendro/profile"
)

// intakeStacks holds the dictionaries of the tasks whose snapshots came last. All
// but key needs the lock of the Intake.
//
// A stack is identified by 128 bits of xxh3 over its bytes, with a secret seed, so
// that nobody can choose two stacks of one hash.
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
	full    bool                   // it takes half of the limit: the next snapshot begins another one
	retired bool                   // it was evicted, and has nothing any more
	view    *calltree.Forest       // a snapshot of the forest; nil: outdated
}

func newIntakeStacks(limit int64) *intakeStacks {
	k := &intakeStacks{seed: rand.Uint64()}
	k.tasks.Reset(limit)
	k.tasks.Evict = func(_ string, d *dictionary) bool { return k.retire(d) }
	return k
}

// key returns the identity of a stack.
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

// retire empties a dictionary. Its forest lives as long as a batch refers to it, but
// an idle stream that refers to the dictionary does not keep it.
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

// add returns the paths of snapshots that were decoded before, and how many bytes
// the dictionary grew by.
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

// snapshot returns the forest as it is now, for the store to read.
func (d *dictionary) snapshot() *calltree.Forest {
	if d.view == nil {
		d.view = d.Forest.Snapshot()
	}
	return d.view
}
