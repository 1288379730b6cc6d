package flame

import (
	_ "embed"
	"encoding/json"
	"html"
	"io"
	"math"
	"strings"
)

//go:embed page.html
var page string

//go:embed page.css
var styles string

//go:embed page.js
var script string

// document is the data of a page, as columns. page.js reads it.
type document struct {
	Title     string    `json:"title"`
	Unit      string    `json:"unit"`
	Scale     int       `json:"scale"`
	Per       string    `json:"per"`
	Diff      bool      `json:"diff"`
	Time      bool      `json:"time"`
	From      float64   `json:"from"` // of x, in milliseconds if Time
	To        float64   `json:"to"`
	Depth     int32     `json:"rows"`
	Root      []float64 `json:"root"`
	Notes     []string  `json:"notes"`
	Functions []label   `json:"functions"`
	Boxes     columns   `json:"boxes"`
	List      columns   `json:"list"`
}

// label is a function: name, length of its package in UTF-16 units, file,
// module, hue.
type label [5]any

// columns holds boxes, or lines of the list, which have no place.
type columns struct {
	Func  []int32   `json:"fn"`
	Depth []int32   `json:"depth,omitempty"`
	Start []int64   `json:"start,omitempty"` // of 10^9 over the whole width
	End   []int64   `json:"end,omitempty"`
	Total []float64 `json:"total"`
	Self  []float64 `json:"self"`
	// of a diff
	BaseTotal []float64 `json:"baseTotal,omitempty"`
	BaseSelf  []float64 `json:"baseSelf,omitempty"`
	Noise     []float64 `json:"noise,omitempty"`
	SelfNoise []float64 `json:"selfNoise,omitempty"` // of the list
}

// HTML writes the graph as one file.
func (g *Graph) HTML(w io.Writer) error {
	// The encoder writes <, > and & as escapes, so no name can end the element.
	data, err := json.Marshal(g.document())
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"{{title}}", html.EscapeString(visible(g.Title)),
		"{{styles}}", styles,
		"{{script}}", script,
		"{{data}}", string(data),
	).WriteString(w, page)
	return err
}

func (g *Graph) document() *document {
	from, to, rows := g.extent()
	d := &document{Title: visible(g.Title), Unit: g.Unit, Scale: g.Scale, Per: g.Per, Diff: g.Diff, Time: g.Time,
		From: from, To: to, Depth: rows, Root: []float64{g.Root.New, g.Root.Base}, Notes: g.Notes}
	// Only functions that are drawn go into the file.
	ids := map[int32]int32{}
	id := func(fn int32) int32 {
		n, ok := ids[fn]
		if !ok {
			f := &g.Functions[fn]
			n = int32(len(d.Functions))
			ids[fn] = n
			d.Functions = append(d.Functions, label{visible(f.Name), utf16Len(visible(packageOf(f))), visible(f.File), visible(f.Module), hue(f)})
		}
		return n
	}
	width := to - from
	if width <= 0 {
		width = 1
	}
	place := func(x float64) int64 { return int64(math.Round((x - from) / width * 1e9)) }
	for i := range g.Boxes {
		b := &g.Boxes[i]
		c := &d.Boxes
		c.add(g, id(b.Func), b.Self, b.Total, b.Noise)
		c.Depth = append(c.Depth, b.Depth)
		c.Start, c.End = append(c.Start, place(b.Start)), append(c.End, place(b.End))
	}
	for i := range g.Rows {
		r := &g.Rows[i]
		d.List.add(g, id(r.Func), r.Self, r.Total, r.Noise)
		if g.Diff {
			d.List.SelfNoise = append(d.List.SelfNoise, digits(r.SelfNoise))
		}
	}
	return d
}

func (c *columns) add(g *Graph, fn int32, self, total Value, noise float64) {
	c.Func = append(c.Func, fn)
	c.Total, c.Self = append(c.Total, digits(total.New)), append(c.Self, digits(self.New))
	if g.Diff {
		c.BaseTotal, c.BaseSelf = append(c.BaseTotal, digits(total.Base)), append(c.BaseSelf, digits(self.Base))
		c.Noise = append(c.Noise, digits(noise))
	}
}

// digits rounds a value that is no whole number to 9 significant digits, which
// halves the file.
func digits(v float64) float64 {
	if v == math.Trunc(v) {
		return v
	}
	p := math.Pow10(9 - int(math.Ceil(math.Log10(math.Abs(v)))))
	return math.Round(v*p) / p
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
