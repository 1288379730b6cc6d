package diff

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/internal/ranges"
)

// A chunk is a unit of parallel work on an overlay: a whole subtree or, if it is
// split, one node whose children are chunks.
type chunk struct {
	overlaid // without the parent
	up       *chunk
	split    bool
	bound    int32 // maximum number of rows
	room     int32 // sum of the bounds of the chunks before it
	row, end int32 // of its node, once written
}

// deepest is the level down to which chunks are split: large subtrees below it are
// mostly one stack.
const deepest = 1000

// chunks divides the overlay into chunks in the order of their rows, small enough
// to share between cores.
func (l *overlayer) chunks(cores int) []*chunk {
	most := l.side[0].Len() + l.side[1].Len()
	if cores > 1 {
		most /= 4 * cores
	}
	list := l.divide(nil, nil, most)
	room := int32(0)
	for _, p := range list {
		p.room = room
		if p.split {
			p.bound = 1
		}
		room += p.bound
	}
	return list
}

// divide appends the chunks below up (nil: all) and splits those that may have more
// than most rows. It visits each once, because a chunk may have a million siblings.
func (l *overlayer) divide(list []*chunk, up *chunk, most int) []*chunk {
	for _, p := range l.under(up) {
		list = append(list, p)
		if int(p.bound) > most && p.depth < deepest {
			p.split = true
			list = l.divide(list, p, most)
		}
	}
	return list
}

// under returns the children of a chunk, or the roots, as whole subtrees.
func (l *overlayer) under(up *chunk) []*chunk {
	at, depth := overlaid{node: [2]int32{calltree.NoNode, calltree.NoNode}, parent: calltree.NoNode}, int32(0)
	row := calltree.NoNode
	if up != nil {
		at, depth, row = up.overlaid, up.depth+1, 0
	}
	l.open = l.open[:0]
	l.pushChildren(at.node[0], at.node[1], row, depth)
	var list []*chunk
	for _, o := range slices.Backward(l.open) {
		p := &chunk{overlaid: o, up: up}
		for s, n := range o.node {
			if n != calltree.NoNode {
				p.bound += l.side[s].End[n] - n
			}
		}
		list = append(list, p)
	}
	return list
}

// assign divides the chunks among cores by their maximum number of rows.
func assign(list []*chunk, cores int) []ranges.Part {
	total := int32(0)
	for _, p := range list {
		total += p.bound
	}
	shares := make([]ranges.Part, cores)
	at := 0
	for i := range shares {
		shares[i].Lo = at
		for at < len(list) && int(list[at].room) < (i+1)*int(total)/cores {
			at++
		}
		shares[i].Hi = at
	}
	return shares
}

// layAll writes the rows of one core's chunks, in order, into the room reserved for
// them.
func (l *overlayer) layAll(list []*chunk) {
	if len(list) == 0 {
		return
	}
	first := list[0].room
	l.n = first
	for _, p := range list {
		p.row = l.n
		o := p.overlaid
		o.parent = calltree.NoNode // set by join
		if p.split {
			l.put(o)
			continue
		}
		l.open = append(l.open[:0], o)
		for len(l.open) > 0 {
			o := l.open[len(l.open)-1]
			l.open = l.open[:len(l.open)-1]
			l.visit(o)
		}
	}
	l.ends(first)
}

// join moves the rows of all cores together, connects the chunks, and returns the
// number of rows.
func (l *overlayer) join(list []*chunk, shares []ranges.Part) int32 {
	n := int32(0)
	for _, share := range shares {
		if share.Lo == share.Hi {
			continue
		}
		mine := list[share.Lo:share.Hi]
		last := mine[len(mine)-1]
		from, to := mine[0].room, l.t.End[last.row] // a split chunk has one row so far
		l.moveDown(from, to, from-n)
		for _, p := range mine {
			p.row -= from - n
		}
		n += to - from
	}
	for _, p := range slices.Backward(list) {
		if p.end == 0 {
			p.end = l.t.End[p.row]
		}
		l.t.End[p.row] = p.end
		if p.up != nil {
			l.t.Parent[p.row] = p.up.row
			if p.up.end == 0 {
				p.up.end = p.end // the last child ends where its parent does
			}
		}
	}
	return n
}

// moveDown moves the rows [from, to) by gap towards the first row.
func (l *overlayer) moveDown(from, to, gap int32) {
	if gap == 0 {
		return
	}
	for _, col := range [][]int32{l.t.Func, l.t.Depth, l.row[0], l.row[1]} {
		copy(col[from-gap:], col[from:to])
	}
	for n := from; n < to; n++ {
		up := l.t.Parent[n]
		if up != calltree.NoNode {
			up -= gap
		}
		l.t.Parent[n-gap], l.t.End[n-gap] = up, l.t.End[n]-gap
	}
}
