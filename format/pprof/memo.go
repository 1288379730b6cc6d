package pprof

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// A stack costs a look-up per frame in a table far larger than any cache, and
// most stacks were seen before: in the same message, where labels or times tell
// samples of one stack apart, or in the one before it. Two tables therefore find
// a stack as a whole: repeats by the bytes of the location ids, which mean
// something within one message only, and a stackTable of the Symbols by the
// frames.
//
// Both tell stacks apart by 96 bits of hash and do not compare them, which would
// be one more cache miss. The seeds are random, so that nobody can make two that
// agree; among a hundred million stacks two do with a probability of 10^-13.

// stackTable is a hash table of stacks.
type stackTable struct {
	slots []stackSlot // a power of two, at most half of them used
	used  int
}

// stackSlot is one place. The stack is stored plus one so that zero is empty.
type stackSlot struct {
	sum   uint64
	check uint32
	stack int32
}

func (s *stackSlot) set(st profile.StackID) {
	if s != nil {
		s.stack = int32(st) + 1
	}
}

// maxStackTable bounds a table to 512 MiB; a full one finds what it has.
const maxStackTable = 1 << 25

// find returns the slot of a stack, and the stack if it is known. If not, the
// slot is the caller's to set before the next call; it may be nil.
func (t *stackTable) find(sum uint64, check uint32) (*stackSlot, profile.StackID, bool) {
	if 2*t.used >= len(t.slots) && len(t.slots) < maxStackTable {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := sum & mask; ; i = (i + 1) & mask {
		slot := &t.slots[i]
		if slot.stack == 0 {
			if 2*t.used >= len(t.slots) {
				return nil, 0, false
			}
			t.used++
			slot.sum, slot.check = sum, check
			return slot, 0, false
		}
		if slot.sum == sum && slot.check == check {
			return slot, profile.StackID(slot.stack - 1), true
		}
	}
}

func (t *stackTable) grow() {
	old := t.slots
	t.slots = intern.Table[stackSlot](max(64, 2*len(old)))
	t.used = 0
	mask := uint64(len(t.slots) - 1)
	for _, slot := range old {
		if slot.stack == 0 {
			continue // or never set, after an error
		}
		i := slot.sum & mask
		for t.slots[i].stack != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = slot
		t.used++
	}
}

// repeats finds the stacks of one message by the bytes of the location ids.
// Where stacks do not repeat it turns itself off.
type repeats struct {
	table       stackTable
	asked, hits int
	off         bool
	seeds       [2]maphash.Seed
}

func (m *repeats) reset(samples int) {
	size := 64
	for size < 2*samples && size < 1<<12 {
		size *= 2
	}
	*m = repeats{table: stackTable{slots: zeroed(m.table.slots, size)}, seeds: m.seeds}
	if m.seeds == [2]maphash.Seed{} {
		m.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	}
}

// find is as that of stackTable.
func (m *repeats) find(ids []byte) (*stackSlot, profile.StackID, bool) {
	if m.off {
		return nil, 0, false
	}
	slot, st, ok := m.table.find(maphash.Bytes(m.seeds[0], ids), uint32(maphash.Bytes(m.seeds[1], ids)))
	if ok {
		m.hits++
	}
	if m.asked++; m.asked == 1<<13 && m.hits < 1<<9 {
		m.off = true
	}
	return slot, st, ok
}

// sequenceHash hashes sequences of numbers, one number at a time.
type sequenceHash struct{ a, b uint64 }

func newSequenceHash() sequenceHash { return sequenceHash{rand.Uint64(), rand.Uint64()} }

// add returns the hash of the sequence followed by x.
func (h sequenceHash) add(x sequenceHash) sequenceHash {
	return sequenceHash{fold(h.a^x.a, 0x9e3779b97f4a7c15), fold(h.b^x.b, 0xd6e8feb86659fd93)}
}

// number returns the hash of one number under the seed h.
func (h sequenceHash) number(x uint64) sequenceHash {
	return sequenceHash{fold(h.a^x, 0xa0761d6478bd642f), fold(h.b^x, 0xe7037ed1a0b428db)}
}

func fold(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}
