package calltree

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// Sidebar has the numbers of one selected node of a view.
type Sidebar struct {
	Self, Total Amount

	// RootTotal is 100% of the tree's rows: the sum of the absolute self values of all
	// nodes. SampleTotal is 100% of the sidebar: the sum of the absolute values of the
	// samples, before they cancel inside a node.
	RootTotal, SampleTotal int64

	// Traced is nil if the samples have no times, or have weights.
	Traced *TracedTime
}

// TracedTime is the time a node was on the stack, in nanoseconds. Root is the time of
// all samples with a stack.
type TracedTime struct{ Self, Total, Root int64 }

// Amount is a value and its parts by category of the samples' innermost frames, before
// any filter or transform.
type Amount struct {
	Value      int64
	Categories []CategoryAmount // by value descending; nil without categories
}

// CategoryAmount is the part of a category, or of a subcategory.
type CategoryAmount struct {
	Name  string
	Value int64
	Share float64 // of the sum of the absolute values of all parts
	Sub   []CategoryAmount
}

// Sidebar returns the numbers of node n, summed over the samples of the preview range.
func (s *Shown) Sidebar(n int32) Sidebar {
	return s.sidebar(func(node int32) (self, total bool) {
		return node == n, n <= node && node < s.End[n]
	}, true)
}

// InvertedSidebar is Sidebar for node h of the inverted tree of this view. Only the
// total is divided into categories.
func (s *Shown) InvertedSidebar(v *Inverted, h int32) Sidebar {
	member := make([]bool, s.Len())
	for _, n := range v.order[v.nodes[h].from:v.nodes[h].to] {
		member[n] = true
	}
	root := v.nodes[h].parent == NoNode
	return s.sidebar(func(node int32) (self, total bool) {
		return root && member[node], member[node]
	}, false)
}

// sidebar sums samples. Counts reports whether a sample of a call node counts for self
// and for total.
func (s *Shown) sidebar(counts func(node int32) (self, total bool), selfParts bool) Sidebar {
	b := Sidebar{RootTotal: s.RootTotal()}
	self, total := s.byCategory(), s.byCategory()
	add := func(i int, node int32, value int64) {
		b.SampleTotal += abs(value)
		category := s.category(i)
		ofSelf, ofTotal := counts(node)
		if ofSelf {
			b.Self.Value += value
			self.add(category, value)
		}
		if ofTotal {
			b.Total.Value += value
			total.add(category, value)
		}
	}
	s.each(add)
	if selfParts {
		b.Self.Categories = self.amounts()
	}
	b.Total.Categories = total.amounts()
	if s.traceable() {
		t := &TracedTime{}
		s.trace(func(_ int, node int32, time int64) {
			ofSelf, ofTotal := counts(node)
			t.Root += time
			if ofSelf {
				t.Self += time
			}
			if ofTotal {
				t.Total += time
			}
		})
		b.Traced = t
	}
	return b
}

// each calls use with every sample of the preview range that counts: its number in the
// committed range, its call node and its value.
func (s *Shown) each(use func(i int, node int32, value int64)) {
	if s.View.Weights == Traced {
		s.trace(use)
		return
	}
	for i := s.lo; i < s.hi; i++ {
		if node := s.nodes[i]; node != NoNode {
			use(i, node, s.value(i))
		}
	}
}

// category returns the recorded category of the i-th sample.
func (s *Shown) category(i int) profile.CategoryID {
	st := s.rows.Stack[s.rows.row(i)]
	switch {
	case s.viewer.categories == nil:
		return 0
	case st == profile.NoStack:
		return s.viewer.categories.fallback
	}
	return s.viewer.first.category[st]
}

// SelfByCategory returns the self value of every node by the category of the samples'
// innermost frames: a list over the nodes for each category that has samples, nil for the
// others. It is nil without categories.
func (s *Shown) SelfByCategory() [][]int64 {
	if s.viewer == nil || s.viewer.categories == nil {
		return nil
	}
	sums := make([][]int64, len(s.viewer.categories.list))
	s.each(func(i int, node int32, value int64) {
		c := s.category(i)
		if sums[c] == nil {
			sums[c] = make([]int64, s.Len())
		}
		sums[c][node] += value
	})
	return sums
}

// byCategory sums values by category.
type byCategory struct {
	kinds *Categories // nil without categories
	sum   []int64
	seen  []bool
}

func (s *Shown) byCategory() *byCategory {
	p := &byCategory{kinds: s.viewer.categories}
	if p.kinds != nil {
		p.sum, p.seen = make([]int64, len(p.kinds.list)), make([]bool, len(p.kinds.list))
	}
	return p
}

func (p *byCategory) add(c profile.CategoryID, value int64) {
	if p.kinds != nil {
		p.sum[c] += value
		p.seen[c] = true
	}
}

// amounts returns the groups that have samples, each with its subcategories if it has
// several; the largest first, ties in the order of the profile.
func (p *byCategory) amounts() []CategoryAmount {
	if p.kinds == nil {
		return nil
	}
	var groups []CategoryAmount
	at := map[profile.CategoryID]int{}
	for c, seen := range p.seen {
		if !seen {
			continue
		}
		group := p.kinds.group[c]
		i := intern.Number(at, &groups, group, CategoryAmount{Name: p.kinds.list[group].Name})
		groups[i].Value += p.sum[c]
		sub := cmp.Or(p.kinds.list[c].Subcategory, "Other")
		groups[i].Sub = append(groups[i].Sub, CategoryAmount{Name: sub, Value: p.sum[c]})
	}
	var all int64
	for i := range groups {
		all += abs(groups[i].Value)
	}
	for i := range groups {
		if g := &groups[i]; len(g.Sub) == 1 && g.Sub[0].Name == "Other" {
			g.Sub = nil
		}
		share(groups[i].Sub, all)
	}
	share(groups, all)
	return groups
}

// share sets the shares of all and sorts by value.
func share(list []CategoryAmount, all int64) {
	for i := range list {
		if all != 0 {
			list[i].Share = float64(list[i].Value) / float64(all)
		}
	}
	slices.SortStableFunc(list, func(a, b CategoryAmount) int { return cmp.Compare(b.Value, a.Value) })
}
