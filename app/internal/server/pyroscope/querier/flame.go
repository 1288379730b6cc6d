package querier

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/cost"
)

// otherName is the bar with what a limit of nodes folds: the clients know it by name.
const otherName = "other"

// errNegative: the clients' flame graphs have no bars of negative width.
var errNegative = errors.New("the selection has negative values, which this form of a flame graph cannot show")

// columns are the values of the nodes of one side.
type columns struct{ self, total []int64 }

func (c *columns) root(t *calltree.Table) (sum int64) {
	for n := int32(0); int(n) < t.Len(); n = t.End[n] {
		sum += c.total[n]
	}
	return sum
}

// folded is a tree with at most a number of nodes: those of the largest totals. What the
// others have is in a child of their parent, `other`, so that every total stays as it is.
// A function of that name is folded too. Rows are depth first, and a row of -1 is `other`.
type folded struct {
	*calltree.Table
	sides []columns
	keep  []bool // nil: all
	has   []bool // by node: its children are not all kept
}

// fold returns a tree of one side, or a diff of two, with at most most nodes besides `other`;
// 0: all. Of nodes with equal totals, the first in depth-first order are kept.
func fold(t *calltree.Table, most int64, sides ...columns) (*folded, error) {
	f := &folded{Table: t, sides: sides}
	for _, s := range sides {
		if slices.ContainsFunc(s.self, func(v int64) bool { return v < 0 }) {
			return nil, errNegative
		}
	}
	larger := make([]int64, t.Len())
	for n := range larger {
		for _, s := range sides {
			larger[n] = max(larger[n], s.total[n])
		}
	}
	least, equal := int64(1), int64(math.MaxInt64) // a node without a value has no bar
	if most > 0 && int64(t.Len()) > most {
		sorted := slices.Clone(larger)
		slices.Sort(sorted)
		least = max(least, sorted[int64(len(sorted))-most])
		larger, _ := slices.BinarySearch(sorted, least+1) // the place of the first of them
		equal = most - int64(len(sorted)-larger)
	}
	f.keep, f.has = make([]bool, t.Len()), make([]bool, t.Len())
	for n := range int32(t.Len()) {
		p := t.Parent[n]
		up := p == calltree.NoNode || f.keep[p]
		f.keep[n] = up && (larger[n] > least || larger[n] == least && equal > 0) && (t.Name(n) != otherName || least <= 1)
		if f.keep[n] && larger[n] == least {
			equal--
		}
		if up && !f.keep[n] && larger[n] > 0 && p != calltree.NoNode {
			f.has[p] = true
		}
	}
	return f, nil
}

// walk calls enter for every row, parents before children: the node, or -1 for `other`, its
// depth below the root, and self and total of each side. The slices are reused.
func (f *folded) walk(enter func(n int32, depth int, self, total []int64)) {
	self, total := make([]int64, len(f.sides)), make([]int64, len(f.sides))
	other := func(p int32, depth int) {
		for i := range f.sides {
			self[i] = 0
			for c := p + 1; c < f.end(p); c = f.End[c] {
				if !f.keep[c] {
					self[i] += f.sides[i].total[c]
				}
			}
			total[i] = self[i]
		}
		if slices.ContainsFunc(total, func(v int64) bool { return v != 0 }) {
			enter(-1, depth, self, total)
		}
	}
	var open []int32 // nodes that are to be followed by `other`
	for n := int32(0); ; {
		for len(open) > 0 && n >= f.End[open[len(open)-1]] {
			p := open[len(open)-1]
			open = open[:len(open)-1]
			other(p, int(f.Depth[p])+2)
		}
		if int(n) >= f.Len() {
			break
		}
		if !f.keep[n] {
			n = f.End[n]
			continue
		}
		for i, s := range f.sides {
			self[i], total[i] = s.self[n], s.total[n]
		}
		enter(n, int(f.Depth[n])+1, self, total)
		if f.has[n] {
			open = append(open, n)
		}
		n++
	}
	other(calltree.NoNode, 1)
}

// end returns where the subtree of a node ends.
func (f *folded) end(n int32) int32 {
	if n == calltree.NoNode {
		return int32(f.Len())
	}
	return f.End[n]
}

