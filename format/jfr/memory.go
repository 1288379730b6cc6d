package jfr

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// nativeEvent is a call of malloc or free. The event of free has no size: it is
// that of the allocation at the same address before it.
type nativeEvent struct {
	sample
	address uint64
	freed   bool
}

func (ch *chunk) malloc(e *eventType, r *record) { ch.nativeMemory(r, int64(r[slotWeight]), false) }

func (ch *chunk) free(e *eventType, r *record) { ch.nativeMemory(r, 0, true) }

func (ch *chunk) nativeMemory(r *record, size int64, freed bool) {
	if size < 0 {
		ch.found.badEvents++
		return
	}
	ch.nativeEvents = append(ch.nativeEvents, nativeEvent{
		sample: sample{
			stack: ch.stack(r[slotStack]), time: ch.time(r[slotStart]), value: size, Tags: profile.Tags{Thread: ch.thread(r[slotThread])},
		},
		address: r[slotAddress], freed: freed,
	})
}

// matchFrees makes the series of native memory: allocations as they are, frees
// with the negative size of what they free, both with their own stacks, in the
// order of time. The addresses stay, so that allocations that were never freed
// can be told.
func (r *recording) matchFrees() {
	slices.SortStableFunc(r.nativeEvents, func(a, b nativeEvent) int { return cmp.Compare(a.time, b.time) })
	s := &r.series[malloc]
	sizes := map[uint64]int64{} // of what is allocated
	for _, e := range r.nativeEvents {
		if !e.freed {
			sizes[e.address] = e.value
			if e.stack == profile.NoStack {
				e.stack = r.p.Symbols.Lost()
			}
		} else {
			size, ok := sizes[e.address]
			if !ok {
				r.found.unknownFrees++
				continue
			}
			delete(sizes, e.address)
			e.value = -size
		}
		s.add(e.sample)
		s.Address = append(s.Address, e.address)
	}
	r.nativeEvents = nil
}
