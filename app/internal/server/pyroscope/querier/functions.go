package querier

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/internal/intern"
)

// The formats FUNCTIONS and FUNCTION_TREE, for the tables and call trees of Grafana's Profiles
// Drilldown. Both are of all samples: no limit of nodes folds any into `other`.

// functions returns the functions of a tree by name, those with most of their own first. A
// sample counts once in the total of a function, however often it recurs.
func functions(ctx context.Context, t *calltree.Tree) (*functionTable, error) {
	number, names, _ := numbers(t.Table)
	if err := cost.Of(ctx).Spend(cost.Memory, int64(len(names))*barBytes); err != nil {
		return nil, err
	}
	rows := make([]functionStats, len(names))
	outermost := calltree.NewOutermost(len(names))
	for n, fn := range t.Func {
		row := &rows[number[fn]]
		row.Self += t.Self[n]
		if outermost.Enter(int32(n), number[fn], t.End[n]) {
			row.Total += t.Total[n]
		}
	}
	for i := range rows {
		rows[i].Name = names[i]
	}
	rows = slices.DeleteFunc(rows, func(r functionStats) bool { return r.Self == 0 && r.Total == 0 })
	slices.SortFunc(rows, func(a, b functionStats) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return &functionTable{Functions: rows, Total: t.RootTotal(), Count: int64(len(rows))}, nil
}

// numbers numbers the names of functions: those of two files may have one name.
func numbers(t *calltree.Table) (number []int32, names []string, known map[string]int32) {
	number, known = make([]int32, len(t.Functions)), map[string]int32{}
	for fn := range t.Functions {
		name := t.Functions[fn].Name
		number[fn] = intern.Number(known, &names, name, name)
	}
	return number, names, known
}

// limit keeps the first rows of a table, whose totals stay; 0: all.
func (t *functionTable) limit(most int64) {
	if most > 0 {
		t.Functions = t.Functions[:min(most, int64(len(t.Functions)))]
	}
}

// diffFunctions returns the functions of two sides in the same order, those with most of their own
// on one side first: at most so many of them, or all for 0.
func diffFunctions(ctx context.Context, sides [2]*calltree.Tree, most int64) (*functionTableDiff, error) {
	var tables [2]*functionTable
	at := map[string]int{}
	var rows [][2]functionStats
	for i, t := range sides {
		table, err := functions(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, f := range table.Functions {
			n := intern.Number(at, &rows, f.Name, [2]functionStats{{Name: f.Name}, {Name: f.Name}})
			rows[n][i] = f
		}
		tables[i] = table
	}
	slices.SortFunc(rows, func(a, b [2]functionStats) int {
		return cmp.Or(cmp.Compare(max(b[0].Self, b[1].Self), max(a[0].Self, a[1].Self)),
			cmp.Compare(max(b[0].Total, b[1].Total), max(a[0].Total, a[1].Total)), cmp.Compare(a[0].Name, b[0].Name))
	})
	for i, table := range tables {
		table.Count, table.Functions = int64(len(rows)), make([]functionStats, len(rows))
		for n := range rows {
			table.Functions[n] = rows[n][i]
		}
		table.limit(most)
	}
	return &functionTableDiff{tables[0], tables[1]}, nil
}

// branch is a node of the callers or callees of a chain of functions.
type branch struct {
	callTreeNode // without its children
	children     map[int32]*branch
}

// branches finds the places of a chain of functions, outermost first, in a tree.
type branches struct {
	*calltree.Tree
	number []int32
	names  []string
	chain  []int32 // a number per function; -1: the tree has no such function
	atRoot bool    // the chain begins where stacks begin
	depth  int     // levels below the chain
	memory *cost.Account
}

func newBranches(ctx context.Context, t *calltree.Tree, chain []callSite, o *functionTreeOptions) *branches {
	b := &branches{Tree: t, atRoot: o.Selection == rootPath, depth: int(o.depth()), memory: cost.Of(ctx)}
	var known map[string]int32
	b.number, b.names, known = numbers(t.Table)
	for _, site := range chain {
		id, ok := known[site.Name]
		if !ok {
			id = -1
		}
		b.chain = append(b.chain, id)
	}
	return b
}

// places yields the nodes at which the chain ends, and those at which it begins there, until the
// context ends.
func (b *branches) places(ctx context.Context) iter.Seq2[int32, int32] {
	return func(yield func(n, first int32) bool) {
		for n := range int32(b.Len()) {
			if n%1024 == 0 && ctx.Err() != nil {
				return
			}
			if first, ok := b.place(n); ok && b.Total[n] != 0 && !yield(n, first) {
				return
			}
		}
	}
}

// place returns the node at which the chain begins that ends at a node.
func (b *branches) place(n int32) (first int32, ok bool) {
	if b.atRoot && int(b.Depth[n]) != len(b.chain)-1 {
		return 0, false
	}
	for i := len(b.chain) - 1; ; i-- {
		if n == calltree.NoNode || b.number[b.Func[n]] != b.chain[i] {
			return 0, false
		}
		if i == 0 {
			return n, true
		}
		n = b.Parent[n]
	}
}

// child returns the child of a branch with the name of a node.
func (b *branches) child(parent *branch, n int32) (*branch, error) {
	id := b.number[b.Func[n]]
	if c := parent.children[id]; c != nil {
		return c, nil
	}
	if err := b.memory.Spend(cost.Memory, barBytes); err != nil {
		return nil, err
	}
	if parent.children == nil {
		parent.children = map[int32]*branch{}
	}
	c := &branch{callTreeNode: callTreeNode{Name: b.names[id]}}
	parent.children[id] = c
	return c, nil
}

// callees returns what the chain calls; nil: no stack has it. Each place counts, also of a
// function that recurs. Without a chain it is the whole tree, below a root without a name.
func (b *branches) callees(ctx context.Context) (root *branch, err error) {
	if len(b.chain) == 0 {
		root = &branch{callTreeNode: callTreeNode{Total: b.RootTotal()}}
		return root, b.below(root, 0, int32(b.Len()), b.depth)
	}
	for n := range b.places(ctx) {
		if root == nil {
			root = &branch{callTreeNode: callTreeNode{Name: b.Name(n)}}
		}
		root.Total += b.Total[n]
		root.Self += b.Self[n]
		if err := b.below(root, n+1, b.End[n], b.depth); err != nil {
			return nil, err
		}
	}
	return root, ctx.Err()
}

// below adds the nodes from n to end, the children of one node, to a branch.
func (b *branches) below(parent *branch, n, end int32, depth int) error {
	for ; n < end; n = b.End[n] {
		if b.Total[n] == 0 {
			continue
		}
		if parent.More = true; depth == 0 {
			return nil
		}
		c, err := b.child(parent, n)
		if err != nil {
			return err
		}
		c.Total += b.Total[n]
		c.Self += b.Self[n]
		if err := b.below(c, n+1, b.End[n], depth-1); err != nil {
			return err
		}
	}
	return nil
}

// callers returns who calls the chain; nil: no stack has it. The root is the first function of
// the chain, so that a longer chain continues where the answer ends.
func (b *branches) callers(ctx context.Context) (root *branch, err error) {
	for n, first := range b.places(ctx) {
		if root == nil {
			root = &branch{callTreeNode: callTreeNode{Name: b.Name(first)}}
		}
		root.Total += b.Total[n]
		if first == n {
			root.Self += b.Self[n]
		}
		at := root
		for p, left := b.Parent[first], b.depth; p != calltree.NoNode; p, left = b.Parent[p], left-1 {
			if at.More = true; left == 0 {
				break
			}
			if at, err = b.child(at, p); err != nil {
				return nil, err
			}
			at.Total += b.Total[n]
		}
	}
	return root, ctx.Err()
}

// message returns a branch as a message: those with the largest totals first.
func (b *branch) message() protobuf.Encoded[callTreeNode] {
	if b == nil {
		return nil
	}
	byTotal := func(x, y *branch) int { return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(x.Name, y.Name)) }
	for _, c := range slices.SortedFunc(maps.Values(b.children), byTotal) {
		b.Children = append(b.Children, c.message())
	}
	return protobuf.Encode(&b.callTreeNode)
}

// newFunctionTree returns the callers and callees of a chain of functions in a tree.
func newFunctionTree(ctx context.Context, t *calltree.Tree, chain []callSite, o *functionTreeOptions) (*functionTree, error) {
	b, f := newBranches(ctx, t, chain, o), &functionTree{}
	if o.Direction != onlyCallees {
		root, err := b.callers(ctx)
		if err != nil {
			return nil, err
		}
		f.Callers = &callTree{root.message()}
	}
	if o.Direction != onlyCallers {
		root, err := b.callees(ctx)
		if err != nil {
			return nil, err
		}
		f.Callees = &callTree{root.message()}
	}
	return f, nil
}

// maxTreeDepth is Pyroscope's limit.
const maxTreeDepth = 128

func (o *functionTreeOptions) depth() int32 { return cmp.Or(o.Depth, 1) }

// check returns an error if the options do not fit a chain of functions.
func (o *functionTreeOptions) check(chain []callSite) error {
	switch {
	case o.Direction < onlyCallees || o.Direction > bothDirections:
		return invalid("format_options.function_tree.direction: expected FUNCTION_TREE_DIRECTION_CALLEES, …_CALLERS or …_BOTH")
	case o.Depth < 0 || o.Depth > maxTreeDepth:
		return invalid("format_options.function_tree.max_depth %d: expected 1 to %d, or 0 for the default, 1", o.Depth, maxTreeDepth)
	case o.Selection == rootPath && o.Direction != onlyCallees:
		return invalid("format_options.function_tree: the selection ROOT_PATH has the direction CALLEES only")
	case o.Selection == rootPath:
	case o.Selection != functionChain:
		return invalid("format_options.function_tree.selection: expected FUNCTION_TREE_SELECTION_ROOT_PATH or …_FUNCTION_CHAIN")
	case len(chain) == 0:
		return invalid("stack_trace_selector.call_site is missing: the functions of the chain, outermost first")
	case len(chain) > 1 && o.Direction == bothDirections:
		return invalid("stack_trace_selector.call_site: both directions are of one function")
	}
	return nil
}
