package stackprof

import (
	"bufio"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// magic begins what Ruby's Marshal 4.8 has written of a hash.
const magic = "\x04\x08{"

// marshal is a reader of the JSON of what Ruby's Marshal has written: hashes, arrays,
// strings, symbols, numbers, booleans and nil. Links to objects that were written before
// are followed for strings and numbers. After its end or an error, err is not nil.
type marshal struct {
	in      *bufio.Reader
	offset  int64
	limit   int // bytes of a string
	err     error
	out     []byte // not yet read
	written int64

	symbols []string
	objects []string // as JSON; "" for what cannot be linked to
	open    []container
}

// container is a hash or an array that is being read.
type container struct {
	hash      bool
	done, all int // keys and values, or elements
}

// Most that is read: levels of containers, and bytes of JSON for a byte, beyond a size
// that does no harm.
const (
	mostLevels    = 1000
	mostExpansion = 200
	harmless      = 64 << 20
)

// Read implements io.Reader.
func (m *marshal) Read(b []byte) (int, error) {
	for len(m.out) < len(b) && m.err == nil {
		if m.offset == 0 {
			m.bytes(2) // the version, which is of magic
		}
		m.next()
		if m.err == nil && len(m.open) == 0 {
			m.finish()
		}
		if m.written > harmless && m.written > mostExpansion*m.offset {
			m.malformed("a few bytes stand for %d MB", m.written>>20)
		}
	}
	n := copy(b, m.out)
	m.out = m.out[:copy(m.out, m.out[n:])]
	m.written += int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, m.err
}

// finish reads to the end.
func (m *marshal) finish() {
	if _, m.err = m.in.ReadByte(); m.err == nil {
		m.malformed("something follows the result")
	}
}

func (m *marshal) malformed(format string, args ...any) {
	m.fail(profile.Malformed(format, args...))
}

func (m *marshal) fail(err error) {
	if m.err == nil {
		m.err = &profile.ParseError{Offset: m.offset, Err: err}
	}
}

// next reads one value, or the beginning of one with elements, and closes what ends.
func (m *marshal) next() {
	key := false
	if n := len(m.open); n > 0 {
		c := &m.open[n-1]
		key = c.hash && c.done%2 == 0
		switch {
		case c.done == 0:
		case c.hash && !key:
			m.out = append(m.out, ':')
		default:
			m.out = append(m.out, ',')
		}
		c.done++
	}
	from := len(m.out)
	m.value(m.byte())
	if key && m.err == nil {
		switch text := m.out[from:]; {
		case len(text) > 0 && text[0] == '"':
		case len(text) > 0 && (text[0] == '-' || text[0] >= '0' && text[0] <= '9'):
			m.out = append(m.out[:from], `"`+string(text)+`"`...)
		default:
			m.malformed("a key that is no string and no number")
		}
	}
	for n := len(m.open); n > 0 && m.open[n-1].done == m.open[n-1].all; n-- {
		m.out = append(m.out, "]}"[hashIndex(m.open[n-1].hash)])
		m.open = m.open[:n-1]
	}
}

func hashIndex(hash bool) int {
	if hash {
		return 1
	}
	return 0
}

func (m *marshal) value(tag byte) {
	switch tag {
	case '0':
		m.out = append(m.out, "null"...)
	case 'T':
		m.out = append(m.out, "true"...)
	case 'F':
		m.out = append(m.out, "false"...)
	case 'i':
		m.out = strconv.AppendInt(m.out, int64(m.int()), 10)
	case 'l':
		m.object(m.big())
	case 'f':
		m.object(m.float())
	case ':', ';':
		m.out = jsonscan.AppendText(m.out, m.symbol(tag))
	case '"':
		m.object(string(jsonscan.AppendText(nil, m.text())))
	case 'I':
		if tag := m.byte(); tag != '"' && m.err == nil {
			m.malformed("an object of type %q", tag)
			return
		}
		m.object(string(jsonscan.AppendText(nil, m.text())))
		m.encoding()
	case '@':
		i := m.int()
		if m.err == nil && (i < 0 || i >= len(m.objects) || m.objects[i] == "") {
			m.malformed("a link to object %d", i)
		} else if m.err == nil {
			m.out = append(m.out, m.objects[i]...)
		}
	case '[', '{':
		c := container{hash: tag == '{', all: m.int()}
		m.out = append(m.out, "[{"[hashIndex(c.hash)])
		m.objects = append(m.objects, "")
		switch {
		case c.all < 0:
			m.malformed("%d elements", c.all)
		case len(m.open) == mostLevels:
			m.malformed("more than %d levels", mostLevels)
		}
		if c.hash {
			c.all *= 2
		}
		m.open = append(m.open, c)
	default:
		m.malformed("an object of type %q", tag)
	}
}

// object writes an object that can be linked to.
func (m *marshal) object(json string) {
	m.objects = append(m.objects, json)
	m.out = append(m.out, json...)
}

// encoding skips the pairs behind a string that say its encoding.
func (m *marshal) encoding() {
	for n := m.int(); n > 0 && m.err == nil; n-- {
		m.symbol(m.byte())
		from := len(m.out)
		switch tag := m.byte(); tag {
		case 'T', 'F', '"', '@':
			m.value(tag)
		default:
			m.malformed("an encoding of type %q", tag)
		}
		m.out = m.out[:from]
	}
}

// symbol reads a symbol, behind its tag.
func (m *marshal) symbol(tag byte) string {
	switch tag {
	case ':':
		text := m.text()
		m.symbols = append(m.symbols, text)
		return text
	case ';':
		if i := m.int(); m.err == nil && i >= 0 && i < len(m.symbols) {
			return m.symbols[i]
		}
	}
	m.malformed("a symbol that was not before")
	return ""
}

// byte reads a byte; 0 after an error.
func (m *marshal) byte() byte { return m.bytes(1)[0] }

// bytes reads n bytes; a zero after an error.
func (m *marshal) bytes(n int) []byte {
	if n > m.limit {
		m.fail(profile.TooLarge("string longer", int64(m.limit), "--max-line"))
	}
	b := make([]byte, 0, max(1, min(n, 4096)))
	for m.err == nil && len(b) < n {
		from := len(b)
		b = append(b, make([]byte, min(n-from, 64<<10))...)
		k, err := io.ReadFull(m.in, b[from:])
		m.offset += int64(k)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			m.malformed("the result ends early")
		case err != nil:
			m.err = err
		}
	}
	if m.err != nil {
		return []byte{0}
	}
	return b
}

