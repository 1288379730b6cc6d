package stacktext

import (
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// LateStacks collects the stacks of samples whose frames are known only when all of the
// file is read: formats that have the names or the mappings behind the samples. A place is
// whatever they have instead of a frame, an address or a number; each is kept once.
//
//	Begin, Push innermost place, …, Push outermost place, End ▶ stack of a sample
//	Link ▶ the tables have stacks of the profile
type LateStacks[Place comparable] struct {
	// Places are in the order of their first occurrence.
	Places []Place

	depth  int // limit
	number map[Place]int32
	tree   profile.PrefixTree // of numbers of places, outermost first
	path   []int32            // of the stack in work, innermost first
}

// NewLateStacks returns an empty collection with the limits of a reader.
func NewLateStacks[Place comparable](l profile.Limits) *LateStacks[Place] {
	return &LateStacks[Place]{depth: l.Depth, number: map[Place]int32{}}
}

// Begin begins a stack. What was pushed since the last End is forgotten.
func (s *LateStacks[Place]) Begin() { s.path = s.path[:0] }

// Len returns the number of places in the stack in work.
func (s *LateStacks[Place]) Len() int { return len(s.path) }

// Innermost returns the innermost place of the stack in work, which must have one.
func (s *LateStacks[Place]) Innermost() Place { return s.Places[s.path[0]] }

// Push adds the next place, going outwards. The error says that the stack is too deep.
func (s *LateStacks[Place]) Push(at Place) error {
	if len(s.path) >= s.depth {
		return profile.TooDeep(s.depth)
	}
	n := intern.Number(s.number, &s.Places, at, at)
	s.path = append(s.path, n)
	return nil
}

// End returns the stack in work, NoStack if it is empty, and begins the next one. The
// stack means nothing to anyone before Link.
func (s *LateStacks[Place]) End() profile.StackID {
	node := int32(profile.NoStack)
	for i := len(s.path) - 1; i >= 0; i-- {
		node = s.tree.Child(node, s.path[i])
	}
	s.path = s.path[:0]
	return profile.StackID(node)
}

// Link replaces the stacks of tables by stacks of a profile. Child returns the stack of
// place number n called from parent.
func (s *LateStacks[Place]) Link(tables []profile.Samples, child func(parent profile.StackID, n int32) profile.StackID) {
	stacks := make([]profile.StackID, s.tree.Len())
	for node, n := range s.tree.Item {
		parent := profile.NoStack
		if up := s.tree.Parent[node]; up >= 0 {
			parent = stacks[up]
		}
		stacks[node] = child(parent, n)
	}
	for _, t := range tables {
		for i, node := range t.Stack {
			if node != profile.NoStack {
				t.Stack[i] = stacks[node]
			}
		}
	}
}
