package proftest

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Sample is a stack, outermost first, with its value: the naive form of what the
// package does with tables.
type Sample struct {
	Stack []string
	Value int64
}

// Samples draws up to 12 samples over five functions; values between low and 6,
// but not 0.
func Samples(low int64) *rapid.Generator[[]Sample] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sample {
		return Sample{
			Stack: rapid.SliceOfN(rapid.SampledFrom([]string{"E", "A", "D", "B", "C"}), 0, 6).Draw(t, "stack"),
			Value: rapid.Int64Range(low, 6).Filter(func(v int64) bool { return v != 0 }).Draw(t, "value"),
		}
	}), 0, 12)
}

// ToProfile adds a table with the samples over s; functions get an attribute that
// differs between profiles, so that a merge has something to decide.
func ToProfile(s *profile.Symbols, file string, list []Sample) *profile.Profile {
	p := profile.New(s)
	p.Tables = []profile.Samples{{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count", Original: file}}}
	for _, x := range list {
		st := profile.NoStack
		for _, name := range x.Stack {
			fn := p.Symbols.Function(profile.Function{Name: name, File: file, StartLine: int32(len(file)), Kind: profile.Kind(len(file) % 4)})
			st = p.Symbols.Stack(st, p.Symbols.Frame(profile.Frame{Function: fn}))
		}
		p.Tables[0].Add(st, x.Value)
	}
	return p
}

// ToTree is ToProfile as a tree.
func ToTree(file string, list []Sample) *calltree.Tree {
	return calltree.FromProfile(ToProfile(nil, file, list), 0)
}

// Numbers is a tree as a map from path to self and total: what has to be the
// Same whatever the order of rows.
type Numbers map[string][2]int64

// Naive computes Numbers from the definition: a node is a prefix of a stack.
func Naive(list ...Sample) Numbers {
	n := Numbers{}
	for _, x := range list {
		for depth := 1; depth <= len(x.Stack); depth++ {
			path := strings.Join(x.Stack[:depth], ";")
			v := n[path]
			v[1] += x.Value
			if depth == len(x.Stack) {
				v[0] += x.Value
			}
			n[path] = v
		}
	}
	return n
}

// NumbersOf returns the numbers of a tree.
func NumbersOf(t *calltree.Tree) Numbers {
	n := Numbers{}
	for i := range int32(t.Len()) {
		path := strings.Join(t.Path(i), ";")
		v := n[path]
		n[path] = [2]int64{v[0] + t.Self[i], v[1] + t.Total[i]}
	}
	return n
}

// Same reports whether two trees are equal to the last row; cmp.Diff takes
// seconds where there are many.
func Same(a, b *calltree.Tree) bool {
	return a.Type == b.Type && slices.Equal(a.Functions, b.Functions) && slices.Equal(a.Parent, b.Parent) && slices.Equal(a.Func, b.Func) &&
		slices.Equal(a.Depth, b.Depth) && slices.Equal(a.End, b.End) && slices.Equal(a.Self, b.Self) && slices.Equal(a.Total, b.Total)
}

// Deep is a profile of one stack with n frames of a few functions in turn.
func Deep(n int) *profile.Profile {
	p := Columns("")
	frames := make([]profile.FrameID, 3)
	for i := range frames {
		frames[i] = p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(profile.Function{Name: string(rune('A' + i))})})
	}
	st := profile.NoStack
	for i := range n {
		st = p.Symbols.Stack(st, frames[i%len(frames)])
	}
	p.Tables[0].Add(st, 1)
	return p
}

// Wide is a profile of n stacks in the shape of real ones: some 60 frames deep,
// with many children near the root and long unbranched ends. The same seed gives
// the same profile.
func Wide(n int, seed uint64) *profile.Profile {
	p := Columns("")
	frames := make([]profile.FrameID, 2000)
	for i := range frames {
		name := "com.acme.shop.module" + string(rune('a'+i%26)) + ".Class" + strings.Repeat("x", i%7) + string(rune('0'+i%10)) + "." +
			string(rune('a'+i/80))
		frames[i] = p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(profile.Function{Name: name})})
	}
	depth := []int{}
	next := func(limit int) int { // xorshift: quick, and independent of math/rand's versions
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return int(seed % uint64(limit))
	}
	seed = seed*2 + 88172645463325252
	for p.Symbols.Stacks.Len() < n {
		parent, d := profile.NoStack, 0
		if k := p.Symbols.Stacks.Len(); k > 0 && next(1000) > 0 {
			parent = profile.StackID(k - 1)
			if next(4) == 0 {
				parent = profile.StackID(next(k))
			}
			if d = depth[parent] + 1; d > 60 {
				continue
			}
		}
		before := p.Symbols.Stacks.Len()
		st := p.Symbols.Stack(parent, frames[next(len(frames))])
		if p.Symbols.Stacks.Len() > before {
			depth = append(depth, d)
		}
		if next(2) == 0 {
			p.Tables[0].Add(st, int64(1+next(9)))
		}
	}
	return p
}

// CheckTree fails a test whose tree breaks the rules of calltree.Tree, or whose values do not add up.
func CheckTree(t interface{ Fatalf(string, ...any) }, tree *calltree.Tree) {
	if err := tree.Check(); err != nil {
		t.Fatalf("%v", err)
	}
	var self, roots int64
	for n, v := range tree.Self {
		self += v
		if tree.Parent[n] == calltree.NoNode {
			roots += tree.Total[n]
		}
	}
	if self != roots || len(tree.Self) != tree.Len() || len(tree.Total) != tree.Len() {
		t.Fatalf("self values add to %d, totals of the roots to %d; %d nodes, %d, %d values", self, roots, tree.Len(), len(tree.Self), len(tree.Total))
	}
}
