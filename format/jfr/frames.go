package jfr

import "github.com/dendroprof/dendro/profile"

// frameLayout says how to read a frame of a stack trace without a program, if
// all its fields are varints, as they are in all known recordings: how many
// there are, and which of them matter.
type frameLayout struct {
	fields             int // 0: there are others
	method, line, kind int
}

// maxFrameFields is how many fields a frame may have to be read that way.
const maxFrameFields = 8

// layoutOf returns the layout of the frames that p reads, of a class that is
// passed over by skip.
func layoutOf(p, skip program) (l frameLayout) {
	if len(skip) != 1 || skip[0].kind != skipVarints || skip[0].n > maxFrameFields {
		return frameLayout{}
	}
	at := 0
	for _, s := range p {
		switch s.slot {
		case slotMethod:
			l.method = at
		case slotLine:
			l.line = at
		case slotType:
			l.kind = at
		}
		if s.kind == skipVarints {
			at += int(s.n)
		} else {
			at++
		}
	}
	if len(p) > 0 && at <= int(skip[0].n) {
		l.fields = int(skip[0].n)
	}
	return l
}

// readFrames reads n frames at c by the layout and appends them to frames. The
// loop decides over the speed of the reader.
func (ch *chunk) readFrames(c *cursor, n int, frames []profile.FrameID) []profile.FrameID {
	layout := ch.meta.layout
	var values [maxFrameFields]uint64
	b, i := c.b, c.i
	for ; n > 0; n-- {
		for f := range values[:layout.fields] {
			if i+1 >= len(b) { // the end of the chunk: rare, and with care
				c.i = i
				values[f] = c.varint()
				i = c.i
				continue
			}
			x := uint64(b[i])
			i++
			if x >= 0x80 {
				if y := uint64(b[i]); y < 0x80 {
					x = x&0x7f | y<<7
					i++
				} else {
					c.i = i - 1
					x = c.longVarint()
					i = c.i
				}
			}
			values[f] = x
		}
		frames = append(frames, ch.frame(values[layout.method], int32(values[layout.line]), values[layout.kind]))
	}
	c.i = i
	return frames
}

// frameTable maps what a stack trace says of a frame to the frame. It is an
// open-addressing table, as idTable. The zero value is empty.
type frameTable struct {
	slots []frameSlot
	used  int
	seed  uint64
}

type frameSlot struct {
	method uint64
	line   int32
	kind   uint32
	frame  profile.FrameID
	full   bool
}

// slot returns the slot of a frame. If it is not full it is the caller's to
// fill, before the next call.
func (t *frameTable) slot(method uint64, line int32, kind uint32) *frameSlot {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	h := (method ^ t.seed ^ uint64(uint32(line))<<36) * 0x9e3779b97f4a7c15
	h ^= h >> 31
	h = (h ^ uint64(kind)) * 0xbf58476d1ce4e5b9
	for i := h >> 32 & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if !s.full || s.method == method && s.line == line && s.kind == kind {
			return s
		}
	}
}

func (t *frameTable) fill(s *frameSlot, method uint64, line int32, kind uint32, frame profile.FrameID) {
	*s = frameSlot{method, line, kind, frame, true}
	t.used++
}

func (t *frameTable) grow() {
	old := t.slots
	if t.seed == 0 {
		t.seed = newSeed()
	}
	t.slots, t.used = make([]frameSlot, max(64, 2*len(old))), 0
	for _, s := range old {
		if s.full {
			t.fill(t.slot(s.method, s.line, s.kind), s.method, s.line, s.kind, s.frame)
		}
	}
}

// clear empties the table and keeps its memory if it was of use.
func (t *frameTable) clear() {
	if len(t.slots) > 64 && len(t.slots) > sparse*t.used {
		t.slots = nil
	} else if t.used > 0 {
		clear(t.slots)
	}
	t.used = 0
}
