// Package prefixtree keeps a set of sequences of integers as a tree of
// prefixes: node n stands for the sequence of its parent followed by one item.
//
// Stacks are sequences of frames and call node paths are sequences of
// functions; both are this tree, and both are asked the same question millions
// of times a second: which node is (parent, item)? A Tree answers it with one
// open-addressing table whose slots hold key and node side by side, so that a
// hit touches one cache line. Go's map costs about 1.5 times as much here.
//
// Nodes are dense, in order of first appearance, and a parent always has a
// lower number than its children. Nothing is ever removed. A Tree does not
// know what its items mean and is not safe for concurrent use while it grows.
package prefixtree

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
	key  uint64
	node int32
}

// Len returns the number of nodes.
func (t *Tree) Len() int { return len(t.Parent) }

// Child returns the node of (parent, item) and adds it when it is new.
// Item must not be negative.
func (t *Tree) Child(parent, item int32) int32 {
	if len(t.Parent)*2 >= len(t.slots) {
		t.grow()
	}
	key := key(parent, item)
	i := mix(key) & t.mask
	for {
		s := &t.slots[i]
		if s.node == 0 {
			t.Parent = append(t.Parent, parent)
			t.Item = append(t.Item, item)
			s.key, s.node = key, int32(len(t.Parent))
			return s.node - 1
		}
		if s.key == key {
			return s.node - 1
		}
		i = (i + 1) & t.mask
	}
}

// Find returns the node of (parent, item), or false when there is none.
func (t *Tree) Find(parent, item int32) (int32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	key := key(parent, item)
	for i := mix(key) & t.mask; ; i = (i + 1) & t.mask {
		s := &t.slots[i]
		if s.node == 0 {
			return 0, false
		}
		if s.key == key {
			return s.node - 1, true
		}
	}
}

// Load replaces the content by the given columns, which the tree then owns.
// It is how a stored forest comes back: the caller guarantees that parents come
// before children and that no (parent, item) occurs twice.
func (t *Tree) Load(parent, item []int32) {
	t.Parent, t.Item = parent, item
	t.rehash(len(parent))
}

func (t *Tree) grow() { t.rehash(len(t.Parent) + 1) }

// rehash makes room for n nodes at a load of a third at most, so that some more
// fit before the next time.
func (t *Tree) rehash(n int) {
	size := 64
	for size < n*3 {
		size *= 2
	}
	t.slots = make([]slot, size)
	t.mask = uint64(size - 1)
	for n := range t.Parent {
		k := key(t.Parent[n], t.Item[n])
		i := mix(k) & t.mask
		for t.slots[i].node != 0 {
			i = (i + 1) & t.mask
		}
		t.slots[i] = slot{k, int32(n + 1)}
	}
}

func key(parent, item int32) uint64 {
	return uint64(uint32(parent))<<32 | uint64(uint32(item))
}

// mix spreads the key over the table: one multiplication by a 64-bit odd
// constant and a fold of the high half, which holds the well-mixed bits.
func mix(k uint64) uint64 {
	k *= 0x9E3779B97F4A7C15
	return k ^ k>>32
}
