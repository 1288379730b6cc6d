// Package phpspy reads the traces that phpspy and reli print, which sample PHP from outside:
//
//	0 pay /srv/shop/cart.php:12
//	1 <main> /srv/shop/index.php:3
//	# uri = /cart
//
// A trace is a block of lines, innermost frame first, and ends with an empty line. Lines of
// `# key = value` are what phpspy was asked to peek at; they become labels, and the rest of
// such lines is skipped. Each trace is one sample. Time is linear in the text.
package phpspy

import (
	"bytes"
	"cmp"
	"math"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "phpspy"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

// Sniff reports whether text that begins with prefix is such traces: its first lines are
// frames 0 and 1 of one, or frame 0 and an end.
func Sniff(prefix []byte) bool {
	frames := 0
	for len(prefix) > 0 && frames < 2 {
		line, rest, whole := bytes.Cut(prefix, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		prefix = rest
		switch {
		case !whole:
			return false
		case len(line) == 0 && frames == 1:
			return true
		case len(line) == 0 || line[0] == '#':
			continue
		}
		if number, _, _, ok := split(line); !ok || number != int64(frames) {
			return false
		}
		frames++
	}
	return frames == 2
}

// split takes a line of a trace apart: `1 Cart::pay /srv/cart.php:12`, in reli's template with
// opcodes followed by `:ZEND_DO_UCALL`.
func split(line []byte) (number int64, fn profile.Function, at int32, ok bool) {
	depth, rest, ok := bytes.Cut(line, []byte(" "))
	number, isNumber := stacktext.Uint(depth)
	rest = withoutOpcode(rest)
	space, colon := bytes.IndexByte(rest, ' '), bytes.LastIndexByte(rest, ':')
	if !ok || !isNumber || space <= 0 || colon < space {
		return number, fn, 0, false
	}
	n, err := strconv.ParseInt(string(rest[colon+1:]), 10, 32)
	fn = profile.Function{Name: stacktext.Clean(rest[:space]), File: stacktext.Clean(rest[space+1 : colon]), Kind: profile.KindPHP}
	if fn.File == "<internal>" {
		fn.File = ""
	}
	return number, fn, int32(max(0, min(n, math.MaxInt32))), err == nil
}

// withoutOpcode cuts the name of an opcode off a line.
func withoutOpcode(line []byte) []byte {
	if i := bytes.LastIndex(line, []byte(":ZEND_")); i >= 0 && !bytes.ContainsAny(line[i+1:], ": /") {
		return line[:i]
	}
	return line
}

func read(t *stacktext.Reading) error {
	p, table := t.Profile, stacktext.NewTable(t.Limits)
	p.Profiler = Name
	var labels []profile.Label
	end := func() (err error) {
		if len(t.Frames) > 0 {
			err = t.Sample(table, stacktext.Row{Stack: t.Stack(t.Frames), Value: 1, Labels: t.Labels(labels)})
		}
		t.Frames, labels = t.Frames[:0], labels[:0]
		return err
	}
	for t.Next() {
		line := t.Text()
		switch {
		case len(line) == 0:
			if err := end(); err != nil {
				return err
			}
			continue
		case line[0] == '#':
			if key, value, ok := bytes.Cut(bytes.TrimLeft(line, "# "), []byte(" = ")); ok {
				labels = append(labels, t.Label(stacktext.Clean(key), value))
			}
			continue
		}
		number, fn, at, ok := split(line)
		if !ok {
			return t.Malformed("not a frame, as in `0 function file:line`: %.60q", line)
		}
		var err error
		if number == 0 && len(t.Frames) > 0 { // some writers leave out the empty line
			err = end()
		}
		if err = cmp.Or(err, t.Push(p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(fn), Line: at}))); err != nil {
			return err
		}
	}
	err := end()
	p.Tables = []profile.Samples{table.Samples(profile.NamedType(profile.WallSamples), false, 0)}
	return err
}