// text reads a length and as many bytes.
func (m *marshal) text() string {
	n := m.int()
	if n < 0 {
		m.malformed("a string of %d bytes", n)
		return ""
	}
	b := m.bytes(n)
	if m.err != nil {
		return ""
	}
	return stacktext.Clean(b)
}

// int reads an integer of up to four bytes: 0 as 0; -123 to 122 shifted away from it by
// 5; else the number of bytes, negative for a negative number, and these.
func (m *marshal) int() int {
	c := int(int8(m.byte()))
	switch {
	case c == 0:
		return 0
	case c > 4:
		return c - 5
	case c < -4:
		return c + 5
	}
	n := max(c, -c)
	var b [4]byte
	v := 0
	copy(b[:], m.bytes(n))
	v = int(binary.LittleEndian.Uint32(b[:]))
	if c < 0 {
		v -= 1 << (8 * n)
	}
	return v
}

// big reads an integer of more bytes, as JSON.
func (m *marshal) big() string {
	sign := m.byte()
	n := 2 * m.int()
	if m.err == nil && (n < 0 || n > 8) {
		m.malformed("an integer of %d bytes", n)
	}
	if m.err != nil {
		return "0"
	}
	var b [8]byte
	copy(b[:], m.bytes(n))
	text := strconv.FormatUint(binary.LittleEndian.Uint64(b[:]), 10)
	if sign == '-' {
		return "-" + text
	}
	return text
}

// float reads a floating-point number, as JSON: null if it is not finite.
func (m *marshal) float() string {
	text := m.text()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && m.err == nil {
		m.malformed("a number %.30q", text)
	}
	if v-v != 0 {
		return "null"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
