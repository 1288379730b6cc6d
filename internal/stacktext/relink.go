package stacktext

import "github.com/dendroprof/dendro/profile"

// Relink replaces the stacks of tables, which are nodes of tree, by stacks of a profile.
// Formats that say what their frames are behind the samples are read with it: items of
// tree are whatever they have instead of frames, outermost first. Child returns the stack
// of an item called from parent.
func Relink(tree *profile.PrefixTree, tables []profile.Samples, child func(parent profile.StackID, item int32) profile.StackID) {
	stacks := make([]profile.StackID, tree.Len())
	for n, item := range tree.Item {
		parent := profile.NoStack
		if up := tree.Parent[n]; up >= 0 {
			parent = stacks[up]
		}
		stacks[n] = child(parent, item)
	}
	for _, t := range tables {
		for i, n := range t.Stack {
			if n != profile.NoStack {
				t.Stack[i] = stacks[n]
			}
		}
	}
}
