package neo4j

import (
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
)

// content is a profile's tree as models write it: a table, its numbers, and the ids of
// its paths and functions.
type content struct {
	key    string // of the profile
	forest *calltree.Forest
	cut    *calltree.Cut // of forest
	tree   *calltree.Tree
	rows   []calltree.FunctionRow
	modes  []store.ModeVector // over forest
	sum    int64              // of absolute self values
	nodes  int                // with a value below them or of their own

	names     []string // stored name of each function of the table
	functions []int64  // id of each function of the table
	paths     []int64  // id of each node of the table
	origin    *origin  // what is known of forest in the database
}

// newContent computes the content of a record.
func newContent(id store.ProfileID, r *store.Record) *content {
	c := &content{key: string(id), forest: r.Forest, modes: r.Modes}
	if c.forest == nil {
		c.forest = new(calltree.Forest)
	}
	touched, more := r.Self.Nodes, modesOnly(r)
	c.cut = c.forest.Cut(touched)
	c.nodes = c.cut.Len()
	if len(more) > 0 {
		c.cut = c.forest.Cut(append(more, touched...))
	}
	c.tree = calltree.NewTree(c.cut.Table, r.Type, c.cut.Self(r.Self))
	c.sum, c.rows = c.tree.RootTotal(), c.tree.FunctionRows()
	c.names = make([]string, len(c.cut.Functions))
	c.functions = make([]int64, len(c.cut.Functions))
	for i, f := range c.cut.Functions {
		c.names[i] = bolt.StoredName(f.Name)
		c.functions[i] = store.FunctionID(c.names[i])
	}
	c.paths = make([]int64, c.cut.Len())
	for n := range c.paths {
		c.paths[n] = identity.Path(c.parent(n), c.functions[c.cut.Func[n]])
	}
	return c
}

// modesOnly returns the paths with a value in a mode but not in the profile, because
// shards cancelled each other.
func modesOnly(r *store.Record) []int32 {
	if len(r.Modes) == 0 {
		return nil
	}
	seen := make(map[int32]bool, r.Self.Len())
	for _, p := range r.Self.Nodes {
		seen[p] = true
	}
	var more []int32
	for _, m := range r.Modes {
		for _, p := range m.Nodes {
			if !seen[p] {
				seen[p] = true
				more = append(more, p)
			}
		}
	}
	return more
}

// parent returns the id of the path that calls node n.
func (c *content) parent(n int) int64 {
	if up := c.cut.Parent[n]; up != calltree.NoNode {
		return c.paths[up]
	}
	return identity.Root
}

// spell returns the names of the path of a node.
func (c *content) spell(n int32) string { return calltree.FormatPath(c.cut.Path(n)) }

// share returns a value as a share of the profile.
func (c *content) share(v int64) float64 {
	if c.sum == 0 {
		return 0
	}
	return float64(v) / float64(c.sum)
}

// whole returns the sum of the roots' totals.
func (c *content) whole() (sum int64) {
	for n, up := range c.cut.Parent {
		if up == calltree.NoNode {
			sum += c.tree.Total[n]
		}
	}
	return sum
}

// recursion returns for each node its nearest ancestor with the same function, or
// NoNode.
func (c *content) recursion() []int32 {
	nearest := make([]int32, c.cut.Len())
	open := make([]int32, len(c.cut.Functions)) // the innermost node of each function on the path at hand
	for i := range open {
		open[i] = calltree.NoNode
	}
	var stack []int32
	for n := range nearest {
		for len(stack) > 0 && stack[len(stack)-1] != c.cut.Parent[n] {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			open[c.cut.Func[top]] = nearest[top]
		}
		fn := c.cut.Func[n]
		nearest[n] = open[fn]
		open[fn] = int32(n)
		stack = append(stack, int32(n))
	}
	return nearest
}

// forestFunctions returns the function of the forest for each function of the table.
func (c *content) forestFunctions() []int32 {
	of := make([]int32, len(c.cut.Functions))
	for n, fn := range c.cut.Func {
		of[fn] = c.forest.Paths.Item[c.cut.Paths[n]]
	}
	return of
}

// modeIDs returns a mode's vector by path ids.
func (c *content) modeIDs(v calltree.Vector) (paths, selfs []int64) {
	for i, p := range v.Nodes {
		n, _ := c.cut.Node(p)
		paths, selfs = append(paths, c.paths[n]), append(selfs, v.Self[i])
	}
	return paths, selfs
}
