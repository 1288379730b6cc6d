package trees

import (
	"context"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// modes has for each compile mode its self values over the nodes of a tree; nil: none.
type modes [profile.FrameTypes][]int64

// mergeModes is store.MergeTrees with the values of compile modes.
func mergeModes(ctx context.Context, st store.Reader, q store.Query) (*calltree.Tree, modes, []store.Profile, error) {
	var of modes
	set, err := st.Trees(ctx, q, store.TreeOptions{Modes: true})
	if err != nil {
		return nil, of, nil, err
	}
	if err := store.Addable(set.Profiles, q); err != nil {
		return nil, of, nil, err
	}
	self := make([]int64, set.Table.Len())
	add := func(sums []int64, v calltree.Vector) {
		for i, n := range v.Nodes {
			sums[n] += v.Self[i]
		}
	}
	for v, err := range set.Vectors {
		if err != nil {
			return nil, of, nil, err
		}
		add(self, v.Vector)
		for _, m := range v.Modes {
			if of[m.Mode] == nil {
				of[m.Mode] = make([]int64, len(self))
			}
			add(of[m.Mode], m.Vector)
		}
	}
	return calltree.NewTree(set.Table, store.SumType(set.Profiles), self), of, set.Profiles, nil
}

// profile returns the tree as a profile, like calltree.Tree.Profile, whose innermost frames
// have the modes.
func (m *modes) profile(t *calltree.Tree) *profile.Profile {
	p := t.Profile()
	if !slices.ContainsFunc(m[:], func(of []int64) bool { return of != nil }) {
		return p
	}
	sym, samples := p.Symbols, &p.Tables[0]
	plain := *samples
	*samples = profile.Samples{Type: plain.Type}
	at := 0 // in plain, which has a sample for each node with a value
	for n, self := range t.Self {
		if self == 0 {
			continue
		}
		stack := plain.Stack[at]
		at++
		frame, caller := sym.Frames[sym.Leaf(stack)], sym.Stacks.Parent[stack]
		for mode, of := range m {
			if of == nil || of[n] == 0 {
				continue
			}
			frame.Type = profile.FrameType(mode)
			samples.Add(sym.Stack(profile.StackID(caller), sym.Frame(frame)), of[n])
			self -= of[n]
		}
		if self != 0 {
			samples.Add(stack, self)
		}
	}
	return p
}

// noMode is the category of samples whose innermost frame has no compile mode.
const noMode = "no mode"

// modeColours are the colours of modes, as Firefox Profiler names them.
var modeColours = map[profile.FrameType]string{profile.FrameInterpreted: "red", profile.FrameC1: "orange", profile.FrameJIT: "green",
	profile.FrameInlined: "blue"}

// showModes makes compile modes the categories of the input's samples.
func (in *Input) showModes() {
	p := in.profile
	if p == nil && in.tree != nil {
		p = in.modes.profile(in.tree)
	}
	if p == nil {
		return
	}
	from := p.Symbols // markers keep their categories
	sym := &profile.Symbols{Functions: from.Functions, Frames: slices.Clone(from.Frames), Modules: from.Modules, Scripts: from.Scripts,
		Resources: from.Resources, Stacks: from.Stacks,
		Categories: append(slices.Clone(from.Categories), profile.Category{Name: noMode, Color: "grey"})}
	category := [profile.FrameTypes]profile.CategoryID{}
	for mode := range category {
		category[mode] = profile.CategoryID(len(from.Categories))
		if t := profile.FrameType(mode); t.CompileMode() {
			category[mode] = profile.CategoryID(len(sym.Categories))
			sym.Categories = append(sym.Categories, profile.Category{Name: t.String(), Color: modeColours[t]})
		}
	}
	for i := range sym.Frames {
		sym.Frames[i].Category = category[sym.Frames[i].Type]
	}
	shown := *p
	shown.Symbols = sym
	in.viewer = calltree.NewViewer(&shown)
}

// setModes gives every node the mode of most of its self samples.
func (s *scope) setModes() {
	if s.shown == nil || s.shown.Tree != s.tree {
		return
	}
	s.byMode = s.shown.SelfByCategory()
	table := *s.tree.Table
	none := slices.IndexFunc(table.Categories, func(c profile.Category) bool { return c.Name == noMode })
	table.Category = slices.Repeat([]profile.CategoryID{profile.CategoryID(none)}, table.Len())
	for n := range table.Category {
		most := int64(0)
		for c, of := range s.byMode {
			if of != nil && abs(of[n]) > most {
				most, table.Category[n] = abs(of[n]), profile.CategoryID(c)
			}
		}
	}
	tree := *s.tree
	tree.Table = &table
	s.tree, s.shown.Tree = &tree, &tree
	known := false
	for c, of := range s.byMode {
		known = known || of != nil && table.Categories[c].Name != noMode
	}
	if !known {
		s.note("no sample has a compile mode: profilers of the JVM record them (async-profiler with -o collapsed,ann, or JFR)")
	}
}

// modesOf writes the modes of a node's self samples: "interpreted", or "interpreted 60.0%,
// jit 40.0%".
func (s *scope) modesOf(n int32) string {
	values := make([]int64, len(s.byMode))
	for c, of := range s.byMode {
		if of != nil {
			values[c] = of[n]
		}
	}
	return s.modesText(values)
}

func (s *scope) modesText(values []int64) string {
	sum := int64(0)
	for _, v := range values {
		sum += abs(v)
	}
	var parts []string
	for c, v := range values {
		switch name := s.tree.Categories[c].Name; {
		case v == 0:
		case abs(v) == sum && name == noMode:
			return ""
		case abs(v) == sum:
			return name
		default:
			parts = append(parts, name+" "+words.Percent(float64(abs(v))/float64(sum)))
		}
	}
	return strings.Join(parts, ", ")
}

// modesOfFunctions returns what writes the modes of a function's self samples.
func (s *scope) modesOfFunctions() func(function int32) string {
	sums := map[int32][]int64{}
	for c, of := range s.byMode {
		for n, v := range of {
			if v != 0 {
				fn := s.tree.Func[n]
				if sums[fn] == nil {
					sums[fn] = make([]int64, len(s.byMode))
				}
				sums[fn][c] += v
			}
		}
	}
	return func(fn int32) string { return s.modesText(sums[fn]) }
}
