package calltree_test

import (
	"cmp"
	"slices"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// The naive form of views: lists of frames, changed one sample after the other as
// the rules say, and trees of maps.

// naiveFrame is a frame: its function, and its category with what it inherited.
type naiveFrame struct {
	fn  int32
	cat profile.CategoryID
}

type naiveSample struct {
	stack []naiveFrame // root first; empty: none
	value int64
}

// naiveProfile is a profile and its samples as lists.
type naiveProfile struct {
	*profile.Profile
	functions []profile.Function // with those of modules
	samples   []naiveSample
}

// drawProfile draws a profile of few functions, of different kinds, modules and
// categories.
func drawProfile(t *rapid.T) *naiveProfile {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count"}}}
	p.Interval = 5
	sym := p.Symbols
	grey := sym.Category(profile.Category{Name: "Other", Color: "grey"})
	sym.Category(profile.Category{Name: "JS", Color: "yellow"})
	sym.Category(profile.Category{Name: "JS", Color: "yellow", Subcategory: "Ion"})
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		sym.Function(profile.Function{Name: name, Module: []string{"", "xu", "xu", "li", ""}[i],
			Kind: []profile.Kind{profile.KindJS, profile.KindNative, profile.KindJS, profile.KindNative, profile.KindJSLabel}[i]})
	}
	n := &naiveProfile{Profile: p, functions: append(slices.Clone(sym.Functions),
		profile.Function{Name: "xu", Module: "xu", Kind: profile.KindNative},
		profile.Function{Name: "li", Module: "li", Kind: profile.KindNative})}
	for range rapid.IntRange(0, 12).Draw(t, "samples") {
		st := profile.NoStack
		var s naiveSample
		cat := grey
		for range rapid.IntRange(0, 7).Draw(t, "depth") {
			fr := profile.Frame{Function: profile.FunctionID(rapid.IntRange(0, 4).Draw(t, "function")),
				Category: profile.CategoryID(rapid.IntRange(0, 3).Draw(t, "category"))}
			st = sym.Stack(st, sym.Frame(fr))
			if fr.Category != 0 {
				cat = fr.Category
			}
			s.stack = append(s.stack, naiveFrame{int32(fr.Function), cat})
		}
		s.value = rapid.Int64Range(-3, 6).Draw(t, "value")
		p.Tables[0].Add(st, s.value)
		p.Tables[0].Time = append(p.Tables[0].Time, int64(len(n.samples))*10)
		n.samples = append(n.samples, s)
	}
	return n
}

var drawTransform = rapid.Custom(func(t *rapid.T) calltree.Transform {
	kinds := calltree.TransformKinds()
	tr := calltree.Transform{Kind: calltree.TransformKind(rapid.SampledFrom(kinds[:len(kinds)-2]).Draw(t, "kind"))}
	tr.Only = rapid.SampledFrom([]calltree.KindFilter{"", "js", "cpp", "native"}).Draw(t, "only")
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "xu"})
	switch tr.Kind {
	case calltree.MergeNode, calltree.FocusSubtree, calltree.FocusSubtreeInverted, calltree.StackPrefix, calltree.FunctionInclude:
		tr.Args = rapid.SliceOfN(name, 1, 3).Draw(t, "path")
	case calltree.FocusCategory:
		tr.Args = []string{rapid.SampledFrom([]string{"Other", "JS"}).Draw(t, "category")}
	case calltree.CollapseResource:
		tr.Args = []string{rapid.SampledFrom([]string{"xu", "li"}).Draw(t, "module")}
	case calltree.CollapseRecursion:
		tr.Args = []string{rapid.SampledFrom([]string{"a", "b", "c", "d", "e", calltree.EveryFunction}).Draw(t, "function")}
	default:
		tr.Args = []string{name.Draw(t, "function")}
	}
	return tr
})

