package flamehtml

import (
	"bytes"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/profile"
)

// title is the title of a box: `name (1,234 samples, 5.67%)`, with a difference
// behind the percentage in differential graphs.
var title = regexp.MustCompile(`(?s)^(.*) \(([\d,.]+) ([^(),]+), [\d.]+%(?:; [^()]*)?\)$`)

var (
	tagTitle = []byte("<title>")
	endTitle = []byte("</title>")
	tagRect  = []byte("<rect")
)

// svgBox is a box with its vertical place.
type svgBox struct {
	box
	y float64
}

// readSVG reads a flame graph that is drawn as rectangles with titles. Which row
// is which level shows from the widest box, the root.
func (g *graph) readSVG(b []byte) error {
	var boxes []svgBox
	names := map[string]int32{}
	unit := ""
	for at := 0; ; {
		i := bytes.Index(b[at:], tagTitle)
		if i < 0 {
			break
		}
		start := at + i + len(tagTitle)
		n := bytes.Index(b[start:], endTitle)
		if n < 0 {
			return malformed(b, start, "a title does not end")
		}
		at = start + n
		m := title.FindSubmatch(b[start:at])
		if m == nil {
			continue // of the picture, not of a box
		}
		next := len(b)
		if i := bytes.Index(b[at:], tagTitle); i >= 0 {
			next = at + i
		}
		bx, ok := rectangle(b[at:next])
		if bx.total = number(m[2]); !ok || bx.total < 0 {
			return malformed(b, start, "a box without a place or number: %.60q", b[start:at])
		}
		name := html.UnescapeString(string(m[1]))
		text, known := names[name]
		if !known {
			text = int32(len(g.texts))
			g.texts = append(g.texts, name)
			names[name] = text
		}
		bx.text = text
		unit = string(m[3])
		boxes = append(boxes, bx)
	}
	if len(boxes) == 0 {
		return malformed(b, len(b), "no boxes with titles as `name (12 samples, 3.4%%)`")
	}
	if unit == "ms" {
		unit = "milliseconds"
	}
	g.typ = typeOf("", unit)
	if err := g.setLevels(boxes); err != nil {
		return err
	}
	for i := range boxes {
		g.boxes = append(g.boxes, boxes[i].box)
	}
	return nil
}

// rectangle reads the place of the first rectangle: inferno's exact one if it is
// there, or else that of the picture.
func rectangle(b []byte) (bx svgBox, ok bool) {
	i := bytes.Index(b, tagRect)
	if i < 0 {
		return bx, false
	}
	b = b[i:]
	if i = bytes.IndexByte(b, '>'); i >= 0 {
		b = b[:i]
	}
	bx.left, ok = attribute(b, " fg:x=\"")
	if w, exact := attribute(b, " fg:w=\""); ok && exact {
		bx.width = w
	} else {
		var okX, okW bool
		bx.left, okX = attribute(b, " x=\"")
		bx.width, okW = attribute(b, " width=\"")
		if !okX || !okW {
			return bx, false
		}
	}
	bx.y, ok = attribute(b, " y=\"")
	return bx, ok && bx.width >= 0
}

// attribute reads a number, perhaps in percent.
func attribute(b []byte, name string) (float64, bool) {
	text := section(b, name, "\"")
	v, err := strconv.ParseFloat(string(bytes.TrimSuffix(text, []byte("%"))), 64)
	return v, err == nil && math.Abs(v) <= 1<<60
}

// setLevels numbers the rows from the one of the root, which is at the bottom or,
// in graphs that hang, at the top.
func (g *graph) setLevels(boxes []svgBox) error {
	var rows []float64
	for i := range boxes {
		rows = append(rows, boxes[i].y)
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	if len(rows) > g.limits.Depth {
		return &profile.ParseError{Offset: -1, Err: profile.TooDeep(g.limits.Depth)}
	}
	hangs := g.hangs(boxes, rows)
	for i := range boxes {
		level, _ := slices.BinarySearch(rows, boxes[i].y)
		if !hangs {
			level = len(rows) - 1 - level
		}
		boxes[i].level = int32(level)
	}
	return nil
}

// rootName is what the root is called.
const rootName = "all"

// hangs reports whether the root, the widest box, is in the first row. Boxes as
// wide may lie over it up to the last row; the name tells then.
func (g *graph) hangs(boxes []svgBox, rows []float64) bool {
	widest := 0.0
	for i := range boxes {
		widest = max(widest, boxes[i].width)
	}
	first, last := 0, 0 // 0: no root in this row; 1: perhaps; 2: by its name
	for i := range boxes {
		b := &boxes[i]
		if b.width < widest {
			continue
		}
		likely := 1
		if g.texts[b.text] == rootName {
			likely = 2
		}
		if b.y == rows[0] {
			first = max(first, likely)
		}
		if b.y == rows[len(rows)-1] {
			last = max(last, likely)
		}
	}
	return first > last
}
