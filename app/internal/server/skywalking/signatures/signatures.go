// Package signatures converts the stacks of a profile to SkyWalking's code signatures: one
// text per frame, which identifies a call node for its clients.
//
// A signature is the function's name in the profile, or "function:line" for Go profiles.
// Inlined calls are frames of their own; SkyWalking's OAP joins them with ";" into one.
// The package only reads profiles and adds paths to forests.
package signatures

import (
	"strconv"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Paths interns all stacks of a profile's symbols below the path top of a forest,
// or as its roots if top is calltree.NoNode, and returns the path of each. With
// lines, the line is a part of the signature.
func Paths(f *calltree.Forest, top int32, s *profile.Symbols, lines bool) []int32 {
	function := make([]int32, len(s.Frames)) // of each frame: the forest's function + 1; 0: not interned yet
	path := make([]int32, s.Stacks.Len())
	for st := range path { // parents come before their children
		frame := s.Leaf(profile.StackID(st))
		if function[frame] == 0 {
			function[frame] = 1 + f.Function(profile.Function{Name: of(s, frame, lines)})
		}
		up := top
		if parent := s.Parent(profile.StackID(st)); parent != profile.NoStack {
			up = path[parent]
		}
		path[st] = f.Path(up, function[frame]-1)
	}
	return path
}

// of returns the signature of a frame.
func of(s *profile.Symbols, id profile.FrameID, lines bool) string {
	frame := s.Frames[id]
	name := s.Functions[frame.Function].Name
	if lines {
		name += ":" + strconv.Itoa(int(frame.Line))
	}
	return name
}
