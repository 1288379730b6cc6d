package callgrind

// graph is the call graph of a thread: functions, what they cost themselves by
// line, and what their calls cost.
type graph struct {
	thread string
	nodes  []node
	ids    map[nodeKey]int32

	selfs map[selfKey]int32 // the row of a function's line
	edges map[edgeKey]int32 // the row of a caller and its callee
	rows  [][]int64         // costs by event; a row may be shorter than the events
}

// none is no function.
const none = int32(-1)

// nodeKey is the identity of a function in the file.
type nodeKey struct{ object, file, name string }

// node is a function.
type node struct {
	nodeKey
	selfs []selfRow
	calls []callRow
}

type selfRow struct{ line, row int32 }
type callRow struct{ callee, row int32 }
type selfKey struct{ node, line int32 }
type edgeKey struct{ caller, callee int32 }

func newGraph(thread string) *graph {
	return &graph{thread: thread, ids: map[nodeKey]int32{}, selfs: map[selfKey]int32{}, edges: map[edgeKey]int32{}}
}

// node returns the function of that identity.
func (g *graph) node(k nodeKey) int32 {
	id, ok := g.ids[k]
	if !ok {
		id = int32(len(g.nodes))
		g.nodes = append(g.nodes, node{nodeKey: k})
		g.ids[k] = id
	}
	return id
}

// self returns the row of what a function costs itself in a line.
func (g *graph) self(n, line int32) int32 {
	row, ok := g.selfs[selfKey{n, line}]
	if !ok {
		row = int32(len(g.rows))
		g.rows = append(g.rows, nil)
		g.selfs[selfKey{n, line}] = row
		g.nodes[n].selfs = append(g.nodes[n].selfs, selfRow{line, row})
	}
	return row
}

// edge returns the row of what the calls from one function to another cost.
func (g *graph) edge(caller, callee int32) int32 {
	row, ok := g.edges[edgeKey{caller, callee}]
	if !ok {
		row = int32(len(g.rows))
		g.rows = append(g.rows, nil)
		g.edges[edgeKey{caller, callee}] = row
		g.nodes[caller].calls = append(g.nodes[caller].calls, callRow{callee, row})
	}
	return row
}

// row returns the costs of a row, with room for a number of events.
func (g *graph) row(row int32, events int) []int64 {
	if len(g.rows[row]) < events {
		g.rows[row] = append(g.rows[row], make([]int64, events-len(g.rows[row]))...)
	}
	return g.rows[row]
}

// cost returns the cost of one event in a row.
func (g *graph) cost(row int32, event int) float64 {
	if costs := g.rows[row]; event < len(costs) {
		return float64(costs[event])
	}
	return 0
}
