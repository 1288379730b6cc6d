package jfr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/dendroprof/dendro/profile"
)

// headerSize is the length of a chunk's header.
const headerSize = 68

// header is what matters of the header of a chunk.
type header struct {
	major, minor   uint16
	size           int64
	constants      int64 // place of the newest event of constants
	metadata       int64 // place of the description of classes
	startNanos     int64 // since 1970
	durationNanos  int64
	startTicks     int64
	ticksPerSecond int64
	features       uint32
}

// compressedIntegers is the feature that all known recordings have.
const compressedIntegers = 1

func parseHeader(b []byte) header {
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	return header{
		major: binary.BigEndian.Uint16(b[4:]), minor: binary.BigEndian.Uint16(b[6:]),
		size: long(8), constants: long(16), metadata: long(24),
		startNanos: long(32), durationNanos: long(40), startTicks: long(48), ticksPerSecond: long(56),
		features: binary.BigEndian.Uint32(b[64:]),
	}
}

func (h *header) check() error {
	switch {
	case h.major != 1 && h.major != 2:
		return fmt.Errorf("version %d.%d of JFR: %w", h.major, h.minor, profile.ErrUnsupported)
	case h.features&compressedIntegers == 0:
		return fmt.Errorf("integers that are not compressed: %w", profile.ErrUnsupported)
	case h.ticksPerSecond <= 0:
		return profile.Malformed("%d ticks a second", h.ticksPerSecond)
	}
	return nil
}

// nanos converts a number of ticks.
func (h *header) nanos(ticks int64) int64 {
	const second = 1_000_000_000
	if h.ticksPerSecond == second {
		return ticks
	}
	magnitude := uint64(max(ticks, -ticks))
	hi, lo := bits.Mul64(magnitude, second)
	if hi >= uint64(h.ticksPerSecond) {
		return 0 // more than 292 years: not a time
	}
	n, _ := bits.Div64(hi, lo, uint64(h.ticksPerSecond))
	if ticks < 0 {
		return -int64(n)
	}
	return int64(n)
}

// chunk is the chunk being read.
type chunk struct {
	*recording
	header
	b    []byte
	at   int64 // of b in the file
	base int64 // startNanos less the start of the profile

	settings settings
	from     [seriesCount]int // where the chunk's samples begin

	functions, natives, classes, threadOf idTable // by the numbers of the chunk
	scratch                               []byte
	work                                  int   // see spend
	err                                   error // what ends the reading of the file
}

// Frames and bytes of texts that are read for each byte of a chunk, and whatever its size.
const (
	workPerByte = 16
	leastWork   = 1 << 20
)

// spend accounts for work at a place that is not proportional to the chunk: many constants and events
// may refer to the same texts and frames. It returns false if there was too much of it.
func (ch *chunk) spend(work, at int) bool {
	if ch.work -= work; ch.work >= 0 {
		return true
	}
	ch.stop(at, fmt.Errorf("stacks and texts expand the recording far too much: %w", profile.ErrTooLarge))
	return false
}

// stop ends the reading of the file with an error at a place of the chunk.
func (ch *chunk) stop(at int, err error) {
	if ch.err == nil {
		ch.err = &profile.ParseError{Offset: ch.at + int64(at), Err: err}
	}
}

// warnf notes what is missing from the chunk.
func (ch *chunk) warnf(at int, format string, args ...any) {
	ch.found.warn(ch.at+int64(at), format, args...)
}

// read reads all of the chunk. Complete says that b is as long as the header
// says.
func (ch *chunk) read(complete bool) error {
	err := errUnfinished
	if complete {
		err = ch.followHeader()
	}
	if err != nil {
		ch.pools.clear()
		if found := ch.search(); found != nil {
			return found
		}
	}
	if ch.meta.broken != nil {
		ch.warnf(0, "not all events can be read: %v", ch.meta.broken)
	}
	ch.readEvents()
	ch.close()
	return ch.err
}

var errUnfinished = errors.New("the chunk is not finished")

// followHeader finds the metadata and the constants by the places in the header.
func (ch *chunk) followHeader() error {
	c, err := ch.eventAt(ch.header.metadata)
	if err == nil {
		err = ch.meta.load(&c)
	}
	for at := ch.header.constants; err == nil; {
		var delta int64
		if c, err = ch.eventAt(at); err != nil {
			break
		}
		if delta, err = ch.indexConstants(&c); err != nil || delta == 0 {
			break
		}
		if at += delta; delta > 0 {
			err = profile.Malformed("constants are not in order")
		}
	}
	if err != nil {
		ch.warnf(0, "the header of the chunk is of no use, and so it was searched: %v", err)
	}
	return err
}

