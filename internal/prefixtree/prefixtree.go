// Package prefixtree stores a set of sequences of integers as a tree of prefixes: node n is
// the sequence of its parent followed by one item.
//
// Stacks are sequences of frames and call node paths are sequences of functions. Both look
// up the node of (parent, item) millions of times a second. A Tree uses one open-addressing
// table whose slots have a hash of both and the node together, so that a hit accesses one cache
// line of it, and the columns of the node: 11 to 22 bytes of slots for each. The children of a node have
// their own line while they fit, and consecutive nodes have consecutive lines, so that adding or
// following a path reads memory in order. Only the children of a node with many are spread over
// the table. Go's map takes about twice as long (BenchmarkStacks).
//
// Nodes are dense, in order of first appearance, and a parent always has a
// lower number than its children. Nothing is ever removed. A Tree does not
// know what its items mean and is not safe for concurrent use while it grows.
package prefixtree

import (
	"slices"

	"github.com/dendroprof/dendro/internal/intern"
)

// Root is the parent of the first item of a sequence. It is not a node.
const Root = int32(-1)

// Tree is an append-only prefix tree. The zero value is empty and ready.
//
// Parent[n] is Root or less than n. Item[n] is the last item of n's sequence.
// Callers read both columns and must not write them.
type Tree struct {
	Parent []int32
	Item   []int32

	slots []slot
	mask  uint64
}

// slot is one place of the hash table; node is stored plus one so that the
// zero slot is empty.
type slot struct {
	check uint32
	node  int32
}

// Len returns the number of nodes.
func (t *Tree) Len() int { return len(t.Parent) }

// Child returns the node of (parent, item) and adds it when it is new.
// Item must not be negative.
func (t *Tree) Child(parent, item int32) int32 {
	if len(t.Parent) >= room(len(t.slots)) {
		t.grow()
	}
	s, check := t.slot(parent, item)
	if s.node == 0 {
		t.Parent = append(t.Parent, parent)
		t.Item = append(t.Item, item)
		s.check, s.node = check, int32(len(t.Parent))
	}
	return s.node - 1
}

// Find returns the node of (parent, item), or false when there is none.
func (t *Tree) Find(parent, item int32) (int32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	s, _ := t.slot(parent, item)
	return s.node - 1, s.node != 0
}

// lineSlots is how many slots a cache line of 64 bytes has.
const lineSlots = 8

// slot returns the place of (parent, item), or the empty place where it belongs, and its check. It
// is in the line of the parent unless that was full when it came. Slots are never emptied, so that
// an empty one in the line says that it is nowhere else.
func (t *Tree) slot(parent, item int32) (*slot, uint32) {
	check := uint32(item) ^ uint32(parent)*0x9E3779B1 // differs for the parents of a line
	line := (*[lineSlots]slot)(t.slots[uint64(uint32(parent))*lineSlots&t.mask:])
	for i := range line {
		if s := &line[i]; s.node == 0 || s.check == check && t.is(s.node-1, parent, item) {
			return s, check
		}
	}
	for i := intern.With(uint64(uint32(parent))<<32|uint64(uint32(item)), 0) >> 32; ; i++ {
		if s := &t.slots[i&t.mask]; s.node == 0 || s.check == check && t.is(s.node-1, parent, item) {
			return s, check
		}
	}
}

func (t *Tree) is(node, parent, item int32) bool {
	return t.Item[node] == item && t.Parent[node] == parent
}

// Load replaces the content by the given columns, which the tree then owns.
// It is how a stored forest comes back: the caller guarantees that parents come
// before children and that no (parent, item) occurs twice.
func (t *Tree) Load(parent, item []int32) {
	t.Parent, t.Item = parent, item
	t.rehash(len(parent))
}

// Grow makes room for n further nodes.
func (t *Tree) Grow(n int) {
	t.Parent, t.Item = slices.Grow(t.Parent, n), slices.Grow(t.Item, n)
	if n += len(t.Parent); n > room(len(t.slots)) {
		t.rehash(n)
	}
}

func (t *Tree) grow() { t.rehash(len(t.Parent) + 1) }

// room returns how many nodes a table of so many slots has: where most look-ups hit, a smaller
// table, of which more is in the caches, is worth the longer ways (BenchmarkChildWarm).
func room(slots int) int { return slots / 4 * 3 }

// rehash resizes the table for n nodes.
func (t *Tree) rehash(n int) {
	size := 64
	for room(size) < n {
		size *= 2
	}
	t.slots = intern.Table[slot](size)
	t.mask = uint64(size - 1)
	for n := range t.Parent {
		s, check := t.slot(t.Parent[n], t.Item[n])
		*s = slot{check, int32(n + 1)}
	}
}