// transform applies a transform to one stack.
func (p *naiveProfile) transform(tr calltree.Transform, s []naiveFrame) []naiveFrame {
	is := func(f naiveFrame, name string) bool { return p.functions[f.fn].Name == name }
	ok := func(f naiveFrame) bool { return tr.Only.Selects(&p.functions[f.fn]) }
	arg := tr.Args[0]
	first := slices.IndexFunc(s, func(f naiveFrame) bool { return is(f, arg) })
	last := -1
	for i, f := range s {
		if is(f, arg) {
			last = i
		}
	}
	// walk returns where the path is complete, or -1.
	walk := func(frames []naiveFrame) int {
		k := 0
		for i, f := range frames {
			if is(f, tr.Args[k]) {
				if k++; k == len(tr.Args) {
					return i
				}
			} else if ok(f) {
				return -1
			}
		}
		return -1
	}
	switch tr.Kind {
	case calltree.MergeFunction:
		return slices.DeleteFunc(slices.Clone(s), func(f naiveFrame) bool { return is(f, arg) })
	case calltree.MergeNode:
		if i := walk(s); i >= 0 {
			return slices.Delete(slices.Clone(s), i, i+1)
		}
	case calltree.DropFunction:
		if first >= 0 {
			return nil
		}
	case calltree.FocusFunction:
		if first < 0 {
			return nil
		}
		return s[first:]
	case calltree.FocusSubtree:
		if i := walk(s); i >= 0 {
			return s[i:]
		}
		return nil
	case calltree.FocusSubtreeInverted:
		up := slices.Clone(s)
		slices.Reverse(up)
		if i := walk(up); i >= 0 {
			return s[:len(s)-i]
		}
		return nil
	case calltree.FocusSelf:
		if last < 0 || slices.ContainsFunc(s[last+1:], ok) {
			return nil
		}
		return s[last:]
	case calltree.FocusCategory:
		return slices.DeleteFunc(slices.Clone(s), func(f naiveFrame) bool { return p.Symbols.Categories[f.cat].Name != arg })
	case calltree.CollapseFunction:
		if first >= 0 {
			return s[:first+1]
		}
	case calltree.CollapseDirectRecursion:
		return p.collapse(s, ok, func(f naiveFrame) bool { return is(f, arg) })
	case calltree.CollapseRecursion:
		if arg == calltree.EveryFunction {
			var out []naiveFrame
			for _, f := range s {
				if i := slices.IndexFunc(out, func(o naiveFrame) bool { return o.fn == f.fn }); i >= 0 {
					out = out[:i]
				}
				out = append(out, f)
			}
			return out
		}
		if first >= 0 {
			return slices.Concat(s[:first], s[last:])
		}
	case calltree.CollapseResource:
		one := int32(slices.IndexFunc(p.functions[5:], func(f profile.Function) bool { return f.Name == arg }) + 5)
		s = slices.Clone(s)
		for i, f := range s {
			if p.functions[f.fn].Module == arg {
				s[i].fn = one
			}
		}
		return p.collapse(s, ok, func(f naiveFrame) bool { return f.fn == one })
	case calltree.StackPrefix:
		for i, name := range tr.Args {
			if i >= len(s) || !is(s[i], name) {
				return nil
			}
		}
	case calltree.StackSuffix:
		if len(s) > 0 && !is(s[len(s)-1], arg) {
			return nil
		}
	case calltree.FunctionInclude:
		if !slices.ContainsFunc(s, func(f naiveFrame) bool { return slices.Contains(tr.Args, p.functions[f.fn].Name) }) {
			return nil
		}
	}
	return s
}

// collapse is the rule of direct recursion on one stack.
func (p *naiveProfile) collapse(s []naiveFrame, ok, isF func(naiveFrame) bool) []naiveFrame {
	var out []naiveFrame
	run := -1 // in out
	for _, f := range s {
		switch {
		case run < 0 && isF(f):
			run = len(out)
		case run >= 0 && ok(f) && isF(f):
			out = out[:run]
		case ok(f):
			run = -1
		}
		out = append(out, f)
	}
	return out
}

// naiveRow is a line of a tree.
type naiveRow struct {
	depth       int
	fn          int32
	total, self int64
}

