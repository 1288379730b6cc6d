package jfr

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// cursor reads the primitives of the format from b. What goes beyond the end
// sets bad; the cursor then stands at the end and reads zeros.
type cursor struct {
	b   []byte
	i   int
	bad bool
}

func (c *cursor) fail() {
	c.i, c.bad = len(c.b), true
}

// byte reads one byte.
func (c *cursor) byte() byte {
	if c.i >= len(c.b) {
		c.fail()
		return 0
	}
	c.i++
	return c.b[c.i-1]
}

// uint32 reads four bytes, highest first.
func (c *cursor) uint32() uint64 {
	if len(c.b)-c.i < 4 {
		c.fail()
		return 0
	}
	v := binary.BigEndian.Uint32(c.b[c.i:])
	c.i += 4
	return uint64(v)
}

// varint reads an integer of any width: seven bits a byte, lowest first, but
// eight in the ninth byte.
func (c *cursor) varint() uint64 {
	if c.i < len(c.b) && c.b[c.i] < 0x80 {
		c.i++
		return uint64(c.b[c.i-1])
	}
	return c.longVarint()
}

// maxVarint is the length of the longest varint.
const maxVarint = 9

// longVarint reads a varint of any length. Where eight bytes are left it takes
// them at once and pushes their groups of seven bits together.
func (c *cursor) longVarint() uint64 {
	if len(c.b)-c.i < maxVarint {
		return c.lastVarint()
	}
	x := binary.LittleEndian.Uint64(c.b[c.i:])
	ends := ^x & continued
	if ends == 0 {
		c.i += maxVarint
		return groups(x) | uint64(c.b[c.i-1])<<56
	}
	n := bits.TrailingZeros64(ends) + 1 // bits of the varint
	c.i += n / 8
	return groups(x << (64 - n) >> (64 - n))
}

// groups pushes the low seven bits of each byte together.
func groups(x uint64) uint64 {
	x &^= continued
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	return x&0x000000000fffffff | x&0x0fffffff00000000>>4
}

// lastVarint reads a varint near the end, byte by byte.
func (c *cursor) lastVarint() uint64 {
	var v uint64
	for n := range uint(maxVarint) {
		x := uint64(c.byte())
		if n == maxVarint-1 {
			return v | x<<56
		}
		v |= x & 0x7f << (7 * n)
		if x < 0x80 {
			break
		}
	}
	return v
}

// skip passes over n bytes.
func (c *cursor) skip(n uint64) {
	if n > uint64(len(c.b)-c.i) {
		c.fail()
		return
	}
	c.i += int(n)
}

// continued has the bit of each byte that says that a varint goes on.
const continued = 0x8080808080808080

// skipVarints passes over n varints, eight bytes at a time where it can.
func (c *cursor) skipVarints(n uint64) {
	for n > 0 && !c.bad {
		if len(c.b)-c.i < 8 {
			c.varint()
			n--
			continue
		}
		ends := ^binary.LittleEndian.Uint64(c.b[c.i:]) & continued
		count := uint64(bits.OnesCount64(ends))
		switch {
		case count == 0: // one of nine bytes
			c.skip(maxVarint)
			n--
		case count <= n:
			c.i += 8 - bits.LeadingZeros64(ends)/8
			n -= count
		default:
			for ; n > 1; n-- {
				ends &= ends - 1
			}
			c.i += bits.TrailingZeros64(ends)/8 + 1
			return
		}
	}
}

// The encodings of a string.
const (
	stringNull = iota
	stringEmpty
	stringConstant // a number in the pool of java.lang.String
	stringUTF8
	stringChars // UTF-16 units as varints
	stringLatin1
)

// skipString passes over a string.
func (c *cursor) skipString() {
	switch c.byte() {
	case stringNull, stringEmpty:
	case stringConstant:
		c.varint()
	case stringUTF8, stringLatin1:
		c.skip(c.varint())
	case stringChars:
		c.skipVarints(c.varint())
	default:
		c.fail()
	}
}

// appendString reads a string and appends it to buf as UTF-8. If the string is
// a constant it returns its number instead.
func (c *cursor) appendString(buf []byte) (text []byte, constant uint64, isConstant bool) {
	switch c.byte() {
	case stringNull, stringEmpty:
	case stringConstant:
		return buf, c.varint(), true
	case stringUTF8:
		buf = append(buf, c.bytes()...)
	case stringLatin1:
		for _, b := range c.bytes() {
			buf = utf8.AppendRune(buf, rune(b))
		}
	case stringChars:
		buf = c.appendChars(buf)
	default:
		c.fail()
	}
	return buf, 0, false
}

// bytes reads a length and as many bytes, which are part of b.
func (c *cursor) bytes() []byte {
	n := c.varint()
	from := c.i
	if c.skip(n); c.bad {
		return nil
	}
	return c.b[from:c.i]
}

// appendChars appends a length and as many units of UTF-16.
func (c *cursor) appendChars(buf []byte) []byte {
	var units []uint16
	for n := c.varint(); n > 0 && !c.bad; n-- {
		units = append(units, uint16(c.varint()))
	}
	for _, r := range utf16.Decode(units) {
		buf = utf8.AppendRune(buf, r)
	}
	return buf
}
