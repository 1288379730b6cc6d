package pstats

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// marshal reads the values of Python's marshal that a profile consists of. After the
// first error all methods return zero values.
type marshal struct {
	in     *bufio.Reader
	offset int64
	limit  int // bytes of a text
	refs   []value
	texts  []string // of Python 2, which numbers interned strings apart
	err    error

	flagged int // the reference that the value in work becomes, or -1
	buf     []byte
}

// value is what a reference may stand for: a text, a number or a function.
type value struct {
	kind   byte // textValue and so on; 0 for anything else
	text   string
	number float64
	fn     *profile.Function
}

const (
	textValue = 1 + iota
	numberValue
	functionValue
)

// flagRef marks a value that becomes a reference.
const flagRef = 0x80

func newMarshal(r io.Reader, l profile.Limits) *marshal {
	return &marshal{in: bufio.NewReader(r), limit: l.Line, flagged: -1}
}

func (m *marshal) malformed(format string, args ...any) {
	m.fail(profile.Malformed(format, args...))
}

func (m *marshal) fail(err error) {
	if m.err == nil {
		m.err = &profile.ParseError{Offset: m.offset, Err: err}
	}
}

// end checks that nothing follows.
func (m *marshal) end() error {
	if m.err == nil {
		switch _, err := m.in.ReadByte(); err {
		case io.EOF:
		case nil:
			m.malformed("something follows the profile")
		default:
			m.err = err
		}
	}
	return m.err
}

// bytes reads n bytes, valid until the next call; zeros after an error.
func (m *marshal) bytes(n int) []byte {
	m.buf = m.buf[:0]
	for m.err == nil && len(m.buf) < n {
		from := len(m.buf)
		m.buf = append(m.buf, make([]byte, min(n-from, 64<<10))...)
		k, err := io.ReadFull(m.in, m.buf[from:])
		m.offset += int64(k)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			m.malformed("the profile ends early")
		case err != nil:
			m.err = err
		}
	}
	if m.err != nil {
		m.buf = make([]byte, min(n, 8))
	}
	return m.buf
}

// tag reads the type of the next value. If the value becomes a reference, room for it
// is made.
func (m *marshal) tag() byte {
	t := m.bytes(1)[0]
	m.flagged = -1
	if t&flagRef != 0 {
		m.flagged = len(m.refs)
		m.refs = append(m.refs, value{})
	}
	return t &^ flagRef
}

// keep makes v what the reference of number ref stands for.
func (m *marshal) keep(ref int, v value) {
	if ref >= 0 && m.err == nil {
		m.refs[ref] = v
	}
}

// ref reads a reference to a value of a kind.
func (m *marshal) ref(kind byte) value {
	i := binary.LittleEndian.Uint32(m.bytes(4))
	if m.err == nil && (uint64(i) >= uint64(len(m.refs)) || m.refs[i].kind != kind) {
		m.malformed("reference %d to another value than is expected", i)
	}
	if m.err != nil {
		return value{}
	}
	return m.refs[i]
}

// size reads the size of a tuple.
func (m *marshal) size(tag byte) int {
	switch tag {
	case '(':
		return int(int32(binary.LittleEndian.Uint32(m.bytes(4))))
	case ')':
		return int(m.bytes(1)[0])
	}
	return -1
}

// function reads the key of a dictionary, a function, or its end.
func (m *marshal) function() (fn profile.Function, ok bool) {
	tag := m.tag()
	flagged := m.flagged
	switch tag {
	case '0':
		return fn, false
	case 'r':
		if v := m.ref(functionValue); v.fn != nil {
			return *v.fn, true
		}
		return fn, false
	}
	if size := m.size(tag); size != 3 && m.err == nil {
		m.malformed("a key that is no function of file, line and name")
	}
	fn.File = m.text()
	if line := m.number(); line > 0 && line <= math.MaxInt32 {
		fn.StartLine = int32(line)
	}
	fn.Name = m.text()
	if flagged >= 0 {
		m.keep(flagged, value{kind: functionValue, fn: &fn})
	}
	return fn, m.err == nil
}

// text reads a string.
func (m *marshal) text() string {
	tag := m.tag()
	flagged := m.flagged
	size := 0
	switch tag {
	case 'r':
		return m.ref(textValue).text
	case 'R':
		i := binary.LittleEndian.Uint32(m.bytes(4))
		if m.err == nil && uint64(i) >= uint64(len(m.texts)) {
			m.malformed("reference %d to an interned string that was not before", i)
		}
		if m.err != nil {
			return ""
		}
		return m.texts[i]
	case 'z', 'Z':
		size = int(m.bytes(1)[0])
	case 's', 't', 'u', 'a', 'A':
		size = int(int32(binary.LittleEndian.Uint32(m.bytes(4))))
	default:
		m.malformed("no string (type %q)", tag)
		return ""
	}
	switch {
	case size < 0:
		m.malformed("a string of %d bytes", size)
	case size > m.limit:
		m.fail(profile.TooLarge("string longer", int64(m.limit), "--max-line"))
	}
	if m.err != nil {
		return ""
	}
	text := stacktext.Clean(m.bytes(size))
	if m.err != nil {
		return ""
	}
	m.keep(flagged, value{kind: textValue, text: text})
	if tag == 't' {
		m.texts = append(m.texts, text)
	}
	return text
}

// number reads an integer or a float.
func (m *marshal) number() float64 { return m.numberOf(m.tag()) }

// numberOf is number behind its tag.
func (m *marshal) numberOf(tag byte) float64 {
	flagged := m.flagged
	v := 0.0
	switch tag {
	case 'r':
		return m.ref(numberValue).number
	case 'i':
		v = float64(int32(binary.LittleEndian.Uint32(m.bytes(4))))
	case 'I':
		v = float64(int64(binary.LittleEndian.Uint64(m.bytes(8))))
	case 'g':
		v = math.Float64frombits(binary.LittleEndian.Uint64(m.bytes(8)))
	case 'f':
		text := string(m.bytes(int(m.bytes(1)[0])))
		var err error
		if v, err = strconv.ParseFloat(text, 64); err != nil && m.err == nil {
			m.malformed("no number: %.30q", text)
		}
	case 'l':
		v = m.long()
	default:
		m.malformed("no number (type %q)", tag)
	}
	m.keep(flagged, value{kind: numberValue, number: v})
	return v
}

// long reads an integer of any size: its digits of 15 bits, least first.
func (m *marshal) long() float64 {
	n := int32(binary.LittleEndian.Uint32(m.bytes(4)))
	sign := 1.0
	if n < 0 {
		n, sign = -n, -1
	}
	v, unit := 0.0, sign
	for ; n != 0 && m.err == nil; n-- {
		if unit > 1e18 || unit < -1e18 {
			m.malformed("a number of more than 63 bits")
			return 0
		}
		v += unit * float64(binary.LittleEndian.Uint16(m.bytes(2)))
		unit *= 1 << 15
	}
	return v
}
