package flame

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
)

// Measures of the SVG in its own units, which are pixels at its natural size.
const (
	svgWidth   = 1200.0
	svgMargin  = 10.0
	svgRow     = 17
	svgTop     = 34
	svgGlyph   = 6.6 // width of a character of the monospaced 11 px font
	svgSmaller = 0.1 // narrower boxes are omitted and counted
)

// SVG writes the graph as a still picture, 1200 wide, with a title on every box.
// A line of text has the number of boxes that are too narrow.
func (g *Graph) SVG(out io.Writer) error {
	w := bufio.NewWriter(out)
	from, to, rows := g.Extent()
	scale := (svgWidth - 2*svgMargin) / max(to-from, math.SmallestNonzeroFloat64)
	narrow := 0
	for _, b := range g.Boxes {
		if (b.End-b.Start)*scale < svgSmaller {
			narrow++
		}
	}
	notes := g.Notes
	if narrow > 0 {
		notes = append(notes[:len(notes):len(notes)], fmt.Sprintf("%d boxes narrower than %g px are omitted", narrow, svgSmaller))
	}
	height := svgTop + int(rows)*svgRow + 10 + 16*len(notes)
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%d" viewBox="0 0 %g %d" role="img">`+"\n", svgWidth, height, svgWidth, height)
	fmt.Fprintf(w, "<title>%s</title>\n%s", xmlText(g.Title), svgStyle)
	fmt.Fprintf(w, `<rect class="ground" width="100%%" height="100%%"/>`+"\n"+`<text class="head" x="%g" y="21">%s</text>`+"\n", svgMargin,
		xmlText(g.Title))
	if g.Diff {
		svgLegend(w)
	}
	for i := range g.Boxes {
		b := &g.Boxes[i]
		if wide := (b.End - b.Start) * scale; wide >= svgSmaller {
			g.svgBox(w, b, svgMargin+(b.Start-from)*scale, wide)
		}
	}
	for i, note := range notes {
		fmt.Fprintf(w, `<text class="note" x="%g" y="%d">%s</text>`+"\n", svgMargin, svgTop+int(rows)*svgRow+16*(i+1), xmlText(note))
	}
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

const svgStyle = `<style>
text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #1a1d21 }
.head { font: 600 13px system-ui, sans-serif } .note, .key { font: 11px system-ui, sans-serif; fill: #667 }
.ground { fill: #fff } g:hover rect { stroke: #111; stroke-width: 1 }
@media (prefers-color-scheme: dark) { .ground { fill: #14171b } .head { fill: #e8eaed } .note, .key { fill: #9aa0a8 } g:hover rect { stroke: #fff } }
</style>
`

func (g *Graph) svgBox(w *bufio.Writer, b *Box, x, wide float64) {
	f := &g.Functions[b.Func]
	y := svgTop + int(b.Depth)*svgRow
	fmt.Fprintf(w, `<g><title>%s</title><rect x="%s" y="%d" width="%s" height="%d" fill="%s"/>`,
		xmlText(f.Name+" ("+g.describe(b.Total, b.Self)+")"), short(x), y, short(max(wide-0.5, 0.1)), svgRow-1, g.fill(b))
	if room := int((wide - 6) / svgGlyph); room >= 3 {
		fmt.Fprintf(w, `<text x="%s" y="%d">%s</text>`, short(x+3), y+12, xmlText(fit(f, room)))
	}
	w.WriteString("</g>\n")
}

// fill is the colour of a box: the package's, or in a diff grey for the same,
// red for more and blue for less.
func (g *Graph) fill(b *Box) string {
	if !g.Diff {
		return fmt.Sprintf("hsl(%d,58%%,76%%)", hue(&g.Functions[b.Func]))
	}
	return diffColour(change(b.Total, b.Noise))
}

// diffColour goes from blue (-1) over grey to red (1).
func diffColour(c float64) string {
	if c == 0 {
		return "#e4e6ea"
	}
	strength := 0.15 + 0.85*math.Abs(c)
	if c > 0 {
		return fmt.Sprintf("hsl(8,78%%,%.0f%%)", 92-28*strength)
	}
	return fmt.Sprintf("hsl(212,72%%,%.0f%%)", 92-28*strength)
}

func svgLegend(w *bufio.Writer) {
	const step, n = 12.0, 11
	x := svgWidth - svgMargin - 40 - step*n
	fmt.Fprintf(w, `<text class="key" x="%g" y="21" text-anchor="end">less</text>`, x-6)
	for i := range n {
		fmt.Fprintf(w, `<rect x="%g" y="12" width="%g" height="11" fill="%s"/>`, x+float64(i)*step, step, diffColour(float64(i-n/2)/float64(n/2)))
	}
	fmt.Fprintf(w, `<text class="key" x="%g" y="21">more</text>`+"\n", x+step*n+6)
}

// describe formats the numbers of a box as in the titles of flame graphs.
func (g *Graph) describe(total, self Value) string {
	if !g.Diff {
		return g.amount(total.Head) + ", " + words.Percent(total.Head/cmp.Or(g.Root.Head, 1)) + ", self " + g.amount(self.Head)
	}
	text := g.amount(total.Base) + " → " + g.amount(total.Head)
	if g.Unit == "count" {
		text = words.Number(total.Base/math.Pow10(g.Scale)) + " → " + g.amount(total.Head)
	}
	switch {
	case total.Base == 0 && total.Head != 0:
		return text + ", new"
	case total.Head == 0 && total.Base != 0:
		return text + ", vanished"
	case total.Base != 0:
		return text + ", " + words.SignedPercent((total.Head-total.Base)/math.Abs(total.Base))
	}
	return text
}

// amount writes a value with its unit.
func (g *Graph) amount(v float64) string {
	v /= math.Pow10(g.Scale)
	switch {
	case g.Unit == "share":
		return words.Percent(v)
	case g.Unit == "count" && v == 1:
		return "1 sample"
	case g.Unit == "count":
		return words.Number(v) + " samples"
	}
	return words.Value(v, g.Unit, 0)
}

// fit shortens the name of a function to room characters: first the folders of
// its package go, then the package, then the end.
func fit(f *profile.Function, room int) string {
	pkg := f.Package()
	for _, s := range []string{f.Name, f.Name[strings.LastIndexByte(pkg, '/')+1:], f.Name[len(pkg):]} {
		if s != "" && utf8.RuneCountInString(s) <= room {
			return s
		}
	}
	s := []rune(cmp.Or(f.Name[len(pkg):], f.Name))
	return string(s[:min(room, len(s))-1]) + "…"
}

func xmlText(s string) string { return html.EscapeString(visible(s)) }

// short writes a coordinate with two decimals at most.
func short(v float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}
