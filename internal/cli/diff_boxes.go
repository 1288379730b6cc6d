package cli

import (
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/flame"
)

// diffBox is the JSON of a box in the flame graph of a diff.
type diffBox struct {
	Depth    int32             `json:"depth"`
	Function string            `json:"function"`
	Start    float64           `json:"start"`
	End      float64           `json:"end"`
	Self     change            `json:"self"`
	Total    change            `json:"total"`
	Presence calltree.Presence `json:"presence"`
}

func (o *diffOptions) printBoxes(e *env, c *comparison, v diffOutline) error {
	boxes := o.cutBoxes(v.Flame(o.minPercent / 100))
	if o.output.format == "json" {
		return writeRows(e.out, c.head(v.RootTotal()), len(boxes), func(i int) any {
			b, r := &boxes[i], v.Row(boxes[i].Node)
			return diffBox{b.Depth, c.Functions[b.Func].Name, b.Start, b.End, c.changeOf(r.Self), c.changeOf(r.Total), r.Total.Presence()}
		})
	}
	tb := &table{columns: []column{{name: "depth", right: true}, {name: "start", right: true, text: fourDecimals}, {name: "end", right: true, text: fourDecimals},
		{name: "base", right: true}, {name: "new", right: true}, {name: "delta", right: true}, {name: "function"}}}
	for i := range boxes {
		b := &boxes[i]
		x := c.changeOf(v.Row(b.Node).Total)
		tb.add(b.Depth, b.Start, b.End, x.Base, x.New, x.Delta, c.Functions[b.Func].Name)
	}
	return tb.print(e, o.output.format)
}

// document writes the diff as a flame graph.
func (o *diffOptions) document(e *env, c *comparison, v diffOutline) error {
	value := func(p calltree.Pair) flame.Value {
		base, new := c.Values(p)
		return flame.Value{Base: base, New: new}
	}
	g := &flame.Graph{Title: o.title(c), Unit: c.unit, Scale: c.scale, Per: c.per, Functions: c.Functions, Diff: true,
		Root: value(v.RootTotal()), Notes: append([]string{}, c.Notes...)}
	all := v.Flame(o.minPercent / 100)
	boxes := o.cutBoxes(all)
	for _, b := range boxes {
		r := v.Row(b.Node)
		g.Boxes = append(g.Boxes, flame.Box{Func: b.Func, Depth: b.Depth, Start: b.Start, End: b.End,
			Self: value(r.Self), Total: value(r.Total), Noise: c.Noise(r.Total)})
	}
	for _, r := range c.FunctionRows() {
		g.Rows = append(g.Rows, flame.Row{Func: r.Func, Self: value(r.Self), Total: value(r.Total), Noise: c.Noise(r.Total), SelfNoise: c.Noise(r.Self)})
	}
	g.Notes = append(g.Notes, "a box is as wide as the larger of its two sides")
	g.Notes = append(g.Notes, o.notes(len(all)-len(boxes))...)
	return o.output.draw(e, g)
}

// title names both sides.
func (o *diffOptions) title(c *comparison) string {
	if files := append(append([]string{}, o.side[0].files...), o.side[1].files...); len(files) == 2 {
		a, b := withoutCommonFolder(files[0], files[1])
		return a + " → " + b
	}
	return fmt.Sprintf("%d → %d profiles, %s", c.count[0], c.count[1], c.Type.Name)
}

// withoutCommonFolder shortens two file names by the folders that both begin with.
func withoutCommonFolder(a, b string) (string, string) {
	for {
		i := strings.IndexByte(a, '/')
		if i < 0 || !strings.HasPrefix(b, a[:i+1]) {
			return a, b
		}
		a, b = a[i+1:], b[i+1:]
	}
}
