package flamehtml

import (
	"bytes"
	"errors"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/profile"
)

// modesByPalette are the types of frames by number, by the number of colors that
// the page has for them: async-profiler 2.0 to 2.6, 2.7, and 2.8 and later.
var modesByPalette = map[int][]profile.FrameType{
	5: {profile.FrameUnknown, profile.FrameInlined, profile.FrameKernel, profile.FrameCPP, profile.FrameNative},
	6: {profile.FrameInterpreted, profile.FrameJIT, profile.FrameInlined, profile.FrameNative, profile.FrameCPP, profile.FrameKernel},
	7: modes,
}

var modes = []profile.FrameType{
	profile.FrameInterpreted, profile.FrameJIT, profile.FrameInlined, profile.FrameNative,
	profile.FrameCPP, profile.FrameKernel, profile.FrameC1,
}

// htmlReader reads the calls in the script of a page that draw the boxes:
//
//	f(level,left,width,type,'name'…)  up to 2.x
//	f(key,level,left…)                from 3.0 on; left is relative to the last box
//	u(key…)                           on top of the last box
//	n(key…)                           to the right of the last box
//	d=N, d=U                          in differential pages
//
// Key is the number of the name in a table, times 8, plus the type.
type htmlReader struct {
	*graph
	b     []byte
	modes []profile.FrameType
	names map[string]int32 // of 2.x

	level, left, width int64
	delta              int64
	isNew              bool
	args               []int64
}

func (g *graph) readHTML(b []byte) error {
	r := htmlReader{graph: g, b: b, modes: modes, names: map[string]int32{}}
	g.profiler = "async-profiler"
	g.typ = valueType(b)
	if m, ok := modesByPalette[bytes.Count(section(b, "const palette = [", "];"), []byte("[0x"))]; ok {
		r.modes = m
	}
	m := maxDifference.FindSubmatch(b)
	g.differential = m != nil && m[1][0] != '-'
	from := 0
	if i := bytes.Index(b, markPool); i >= 0 {
		end, err := r.readPool(i + len(markPool))
		if err != nil {
			return err
		}
		from = end
	}
	for at := from; at < len(b); {
		end := len(b)
		if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
			end = at + n
		}
		line := bytes.TrimRight(b[at:end], " \r;")
		if err := r.line(line); err != nil {
			if _, ok := errors.AsType[*profile.ParseError](err); ok {
				return err
			}
			if errors.Is(err, profile.ErrTooLarge) {
				return &profile.ParseError{Line: 1 + bytes.Count(b[:at], []byte("\n")), Offset: int64(at), Err: err}
			}
			return malformed(b, at, "%v: %.60q", err, line)
		}
		at = end + 1
	}
	if len(g.boxes) == 0 {
		return malformed(b, len(b), "the page has no frames")
	}
	return nil
}

// section returns what is between two texts, or nil.
func section(b []byte, from, to string) []byte {
	i := bytes.Index(b, []byte(from))
	if i < 0 {
		return nil
	}
	b = b[i+len(from):]
	if i = bytes.Index(b, []byte(to)); i < 0 {
		return nil
	}
	return b[:i]
}

// readPool reads the table of names, which begins at a byte of the page, and
// returns where it ends. Each name but the first begins with the number of
// characters that it shares with the one before, as a character.
func (r *htmlReader) readPool(at int) (end int, err error) {
	previous := ""
	for {
		for at < len(r.b) && strings.IndexByte(" \t\r\n,", r.b[at]) >= 0 {
			at++
		}
		if at < len(r.b) && r.b[at] == ']' {
			return at, nil
		}
		name, next, ok := quoted(r.b, at)
		if !ok {
			return 0, malformed(r.b, min(at, len(r.b)), "the table of names is damaged")
		}
		if len(r.texts) > 0 {
			if name == "" || name[0] < ' ' {
				return 0, malformed(r.b, at, "name %d does not say how it begins", len(r.texts))
			}
			shared, ok := firstUnits(previous, int(name[0]-' '))
			if !ok {
				return 0, malformed(r.b, at, "name %d shares more than there is", len(r.texts))
			}
			name = shared + name[1:]
		}
		r.texts = append(r.texts, name)
		previous, at = name, next
	}
}

// quoted reads a text in single quotes, in which \ stands before ' and \.
func quoted(b []byte, at int) (text string, next int, ok bool) {
	if at >= len(b) || b[at] != '\'' {
		return "", 0, false
	}
	var out []byte
	for i := at + 1; i < len(b); i++ {
		switch b[i] {
		case '\'':
			return string(out), i + 1, true
		case '\n':
			return "", 0, false
		case '\\':
			if i++; i == len(b) {
				return "", 0, false
			}
		}
		out = append(out, b[i])
	}
	return "", 0, false
}

// firstUnits returns the first n UTF-16 units of a text, which is how the page's
// script counts.
func firstUnits(text string, n int) (string, bool) {
	for i, c := range text {
		if n <= 0 {
			return text[:i], n == 0
		}
		if n--; c > 0xffff && utf8.RuneLen(c) == 4 {
			n--
		}
	}
	return text, n == 0
}

