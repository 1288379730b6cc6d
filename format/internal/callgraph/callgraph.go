// Package callgraph estimates call paths from a call graph, for the formats that
// record the self cost of each function and the cost of each pair of caller and
// callee, callees included, and no stacks (callgrind, cProfile, XHProf).
//
// Self costs of functions and lines are exact and so is their sum. Totals of
// functions are right without recursion, up to rounding and to contexts too light to
// be followed (contexts.go has the bounds). Paths are estimates as a viewer of call
// graphs makes them: the cost of a function is spread over its callers in proportion
// to what they spent in it, and that over theirs. Callers say so with Warn.
package callgraph

import (
	"math"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// Graph is a call graph over Symbols: functions, their self costs by line, and the
// costs of their calls, each for a number of events.
type Graph struct {
	symbols *profile.Symbols
	nodes   []node
	ids     map[nodeKey]int32

	selfs map[selfKey]int32 // the row of a function's line
	edges map[edgeKey]int32 // the row of a caller and its callee
	rows  [][]int64         // costs by event; a row may be shorter than the events
}

// None is no function.
const None = int32(-1)

// node is a function.
type node struct {
	frame profile.Frame // without a line
	selfs []selfRow
	calls []callRow
}

// nodeKey is the identity of a function in the graph.
type nodeKey struct {
	frame profile.Frame
	level int32
}

type selfRow struct{ line, row int32 }
type callRow struct{ callee, row int32 }
type selfKey struct{ node, line int32 }
type edgeKey struct{ caller, callee int32 }

// New returns an empty graph over s.
func New(s *profile.Symbols) *Graph {
	return &Graph{symbols: s, ids: map[nodeKey]int32{}, selfs: map[selfKey]int32{}, edges: map[edgeKey]int32{}}
}

// Node returns the function of a frame without a line. Formats that tell the levels of a
// recursion apart give them as level, all others 0.
func (g *Graph) Node(fr profile.Frame, level int32) int32 {
	k := nodeKey{fr, level}
	return intern.Number(g.ids, &g.nodes, k, node{frame: fr})
}

// Pairs returns the number of pairs of caller and callee.
func (g *Graph) Pairs() int { return len(g.edges) }

// AddSelf adds the costs of a function itself in a line (0: unknown), one for each of
// the first events. Costs are not negative but for those of events that Samples spreads
// by another one. It returns false if a sum exceeds 63 bits.
func (g *Graph) AddSelf(n, line int32, costs ...int64) bool {
	row, ok := g.selfs[selfKey{n, line}]
	if !ok {
		row = int32(len(g.rows))
		g.rows = append(g.rows, nil)
		g.selfs[selfKey{n, line}] = row
		g.nodes[n].selfs = append(g.nodes[n].selfs, selfRow{line, row})
	}
	return g.add(row, costs)
}

// AddCall adds the costs of calls from one function to another, callees included.
// Costs are not negative. It returns false if a sum exceeds 63 bits.
func (g *Graph) AddCall(caller, callee int32, costs ...int64) bool {
	row, ok := g.edges[edgeKey{caller, callee}]
	if !ok {
		row = int32(len(g.rows))
		g.rows = append(g.rows, nil)
		g.edges[edgeKey{caller, callee}] = row
		g.nodes[caller].calls = append(g.nodes[caller].calls, callRow{callee, row})
	}
	return g.add(row, costs)
}

func (g *Graph) add(row int32, costs []int64) bool {
	sums := g.rows[row]
	if len(sums) < len(costs) {
		sums = append(sums, make([]int64, len(costs)-len(sums))...)
		g.rows[row] = sums
	}
	for i, v := range costs {
		if v > 0 && sums[i] > math.MaxInt64-v || v < 0 && sums[i] < -math.MaxInt64-v {
			return false
		}
		sums[i] += v
	}
	return true
}

// value returns the cost of one event in a row.
func (g *Graph) value(row int32, event int) int64 {
	if costs := g.rows[row]; event < len(costs) {
		return costs[event]
	}
	return 0
}

// cost returns the cost of one event in a row, as a number to calculate with.
func (g *Graph) cost(row int32, event int) float64 { return float64(g.value(row, event)) }

// Samples appends the self costs of an event to a table, spread over the contexts of
// their functions. Contexts are those of the event by, which is the event itself or, for
// values that may be negative, one that explains it. Stacks have maxDepth frames at most.
func (g *Graph) Samples(t *profile.Samples, event, by, maxDepth int) {
	list := g.contexts(by, maxDepth)
	s := g.symbols
	stacks := make([]profile.StackID, len(list)) // of the callers of each context
	of := make([][]int32, len(g.nodes))          // contexts of each function
	sums := make([]float64, len(g.nodes))        // of their shares
	for i, c := range list {
		stacks[i] = profile.NoStack
		if c.parent != None {
			stacks[i] = s.Stack(stacks[c.parent], s.Frame(g.nodes[list[c.parent].node].frame))
		}
		of[c.node] = append(of[c.node], int32(i))
		sums[c.node] += c.share
	}
	for i := range g.nodes {
		for _, own := range g.ownCosts(int32(i), event, len(of[i])) {
			fr := g.nodes[i].frame
			fr.Line = own.line
			leaf := s.Frame(fr)
			given, share := int64(0), 0.0
			for n, c := range of[i] {
				share += list[c].share
				v := part(own.cost, share/sums[i]) - given
				if n == len(of[i])-1 {
					v = own.cost - given // what rounding leaves, so that they add up
				}
				if v != 0 {
					given += v
					t.Add(s.Stack(stacks[c], leaf), v)
				}
			}
			if given != own.cost {
				t.Add(s.Stack(profile.NoStack, leaf), own.cost-given) // in no context
			}
		}
	}
}

// part returns a share of a value, 0 to 1; never more than the value.
func part(v int64, share float64) int64 {
	if v < 0 {
		return -part(-v, share)
	}
	p := math.Round(float64(v) * min(share, 1))
	if p >= float64(v) {
		return v
	}
	return int64(p)
}

// Warn adds the warning that the paths are estimated from a number of pairs.
func Warn(p *profile.Profile, pairs int) {
	if pairs > 0 {
		p.Warnf("the file is a call graph: own costs of functions are exact, call paths are estimated from %d pairs of caller and callee", pairs)
	}
}

// ownCost is the self cost of a function in a line; line 0 is unknown.
type ownCost struct {
	line int32
	cost int64
}

// mostRows bounds the samples of one function. Where its lines, each in each
// context, would be more, it has no lines.
const mostRows = 1 << 14

// ownCosts returns the self costs of a function that has a number of contexts.
func (g *Graph) ownCosts(n int32, event, contexts int) []ownCost {
	var list []ownCost
	sum := int64(0)
	for _, self := range g.nodes[n].selfs {
		v := g.value(self.row, event)
		if v == 0 {
			continue
		}
		if v > 0 && sum > math.MaxInt64-v || v < 0 && sum < -math.MaxInt64-v {
			return []ownCost{{0, math.MaxInt64}, {0, math.MaxInt64}} // Profile.Check refuses the sum
		}
		list = append(list, ownCost{self.line, v})
		sum += v
	}
	if len(list)*contexts <= mostRows {
		return list
	}
	return []ownCost{{0, sum}}
}
