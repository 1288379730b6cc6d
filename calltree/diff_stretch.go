package calltree

import "slices"

// stretch is a part of an overlay: a whole subtree, or, if it is split, one node
// whose children are stretches of their own.
type stretch struct {
	overlaid // but for the parent
	up       *stretch
	split    bool
	bound    int32 // rows it has at most
	room     int32 // bounds of the stretches before it
	row, end int32 // of its node, once laid
}

// deepest is the level down to which stretches are split: what is large below it is
// mostly one stack.
const deepest = 1000

// stretches divides the overlay into stretches in the order of their rows, small enough
// to be shared by so many cores.
func (l *overlayer) stretches(cores int) []*stretch {
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

// divide appends the stretches below up, or all of them, and splits those that may
// have more than so many rows. Each is looked at once: there may be a million beside
// the one that is split a thousand times.
func (l *overlayer) divide(list []*stretch, up *stretch, most int) []*stretch {
	for _, p := range l.under(up) {
		list = append(list, p)
		if int(p.bound) > most && p.depth < deepest {
			p.split = true
			list = l.divide(list, p, most)
		}
	}
	return list
}

// under returns the children of a stretch, or the roots, as whole subtrees.
func (l *overlayer) under(up *stretch) []*stretch {
	at, depth := overlaid{node: [2]int32{NoNode, NoNode}, parent: NoNode}, int32(0)
	row := NoNode
	if up != nil {
		at, depth, row = up.overlaid, up.depth+1, 0
	}
	l.open = l.open[:0]
	l.pushChildren(at.node[0], at.node[1], row, depth)
	var list []*stretch
	for _, o := range slices.Backward(l.open) {
		p := &stretch{overlaid: o, up: up}
		for s, n := range o.node {
			if n != NoNode {
				p.bound += l.side[s].End[n] - n
			}
		}
		list = append(list, p)
	}
	return list
}

// deal divides the stretches among so many cores, by the rows they may have.
func deal(list []*stretch, cores int) []part {
	total := int32(0)
	for _, p := range list {
		total += p.bound
	}
	shares := make([]part, cores)
	at := 0
	for i := range shares {
		shares[i].lo = at
		for at < len(list) && int(list[at].room) < (i+1)*int(total)/cores {
			at++
		}
		shares[i].hi = at
	}
	return shares
}

// layAll lays the stretches of a core, in order, into the room that they have.
func (l *overlayer) layAll(list []*stretch) {
	if len(list) == 0 {
		return
	}
	first := list[0].room
	l.n = first
	for _, p := range list {
		p.row = l.n
		o := p.overlaid
		o.parent = NoNode // not known yet
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

// join moves the rows that the cores have laid together, connects the stretches, and
// returns the number of rows.
func (l *overlayer) join(list []*stretch, shares []part) int32 {
	n := int32(0)
	for _, share := range shares {
		if share.lo == share.hi {
			continue
		}
		mine := list[share.lo:share.hi]
		last := mine[len(mine)-1]
		from, to := mine[0].room, l.t.End[last.row] // a stretch that is split has one row so far
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

// moveDown moves the rows from one up to another by a gap towards the first.
func (l *overlayer) moveDown(from, to, gap int32) {
	if gap == 0 {
		return
	}
	for _, col := range [][]int32{l.t.Func, l.t.Depth, l.row[0], l.row[1]} {
		copy(col[from-gap:], col[from:to])
	}
	for n := from; n < to; n++ {
		up := l.t.Parent[n]
		if up != NoNode {
			up -= gap
		}
		l.t.Parent[n-gap], l.t.End[n-gap] = up, l.t.End[n]-gap
	}
}