// naiveNode is a node of a tree of maps.
type naiveNode struct {
	self, total int64
	below       map[int32]*naiveNode
}

func newNaiveNode() *naiveNode { return &naiveNode{below: map[int32]*naiveNode{}} }

func (n *naiveNode) child(fn int32) *naiveNode {
	if n.below[fn] == nil {
		n.below[fn] = newNaiveNode()
	}
	return n.below[fn]
}

// naiveTree merges stacks.
func naiveTree(samples []naiveSample) *naiveNode {
	root := newNaiveNode()
	for _, s := range samples {
		if len(s.stack) == 0 {
			continue
		}
		n := root
		for _, f := range s.stack {
			n = n.child(f.fn)
			n.total += s.value
		}
		n.self += s.value
	}
	return root
}

// shows reports whether a tree view has the node.
func (n *naiveNode) shows() bool {
	for _, c := range n.below {
		if c.shows() {
			return true
		}
	}
	return n.total != 0
}

func (n *naiveNode) functions() []int32 {
	var list []int32
	for fn := range n.below {
		list = append(list, fn)
	}
	slices.Sort(list)
	return list
}

// rows lists the nodes below n in display order.
func (n *naiveNode) rows(depth int, order func(a, b int32) int) []naiveRow {
	list := n.functions()
	slices.SortStableFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(magnitude(n.below[b].total), magnitude(n.below[a].total)), order(a, b))
	})
	var rows []naiveRow
	for _, fn := range list {
		if c := n.below[fn]; c.shows() {
			rows = append(rows, naiveRow{depth, fn, c.total, c.self})
			rows = append(rows, c.rows(depth+1, cmp.Compare)...)
		}
	}
	return rows
}

func magnitude(v int64) int64 { return max(v, -v) }

// nodes calls visit for every node below n, depth first, siblings by function.
func (n *naiveNode) nodes(path []int32, visit func(path []int32, n *naiveNode)) {
	for _, fn := range n.functions() {
		p := append(slices.Clone(path), fn)
		visit(p, n.below[fn])
		n.below[fn].nodes(p, visit)
	}
}

// invertedRows lists the inverted tree of a tree: the self value of each node is
// added along the node's path from its end.
func (n *naiveNode) invertedRows() []naiveRow {
	inverted := newNaiveNode()
	first := map[int32]int{}
	n.nodes(nil, func(path []int32, m *naiveNode) {
		if m.self == 0 {
			return
		}
		at := inverted
		for i, fn := range slices.Backward(path) {
			at = at.child(fn)
			at.total += m.self
			if i == len(path)-1 {
				at.self += m.self
				if _, ok := first[fn]; !ok {
					first[fn] = len(first)
				}
			}
		}
	})
	rows := inverted.rows(0, func(a, b int32) int { return cmp.Compare(first[a], first[b]) })
	// A root is listed whatever its total; rows has left out those that cancel
	// with everything behind them, which have no parts to show.
	for fn, c := range inverted.below {
		if !c.shows() {
			rows = append(rows, naiveRow{0, fn, c.total, c.self})
		}
	}
	return rows
}

// functionRows is the function list.
func (n *naiveNode) functionRows() []calltree.FunctionRow {
	sum := map[int32]calltree.FunctionRow{}
	listed := map[int32]bool{}
	n.nodes(nil, func(path []int32, m *naiveNode) {
		fn := path[len(path)-1]
		r := sum[fn]
		r.Func = fn
		r.Self += m.self
		if !slices.Contains(path[:len(path)-1], fn) && m.total != 0 {
			r.Total += m.total
			listed[fn] = true
		}
		sum[fn] = r
	})
	var rows []calltree.FunctionRow
	for fn, r := range sum {
		if listed[fn] {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b calltree.FunctionRow) int {
		return cmp.Or(cmp.Compare(magnitude(b.Total), magnitude(a.Total)), cmp.Compare(a.Func, b.Func))
	})
	return rows
}
