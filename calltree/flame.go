package calltree

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/dendroprof/dendro/profile"
)

// Box is a call node in a picture. Boxes are listed by depth, those of a depth
// from left to right.
type Box struct {
	Node, Func, Depth int32

	// Start, End and Self are shares of the root total in a flame graph; in a stack
	// chart milliseconds since Profile.Start, Self those in which the node is the
	// innermost, or numbers of stacks.
	Start, End, Self float64
}

// Flame returns the boxes of a flame graph: a node is |total| / root total wide and
// begins where its parent begins, behind the siblings before it. Siblings are in
// order of their names, so that graphs of different ranges and runs look alike;
// names are compared by UTF-16 code units, equal ones are in order of functions.
// A node whose total cancels has no box, but its children are drawn from where
// it would be. Boxes narrower than minWidth are left out with what is below them.
func (t *Tree) Flame(minWidth float64) []Box {
	shown, rank := t.Shown(), nameRank(t.Functions)
	f := flame{root: t.RootTotal(), minWidth: minWidth}
	f.draw(func(n int32, buf []flameNode) []flameNode {
		for c := range t.children(n) {
			if shown[c] {
				buf = append(buf, flameNode{node: c, fn: t.Func[c], rank: rank[t.Func[c]], depth: t.Depth[c], total: t.Total[c], self: t.Self[c]})
			}
		}
		return buf
	})
	return byDepth(f.boxes)
}

// Flame returns the boxes of the flame graph of the inverted tree, by the rules of
// Tree.Flame, but for a node whose total cancels: nothing is drawn below it. All
// of the tree is expanded but what is narrower than minWidth.
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

// flame draws a flame graph. Places are sums of values, divided by the root total
// at the end, so that they are exact.
type flame struct {
	root     int64
	minWidth float64
	boxes    []Box
}

type flameNode struct {
	node, fn, rank, depth int32
	total, self, start    int64
}

// draw adds the boxes of what children yields for NoNode, and so on down.
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

// byDepth sorts boxes by depth and keeps the order of each depth.
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

// nameRank returns the rank of every function by name; equal names are equal.
func nameRank(functions []profile.Function) []int32 {
	ids := make([]int32, len(functions))
	for i := range ids {
		ids[i] = int32(i)
	}
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

// compareUTF16 compares texts by their UTF-16 code units. That is the order of
// their code points, but for those above U+FFFF, whose surrogates are before
// U+E000.
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
		// Of a pair of surrogates the first one decides, against one unit.
		if x > 0xFFFF {
			x = 0xD800
		} else {
			y = 0xD800
		}
	}
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a[i:], b[i:]))
}
