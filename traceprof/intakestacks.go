package traceprof

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// intakeStacks are the dictionaries of the tasks that snapshots came of last.
// All but key needs the lock of the Intake.
//
// A stack is known by 128 bits of xxh3 over its bytes with a seed that nobody
// outside knows, so that nobody can choose two stacks of one hash.
type intakeStacks struct {
	seed  uint64
	limit int64
	clock int64
	tasks map[string]*dictionary
	known int64 // stacks in all dictionaries
	bytes int64 // of all dictionaries, about
}

// dictionary is what is remembered of a task's stacks.
type dictionary struct {
	task    string
	forest  *calltree.Forest
	paths   map[xxh3.Uint128]int32 // of each stack by its hash
	bytes   int64
	used    int64
	full    bool             // begins anew when it is next used
	retired bool             // it was forgotten, and has nothing any more
	view    *calltree.Forest // a snapshot of the forest; nil: outdated

	translations calltree.Translations // of what was decoded elsewhere
}

func newIntakeStacks(limit int64) intakeStacks {
	return intakeStacks{seed: rand.Uint64(), limit: limit, tasks: map[string]*dictionary{}}
}

// key returns what a stack is known by.
func (k *intakeStacks) key(stack []byte) xxh3.Uint128 { return xxh3.Hash128Seed(stack, k.seed) }

// What things take, about: an empty dictionary, a path, a signature beside its
// text, a stack.
const (
	dictionarySize = 1000
	pathSize       = 80
	signatureSize  = 200
	stackSize      = 50
)

// of returns the dictionary of a task.
func (k *intakeStacks) of(task string) *dictionary {
	d := k.tasks[task]
	if d != nil && d.full {
		k.retire(d)
		d = nil
	}
	if d == nil {
		d = &dictionary{task: task, forest: new(calltree.Forest), paths: map[xxh3.Uint128]int32{}}
		k.tasks[task] = d
		k.grow(d, dictionarySize)
	}
	k.clock++
	d.used = k.clock
	return d
}

// grow takes in that a dictionary, which is in use, needs more. One that needs
// half of the limit begins anew when it is next used; beyond the limit those that
// were not used for longest go until half of it is free.
func (k *intakeStacks) grow(d *dictionary, bytes int64) {
	d.bytes += bytes
	k.bytes += bytes
	d.full = d.bytes > k.limit/2
	if k.bytes <= k.limit {
		return
	}
	list := make([]*dictionary, 0, len(k.tasks))
	for _, d := range k.tasks {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *dictionary) int { return cmp.Compare(a.used, b.used) })
	for _, old := range list {
		if k.bytes <= k.limit/2 {
			return
		}
		if old != d {
			k.retire(old)
		}
	}
}

// retire forgets a dictionary. Its forest lives on as long as a batch has paths of
// it, but not as long as an idle stream remembers where its last snapshot went.
func (k *intakeStacks) retire(d *dictionary) {
	k.bytes -= d.bytes
	k.known -= int64(len(d.paths))
	delete(k.tasks, d.task)
	*d = dictionary{task: d.task, retired: true}
}

// learn decodes a stack that is not known and returns its path, and how much
// more the dictionary needs.
func (k *intakeStacks) learn(d *dictionary, key xxh3.Uint128, s *Snapshot) (path int32, grown int64, err error) {
	paths, functions := d.forest.Paths.Len(), len(d.forest.Functions)
	path = calltree.NoNode
	err = s.Frames(s.Stack, func(signature []byte) bool {
		path = d.forest.Path(path, d.function(signature))
		return true
	})
	if err == nil {
		d.paths[key] = path
		k.known++
	}
	return path, k.settle(d, paths, functions), err
}

// function interns a signature; one that is known costs no memory.
func (d *dictionary) function(signature []byte) int32 {
	if fn, ok := d.forest.FindFunction(string(signature)); ok {
		return fn
	}
	return d.forest.Function(profile.Function{Name: sanitized(signature)})
}

// Function is function for the translation of other forests.
func (d *dictionary) Function(fn profile.Function) int32 { return d.function([]byte(fn.Name)) }

// Path interns a path for the same.
func (d *dictionary) Path(parent, fn int32) int32 { return d.forest.Path(parent, fn) }

// translate returns the paths of snapshots over another forest.
func (k *intakeStacks) translate(d *dictionary, s *Snapshots) ([]int32, int64) {
	if s.Stacks == nil {
		return s.Path, 0 // dumps without frames
	}
	paths, functions := d.forest.Paths.Len(), len(d.forest.Functions)
	out := d.translations.Of(s.Stacks, d).Paths(s.Stacks, s.Path, nil)
	return out, k.settle(d, paths, functions)
}

// settle takes in what a dictionary got since it had so many paths and
// functions.
func (k *intakeStacks) settle(d *dictionary, paths, functions int) int64 {
	grown := int64(stackSize + pathSize*(d.forest.Paths.Len()-paths))
	for _, fn := range d.forest.Functions[functions:] {
		grown += int64(signatureSize + len(fn.Name))
	}
	d.view = nil
	k.grow(d, grown)
	return grown
}

// snapshot returns the forest as it is now, for the store to read.
func (d *dictionary) snapshot() *calltree.Forest {
	if d.view == nil {
		d.view = d.forest.Snapshot()
	}
	return d.view
}
