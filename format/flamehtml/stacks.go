package flamehtml

import (
	"cmp"
	"slices"
	"sort"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
)

// box is one box of a flame graph. Left and width are in the graph's own unit,
// which need not be that of total.
type box struct {
	level       int32
	text        int32 // index of graph.texts
	mode        profile.FrameType
	isNew       bool // in a differential graph: the base has no such stack
	left, width float64
	total       int64
	delta       int64 // in a differential graph: self value less that of the base
}

// graph is what a page shows.
type graph struct {
	limits       profile.Limits
	boxes        []box
	texts        []string
	tree         bool // boxes are in depth-first order and have a self value in delta, but no place
	differential bool
	typ          profile.ValueType
	profiler     string

	overlaps int // boxes whose children are wider than they are
	narrow   int64
}

// fill makes the samples of p.
func (g *graph) fill(p *profile.Profile) error {
	p.Profiler = g.profiler
	self, parents, err := g.selves()
	if err != nil {
		return err
	}
	p.Tables = []profile.Samples{{Type: g.typ}}
	if g.differential {
		base := g.typ
		base.Name = profile.Base
		p.Tables[0].Type.Name = profile.Head
		p.Tables = append([]profile.Samples{{Type: base}}, p.Tables...)
		p.Default = 1
		p.Warnf("a differential page does not show stacks that only the base has; `%s` is without them", profile.Base)
	}
	f := filler{Profile: p, graph: g, facts: profile.NewInterner(p)}
	f.run(self, parents)
	p.WarnCount(g.overlaps, "%d boxes are narrower than what they call; their self value is taken as 0")
	p.WarnCount(int(g.narrow), "%d %s are in frames too narrow for the page; they count as %s", g.typ.Unit, profile.LostName)
	return nil
}

// selves returns the self value and the parent (-1: none) of each box.
func (g *graph) selves() (self []int64, parents []int32, err error) {
	parents = make([]int32, len(g.boxes))
	self = make([]int64, len(g.boxes))
	if g.tree {
		g.treeParents(parents)
		for i := range g.boxes {
			self[i] = g.boxes[i].delta
		}
		return self, parents, nil
	}
	if err := g.coveringParents(parents); err != nil {
		return nil, nil, err
	}
	for i := range g.boxes {
		self[i] += g.boxes[i].total
		if p := parents[i]; p >= 0 {
			self[p] -= g.boxes[i].total
		}
	}
	for i := range self {
		if self[i] < 0 {
			self[i] = 0
			g.overlaps++
		}
		if g.boxes[i].level == 0 {
			g.narrow += self[i]
		}
	}
	return self, parents, nil
}

// treeParents finds the parents of boxes in depth-first order.
func (g *graph) treeParents(parents []int32) {
	var open []int32 // the last box of each level
	for i := range g.boxes {
		level := int(g.boxes[i].level)
		parents[i] = -1
		if level > 0 {
			parents[i] = open[level-1]
		}
		open = append(open[:level], int32(i))
	}
}

// coveringParents finds the parent of each box: the one on the level before that
// covers its middle.
func (g *graph) coveringParents(parents []int32) error {
	order := column.Places[int32](len(g.boxes))
	slices.SortFunc(order, func(a, b int32) int {
		x, y := &g.boxes[a], &g.boxes[b]
		return cmp.Or(cmp.Compare(x.level, y.level), cmp.Compare(x.left, y.left), cmp.Compare(a, b))
	})
	var above []int32 // of the level before
	for from := 0; from < len(order); {
		level := g.boxes[order[from]].level
		to := from
		for to < len(order) && g.boxes[order[to]].level == level {
			to++
		}
		for _, i := range order[from:to] {
			parents[i] = g.covering(above, &g.boxes[i])
			if parents[i] < 0 && level > 0 {
				return errNoParent(&g.boxes[i], g.texts)
			}
		}
		above = order[from:to]
		from = to
	}
	return nil
}

// covering returns the box of a level, sorted by left edge, that covers the
// middle of b, or -1.
func (g *graph) covering(above []int32, b *box) int32 {
	middle := b.left + b.width/2
	i := sort.Search(len(above), func(i int) bool { return g.boxes[above[i]].left > middle })
	if i == 0 {
		return -1
	}
	p := &g.boxes[above[i-1]]
	if p.level != b.level-1 || middle > p.left+p.width {
		return -1
	}
	return above[i-1]
}

// filler adds samples to a profile. Levels that are not functions, the root and
// threads, have stacks too: none.
type filler struct {
	*profile.Profile
	graph *graph
	facts *profile.Interner

	stacks   []profile.StackID
	threadOf []profile.ThreadID
}

// run adds the samples. Parents are done before their children, whatever the
// order of the boxes.
func (f *filler) run(self []int64, parents []int32) {
	n := len(f.graph.boxes)
	f.stacks = make([]profile.StackID, n)
	f.threadOf = make([]profile.ThreadID, n)
	order := column.Places[int32](n)
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(f.graph.boxes[a].level, f.graph.boxes[b].level)
	})
	for _, i := range order {
		f.place(i, parents[i])
	}
	for i := range f.graph.boxes {
		if f.stacks[i] == profile.NoStack && self[i] > 0 { // of the root or a thread: what is too narrow
			f.stacks[i] = f.Symbols.Lost()
		}
		f.add(i, self[i])
	}
	if f.graph.tree && f.graph.narrow > 0 {
		s := &f.Tables[0]
		s.Add(f.Symbols.Lost(), f.graph.narrow)
		s.Thread = append(s.Thread, 0)
	}
	for t := range f.Tables {
		if len(f.Threads) == 1 {
			f.Tables[t].Thread = nil
		}
	}
}

// place sets the stack and the thread of a box.
func (f *filler) place(i, parent int32) {
	b := &f.graph.boxes[i]
	caller := profile.NoStack
	if parent >= 0 {
		caller, f.threadOf[i] = f.stacks[parent], f.threadOf[parent]
	}
	f.stacks[i] = caller
	text := f.graph.texts[b.text]
	if b.level == 0 && !f.graph.tree {
		return
	}
	if caller == profile.NoStack && f.threadOf[i] == 0 {
		if t, ok := cutThread(text); ok {
			f.threadOf[i] = f.facts.Thread(t)
			return
		}
	}
	f.stacks[i] = f.Symbols.Stack(caller, f.frame(text, b.mode))
}

func (f *filler) frame(text string, mode profile.FrameType) profile.FrameID {
	fn, line := parseName(text, mode)
	return f.Symbols.Frame(profile.Frame{Function: f.Symbols.Function(fn), Line: line, Type: mode})
}

// add adds the samples of a box.
func (f *filler) add(i int, self int64) {
	b := &f.graph.boxes[i]
	if !f.graph.differential {
		f.addTo(0, i, self)
		return
	}
	f.addTo(1, i, self)
	if !b.isNew {
		f.addTo(0, i, max(0, self-b.delta))
	}
}

func (f *filler) addTo(table, i int, value int64) {
	if value == 0 {
		return
	}
	s := &f.Tables[table]
	s.Add(f.stacks[i], value)
	s.Thread = append(s.Thread, f.threadOf[i])
}
