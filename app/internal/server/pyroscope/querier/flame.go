package querier

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
)

// otherName is the bar with what a limit of nodes folds: the clients know it by name.
const otherName = "other"

// errNegative: the clients' flame graphs have no bars of negative width.
var errNegative = errors.New("the selection has negative values, which this form of a flame graph cannot show")

// columns are the values of the nodes of one side.
type columns struct{ self, total []int64 }

func (c *columns) add(self, total int64) {
	c.self, c.total = append(c.self, self), append(c.total, total)
}

func (c *columns) root(t *calltree.Table) (sum int64) {
	for n := int32(0); int(n) < t.Len(); n = t.End[n] {
		sum += c.total[n]
	}
	return sum
}

// folded is a tree with at most a number of nodes: those of the largest totals. What the
// others have is in a child of their parent, `other`, behind its children, so that every total stays
// as it is. A function of that name is folded too.
type folded struct {
	*calltree.Table
	sides []columns
}

// fold returns a tree of one side, or a diff of two, with at most most nodes besides `other`;
// 0: all. Of nodes with equal totals, the first in depth-first order are kept.
func fold(t *calltree.Table, most int64, sides ...columns) (*folded, error) {
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
	f := &folded{Table: &calltree.Table{Functions: append(slices.Clip(t.Functions), profile.Function{Name: otherName})},
		sides: make([]columns, len(sides))}
	open := []opened{{row: calltree.NoNode, end: int32(t.Len())}}
	for n := int32(0); len(open) > 0; {
		p := &open[len(open)-1]
		switch {
		case n == p.end:
			f.leave(p)
			open = open[:len(open)-1]
		case larger[n] < least || larger[n] == least && equal == 0 || least > 1 && t.Name(n) == otherName:
			if p.rest == nil {
				p.rest = make([]int64, len(sides))
			}
			for i, s := range sides {
				p.rest[i] += s.total[n]
			}
			n = t.End[n]
		default:
			if larger[n] == least {
				equal--
			}
			open = append(open, opened{row: f.add(p.row, t.Func[n]), end: t.End[n]})
			for i, s := range sides {
				f.sides[i].add(s.self[n], s.total[n])
			}
			n++
		}
	}
	return f, nil
}

// opened is a row whose subtree is being folded.
type opened struct {
	row, end int32   // end is where the subtree ends in the tree that is folded
	rest     []int64 // totals of the children that have no row
}

// add adds a row below another; its values are to follow.
func (f *folded) add(parent, fn int32) (row int32) {
	row, depth := int32(f.Len()), int32(0)
	if parent != calltree.NoNode {
		depth = f.Depth[parent] + 1
	}
	f.Parent, f.Func, f.Depth, f.End = append(f.Parent, parent), append(f.Func, fn), append(f.Depth, depth), append(f.End, row+1)
	return row
}

// leave ends the subtree of a row: with `other`, if it has a rest.
func (f *folded) leave(o *opened) {
	if slices.ContainsFunc(o.rest, func(v int64) bool { return v != 0 }) {
		f.add(o.row, int32(len(f.Functions)-1))
		for i, v := range o.rest {
			f.sides[i].add(v, v)
		}
	}
	if o.row != calltree.NoNode {
		f.End[o.row] = int32(f.Len())
	}
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
	self, total := make([]int64, len(f.sides)), make([]int64, len(f.sides))
	b.bar(0, "total", self, ticks)
	for n := range int32(f.Len()) {
		for i, s := range f.sides {
			self[i], total[i] = s.self[n], s.total[n]
		}
		b.bar(int(f.Depth[n])+1, f.Name(n), self, total)
	}
	return g
}

// barBytes is about the memory of a bar of one side, with its name and its text in JSON.
const barBytes = 256

// graph counts the memory of the flame graph of a tree, and returns it.
func graph(ctx context.Context, f *folded) (*flameGraph, error) {
	if err := cost.Of(ctx).Spend(cost.Memory, int64(1+f.Len())*int64(len(f.sides))*barBytes); err != nil {
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
func treeBytes(f *folded) (b []byte) {
	if f.Len() == 0 {
		return nil
	}
	children := make([]uint64, 1+f.Len()) // of the root, and of each node
	for _, p := range f.Parent {
		children[1+p]++
	}
	add := func(name string, self int64, children uint64) {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(self)), children)
	}
	add("", 0, children[0])
	for n, self := range f.sides[0].self {
		add(f.Name(int32(n)), self, children[1+n])
	}
	return b
}
