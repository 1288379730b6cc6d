package cli

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
)

// diffOutline is a diff as it is printed: upright or inverted.
type diffOutline interface {
	Walk(visit func(n int32) bool)
	Row(n int32) calltree.DiffRow
	CategoryName(n int32) string
	RootTotal() calltree.Pair
	Flame(minWidth float64) []calltree.Box
}

func (o *diffOptions) print(e *env, c *comparison) error {
	var v diffOutline = c.Diff
	switch {
	case o.callers != "":
		v = c.Callers(functionsNamed(e, c.Table, o.callers))
	case o.invert:
		v = c.Invert()
	}
	switch {
	case o.selected != "":
		return o.printSelectedChange(e, c)
	case o.output.format == "html" || o.output.format == "svg":
		return o.document(e, c, v)
	case o.view == "functions":
		return o.printChanges(e, c)
	case o.view == "flame":
		return o.printBoxes(e, c, v)
	}
	return o.printTree(e, c, v)
}

// change is a number of a diff in JSON.
type change struct {
	Base     any `json:"base"`
	New      any `json:"new"`
	Delta    any `json:"delta"`
	Relative any `json:"relative"` // null without a base
}

// changeOf returns the numbers that are compared: whole and exact if nothing
// divides them.
func (c *comparison) changeOf(p calltree.Pair) change {
	var x change
	if c.Exact() {
		x = change{Base: scaled(p.Base, c.scale), New: scaled(p.New, c.scale), Delta: scaled(p.New-p.Base, c.scale)}
	} else {
		base, new := c.Values(p)
		f := math.Pow10(c.scale)
		x = change{Base: base / f, New: new / f, Delta: c.Delta(p) / f}
	}
	if r, ok := c.Relative(p); ok {
		x.Relative = r
	}
	return x
}

// diffAnswer is the JSON of a diff, but for its rows.
type diffAnswer struct {
	RootTotal change   `json:"root_total"`
	Unit      string   `json:"unit"`
	By        string   `json:"by"`
	Profiles  sides    `json:"profiles"`
	Notes     []string `json:"notes"`
}

type sides struct {
	Base int `json:"base"`
	New  int `json:"new"`
}

func (c *comparison) head(root calltree.Pair) diffAnswer {
	return diffAnswer{RootTotal: c.changeOf(root), Unit: c.unit, By: c.by, Profiles: sides{c.count[0], c.count[1]}, Notes: append([]string{}, c.Notes...)}
}

// diffRow is the JSON of a node or function of a diff.
type diffRow struct {
	treeRow
	Presence calltree.Presence `json:"presence"`
	Noise    float64           `json:"noise"`
}

func (c *comparison) row(fn, depth int32, total, self calltree.Pair, category string) diffRow {
	return diffRow{rowOf(&c.Functions[fn], depth, c.changeOf(total), c.changeOf(self), category), total.Presence(), c.Noise(total) / math.Pow10(c.scale)}
}

