package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dendroprof/dendro/profile"
)

// Byte order marks.
var (
	utf8Mark    = []byte("\xef\xbb\xbf")
	utf16LEMark = []byte("\xff\xfe")
	utf16BEMark = []byte("\xfe\xff")
)

// asUTF8 takes off a UTF-8 mark and transcodes UTF-16, which Windows shells
// write. It returns the stream and its first bytes.
func asUTF8(p *peeked) (io.Reader, []byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(p.prefix, utf8Mark):
		p.rest = p.rest[len(utf8Mark):]
		return p, p.rest, nil
	case bytes.HasPrefix(p.prefix, utf16LEMark):
		order = binary.LittleEndian
	case bytes.HasPrefix(p.prefix, utf16BEMark):
		order = binary.BigEndian
	default:
		return p, p.prefix, nil
	}
	p.rest = p.rest[2:]
	t, err := newPeeked(&utf16Reader{r: p, order: order})
	if err != nil {
		return nil, nil, err
	}
	return t, t.prefix, nil
}

// utf16Reader transcodes UTF-16 to UTF-8. A half surrogate becomes U+FFFD; half
// a unit at the end is an error.
type utf16Reader struct {
	r     io.Reader
	order binary.ByteOrder
	in    [4096]byte
	have  int    // bytes of in not yet decoded
	high  rune   // first half of a pair, waiting for the second; 0: none
	out   []byte // UTF-8 not yet read
	err   error
}

func (u *utf16Reader) Read(b []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.fill()
	}
	n := copy(b, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) fill() {
	n, err := u.r.Read(u.in[u.have:])
	u.have += n
	u.out = u.out[:0]
	i := 0
	for ; i+1 < u.have; i += 2 {
		u.unit(rune(u.order.Uint16(u.in[i:])))
	}
	u.have = copy(u.in[:], u.in[i:u.have])
	if err == nil {
		return
	}
	u.err = err
	if err == io.EOF && u.have > 0 {
		u.err = fmt.Errorf("UTF-16 text: %w: half a character at the end", profile.ErrMalformed)
	}
	if u.high != 0 {
		u.out = utf8.AppendRune(u.out, utf8.RuneError)
		u.high = 0
	}
}

func (u *utf16Reader) unit(c rune) {
	if u.high != 0 {
		pair := utf16.DecodeRune(u.high, c)
		u.high = 0
		u.out = utf8.AppendRune(u.out, pair)
		if pair != utf8.RuneError {
			return
		}
	}
	if c >= 0xd800 && c < 0xdc00 {
		u.high = c
		return
	}
	u.out = utf8.AppendRune(u.out, c)
}