// flameGraph is a flame graph as the clients know it, the message FlameGraph or FlameGraphDiff.
// Each level is a list of bars, from left to right. A bar has for each side an offset, its total
// and its self; then the number of its name. The offset counts from the end of the bar before.
type flameGraph struct {
	Names   []string `pb:"1 names"`
	Levels  []level  `pb:"2 levels"`
	Total   int64    `pb:"3 total"`    // over all sides
	MaxSelf int64    `pb:"4 max_self"` // of one side
	Left    int64    `pb:"5 leftTicks"`
	Right   int64    `pb:"6 rightTicks"`
}

type level struct {
	Values []int64 `pb:"1 values"`
}

// newFlameGraph returns the flame graph of a tree; nil if it has no values. The bar of the
// root is named total, and a bar's own part is left of its callees.
func newFlameGraph(f *folded) *flameGraph {
	g := &flameGraph{}
	ticks := make([]int64, len(f.sides))
	for i := range f.sides {
		ticks[i] = f.sides[i].root(f.Table)
		g.Total += ticks[i]
	}
	if g.Total == 0 {
		return nil
	}
	if len(ticks) == 2 {
		g.Left, g.Right = ticks[0], ticks[1]
	}
	b := barWriter{g: g, sides: len(f.sides), number: map[string]int64{}}
	b.bar(0, "total", make([]int64, len(f.sides)), ticks)
	f.walk(func(n int32, depth int, self, total []int64) {
		name := otherName
		if n >= 0 {
			name = f.Name(n)
		}
		b.bar(depth, name, self, total)
	})
	return g
}

// barBytes is about the memory of a bar of one side, with its name and its text in JSON.
const barBytes = 256

// graph counts the memory of the flame graph of a tree, and returns it.
func graph(ctx context.Context, f *folded) (*flameGraph, error) {
	bars := int64(1)
	f.walk(func(int32, int, []int64, []int64) { bars++ })
	if err := cost.Of(ctx).Spend(cost.Memory, bars*int64(len(f.sides))*barBytes); err != nil {
		return nil, err
	}
	return newFlameGraph(f), nil
}

// barWriter lays out bars in the order of a walk.
type barWriter struct {
	g      *flameGraph
	sides  int
	number map[string]int64 // of names; the root's is apart
	next   [][]int64        // by depth and side: where the next child of the open bar begins
	end    [][]int64        // by depth and side: where the last bar ended
}

func (b *barWriter) bar(depth int, name string, self, total []int64) {
	for depth >= len(b.g.Levels) {
		b.g.Levels = append(b.g.Levels, level{})
		b.next, b.end = append(b.next, make([]int64, b.sides)), append(b.end, make([]int64, b.sides))
	}
	id, ok := b.number[name]
	if !ok || depth == 0 {
		id = int64(len(b.g.Names))
		b.g.Names = append(b.g.Names, name)
		if depth > 0 {
			b.number[name] = id
		}
	}
	values := b.g.Levels[depth].Values
	for i := range b.sides {
		x := int64(0)
		if depth > 0 {
			x = b.next[depth-1][i]
			b.next[depth-1][i] += total[i]
		}
		values = append(values, x-b.end[depth][i], total[i], self[i])
		b.end[depth][i], b.next[depth][i] = x+total[i], x+self[i]
		b.g.MaxSelf = max(b.g.MaxSelf, self[i])
	}
	b.g.Levels[depth].Values = append(values, id)
}

// treeBytes returns a tree of one side in Pyroscope's binary form: every node in depth-first
// order as the length of its name, the name, its self and the number of its children. The
// first node is the root, without a name.
func treeBytes(f *folded) []byte {
	type row struct {
		name     string
		self     int64
		children uint64
	}
	rows := []row{{}}
	last := []int{0} // by depth: the open row
	f.walk(func(n int32, depth int, self, _ []int64) {
		name := otherName
		if n >= 0 {
			name = f.Name(n)
		}
		last = append(last[:depth], len(rows))
		rows[last[depth-1]].children++
		rows = append(rows, row{name, self[0], 0})
	})
	if len(rows) == 1 {
		return nil
	}
	var b []byte
	for _, r := range rows {
		b = binary.AppendUvarint(b, uint64(len(r.name)))
		b = append(b, r.name...)
		b = binary.AppendUvarint(b, uint64(r.self))
		b = binary.AppendUvarint(b, r.children)
	}
	return b
}
