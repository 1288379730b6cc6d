package calltree

import (
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// FromProfile returns the call tree of table i of a profile. Functions differ if any
// attribute differs, and keep the order of the profile's function table, as in viewers
// of single files. Functions without a node are omitted.
func FromProfile(p *profile.Profile, i int) *Tree {
	samples, sym := &p.Tables[i], p.Symbols
	s := &stacks{parent: sampled(samples, sym), frame: sym.Stacks.Item, function: make([]int32, len(sym.Frames))}
	used := make([]bool, len(sym.Functions))
	for st, up := range s.parent {
		if up != gone {
			used[sym.Frames[s.frame[st]].Function] = true
		}
	}
	newID := make([]int32, len(sym.Functions))
	for fn, ok := range used {
		if ok {
			newID[fn] = int32(len(s.functions))
			s.functions = append(s.functions, sym.Functions[fn])
		}
	}
	for fr := range s.function {
		s.function[fr] = newID[sym.Frames[fr].Function]
	}
	t, node := s.layout()
	self := make([]int64, t.Len())
	for k, st := range samples.Stack {
		if st != profile.NoStack {
			self[node[st]] += samples.Value[k]
		}
	}
	return NewTree(t, samples.Type, self)
}

// sampled returns the parents of the stacks that have samples, and of all their
// callers; the parent of the others is gone.
func sampled(samples *profile.Samples, sym *profile.Symbols) []int32 {
	parent := slices.Repeat([]int32{gone}, sym.Stacks.Len())
	for _, st := range samples.Stack {
		for ; st != profile.NoStack && parent[st] == gone; st = sym.Parent(st) {
			parent[st] = sym.Stacks.Parent[st]
		}
	}
	return parent
}

// Projection maps the stacks of a Symbols onto the paths of a Forest, once per
// stack, so that the next profile over the same Symbols costs one array look-up
// per sample.
type Projection struct {
	symbols *profile.Symbols
	forest  *Forest
	intern  func(profile.Function) int32

	root  int32   // the parent of all root stacks, or NoNode
	fn    []int32 // of each function of symbols: the forest's; -1: not known yet
	path  []int32 // of each stack of symbols: the forest's path; -1: not known yet
	stack []profile.StackID

	sum     []int64 // dense over the forest, zero between calls
	touched []int32
}

// NewProjection returns a projection onto forest. Intern returns the forest's function
// for a function, under the name that identifies it across profiles, and is called once
// for each; nil keeps names. All stacks become children of the path root (a thread's
// name) unless it is NoNode.
func NewProjection(s *profile.Symbols, forest *Forest, root int32, intern func(profile.Function) int32) *Projection {
	if intern == nil {
		intern = forest.Function
	}
	return &Projection{symbols: s, forest: forest, intern: intern, root: root}
}

// Known returns the path of a stack that Path was asked for, itself or as a caller.
func (pr *Projection) Known(st profile.StackID) (path int32, ok bool) {
	if int(st) >= len(pr.path) {
		return 0, false
	}
	return pr.path[st], pr.path[st] >= 0
}

// Path returns the forest's path of a stack.
func (pr *Projection) Path(st profile.StackID) int32 {
	if int(st) >= len(pr.path) {
		pr.extend()
	}
	if p := pr.path[st]; p >= 0 {
		return p
	}
	pr.stack = pr.stack[:0]
	x := st
	for ; x != profile.NoStack && pr.path[x] < 0; x = pr.symbols.Parent(x) {
		pr.stack = append(pr.stack, x)
	}
	parent := pr.root
	if x != profile.NoStack {
		parent = pr.path[x]
	}
	for _, x := range slices.Backward(pr.stack) {
		parent = pr.forest.Path(parent, pr.Function(pr.symbols.Frames[pr.symbols.Leaf(x)].Function))
		pr.path[x] = parent
	}
	return parent
}

// Function returns the forest's function of a function of symbols.
func (pr *Projection) Function(id profile.FunctionID) int32 {
	if int(id) >= len(pr.fn) {
		pr.extend()
	}
	if fn := pr.fn[id]; fn >= 0 {
		return fn
	}
	fn := pr.intern(pr.symbols.Functions[id])
	pr.fn[id] = fn
	return fn
}

// extend makes room for stacks and functions added to symbols since the last call.
func (pr *Projection) extend() {
	for len(pr.path) < pr.symbols.Stacks.Len() {
		pr.path = append(pr.path, -1)
	}
	for len(pr.fn) < len(pr.symbols.Functions) {
		pr.fn = append(pr.fn, -1)
	}
}

// Vector sums the samples of s per path. Samples for which keep returns false are
// skipped; a nil keep selects all. The caller owns the result.
func (pr *Projection) Vector(s *profile.Samples, keep func(i int) bool) Vector {
	pr.touched = pr.touched[:0]
	for i, st := range s.Stack {
		if st == profile.NoStack || s.Value[i] == 0 || keep != nil && !keep(i) {
			continue
		}
		p := pr.Path(st)
		if int(p) >= len(pr.sum) {
			pr.sum = append(pr.sum, make([]int64, pr.forest.Paths.Len()-len(pr.sum))...)
		}
		// A sum that returned to zero is listed twice; the second one is skipped below.
		if pr.sum[p] == 0 {
			pr.touched = append(pr.touched, p)
		}
		pr.sum[p] += s.Value[i]
	}
	sortNodes(pr.touched, len(pr.sum))
	v := Vector{Nodes: make([]int32, 0, len(pr.touched)), Self: make([]int64, 0, len(pr.touched))}
	for _, p := range pr.touched {
		if x := pr.sum[p]; x != 0 {
			v.Nodes, v.Self = append(v.Nodes, p), append(v.Self, x)
			pr.sum[p] = 0
		}
	}
	return v
}

// Profile returns the tree as a profile with one sample per node that has a self value,
// to encode it or to apply transforms. It has the functions that have a node, in the
// order of the tree. Other trees over the same Table become further tables of samples.
func (t *Tree) Profile(others ...*Tree) *profile.Profile {
	trees := append([]*Tree{t}, others...)
	p := profile.New(nil)
	for _, of := range trees {
		p.Tables = append(p.Tables, profile.Samples{Type: of.Type})
	}
	used := make([]bool, len(t.Functions))
	for _, fn := range t.Func {
		used[fn] = true
	}
	function := make([]profile.FunctionID, len(t.Functions))
	for fn, ok := range used {
		if ok {
			function[fn] = p.Symbols.Function(t.Functions[fn])
		}
	}
	for _, c := range t.Categories {
		p.Symbols.Category(c)
	}
	stacks := make([]profile.StackID, t.Len())
	for n, up := range t.Parent {
		frame := profile.Frame{Function: function[t.Func[n]]}
		if t.Category != nil {
			frame.Category = t.Category[n]
		}
		parent := profile.NoStack
		if up != NoNode {
			parent = stacks[up]
		}
		stacks[n] = p.Symbols.Stack(parent, p.Symbols.Frame(frame))
		for i, of := range trees {
			if of.Self[n] != 0 {
				p.Tables[i].Add(stacks[n], of.Self[n])
			}
		}
	}
	return p
}
