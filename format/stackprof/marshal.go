package stackprof

import (
	"cmp"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/bytescan"
	"github.com/dendroprof/dendro/format/internal/jsonscan"
)

// magic begins what Ruby's Marshal 4.8 has written of a hash.
const magic = "\x04\x08{"

// marshal is a reader of the JSON of what Ruby's Marshal has written: hashes, arrays,
// strings, symbols, numbers, booleans and nil. Links to objects that were written before
// are followed for strings and numbers. After its end or an error, err is not nil.
type marshal struct {
	*bytescan.Scanner
	ended   bool
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
	for len(m.out) < len(b) && m.Err() == nil && !m.ended {
		if m.Offset() == 0 {
			m.Bytes(2) // the version, which is of magic
		}
		m.next()
		if m.Err() == nil && len(m.open) == 0 {
			if m.ended = true; m.More() {
				m.Malformed("something follows the result")
			}
		}
		if m.written > harmless && m.written > mostExpansion*m.Offset() {
			m.Malformed("a few bytes stand for %d MB", m.written>>20)
		}
	}
	n := copy(b, m.out)
	m.out = m.out[:copy(m.out, m.out[n:])]
	m.written += int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, cmp.Or(m.Err(), io.EOF)
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
	m.value(m.Byte())
	if key && m.Err() == nil {
		switch text := m.out[from:]; {
		case len(text) > 0 && text[0] == '"':
		case len(text) > 0 && (text[0] == '-' || text[0] >= '0' && text[0] <= '9'):
			m.out = append(m.out[:from], `"`+string(text)+`"`...)
		default:
			m.Malformed("a key that is no string and no number")
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
		if tag := m.Byte(); tag != '"' && m.Err() == nil {
			m.Malformed("an object of type %q", tag)
			return
		}
		m.object(string(jsonscan.AppendText(nil, m.text())))
		m.encoding()
	case '@':
		i := m.int()
		if m.Err() == nil && (i < 0 || i >= len(m.objects) || m.objects[i] == "") {
			m.Malformed("a link to object %d", i)
		} else if m.Err() == nil {
			m.out = append(m.out, m.objects[i]...)
		}
	case '[', '{':
		c := container{hash: tag == '{', all: m.int()}
		m.out = append(m.out, "[{"[hashIndex(c.hash)])
		m.objects = append(m.objects, "")
		switch {
		case c.all < 0:
			m.Malformed("%d elements", c.all)
		case len(m.open) == mostLevels:
			m.Malformed("more than %d levels", mostLevels)
		}
		if c.hash {
			c.all *= 2
		}
		m.open = append(m.open, c)
	default:
		m.Malformed("an object of type %q", tag)
	}
}

// object writes an object that can be linked to.
func (m *marshal) object(json string) {
	m.objects = append(m.objects, json)
	m.out = append(m.out, json...)
}

// encoding skips the pairs behind a string that say its encoding.
func (m *marshal) encoding() {
	for n := m.int(); n > 0 && m.Err() == nil; n-- {
		m.symbol(m.Byte())
		from := len(m.out)
		switch tag := m.Byte(); tag {
		case 'T', 'F', '"', '@':
			m.value(tag)
		default:
			m.Malformed("an encoding of type %q", tag)
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
		if i := m.int(); m.Err() == nil && i >= 0 && i < len(m.symbols) {
			return m.symbols[i]
		}
	}
	m.Malformed("a symbol that was not before")
	return ""
}

// text reads a length and as many bytes.
func (m *marshal) text() string {
	return m.Text(m.int())
}

// int reads an integer of up to four bytes: 0 as 0; -123 to 122 shifted away from it by
// 5; else the number of bytes, negative for a negative number, and these.
func (m *marshal) int() int {
	c := int(int8(m.Byte()))
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
	copy(b[:], m.Bytes(n))
	v = int(binary.LittleEndian.Uint32(b[:]))
	if c < 0 {
		v -= 1 << (8 * n)
	}
	return v
}

// big reads an integer of more bytes, as JSON.
func (m *marshal) big() string {
	sign := m.Byte()
	n := 2 * m.int()
	if m.Err() == nil && (n < 0 || n > 8) {
		m.Malformed("an integer of %d bytes", n)
	}
	if m.Err() != nil {
		return "0"
	}
	var b [8]byte
	copy(b[:], m.Bytes(n))
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
	if err != nil && m.Err() == nil {
		m.Malformed("a number %.30q", text)
	}
	if v-v != 0 {
		return "null"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
