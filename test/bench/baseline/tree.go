package baseline

import (
	"bytes"
	"fmt"
)

// tree is the call tree of one profile as rows by column, parents before
// children. Its memory is used again for the next profile.
type tree struct {
	parent []int32 // -1 for a root
	fn     []int32
	depth  []int32
	self   []int64
	total  []int64
	rec    []int32 // nearest ancestor of the same function, -1 without one
	recd   []int32 // distance to it

	samples int64

	firstChild, sibling []int32
	slots               []slot // (parent, function) → node, open addressing
	stamp               uint32
	last                []int32 // by function, the innermost open node while depth first
	roots               int32   // the last root, first of the sibling list
}

// slot is taken when its stamp is the tree's: a new profile need not clear the
// table.
type slot struct {
	key   uint64
	node  int32
	stamp uint32
}

func (t *tree) reset() {
	t.parent, t.fn, t.depth = t.parent[:0], t.fn[:0], t.depth[:0]
	t.self, t.total = t.self[:0], t.total[:0]
	t.firstChild, t.sibling = t.firstChild[:0], t.sibling[:0]
	t.samples, t.roots = 0, -1
	if t.slots == nil {
		t.slots = make([]slot, 1<<15)
	}
	t.stamp++
}

// child returns the node of a function below a parent.
func (t *tree) child(parent, fn int32) int32 {
	key := uint64(uint32(parent))<<32 | uint64(uint32(fn))
	mask := uint64(len(t.slots) - 1)
	i := hashKey(key) & mask
	for t.slots[i].stamp == t.stamp {
		if t.slots[i].key == key {
			return t.slots[i].node
		}
		i = (i + 1) & mask
	}
	node := int32(len(t.fn))
	t.slots[i] = slot{key, node, t.stamp}
	depth, next := int32(0), t.roots
	if parent >= 0 {
		depth, next = t.depth[parent]+1, t.firstChild[parent]
		t.firstChild[parent] = node
	} else {
		t.roots = node
	}
	t.parent = append(t.parent, parent)
	t.fn = append(t.fn, fn)
	t.depth = append(t.depth, depth)
	t.self = append(t.self, 0)
	t.firstChild = append(t.firstChild, -1)
	t.sibling = append(t.sibling, next)
	if 2*len(t.fn) > len(t.slots) {
		t.growSlots()
	}
	return node
}

func hashKey(key uint64) uint64 {
	key *= 0x9e3779b97f4a7c15
	return key ^ key>>32
}

func (t *tree) growSlots() {
	old, stamp := t.slots, t.stamp
	t.slots = make([]slot, 2*len(old))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.stamp != stamp {
			continue
		}
		i := hashKey(s.key) & mask
		for t.slots[i].stamp == stamp {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// parse reads folded text into the tree and derives totals and recursion.
func (t *tree) parse(text []byte, syms *symbols) error {
	t.reset()
	for lineno := 1; len(text) > 0; lineno++ {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if len(line) == 0 {
			continue
		}
		stack, count, err := splitCount(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", lineno, err)
		}
		at := int32(-1)
		for {
			i := bytes.IndexByte(stack, ';')
			if i < 0 {
				break
			}
			at = t.child(at, syms.id(stack[:i]))
			stack = stack[i+1:]
		}
		at = t.child(at, syms.id(stack))
		t.self[at] += count
		t.samples += count
	}
	t.derive(syms.dict.size())
	return nil
}

// splitCount cuts the count behind the last space off a line.
func splitCount(line []byte) (stack []byte, count int64, err error) {
	scale := int64(1)
	for i := len(line) - 1; i > 0; i-- {
		c := line[i]
		if c == ' ' && i < len(line)-1 {
			return line[:i], count, nil
		}
		if c < '0' || c > '9' || len(line)-i > 18 {
			break
		}
		count += int64(c-'0') * scale
		scale *= 10
	}
	return nil, 0, fmt.Errorf("no count in %.60q", line)
}

// derive fills in totals and recursion edges.
func (t *tree) derive(functions int) {
	n := len(t.fn)
	t.total = append(t.total[:0], t.self...)
	for i := n - 1; i >= 0; i-- {
		if p := t.parent[i]; p >= 0 {
			t.total[p] += t.total[i]
		}
	}
	for len(t.last) < functions {
		t.last = append(t.last, -1)
	}
	t.rec, t.recd = grow(t.rec, n), grow(t.recd, n)
	// Depth first by the sibling lists: on the way down a node replaces its
	// function's innermost open node, on the way up it puts it back.
	for at := t.roots; at >= 0; {
		fn := t.fn[at]
		t.rec[at], t.recd[at] = t.last[fn], 0
		if r := t.last[fn]; r >= 0 {
			t.recd[at] = t.depth[at] - t.depth[r]
		}
		t.last[fn] = at
		if c := t.firstChild[at]; c >= 0 {
			at = c
			continue
		}
		for at >= 0 {
			t.last[t.fn[at]] = t.rec[at]
			if s := t.sibling[at]; s >= 0 {
				at = s
				break
			}
			at = t.parent[at]
		}
	}
}

// grow returns a slice of length n whose contents do not matter.
func grow(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n+n/2)[:n]
	}
	return s[:n]
}
