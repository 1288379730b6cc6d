package pstats

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/bytescan"
	"github.com/dendroprof/dendro/profile"
)

// marshal reads the values of Python's marshal that a profile consists of. After the
// first error all methods return zero values.
type marshal struct {
	*bytescan.Scanner
	refs  []value
	texts []string // of Python 2, which numbers interned strings apart

	flagged int // the reference that the value in work becomes, or -1
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
	return &marshal{Scanner: bytescan.New(r, "profile", l), flagged: -1}
}

// end checks that nothing follows.
func (m *marshal) end() error {
	if m.More() {
		m.Malformed("something follows the profile")
	}
	return m.Err()
}

// tag reads the type of the next value. If the value becomes a reference, room for it
// is made.
func (m *marshal) tag() byte {
	t := m.Byte()
	m.flagged = -1
	if t&flagRef != 0 {
		m.flagged = len(m.refs)
		m.refs = append(m.refs, value{})
	}
	return t &^ flagRef
}

// keep makes v what the reference of number ref stands for.
func (m *marshal) keep(ref int, v value) {
	if ref >= 0 && m.Err() == nil {
		m.refs[ref] = v
	}
}

// ref reads a reference to a value of a kind.
func (m *marshal) ref(kind byte) value {
	i := binary.LittleEndian.Uint32(m.Bytes(4))
	if m.Err() == nil && (uint64(i) >= uint64(len(m.refs)) || m.refs[i].kind != kind) {
		m.Malformed("reference %d to another value than is expected", i)
	}
	if m.Err() != nil {
		return value{}
	}
	return m.refs[i]
}

// size reads the size of a tuple.
func (m *marshal) size(tag byte) int {
	switch tag {
	case '(':
		return int(int32(binary.LittleEndian.Uint32(m.Bytes(4))))
	case ')':
		return int(m.Byte())
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
	if size := m.size(tag); size != 3 && m.Err() == nil {
		m.Malformed("a key that is no function of file, line and name")
	}
	fn.File = m.text()
	if line := m.number(); line > 0 && line <= math.MaxInt32 {
		fn.StartLine = int32(line)
	}
	fn.Name = m.text()
	if flagged >= 0 {
		m.keep(flagged, value{kind: functionValue, fn: &fn})
	}
	return fn, m.Err() == nil
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
		i := binary.LittleEndian.Uint32(m.Bytes(4))
		if m.Err() == nil && uint64(i) >= uint64(len(m.texts)) {
			m.Malformed("reference %d to an interned string that was not before", i)
		}
		if m.Err() != nil {
			return ""
		}
		return m.texts[i]
	case 'z', 'Z':
		size = int(m.Byte())
	case 's', 't', 'u', 'a', 'A':
		size = int(int32(binary.LittleEndian.Uint32(m.Bytes(4))))
	default:
		m.Malformed("no string (type %q)", tag)
		return ""
	}
	text := m.Text(size)
	if m.Err() != nil {
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
		v = float64(int32(binary.LittleEndian.Uint32(m.Bytes(4))))
	case 'I':
		v = float64(int64(binary.LittleEndian.Uint64(m.Bytes(8))))
	case 'g':
		v = math.Float64frombits(binary.LittleEndian.Uint64(m.Bytes(8)))
	case 'f':
		text := string(m.Bytes(int(m.Byte())))
		var err error
		if v, err = strconv.ParseFloat(text, 64); err != nil && m.Err() == nil {
			m.Malformed("no number: %.30q", text)
		}
	case 'l':
		v = m.long()
	default:
		m.Malformed("no number (type %q)", tag)
	}
	m.keep(flagged, value{kind: numberValue, number: v})
	return v
}

// long reads an integer of any size: its digits of 15 bits, least first.
func (m *marshal) long() float64 {
	n := int32(binary.LittleEndian.Uint32(m.Bytes(4)))
	sign := 1.0
	if n < 0 {
		n, sign = -n, -1
	}
	v, unit := 0.0, sign
	for ; n != 0 && m.Err() == nil; n-- {
		if unit > 1e18 || unit < -1e18 {
			m.Malformed("a number of more than 63 bits")
			return 0
		}
		v += unit * float64(binary.LittleEndian.Uint16(m.Bytes(2)))
		unit *= 1 << 15
	}
	return v
}
