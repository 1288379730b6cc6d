package pprof

import "hash/maphash"

// stackMemo finds the stack of location ids that an earlier sample had, byte for
// byte. Samples of one stack are many when labels or times tell them apart, and
// a stack costs a look-up per frame in a table far larger than any cache. Where
// stacks do not repeat it turns itself off.
//
// Ids are told apart by 96 bits of hash with random seeds and not compared:
// that would be one more cache miss for each sample, and even among a hundred
// million stacks two agree with a probability of 10^-13.
type stackMemo struct {
	slots       []memoSlot
	used        int
	asked, hits int
	off         bool
	seeds       [2]maphash.Seed
}

// memoSlot is one place of the hash table. The stack is stored plus one so that
// the zero slot is empty.
type memoSlot struct {
	sum   uint64
	check uint32
	stack int32
}

// maxMemo bounds the table to 512 MiB; a full one is as good as none.
const maxMemo = 1 << 25

func (m *stackMemo) reset(samples int) {
	size := 64
	for size < 2*samples && size < 1<<12 {
		size *= 2
	}
	*m = stackMemo{slots: zeroed(m.slots, size), seeds: m.seeds}
	if m.seeds == [2]maphash.Seed{} {
		m.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	}
}

// find returns the slot of ids, and whether its stack is known. If not, the slot
// is the caller's to fill before the next call; it may be nil.
func (m *stackMemo) find(ids []byte) (*memoSlot, bool) {
	if m.off {
		return nil, false
	}
	if m.asked++; m.asked == 1<<13 && m.hits < 1<<9 || m.used == maxMemo/2 {
		m.off = true
	}
	if 2*m.used >= len(m.slots) {
		m.grow()
	}
	sum, check := maphash.Bytes(m.seeds[0], ids), uint32(maphash.Bytes(m.seeds[1], ids))
	mask := uint64(len(m.slots) - 1)
	for i := sum & mask; ; i = (i + 1) & mask {
		slot := &m.slots[i]
		if slot.stack == 0 {
			m.used++
			slot.sum, slot.check = sum, check
			return slot, false
		}
		if slot.sum == sum && slot.check == check {
			m.hits++
			return slot, true
		}
	}
}

func (m *stackMemo) grow() {
	old := m.slots
	m.slots = make([]memoSlot, 2*len(old))
	mask := uint64(len(m.slots) - 1)
	for _, slot := range old {
		if slot.stack == 0 {
			continue
		}
		i := slot.sum & mask
		for m.slots[i].stack != 0 {
			i = (i + 1) & mask
		}
		m.slots[i] = slot
	}
}
