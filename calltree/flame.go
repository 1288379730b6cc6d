package calltree

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/dendroprof/dendro/calltree/internal/ranges"
	"github.com/dendroprof/dendro/profile"
)

// Box is a call node in a flame graph or stack chart. Boxes are listed by depth, those
// of one depth from left to right.
type Box struct {
	Node, Func, Depth int32

	// Start, End and Self are shares of the root total in a flame graph. In a stack
	// chart they are milliseconds since Profile.Start, or numbers of stacks; Self is the
	// part in which the node is the innermost.
	Start, End, Self float64
}

// Flame returns the boxes of a flame graph. A node is |total| / root total wide and
// begins where its parent begins, after the siblings before it. Siblings are ordered by
// name (in UTF-16 code units, ties by function), so that graphs of different ranges and
// runs look alike. A node whose total cancels has no box, but its children are drawn in
// its place. Boxes narrower than minWidth are omitted with all below them.
func (t *Tree) Flame(minWidth float64) []Box {
	shown, rank := t.Shown(), nameRank(t.Functions)
	f := flame{root: t.RootTotal(), minWidth: minWidth}
	f.draw(func(n int32, buf []flameNode) []flameNode {
		for c := range t.ByFunction(n) {
			if shown[c] {
				buf = append(buf, flameNode{node: c, fn: t.Func[c], rank: rank[t.Func[c]], depth: t.Depth[c], total: t.Total[c], self: t.Self[c]})
			}
		}
		return buf
	})
	return byDepth(f.boxes)
}

// Flame returns the boxes of the flame graph of the inverted tree, by the rules of
// Tree.Flame, except that nothing is drawn below a node whose total cancels. It expands
// every node that is not narrower than minWidth.
func (v *Inverted) Flame(minWidth float64) []Box {
	rank := nameRank(v.tree.Functions)
	f := flame{root: v.RootTotal(), minWidth: minWidth}
	f.draw(func(h int32, buf []flameNode) []flameNode {
		for _, c := range v.shown(h) {
			n := &v.nodes[c]
			if n.total == 0 {
				continue
			}
			buf = append(buf, flameNode{node: c, fn: n.fn, rank: rank[n.fn], depth: n.depth, total: n.total, self: v.Self(c)})
		}
		return buf
	})
	return byDepth(f.boxes)
}

// flame lays out a flame graph. Positions are exact sums of values, divided by the root
// total at the end.
type flame struct {
	root     int64
	minWidth float64
	boxes    []Box
}

type flameNode struct {
	node, fn, rank, depth int32
	total, self, start    int64
}

// draw adds the boxes of the nodes that children returns for NoNode, and so on down.
func (f *flame) draw(children func(n int32, buf []flameNode) []flameNode) {
	if f.root == 0 {
		return // every self value cancels
	}
	root := float64(f.root)
	var pending []flameNode
	push := func(n int32, start int64) {
		from := len(pending)
		pending = children(n, pending)
		list := pending[from:]
		slices.SortFunc(list, func(a, b flameNode) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.fn, b.fn)) })
		for i := range list {
			list[i].start = start
			start += abs(list[i].total)
		}
		slices.Reverse(list)
	}
	for push(NoNode, 0); len(pending) > 0; {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if width := abs(n.total); width != 0 {
			if float64(width)/root < f.minWidth {
				continue
			}
			f.boxes = append(f.boxes, Box{Node: n.node, Func: n.fn, Depth: n.depth,
				Start: float64(n.start) / root, End: float64(n.start+width) / root, Self: float64(abs(n.self)) / root})
		}
		push(n.node, n.start)
	}
}

// byDepth sorts boxes by depth and keeps the order within each depth.
func byDepth(boxes []Box) []Box {
	var start []int
	for i := range boxes {
		for int(boxes[i].Depth)+1 >= len(start) {
			start = append(start, 0)
		}
		start[boxes[i].Depth+1]++
	}
	for d := 1; d < len(start); d++ {
		start[d] += start[d-1]
	}
	sorted := make([]Box, len(boxes))
	for _, b := range boxes {
		sorted[start[b.Depth]] = b
		start[b.Depth]++
	}
	return sorted
}

// nameRank returns the rank of every function by name; equal names have equal ranks.
func nameRank(functions []profile.Function) []int32 {
	ids := ranges.Numbers(len(functions))
	slices.SortFunc(ids, func(a, b int32) int { return compareUTF16(functions[a].Name, functions[b].Name) })
	rank := make([]int32, len(functions))
	for i, id := range ids {
		if i > 0 && functions[ids[i-1]].Name == functions[id].Name {
			rank[id] = rank[ids[i-1]]
		} else {
			rank[id] = int32(i)
		}
	}
	return rank
}

// compareUTF16 compares texts by their UTF-16 code units. That is the order of code
// points, except that those above U+FFFF come before U+E000, because they are surrogate
// pairs.
func compareUTF16(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	x, _ := utf8.DecodeRuneInString(a[i:])
	y, _ := utf8.DecodeRuneInString(b[i:])
	if (x > 0xFFFF) != (y > 0xFFFF) {
		// The first surrogate of a pair is compared with the other's single unit.
		if x > 0xFFFF {
			x = 0xD800
		} else {
			y = 0xD800
		}
	}
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a[i:], b[i:]))
}
