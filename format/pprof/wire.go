package pprof

import (
	"fmt"

	"github.com/dendroprof/dendro/profile"
)

// Wire types of protocol buffers. The two of groups, 3 and 4, are refused: no
// version of the format has groups and skipping them needs recursion.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// shape says which wire types the fields of a message may have: a bit set per
// field number, 0 for a number that the message does not have. A repeated
// integer may be packed into bytes or not, whatever the schema says.
type shape [16]uint8

const (
	asVarint = 1 << wireVarint
	asBytes  = 1 << wireBytes
	asEither = asVarint | asBytes
)

var (
	profileShape = shape{
		fieldSampleType: asBytes, fieldSample: asBytes, fieldMapping: asBytes, fieldLocation: asBytes,
		fieldFunction: asBytes, fieldString: asBytes, fieldDropFrames: asVarint, fieldKeepFrames: asVarint,
		fieldTime: asVarint, fieldDuration: asVarint, fieldPeriodType: asBytes, fieldPeriod: asVarint,
		fieldComment: asEither, fieldDefaultType: asVarint, fieldDocURL: asVarint,
	}
	valueTypeShape = shape{1: asVarint, 2: asVarint}
	sampleShape    = shape{1: asEither, 2: asEither, 3: asBytes}
	labelShape     = shape{1: asVarint, 2: asVarint, 3: asVarint, 4: asVarint}
	mappingShape   = shape{
		1: asVarint, 2: asVarint, 3: asVarint, 4: asVarint, 5: asVarint,
		6: asVarint, 7: asVarint, 8: asVarint, 9: asVarint, 10: asVarint,
	}
	locationShape = shape{1: asVarint, 2: asVarint, 3: asVarint, 4: asBytes, 5: asVarint}
	lineShape     = shape{1: asVarint, 2: asVarint, 3: asVarint}
	functionShape = shape{1: asVarint, 2: asVarint, 3: asVarint, 4: asVarint, 5: asVarint}
)

// Field numbers of the outermost message.
const (
	fieldSampleType  = 1
	fieldSample      = 2
	fieldMapping     = 3
	fieldLocation    = 4
	fieldFunction    = 5
	fieldString      = 6
	fieldDropFrames  = 7
	fieldKeepFrames  = 8
	fieldTime        = 9
	fieldDuration    = 10
	fieldPeriodType  = 11
	fieldPeriod      = 12
	fieldComment     = 13
	fieldDefaultType = 14
	fieldDocURL      = 15
)

// field is one field of a message: [lo, hi) is its payload and hi the place of
// the next field. All places are offsets in the outermost message, so that
// every error can name one.
type field struct {
	num    int
	wire   int
	at     int    // of the tag
	value  uint64 // of a varint
	lo, hi int
}

// next reads the field at pos of a message that ends at end. A field that the
// shape knows must have one of its wire types; one that it does not know is
// returned as well, for the caller to skip.
func (s *shape) next(msg []byte, pos, end int) (field, error) {
	f := field{at: pos}
	tag, pos, err := uvarint(msg, pos, end)
	if err != nil {
		return f, err
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return f, malformed(f.at, "field number %d", tag>>3)
	}
	f.num, f.wire, f.lo = int(tag>>3), int(tag&7), pos
	switch f.wire {
	case wireVarint:
		f.value, f.hi, err = uvarint(msg, pos, end)
	case wireBytes:
		f.lo, f.hi, err = payload(msg, pos, end)
	case wireFixed64:
		f.hi = pos + 8
	case wireFixed32:
		f.hi = pos + 4
	default:
		return f, malformed(f.at, "field %d has wire type %d", f.num, f.wire)
	}
	switch {
	case err != nil:
		return f, err
	case f.hi > end:
		return f, &cutError{at: f.at, need: uint64(f.hi - pos), have: end - pos}
	case f.num < len(s) && s[f.num] != 0 && s[f.num]>>f.wire&1 == 0:
		return f, malformed(f.at, "field %d has wire type %d", f.num, f.wire)
	}
	return f, nil
}

// uvarint reads a base-128 integer and returns the place behind it. It is
// small enough to be inlined for integers of one byte.
func uvarint(msg []byte, pos, end int) (uint64, int, error) {
	if pos < end && msg[pos] < 0x80 {
		return uint64(msg[pos]), pos + 1, nil
	}
	return longUvarint(msg, pos, end)
}

func longUvarint(msg []byte, pos, end int) (uint64, int, error) {
	var v uint64
	for i := 0; i < 10; i++ {
		if pos+i >= end {
			return 0, 0, &cutError{at: pos, need: uint64(i + 1), have: i}
		}
		c := msg[pos+i]
		if i == 9 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, pos + i + 1, nil
		}
	}
	return 0, 0, malformed(pos, "integer longer than 64 bits")
}

// payload reads the length of a bytes field at pos and returns where its payload
// begins and ends. It is small enough to be inlined for short payloads.
func payload(msg []byte, pos, end int) (lo, hi int, err error) {
	if pos < end && msg[pos] < 0x80 && int(msg[pos]) < end-pos {
		return pos + 1, pos + 1 + int(msg[pos]), nil
	}
	return longPayload(msg, pos, end)
}

func longPayload(msg []byte, pos, end int) (lo, hi int, err error) {
	n, lo, err := uvarint(msg, pos, end)
	if err == nil && n > uint64(end-lo) {
		err = &cutError{at: pos, need: n, have: end - lo}
	}
	return lo, lo + int(n), err
}

// numbers holds the integer fields of a message by field number; 0 is not used.
type numbers [len(shape{})]uint64

// ints reads a message of integers.
func (s *shape) ints(msg []byte, pos, end int) (v numbers, err error) {
	for {
		if pos, err = s.read(msg, pos, end, &v); err != nil || pos == end {
			return v, err
		}
		f, err := s.next(msg, pos, end)
		if err != nil {
			return v, err
		}
		v.set(f)
		pos = f.hi
	}
}

// read reads integers up to the first field that is none, or that is unusual,
// and returns its place.
func (s *shape) read(msg []byte, pos, end int, v *numbers) (int, error) {
	for pos < end {
		tag := msg[pos]
		if tag&0x87 != wireVarint || s[tag>>3]&asVarint == 0 {
			break
		}
		u, next, err := uvarint(msg, pos+1, end)
		if err != nil {
			return pos, err
		}
		v[tag>>3] = u
		pos = next
	}
	return pos, nil
}

// set takes a field that read left out.
func (v *numbers) set(f field) {
	if f.wire == wireVarint && f.num < len(v) {
		v[f.num] = f.value
	}
}

// cutError is a field that reaches beyond the end of its message. It is apart
// from other errors because a cut prefix may look like that and yet be right.
type cutError struct {
	at   int
	need uint64
	have int
}

func (e *cutError) Error() string {
	return fmt.Sprintf("%d bytes announced, %d left: the file is cut or damaged", e.need, e.have)
}

// place turns an error of this file's functions into one for callers.
func place(err error) error {
	if cut, ok := err.(*cutError); ok {
		return malformed(cut.at, "%s", cut.Error())
	}
	return err
}

// malformed returns an error at a place of the message.
func malformed(at int, format string, args ...any) error {
	return &profile.ParseError{
		Offset: int64(at),
		Err:    fmt.Errorf("%w: "+format, append([]any{profile.ErrMalformed}, args...)...),
	}
}
