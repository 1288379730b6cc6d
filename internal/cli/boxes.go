package cli

import (
	"fmt"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/flame"
)

// boxRow is the JSON of a box of a flame graph or stack chart.
type boxRow struct {
	Depth    int32   `json:"depth"`
	Function string  `json:"function"`
	Start    float64 `json:"start"`
	End      float64 `json:"end"`
	Self     float64 `json:"self"`
}

// boxes returns the boxes of the view, and what they are boxes of: a tree, or its
// inverse.
func (o *showOptions) boxes(e *env, s *scene) ([]calltree.Box, outline, error) {
	if o.view == "stack-chart" {
		if s.shown == nil {
			return nil, nil, usagef("a stack chart is of one profile with times; give one file")
		}
		if o.callers != "" || o.callees != "" || o.under != "" {
			return nil, nil, usagef("a stack chart shows whole stacks: not --callers, --callees or --under")
		}
		// It has no bottom-up form: --invert changes nothing.
		boxes, err := s.shown.StackChart(o.sameWidth)
		return boxes, s.Tree, err
	}
	if o.inverted() {
		v := o.turned(e, s.Tree)
		return v.Flame(o.minPercent / 100), v, nil
	}
	return s.Tree.Flame(o.minPercent / 100), s.Tree, nil
}

// cutBoxes leaves out what is too deep or too much.
func (c *cutOptions) cutBoxes(boxes []calltree.Box) []calltree.Box {
	var list []calltree.Box
	for _, b := range boxes {
		if c.depth > 0 && int(b.Depth) >= c.depth || c.rows > 0 && len(list) >= c.rows {
			continue
		}
		list = append(list, b)
	}
	return list
}

// notes says what the flags leave out of a document.
func (c *cutOptions) notes(boxes int) (notes []string) {
	if c.minPercent > 0 {
		notes = append(notes, fmt.Sprintf("boxes below %g%% are left out (--min-percent)", c.minPercent))
	}
	if boxes > 0 {
		notes = append(notes, fmt.Sprintf("%s boxes are left out (--depth, --rows)", grouped(boxes)))
	}
	return notes
}

// printBoxes prints where the boxes of a flame graph or stack chart are.
func (o *showOptions) printBoxes(e *env, s *scene) error {
	all, _, err := o.boxes(e, s)
	if err != nil {
		return err
	}
	boxes := o.cutBoxes(all)
	if o.output.format == "json" {
		head := treeAnswer{RootTotal: scaled(s.RootTotal(), s.Type.Scale), Unit: s.Type.Unit}
		return writeRows(e.out, head, len(boxes), func(i int) any {
			b := &boxes[i]
			return boxRow{b.Depth, s.Functions[b.Func].Name, b.Start, b.End, b.Self}
		})
	}
	tb := &table{columns: []column{{name: "depth", right: true}, {name: "start", right: true, text: fourDecimals}, {name: "end", right: true, text: fourDecimals},
		{name: "self", right: true, text: fourDecimals}, {name: "function"}}}
	for i := range boxes {
		b := &boxes[i]
		tb.add(b.Depth, b.Start, b.End, b.Self, s.Functions[b.Func].Name)
	}
	if err := tb.print(e, o.output.format); err != nil {
		return err
	}
	leftOut(e, o.output.format, len(all)-len(boxes), "row")
	return nil
}

// fourDecimals writes a place in a picture for people.
func fourDecimals(v any) string { return fmt.Sprintf("%.4f", v) }

// Most boxes that a document holds.
const (
	htmlBoxes = 50_000
	svgBoxes  = 20_000
)

// document writes the view as a flame graph.
func (o *showOptions) document(e *env, s *scene) error {
	all, v, err := o.boxes(e, s)
	if err != nil {
		return err
	}
	chart := o.view == "stack-chart"
	g := &flame.Graph{Title: s.title, Unit: s.Type.Unit, Scale: s.Type.Scale, Functions: s.Functions, Time: chart,
		Root: flame.Value{New: float64(s.RootTotal())}}
	boxes := o.cutBoxes(all)
	for _, b := range boxes {
		r := v.Row(b.Node)
		box := flame.Box{Func: b.Func, Depth: b.Depth, Start: b.Start, End: b.End,
			Self: flame.Value{New: float64(r.Self)}, Total: flame.Value{New: float64(r.Total)}}
		if chart {
			box.Self = flame.Value{New: b.Self}
		}
		g.Boxes = append(g.Boxes, box)
	}
	for _, r := range s.FunctionRows() {
		g.Rows = append(g.Rows, flame.Row{Func: r.Func, Self: flame.Value{New: float64(r.Self)}, Total: flame.Value{New: float64(r.Total)}})
	}
	g.Notes = o.notes(len(all) - len(boxes))
	return o.output.draw(e, g)
}

// draw writes a graph as the document that was asked for.
func (d *destination) draw(e *env, g *flame.Graph) error {
	limit, write := htmlBoxes, g.HTML
	if d.format == "svg" {
		limit, write = svgBoxes, g.SVG
	}
	if n := g.Limit(limit); n > 0 {
		g.Notes = append(g.Notes, fmt.Sprintf("the %s narrowest boxes are left out", grouped(n)))
	}
	return write(e.out)
}
