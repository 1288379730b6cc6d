package xhprof

import (
	"bufio"
	"io"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// php reads what PHP's serialize has written of an array of arrays of numbers. After the
// first error all methods return zero values.
type php struct {
	in     *bufio.Reader
	offset int64
	limit  int // bytes of a string
	err    error
}

// readPHP reads a file. Its keys are pairs, its values arrays of numbers by key.
func readPHP(r io.Reader, f *file) error {
	in := php{in: bufio.NewReader(r), limit: f.limits.Line}
	for n := in.array(); n > 0 && in.err == nil && f.err == nil; n-- {
		pair := in.text()
		var values [events]int64
		for n := in.array(); n > 0 && in.err == nil; n-- {
			i, decimals := f.event(in.text())
			v := in.number()
			for ; decimals > 0; decimals-- {
				if v > 1<<62/10 || v < -1<<62/10 {
					f.tooMuch()
					break
				}
				v *= 10
			}
			if i >= 0 {
				values[i] = v
			}
		}
		in.expect("}")
		if in.err == nil {
			f.pair(pair, values)
		}
	}
	if f.err != nil {
		in.malformed("%v", f.err)
	}
	in.expect("}")
	if in.err == nil {
		switch c, err := in.in.ReadByte(); {
		case err != nil && err != io.EOF:
			in.err = err
		case err == nil && c != '\n':
			in.malformed("something follows the array")
		}
	}
	return in.err
}

func (p *php) malformed(format string, args ...any) {
	if p.err == nil {
		p.err = &profile.ParseError{Offset: p.offset, Err: profile.Malformed(format, args...)}
	}
}

func (p *php) byte() byte {
	if p.err != nil {
		return 0
	}
	c, err := p.in.ReadByte()
	switch {
	case err == io.EOF:
		p.malformed("the array ends early")
	case err != nil:
		p.err = err
	default:
		p.offset++
	}
	return c
}

func (p *php) expect(text string) {
	for i := range len(text) {
		if c := p.byte(); c != text[i] {
			p.malformed("%q in place of %q", c, text)
		}
	}
}

// until reads a number up to a delimiter.
func (p *php) until(delimiter byte) int64 {
	var text []byte
	for c := p.byte(); c != delimiter && p.err == nil; c = p.byte() {
		if text = append(text, c); len(text) > 30 {
			p.malformed("no number: %q", text)
		}
	}
	if p.err != nil {
		return 0
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		p.malformed("no number: %q", text)
	}
	return v
}

// array reads the beginning of an array and returns the number of its elements.
func (p *php) array() int64 {
	p.expect("a:")
	n := p.until(':')
	p.expect("{")
	return n
}

// text reads a string.
func (p *php) text() string {
	p.expect("s:")
	n := p.until(':')
	switch {
	case n < 0:
		p.malformed("a string of %d bytes", n)
	case n > int64(p.limit) && p.err == nil:
		p.err = &profile.ParseError{Offset: p.offset, Err: profile.TooLarge("string longer", int64(p.limit), "--max-line")}
	}
	p.expect(`"`)
	var b []byte
	for ; n > 0 && p.err == nil; n-- {
		b = append(b, p.byte())
	}
	p.expect(`";`)
	if p.err != nil {
		return ""
	}
	return stacktext.Clean(b)
}

// number reads an integer.
func (p *php) number() int64 {
	p.expect("i:")
	return p.until(';')
}
