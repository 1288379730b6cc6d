package traceprof

import (
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Stacks is a growing dictionary of the stacks of one task: code signatures and call paths
// under dense ids. An Intake has one for received stacks and an engine one for stored
// stacks; Add copies from one to the other. A Stacks is not safe for concurrent use;
// concurrent readers use Forest.Snapshot.
type Stacks struct {
	Forest *calltree.Forest
	Text   int64 // bytes of all signatures

	translations calltree.Translations // of the forests given to Add
}

// NewStacks returns an empty dictionary.
func NewStacks() Stacks { return Stacks{Forest: new(calltree.Forest)} }

// Function implements calltree.Interner. Bytes that are not UTF-8 become the
// replacement character.
func (s *Stacks) Function(fn profile.Function) int32 {
	if id, ok := s.Forest.FindFunction(fn.Name); ok {
		return id
	}
	before := len(s.Forest.Functions)
	name := strings.ToValidUTF8(strings.Clone(fn.Name), "\uFFFD") // a copy: it may be part of a much larger text
	id := s.Forest.Function(profile.Function{Name: name})
	if len(s.Forest.Functions) > before {
		s.Text += int64(len(name))
	}
	return id
}

// Path implements calltree.Interner.
func (s *Stacks) Path(parent, fn int32) int32 { return s.Forest.Path(parent, fn) }

// Add adds the stacks of snapshots and returns the path of each snapshot.
func (s *Stacks) Add(v *Snapshots) []int32 {
	if v.Stacks == nil {
		return slices.Clone(v.Path) // no snapshot has a stack
	}
	return s.translations.Of(v.Stacks, s).Paths(v.Stacks, v.Path, nil)
}

// Bytes estimates the memory of the dictionary, with its hash tables.
func (s *Stacks) Bytes() int64 {
	const empty, perFunction, perPath = 1000, 220, 80
	return empty + s.Text + perFunction*int64(len(s.Forest.Functions)) + perPath*int64(s.Forest.Paths.Len()) + 4*int64(s.translations.Size())
}