// summary is the first lines of text: what is compared.
func (c *comparison) summary(w *bufio.Writer, root calltree.Pair) {
	profiles := ""
	if c.count != [2]int{1, 1} {
		profiles = fmt.Sprintf(", %d against %d profiles", c.count[0], c.count[1])
	}
	if c.unit == "share" {
		fmt.Fprintf(w, "shares of each side: base %s, new %s%s\n", amount(root.Base, c.Type.Unit, c.Type.Scale), amount(root.New, c.Type.Unit, c.Type.Scale), profiles)
	} else {
		fmt.Fprintf(w, "base %s, new %s: %s (%s)%s%s\n", c.text(c.base(root)), c.text(c.new(root)), c.signed(c.Delta(root)), c.relative(root), prefixed(" ", c.per), profiles)
	}
	for _, note := range c.Notes {
		fmt.Fprintln(w, "note: "+note)
	}
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func (c *comparison) base(p calltree.Pair) float64 { v, _ := c.Values(p); return v }
func (c *comparison) new(p calltree.Pair) float64  { _, v := c.Values(p); return v }

// text writes a number that is compared.
func (c *comparison) text(v float64) string {
	if c.unit == "share" {
		return percent(v)
	}
	v /= math.Pow10(c.scale)
	if text, ok := words.Amount(v, c.unit); ok {
		return text
	}
	return words.Number(v)
}

func (c *comparison) signed(v float64) string {
	switch {
	case c.unit == "share":
		return signedPercent(v)
	case v > 0:
		return "+" + c.text(v)
	}
	return c.text(v)
}

// relative writes the relative change, or that there is none to be had.
func (c *comparison) relative(p calltree.Pair) string {
	switch r, ok := c.Relative(p); {
	case p.Presence() != calltree.OnBoth:
		return string(p.Presence())
	case !ok || r == 0:
		return ""
	case math.Abs(r) >= 10:
		return fmt.Sprintf("×%.1f", r+1)
	default:
		return words.SignedPercent(r)
	}
}

// uncertain reports whether a change is within what chance makes of its samples.
func (c *comparison) uncertain(p calltree.Pair) bool {
	delta := c.Delta(p)
	return delta != 0 && math.Abs(delta) <= c.Noise(p)
}

const (
	diffHead = "%10s %10s %10s %9s %10s  %s\n"
	noiseKey = "~: no more than chance makes of so few samples"
)

// line prints one node or function and reports whether it is uncertain.
func (c *comparison) line(w *bufio.Writer, total, self calltree.Pair, name string, colour bool) (uncertain bool) {
	relative, deltaSelf := c.relative(total), ""
	if uncertain = c.uncertain(total); uncertain {
		relative = "~" + relative
	}
	if c.Delta(self) != 0 {
		deltaSelf = c.signed(c.Delta(self))
	}
	side := func(v int64, f float64) string {
		if v == 0 {
			return "–"
		}
		return c.text(f)
	}
	text := fmt.Sprintf(strings.TrimSuffix(diffHead, "\n"), side(total.Base, c.base(total)), side(total.New, c.new(total)), c.signed(c.Delta(total)), relative, deltaSelf, name)
	if colour {
		text = c.tint(total, uncertain).paint(text)
	}
	fmt.Fprintln(w, text)
	return uncertain
}

func (c *comparison) tint(p calltree.Pair, uncertain bool) tint {
	switch delta := c.Delta(p); {
	case uncertain || delta == 0:
		return faint
	case delta > 0:
		return red
	}
	return green
}

// printTree prints the diff as the outline v shows it.
func (o *diffOptions) printTree(e *env, c *comparison, v diffOutline) error {
	root := v.RootTotal()
	list, left := o.visibleChanges(c, v)
	switch o.output.format {
	case "json":
		return writeRows(e.out, c.head(root), len(list), func(i int) any {
			r := &list[i]
			return c.row(r.Func, r.Depth, r.Total, r.Self, v.CategoryName(r.Node))
		})
	case "md", "tsv", "csv":
		tb := c.table()
		for i := range list {
			c.add(tb, list[i].Func, list[i].Depth, list[i].Total, list[i].Self)
		}
		return tb.print(e, o.output.format)
	}
	w := bufio.NewWriter(e.out)
	c.summary(w, root)
	fmt.Fprintf(w, diffHead, "base", "new", "delta", "relative", "self", "function")
	some := false
	for i := range list {
		r := &list[i]
		some = c.line(w, r.Total, r.Self, indent(int(r.Depth))+words.Clean(c.Functions[r.Func].Name), e.colour()) || some
	}
	if some {
		fmt.Fprintln(w, noiseKey)
	}
	if left.n > 0 {
		fmt.Fprintln(w, left.text(c.both(root)))
	}
	return w.Flush()
}

// both adds the sides, for the share of what is left out.
func (c *comparison) both(p calltree.Pair) float64 {
	base, new := c.Values(p)
	return math.Abs(base) + math.Abs(new)
}

// visibleChanges returns the rows to print, in display order. A node counts by
// the larger of its two sides, so that what vanished is shown like what is new.
func (o *diffOptions) visibleChanges(c *comparison, v diffOutline) ([]calltree.DiffRow, branches) {
	var list []calltree.DiffRow
	var left branches
	root := c.Larger(v.RootTotal()) // the larger side's 100%
	v.Walk(func(n int32) bool {
		r := v.Row(n)
		if larger := c.Larger(r.Total); o.out(r.Depth, larger, root, len(list)) {
			left.n++
			left.total += c.both(r.Total)
			return false
		}
		list = append(list, r)
		return true
	})
	return list, left
}

// table returns the columns of a diff.
func (c *comparison) table() *table {
	tb := &table{columns: []column{{name: "depth", right: true}}}
	for _, name := range []string{"base", "new", "delta"} {
		tb.columns = append(tb.columns, column{name: name, right: true})
	}
	tb.columns = append(tb.columns, column{name: "relative", right: true, text: percent})
	for _, name := range []string{"baseSelf", "newSelf", "deltaSelf"} {
		tb.columns = append(tb.columns, column{name: name, right: true})
	}
	tb.columns = append(tb.columns, column{name: "relativeSelf", right: true, text: percent}, column{name: "presence"},
		column{name: "function"}, column{name: "module"}, column{name: "file"})
	return tb
}

func (c *comparison) add(tb *table, fn, depth int32, total, self calltree.Pair) {
	f := &c.Functions[fn]
	t, s := c.changeOf(total), c.changeOf(self)
	tb.add(depth, t.Base, t.New, t.Delta, t.Relative, s.Base, s.New, s.Delta, s.Relative, string(total.Presence()), f.Name, f.Module, f.File)
}

// printChanges prints the function list: what takes more, what takes less, what
// takes the same.
func (o *diffOptions) printChanges(e *env, c *comparison) error {
	number := func(r calltree.FunctionChange) calltree.Pair { return r.Total }
	if o.sort == "self" {
		number = func(r calltree.FunctionChange) calltree.Pair { return r.Self }
	}
	more, less, same := c.MoreAndLess(c.FunctionRows(), number)
	more, moreLeft := o.cutChanges(c, more, number)
	less, lessLeft := o.cutChanges(c, less, number)
	root := c.RootTotal()
	if o.output.format != "text" {
		same, _ = o.cutChanges(c, same, number)
		list := slices.Concat(more, less, same)
		if o.output.format == "json" {
			return writeRows(e.out, c.head(root), len(list), func(i int) any {
				return c.row(list[i].Func, 0, list[i].Total, list[i].Self, "")
			})
		}
		tb := c.table()
		for _, r := range list {
			c.add(tb, r.Func, 0, r.Total, r.Self)
		}
		return tb.print(e, o.output.format)
	}
	w := bufio.NewWriter(e.out)
	c.summary(w, root)
	some := false
	for _, part := range []struct {
		word string
		rows []calltree.FunctionChange
		left int
	}{{"more", more, moreLeft}, {"less", less, lessLeft}} {
		fmt.Fprintf(w, "\n%s: %s %s\n", part.word, grouped(len(part.rows)+part.left), words.Plural(len(part.rows)+part.left, "function"))
		if len(part.rows) > 0 {
			fmt.Fprintf(w, diffHead, "base", "new", "delta", "relative", "self", "function")
		}
		for _, r := range part.rows {
			some = c.line(w, r.Total, r.Self, words.Clean(c.Functions[r.Func].Name), e.colour()) || some
		}
		if part.left > 0 {
			fmt.Fprintf(w, "not shown: %s %s (--min-percent, --rows)\n", grouped(part.left), words.Plural(part.left, "function"))
		}
	}
	fmt.Fprintf(w, "\nthe same: %s %s\n", grouped(len(same)), words.Plural(len(same), "function"))
	if some {
		fmt.Fprintln(w, noiseKey)
	}
	return w.Flush()
}

// cutChanges leaves out functions that are small on both sides, or too many.
func (o *diffOptions) cutChanges(c *comparison, rows []calltree.FunctionChange, number func(calltree.FunctionChange) calltree.Pair) (list []calltree.FunctionChange, left int) {
	root := c.Larger(c.RootTotal())
	for _, r := range rows {
		if o.out(0, c.Larger(number(r)), root, len(list)) {
			left++
			continue
		}
		list = append(list, r)
	}
	return list, left
}

// printSelectedChange prints the numbers of the node that --select names.
func (o *diffOptions) printSelectedChange(e *env, c *comparison) error {
	if o.inverted() {
		return usagef("--select in a diff is of the upright tree")
	}
	path, err := calltree.ParsePath(o.selected)
	if err != nil {
		return usageError{err}
	}
	n, ok := c.FindPath(path)
	if !ok {
		return fmt.Errorf("no call node has the path %s", words.Clean(o.selected))
	}
	r := c.Row(n)
	if o.output.format == "json" {
		return e.writeJSON(struct {
			Path []string `json:"path"`
			Unit string   `json:"unit"`
			diffRow
		}{path, c.unit, c.row(r.Func, r.Depth, r.Total, r.Self, c.CategoryName(n))})
	}
	w := bufio.NewWriter(e.out)
	c.summary(w, c.RootTotal())
	fmt.Fprintf(w, diffHead, "base", "new", "delta", "relative", "self", "function")
	c.line(w, r.Total, r.Self, words.Clean(c.Functions[r.Func].Name), e.colour())
	return w.Flush()
}
