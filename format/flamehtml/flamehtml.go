// Package flamehtml reads flame graphs back from the pages they are shown in:
// the HTML of async-profiler 2 to 4 and of its converter, also differential, its
// tree pages up to 3, and flame graphs in SVG as FlameGraph, inferno, py-spy and
// async-profiler 1 draw them.
//
// A page has no stacks but boxes: a name, a level, a left edge and a width. The
// parent of a box is the one on the level before that covers it, and what a box
// is wider than its children is its self value. Boxes that were too narrow to
// draw are not in the page; what they counted is the self value of their
// callers. Times, states and labels are lost, line numbers are where names have
// them. Whoever has the recording should read that.
//
// Two steps: a reader for each kind of page makes the boxes (html.go, tree.go,
// svg.go), and stacks.go makes a profile of boxes. docs/format/folded.md
// describes the pages.
//
// A page is held in memory whole, at most Limits.Message bytes of it; beside it
// there are at most 32 bytes for a byte of the page. Time is n log n in the
// boxes. Heatmap pages are told and refused: they are compressed in a way of
// their own, and the recording says more.
//
// The script of async-profiler's HTML draws one box per line, outermost first, callers before callees:
//
//	f(level,left,width,type,'name'[,inlined,c1,interpreted])   2.x
//	f(key,level,left[,width[,inlined,c1,interpreted]])         3.0 on
//	u(key[,width…])     one level up, same left edge
//	n(key[,width…])     same level, right of the last box
//
// From 3.0 on, left is relative to the last box, a missing or zero width is that of the last box,
// and key is 8 times the number of the name plus the type. Names are in cpool. Each begins with a
// character whose code minus 32 is the number of UTF-16 units shared with the previous name. The
// number of colours in the palette (5, 6 or 7) gives the version, and with it the types: of 2.0 to
// 2.6 Java, inlined, kernel, C++, native; of 2.7 interpreted, compiled, inlined, native, C++, kernel;
// of 2.8 on also compiled by C1.
package flamehtml

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "flamehtml"

// page is a kind of page.
type page uint8

const (
	noPage page = iota
	flamePage
	treePage
	heatmapPage
	svgPage
)

// Marks of the kinds of page, behind the beginning of all HTML or XML.
var (
	markPool    = []byte("const cpool = [")
	markRoot    = []byte("\nf(0,0,")
	markTree    = []byte("Call tree view, total ")
	markHeatmap = []byte("id=\"heatmap-")
	marksSVG    = [][]byte{[]byte(`id="frames"`), []byte(`class="func_g"`), []byte(` samples, `)}
)

// kindOf tells what page b is, or begins.
func kindOf(b []byte) page {
	b = bytes.TrimLeft(b, " \t\r\n")
	head := strings.ToLower(string(b[:min(len(b), len("<!doctype html"))]))
	switch {
	case strings.HasPrefix(head, "<!doctype html"), strings.HasPrefix(head, "<html"):
		switch {
		case bytes.Contains(b, markHeatmap):
			return heatmapPage
		case bytes.Contains(b, markTree):
			return treePage
		case bytes.Contains(b, markPool), bytes.Contains(b, markRoot):
			return flamePage
		}
	case strings.HasPrefix(head, "<?xml"), strings.HasPrefix(head, "<svg"), strings.HasPrefix(head, "<!doctype svg"):
		if !bytes.Contains(b, []byte("<svg")) {
			return noPage
		}
		for _, mark := range marksSVG {
			if bytes.Contains(b, mark) {
				return svgPage
			}
		}
	}
	return noPage
}

// Sniff reports whether content that begins with prefix is such a page.
func Sniff(prefix []byte) bool { return kindOf(prefix) != noPage }

// Decoder decodes pages one after the other. It keeps its buffer. It is not safe
// for concurrent use. The profiles that it returns do not refer to it.
type Decoder struct {
	buf bytes.Buffer
}

// NewDecoder returns a Decoder.
func NewDecoder() *Decoder { return &Decoder{} }

// keepBytes is the size of a page above which the buffer is not kept.
const keepBytes = 16 << 20

// Decode reads one page from r up to its end. Functions, frames and stacks are
// added to s; nil means Symbols of its own. Errors are of type
// *profile.ParseError. After an error s may hold more than before, which does no
// harm.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	l = l.WithDefaults()
	d.buf.Reset()
	n, err := d.buf.ReadFrom(io.LimitReader(r, l.Message+1))
	if n > l.Message {
		err = profile.TooLarge("page longer", l.Message, "--max-message")
	}
	if err != nil {
		return nil, &profile.ParseError{Offset: min(n, l.Message), Err: err}
	}
	pg, err := parse(d.buf.Bytes(), l)
	if err != nil {
		return nil, err
	}
	p := profile.New(s)
	p.Format = Name
	if err := pg.fill(p); err != nil {
		return nil, &profile.ParseError{Offset: -1, Err: err}
	}
	if d.buf.Cap() > keepBytes {
		d.buf = bytes.Buffer{}
	}
	p.CountLost()
	return p.Checked()
}

// parse makes boxes of a page.
func parse(b []byte, l profile.Limits) (*graph, error) {
	g := &graph{limits: l}
	var err error
	switch kindOf(b) {
	case flamePage:
		err = g.readHTML(b)
	case treePage:
		err = g.readTree(b)
	case svgPage:
		err = g.readSVG(b)
	case heatmapPage:
		return nil, &profile.ParseError{
			Offset: -1, Err: fmt.Errorf("a heatmap: %w", profile.ErrUnsupported),
			Hint: "read the JFR recording that it was made from",
		}
	default:
		return nil, &profile.ParseError{Offset: -1, Err: profile.Malformed("no flame graph is in the page")}
	}
	return g, err
}

// malformed returns an error at a byte of the page.
func malformed(b []byte, at int, format string, args ...any) error {
	return &profile.ParseError{
		Line: 1 + bytes.Count(b[:at], []byte("\n")), Offset: int64(at),
		Err: profile.Malformed(format, args...),
	}
}