// line reads a line of the script, if it draws a box.
func (r *htmlReader) line(line []byte) error {
	switch {
	case len(line) < 3:
		return nil
	case line[0] == 'd' && line[1] == '=':
		return r.difference(string(line[2:]))
	case line[1] != '(' || line[len(line)-1] != ')' || line[2] < '0' || line[2] > '9':
		return nil
	case line[0] == 'f' && bytes.IndexByte(line, '\'') > 0:
		return r.oldBox(line)
	case line[0] == 'f' || line[0] == 'u' || line[0] == 'n':
		if err := r.numbers(line[2 : len(line)-1]); err != nil {
			return err
		}
		return r.box(line[0])
	}
	return nil
}

var (
	errNumber    = errors.New("not a number that fits")
	errArguments = errors.New("too few arguments")
	errPlace     = errors.New("no such level, place or width")
	errName      = errors.New("no such name")
)

func (r *htmlReader) difference(text string) (err error) {
	if r.isNew = text == "U"; r.isNew {
		r.delta = 0
		return nil
	}
	if r.delta, err = strconv.ParseInt(text, 10, 64); err != nil || r.delta < -math.MaxInt64/2 || r.delta > math.MaxInt64/2 {
		return errNumber
	}
	return nil
}

// numbers reads arguments; an empty one is 0.
func (r *htmlReader) numbers(text []byte) error {
	r.args = r.args[:0]
	for len(text) > 0 {
		var arg []byte
		arg, text, _ = bytes.Cut(text, []byte(","))
		n, err := int64(0), error(nil)
		if arg = bytes.TrimSpace(arg); len(arg) > 0 {
			n, err = strconv.ParseInt(string(arg), 10, 64)
		}
		if err != nil {
			return errNumber
		}
		r.args = append(r.args, n)
	}
	return nil
}

// box adds a box of 3.0 and later.
func (r *htmlReader) box(call byte) error {
	args := r.args
	least := 1
	if call == 'f' {
		least = 3
	}
	if len(args) < least {
		return errArguments
	}
	key := args[0]
	if args = args[1:]; call == 'f' {
		if r.left += args[1]; args[1] < -math.MaxInt64/2 || args[1] > math.MaxInt64/2 {
			return errPlace
		}
		r.level = args[0]
		args = args[2:]
	} else if call == 'u' {
		r.level++
	} else {
		r.left += r.width
	}
	if len(args) > 0 && args[0] != 0 {
		r.width = args[0]
	}
	if key/8 >= int64(len(r.texts)) {
		return errName
	}
	return r.add(key/8, int(key%8))
}

// add adds a box where the reader stands.
func (r *htmlReader) add(text int64, kind int) error {
	if r.level > int64(r.limits.Depth) {
		return profile.TooDeep(r.limits.Depth)
	}
	if r.level < 0 || r.left < 0 || r.left > math.MaxInt64/2 || r.width < 0 || r.width > math.MaxInt64/2 {
		return errPlace
	}
	mode := profile.FrameUnknown
	if kind < len(r.modes) {
		mode = r.modes[kind]
	}
	r.boxes = append(r.boxes, box{
		level: int32(r.level), text: int32(text), mode: mode, isNew: r.isNew, delta: r.delta,
		left: float64(r.left), width: float64(r.width), total: r.width,
	})
	return nil
}

// oldBox adds a box of 2.x.
func (r *htmlReader) oldBox(line []byte) error {
	quote := bytes.IndexByte(line, '\'')
	if err := r.numbers(line[2:quote]); err != nil {
		return err
	}
	name, _, ok := quoted(line, quote)
	if !ok || len(r.args) < 4 {
		return errArguments
	}
	text, known := r.names[name]
	if !known {
		text = int32(len(r.texts))
		r.texts = append(r.texts, name)
		r.names[name] = text
	}
	r.level, r.left, r.width = r.args[0], r.args[1], r.args[2]
	if r.args[3] < 0 {
		return errArguments
	}
	return r.add(int64(text), int(min(r.args[3], math.MaxInt8)))
}

// titles says what a page is about, by a word of its title.
var titles = []struct{ word, name string }{
	{"wall", profile.Wall}, {"alloc", profile.Alloc}, {"lock", profile.Lock}, {"malloc", profile.Malloc}, {"live", profile.Live},
}

// Constants of the script; a comment marks what the writer filled in.
var (
	unitText      = regexp.MustCompile(`const units = (?:/\*[^*]*\*/)?'([^'\n]*)'`)
	maxDifference = regexp.MustCompile(`const maxdiff = (?:/\*[^*]*\*/)?(-?\d+)`)
)

var titleText = regexp.MustCompile(`(?i)<(?:h1|title)>([^<]*)</`)

// valueType tells what a page counts, by its title and unit.
func valueType(b []byte) profile.ValueType {
	unit := ""
	if m := unitText.FindSubmatch(b); m != nil {
		unit = string(m[1])
	}
	var title string
	for _, m := range titleText.FindAllSubmatch(b[:min(len(b), 64<<10)], 4) {
		title += " " + strings.ToLower(html.UnescapeString(string(m[1])))
	}
	return typeOf(title, unit)
}

// typeOf returns the value type for a title in lower case and a unit.
func typeOf(title, unit string) profile.ValueType {
	name := profile.CPU
	for _, t := range titles {
		if strings.Contains(title, t.word) {
			name = t.name
		}
	}
	switch unit {
	case "", "samples", "sample", "count":
		return profile.ValueType{Name: name + "-samples", Unit: "count"}
	case "ns":
		unit = "nanoseconds"
	case "bytes":
		if name == profile.CPU {
			name = profile.Alloc
		}
	}
	return profile.ValueType{Name: name, Unit: unit}
}
