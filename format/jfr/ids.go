package jfr

import "math/rand/v2"

// idTable maps the numbers of constants to what is known about them. It is an
// open-addressing table; a Go map costs several times as much here. The zero
// value is empty. Numbers may be anything, as they come from the file: long runs
// of collisions are kept short by a seed.
type idTable struct {
	slots []idSlot
	used  int
	shift uint
	seed  uint64
}

type idSlot struct {
	id    uint64
	value int64 // absent for a free slot
}

// absent is the value of numbers that are not in a table.
const absent = int64(0)

// get returns the slot of a number, or nil if it is not there.
func (t *idTable) get(id uint64) *int64 {
	if len(t.slots) == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(id); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.value == absent {
			return nil
		}
		if s.id == id {
			return &s.value
		}
	}
}

// put sets the value of a number that has none; the first one stays.
func (t *idTable) put(id uint64, value int64) {
	if 2*t.used >= len(t.slots) {
		t.resize(max(16, 2*len(t.slots)))
	}
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(id); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.value == absent {
			s.id, s.value = id, value
			t.used++
			return
		}
		if s.id == id {
			return
		}
	}
}

func (t *idTable) hash(id uint64) uint64 {
	id = (id ^ t.seed) * 0x9e3779b97f4a7c15
	return (id ^ id>>29) * 0xbf58476d1ce4e5b9 >> t.shift
}

// sparse is how much larger a table may be than its content to be kept: a small
// chunk must not pay for a large one before it.
const sparse = 16

// clear empties the table and keeps its memory if it was of use.
func (t *idTable) clear() {
	if len(t.slots) > 64 && len(t.slots) > sparse*t.used {
		t.slots = nil
	} else if t.used > 0 {
		clear(t.slots)
	}
	t.used = 0
}

func (t *idTable) resize(size int) {
	old := t.slots
	t.slots = make([]idSlot, size)
	t.shift, t.used = 65, 0
	for ; size > 0; size /= 2 {
		t.shift--
	}
	if t.seed == 0 {
		t.seed = newSeed()
	}
	for _, s := range old {
		if s.value != absent {
			t.put(s.id, s.value)
		}
	}
}

// newSeed returns a number that differs from process to process, so that nobody
// can prepare numbers that collide.
func newSeed() uint64 { return rand.Uint64() | 1 }
