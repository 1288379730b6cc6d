package perfdata

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// queue brings records into the order of time. perf empties the buffers of the processors
// one after the other, so that a sample may stand before the mapping of its code, or
// before the exec that began its program. Such a pass over the buffers is a round: what a
// later one writes is newer than all that the round before had.
type queue struct {
	held   []heldRecord
	size   int
	newest uint64 // time of a record
	before uint64 // newest at the end of the last round
}

type heldRecord struct {
	time   uint64
	offset int64 // in the file
	typ    uint32
	misc   uint16
	body   []byte
}

// mostHeld is the size of held records at which they are released without the end of a
// round, which perf writes much earlier.
const mostHeld = 64 << 20

// hold keeps a copy of a record, and reports whether it did: records of perf itself, and
// those without a time, are not held.
func (r *reader) hold(typ uint32, misc uint16, body []byte) bool {
	if typ >= firstOfPerf || len(r.events) == 0 || !r.events[0].timed {
		return false
	}
	at, fields := 0, r.sample
	if typ == recordSample { // the time stands behind these
		at = 8 * bits.OnesCount64(fields&(identified|hasIP|hasTID))
	} else { // or before these, at the end
		at = len(body) - 8*bits.OnesCount64(fields&(hasTime|hasID|hasStreamID|hasCPU|identified))
	}
	if at < 0 || at+8 > len(body) {
		return false
	}
	time := le.Uint64(body[at:])
	if time == 0 { // perf describes processes that were running when the recording began
		return false
	}
	q := &r.queue
	q.held = append(q.held, heldRecord{time: time, offset: r.offset, typ: typ, misc: misc, body: slices.Clone(body)})
	q.size += len(body)
	q.newest = max(q.newest, time)
	return true
}

// release handles the held records up to a time.
func (r *reader) release(until uint64) error {
	q := &r.queue
	slices.SortStableFunc(q.held, func(a, b heldRecord) int { return cmp.Compare(a.time, b.time) })
	n := 0
	for ; n < len(q.held) && q.held[n].time <= until; n++ {
		h := &q.held[n]
		if _, err := r.handle(h.typ, h.misc, h.body); err != nil {
			return &profile.ParseError{Offset: h.offset, Err: err}
		}
		q.size -= len(h.body)
	}
	q.held = slices.Delete(q.held, 0, n)
	return nil
}
