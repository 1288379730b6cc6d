package callgraph

import "container/heap"

// context is a function in one calling context, with the share of the function's
// costs that belongs to it.
type context struct {
	parent int32 // None for an outermost function
	node   int32
	depth  int32
	share  float64 // of the function's costs, 0 to 1
	total  float64 // what the function costs here with all that it calls
}

// Bounds of the contexts of a graph: heavy ones are followed first, and those
// lighter than a millionth of the whole are not.
const (
	leastContexts   = 1 << 16
	contextsPerCall = 4
	mostContexts    = 1 << 20
	lightest        = 1e-6
)

// contexts estimates the calling contexts of a graph for one event, heaviest
// first, parents before children. The shares of a function's contexts add up to 1
// but for what is too light.
//
// With c(F→G) what the calls cost, in(G) = Σ c(F→G) and all(G) = self(G) +
// Σ c(G→H), a share s of F brings s · c(F→G) / max(in(G), all(G)) of G; what in(G)
// falls short of all(G) was called from nowhere, or from outside of what was
// measured, and is outermost, but for rounding. For a graph without cycles that is the rule of
// gprof (Graham, Kessler, McKusick 1982) applied to paths in place of pairs.
// Recursion becomes contexts that get lighter with each round.
func (g *Graph) contexts(event, maxDepth int) []context {
	n := len(g.nodes)
	in, all := make([]float64, n), make([]float64, n)
	whole, calls := 0.0, 0
	for i := range g.nodes {
		for _, s := range g.nodes[i].selfs {
			all[i] += g.cost(s.row, event)
		}
		whole += all[i]
		for _, c := range g.nodes[i].calls {
			cost := g.cost(c.row, event)
			all[i] += cost
			in[c.callee] += cost
			calls++
		}
	}
	var queue contextQueue
	for i := range g.nodes {
		all[i] = max(all[i], in[i])
		if outermost := all[i] - in[i]; outermost > lightest*all[i] {
			queue = append(queue, context{None, int32(i), 1, outermost / all[i], outermost})
		}
	}
	heap.Init(&queue)
	most := min(leastContexts+contextsPerCall*calls, mostContexts)
	var list []context
	for len(queue) > 0 && len(list) < most {
		c := heap.Pop(&queue).(context)
		at := int32(len(list))
		list = append(list, c)
		if int(c.depth) == maxDepth {
			continue
		}
		for _, call := range g.nodes[c.node].calls {
			total := c.share * g.cost(call.row, event)
			if total >= max(lightest*whole, 0.5) {
				heap.Push(&queue, context{at, call.callee, c.depth + 1, total / all[call.callee], total})
			}
		}
	}
	return list
}

// contextQueue is a heap with the heaviest context on top; of equal ones the one
// that is less deep, and then the one of the function that came first.
type contextQueue []context

func (q contextQueue) Len() int { return len(q) }
func (q contextQueue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	switch {
	case a.total != b.total:
		return a.total > b.total
	case a.depth != b.depth:
		return a.depth < b.depth
	}
	return a.node < b.node
}
func (q contextQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *contextQueue) Push(x any) { *q = append(*q, x.(context)) }

// Pop implements heap.Interface.
func (q *contextQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