// Classes of events that are the format's own.
const (
	metadataEvent  = 0
	constantsEvent = 1
)

// search finds the metadata and the constants event by event, in a chunk whose
// header does not say where they are. An error is that there is no metadata.
func (ch *chunk) search() error {
	var constants []int
	found := profile.Malformed("the chunk has no description of its events")
	for at := headerSize; at < len(ch.b); {
		size, _, class := eventHead(ch.b, at)
		if size == 0 {
			break
		}
		switch class {
		case constantsEvent:
			constants = append(constants, at)
		case metadataEvent:
			c := cursor{b: ch.b[:at+size], i: at}
			if err := ch.meta.load(&c); err == nil || found != nil {
				found = err
			}
		}
		at += size
	}
	if found != nil {
		return found
	}
	for i := len(constants) - 1; i >= 0; i-- {
		at := constants[i]
		size, _, _ := eventHead(ch.b, at)
		if _, err := ch.indexConstants(&cursor{b: ch.b[:at+size], i: at}); err != nil {
			ch.warnf(at, "%v", err)
		}
	}
	return nil
}

// eventHead returns the size of the event at a place, where its content begins,
// and its class; the size is 0 if no event can be there.
func eventHead(b []byte, at int) (size, body int, class uint64) {
	c := cursor{b: b, i: at}
	n := c.varint()
	class = c.varint()
	if c.bad || n < uint64(c.i-at) || n > uint64(len(b)-at) {
		return 0, 0, 0
	}
	return int(n), c.i, class
}

// eventAt returns the event at a place of the header's.
func (ch *chunk) eventAt(at int64) (cursor, error) {
	if at < headerSize || at >= int64(len(ch.b)) {
		return cursor{}, profile.Malformed("no event at byte %d of a chunk of %d", at, len(ch.b))
	}
	size, _, _ := eventHead(ch.b, int(at))
	if size == 0 {
		return cursor{}, profile.Malformed("the event at byte %d of the chunk is damaged", at)
	}
	return cursor{b: ch.b[:int(at)+size], i: int(at)}, nil
}

// readEvents reads all events.
func (ch *chunk) readEvents() {
	types := &ch.meta.eventOf
	for at := headerSize; at < len(ch.b) && ch.err == nil; {
		size, body, class := eventHead(ch.b, at)
		if size == 0 {
			ch.warnf(at, "the last %d bytes of the chunk cannot be read", len(ch.b)-at)
			return
		}
		if v := types.get(class); v != nil {
			e := &ch.meta.events[*v-1]
			c := cursor{b: ch.b[:at+size], i: body}
			e.program.run(&c, &e.record)
			if c.bad {
				ch.found.badEvents++
			} else {
				e.read(ch, e, &e.record)
			}
		} else if class > constantsEvent {
			ch.found.otherEvents++
			ch.found.otherEvent = class
		}
		at += size
	}
}

// constant reads the constant that a value of its pool stands for.
func (ch *chunk) constant(pool poolID, value *int64) (r record) {
	c := cursor{b: ch.b, i: int(*value - 1)}
	ch.meta.constants[pool].run(&c, &r)
	return r
}

// text appends the string at a place to buf.
func (ch *chunk) text(buf []byte, place uint64) []byte {
	if place == 0 || place >= uint64(len(ch.b)) || ch.work < 0 {
		return buf
	}
	before := len(buf)
	c := cursor{b: ch.b, i: int(place)}
	buf, constant, ok := c.appendString(buf)
	if at := ch.pools[poolString].get(constant); ok && at != nil {
		c = cursor{b: ch.b, i: int(*at - 1)}
		buf, _, _ = c.appendString(buf)
	}
	ch.spend(len(buf)-before, int(place))
	return buf
}

// symbol returns the text of a symbol.
func (ch *chunk) symbol(id uint64) textID {
	v := ch.pools[poolSymbol].get(id)
	if v == nil {
		return 0
	}
	if n, ok := entry(*v); ok {
		return textID(n)
	}
	r := ch.constant(poolSymbol, v)
	ch.scratch = ch.text(ch.scratch[:0], r[slotValue])
	text := ch.names.text(ch.scratch)
	*v = resolved(int32(text))
	return text
}

// className returns the name of a class, as class files spell it.
func (ch *chunk) className(id uint64) textID {
	v := ch.pools[poolClass].get(id)
	if v == nil {
		return 0
	}
	if n, ok := entry(*v); ok {
		return textID(n)
	}
	r := ch.constant(poolClass, v)
	text := ch.symbol(r[slotName])
	*v = resolved(int32(text))
	return text
}
