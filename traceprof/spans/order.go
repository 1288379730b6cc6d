package spans

import "github.com/dendroprof/dendro/calltree"

// Placed is a span in display order: its index, and the number of spans around it.
type Placed struct{ Index, Depth int32 }

// InOrder puts n spans, which are sorted by start, into display order: depth first. Caller
// returns the index of the span that calls one, -1 if there is none. Of spans that call each
// other in a circle, the earliest stands first.
func InOrder(n int, caller func(i int) int) []Placed {
	depth, done := make([]int32, n), make([]bool, n)
	callees := make([][]int32, n+1) // by caller + 1
	for i := range n {
		at := caller(i) + 1
		callees[at] = append(callees[at], int32(i))
	}
	list := make([]Placed, 0, n)
	walk := func() {
		calltree.Walk(func(i int32, buf []int32) []int32 { return append(buf, callees[i+1]...) }, func(i int32) bool {
			if done[i] {
				return false
			}
			done[i] = true
			list = append(list, Placed{i, depth[i]})
			for _, c := range callees[i+1] {
				depth[c] = depth[i] + 1
			}
			return true
		})
	}
	walk()
	for i := range done {
		if !done[i] { // in a circle
			callees[0], depth[i] = []int32{int32(i)}, 0
			walk()
		}
	}
	return list
}
