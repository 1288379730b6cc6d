package xhprof

import (
	"strconv"

	"github.com/dendroprof/dendro/format/internal/bytescan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
)

// php reads what PHP's serialize has written of an array of arrays of numbers. After the
// first error all methods return zero values.
type php struct {
	*bytescan.Scanner
}

// readPHP reads a file. Its keys are pairs, its values arrays of numbers by key.
func readPHP(t *stacktext.Reading) error {
	f := newFile(t.Profile, t.Limits)
	in := php{bytescan.New(t.In, "array", t.Limits)}
	for n := in.array(); n > 0 && in.Err() == nil && f.err == nil; n-- {
		pair := in.text()
		var values [events]int64
		for n := in.array(); n > 0 && in.Err() == nil; n-- {
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
		if in.Err() == nil {
			f.pair(pair, values)
		}
	}
	if f.err != nil {
		in.Malformed("%v", f.err)
	}
	in.expect("}")
	if in.More() && in.Byte() != '\n' {
		in.Malformed("something follows the array")
	}
	if in.Err() != nil {
		return in.Err()
	}
	return f.fill()
}

func (p *php) expect(text string) {
	for i := range len(text) {
		if c := p.Byte(); c != text[i] {
			p.Malformed("%q in place of %q", c, text)
		}
	}
}

// until reads a number up to a delimiter.
func (p *php) until(delimiter byte) int64 {
	var text []byte
	for c := p.Byte(); c != delimiter && p.Err() == nil; c = p.Byte() {
		if text = append(text, c); len(text) > 30 {
			p.Malformed("no number: %q", text)
		}
	}
	if p.Err() != nil {
		return 0
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		p.Malformed("no number: %q", text)
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
	p.expect(`"`)
	text := p.Text(int(n))
	p.expect(`";`)
	return text
}

// number reads an integer.
func (p *php) number() int64 {
	p.expect("i:")
	return p.until(';')
}
