package calltree

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/calltree/internal/ranges"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/profile"
)

// Forest is a growing dictionary of functions, identified by name alone, and of call
// node paths over them. Ids are dense, in order of first appearance; a parent's id is
// lower than its children's. The zero value is empty and ready.
//
// One goroutine fills a Forest. Others read a Snapshot of it, which stays valid and
// unchanged while the forest grows.
type Forest struct {
	Functions []profile.Function // the name is the identity
	// Paths holds call node paths: Parent is a path or NoNode, Item a function.
	Paths profile.PrefixTree

	index  intern.Index // of Functions, by name
	origin *Forest      // of a snapshot: its forest

	order  sync.Mutex
	whole  *layout    // a cache; nil before the first large cut
	byName *nameOrder // a cache; nil before the first use
}

// nameOrder is the order of functions by the bytes of their names.
type nameOrder struct {
	sorted []int32 // the functions in that order
	rank   []int32 // of each function
}

// Function interns a function by its name. It keeps the attributes of the first
// appearance.
func (f *Forest) Function(fn profile.Function) int32 {
	h := intern.String(fn.Name)
	if id, ok := f.index.Find(h, f.named(fn.Name)); ok {
		return id
	}
	id := int32(len(f.Functions))
	f.Functions = append(f.Functions, fn)
	f.index.Add(h, id)
	return id
}

// named returns a predicate: whether a function has that name.
func (f *Forest) named(name string) func(int32) bool {
	return func(id int32) bool { return f.Functions[id].Name == name }
}

// FindFunction returns the id of the function of that name.
func (f *Forest) FindFunction(name string) (int32, bool) {
	if f.origin == nil {
		return f.index.Find(intern.String(name), f.named(name))
	}
	// A snapshot has no index: the forest keeps changing its own.
	sorted := f.names().sorted
	i, ok := slices.BinarySearchFunc(sorted, name, func(id int32, name string) int {
		return strings.Compare(f.Functions[id].Name, name)
	})
	if !ok {
		return 0, false
	}
	return sorted[i], true
}

// Path interns the path that calls function fn from parent (NoNode: a root).
func (f *Forest) Path(parent, fn int32) int32 { return f.Paths.Child(parent, fn) }

// Add adds the nodes of a table and returns their paths, and the functions of the table.
func (f *Forest) Add(t *Table) (paths, functions []int32) {
	paths, functions = make([]int32, t.Len()), make([]int32, len(t.Functions))
	for i, fn := range t.Functions {
		functions[i] = f.Function(fn)
	}
	for n, up := range t.Parent {
		parent := NoNode
		if up != NoNode {
			parent = paths[up]
		}
		paths[n] = f.Path(parent, functions[t.Func[n]])
	}
	return paths, functions
}

// Load replaces the content by stored columns; the forest owns the slices. Names must
// be distinct and parents come before children.
func (f *Forest) Load(functions []profile.Function, parent, fn []int32) {
	f.Functions = functions
	f.index = intern.Index{}
	for i := range functions {
		f.index.Add(intern.String(functions[i].Name), int32(i))
	}
	f.Paths.Load(parent, fn)
	f.byName, f.whole = nil, nil
}

// Snapshot returns the current state of the forest for other goroutines to read while f
// grows. It costs nothing and must not be changed.
func (f *Forest) Snapshot() *Forest {
	n, fns := f.Paths.Len(), len(f.Functions)
	return &Forest{
		Functions: f.Functions[:fns:fns],
		Paths:     prefixtree.Tree{Parent: f.Paths.Parent[:n:n], Item: f.Paths.Item[:n:n]},
		origin:    f.Origin(),
	}
}

// Origin returns the forest of a snapshot, or f itself. Ids of functions and paths mean
// the same in all snapshots of one origin, so it is a key for caches of translations.
func (f *Forest) Origin() *Forest {
	if f.origin != nil {
		return f.origin
	}
	return f
}

// Names returns the function names from the root to path p.
func (f *Forest) Names(p int32) []string {
	var names []string
	for ; p != NoNode; p = f.Paths.Parent[p] {
		names = append(names, f.Functions[f.Paths.Item[p]].Name)
	}
	slices.Reverse(names)
	return names
}

// MergeAttributes returns have with the attributes of fn, a function of the same name,
// merged in: a known attribute replaces an unknown one, and of two different ones the
// smaller stays, so that the result does not depend on the order.
func MergeAttributes(have, fn profile.Function) profile.Function {
	if fn.Kind != profile.KindUnknown && (have.Kind == profile.KindUnknown || fn.Kind < have.Kind) {
		have.Kind = fn.Kind
	}
	have.Module = smaller(have.Module, fn.Module)
	have.Language = smaller(have.Language, fn.Language)
	have.SystemName = smaller(have.SystemName, fn.SystemName)
	if placeLess(fn, have) {
		have.File, have.StartLine, have.Column = fn.File, fn.StartLine, fn.Column
	}
	return have
}

// placeLess orders the places of functions. File, line and column are compared
// together; functions without a file come last.
func placeLess(a, b profile.Function) bool {
	if (a.File == "") != (b.File == "") {
		return b.File == ""
	}
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.Column, b.Column)) < 0
}

// smaller returns the smaller of two texts; an empty one is unknown.
func smaller(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// names returns the functions in order of names.
func (f *Forest) names() *nameOrder {
	f.order.Lock()
	defer f.order.Unlock()
	if f.byName == nil || len(f.byName.sorted) != len(f.Functions) {
		ids := ranges.Numbers(len(f.Functions))
		slices.SortFunc(ids, func(a, b int32) int { return strings.Compare(f.Functions[a].Name, f.Functions[b].Name) })
		rank := make([]int32, len(ids))
		for r, id := range ids {
			rank[id] = int32(r)
		}
		f.byName = &nameOrder{ids, rank}
	}
	return f.byName
}

// Vector is a sparse set of self values: Self[i] belongs to node or path Nodes[i].
// Nodes are distinct and no value is zero. Over a Forest they ascend.
type Vector struct {
	Nodes []int32
	Self  []int64
}

// Len returns the number of nodes with a self value.
func (v Vector) Len() int { return len(v.Nodes) }

// Sum returns the sum of the values.
func (v Vector) Sum() int64 {
	var sum int64
	for _, s := range v.Self {
		sum += s
	}
	return sum
}

// Cut is a part of a Forest as a Table.
type Cut struct {
	*Table
	Paths []int32 // of each node of the table: its path in the forest

	node []int32 // of each path of the forest: its node, valid if Paths has the path there
}

// Whole returns the Table of all paths.
func (f *Forest) Whole() *Cut { return f.Cut(ranges.Numbers(f.Paths.Len())) }

// Cut returns the Table of the given distinct paths and all their ancestors, functions
// and siblings in byte order of names. It costs time proportional to the result, plus
// one array over the forest. The first large cut lays out the whole forest, which makes
// later ones several times as fast.
func (f *Forest) Cut(paths []int32) *Cut {
	used := bitset.New(f.Paths.Len())
	for _, p := range paths {
		used.Add(p)
	}
	c := &Cut{}
	c.Table, c.node = f.cut(used)
	c.Paths = make([]int32, c.Len())
	for p := range used.All() {
		c.Paths[c.node[p]] = p
	}
	return c
}

// Sum returns the tree of values of paths, one of each path. Used is a set with a bit of
// each path, which has all those with a value other than zero; Sum may add others.
func (f *Forest) Sum(typ profile.ValueType, used []uint64, values []int64) *Tree {
	t, node := f.cut(used)
	self := make([]int64, t.Len())
	eachWord(used, func(from int32, words bitset.Set) {
		for i := range words.All() {
			self[node[from+i]] = values[from+i]
		}
	})
	return NewTree(t, typ, self)
}

// eachWord calls work concurrently for parts of a set, which begin at member from.
func eachWord(set bitset.Set, work func(from int32, words bitset.Set)) {
	ranges.Each(ranges.Parts(64*len(set)), func(_ int, p ranges.Part) { work(int32(p.Lo&^63), set[p.Lo/64:p.Hi/64]) })
}

// cut returns the table of a set of paths and all their ancestors, which it adds to the
// set, and the node of each of them: the other elements of node mean nothing.
func (f *Forest) cut(used bitset.Set) (t *Table, node []int32) {
	if l := f.layoutFor(0); l != nil && used.Includes(l.leaves) {
		used.Fill(len(l.row))
		return f.cutWhole(l)
	}
	f.close(used)
	n := used.Len()
	switch l := f.layoutFor(n); {
	case l == nil:
		return f.cutOf(used.Members())
	case n == len(l.row): // the layout was just made
		return f.cutWhole(l)
	default:
		return f.cutAlong(l, used)
	}
}

// cutWhole is cut for all paths: it shares the table of the layout.
func (f *Forest) cutWhole(l *layout) (*Table, []int32) {
	t := l.table
	t.Functions = f.list(l.functions)
	return &t, l.row
}

// close adds the ancestors of its members to a set of paths.
func (f *Forest) close(used bitset.Set) {
	for w := len(used) - 1; w >= 0; w-- { // descendants come after their ancestors
		for done := uint64(0); used[w]&^done != 0; {
			bit := 63 - bits.LeadingZeros64(used[w]&^done)
			done |= 1 << bit
			if up := f.Paths.Parent[w<<6|bit]; up != NoNode {
				used[up>>6] |= 1 << (up & 63)
			}
		}
	}
}

// cutOf is cut for paths with all their ancestors, in ascending order, without a
// layout.
func (f *Forest) cutOf(use []int32) (*Table, []int32) {
	node := make([]int32, f.Paths.Len())
	parent := make([]int32, len(use))
	for i, p := range use {
		node[p], parent[i] = int32(i), NoNode
		if up := f.Paths.Parent[p]; up != NoNode {
			parent[i] = node[up]
		}
	}
	t, paths := f.build(use, parent)
	for n, p := range paths {
		node[p] = int32(n)
	}
	return t, node
}

// layout is the Table of all paths of a forest, 20 bytes per path.
type layout struct {
	table     Table      // with Functions nil: they are made for each cut
	functions []int32    // of the forest, in the order of the table
	row       []int32    // of each path
	leaves    bitset.Set // the paths without children: who uses them uses all paths
}

// largeCut is the part of the forest (1/largeCut) from which a cut is worth a layout of
// the whole.
const largeCut = 8

// layoutFor returns the layout of the forest if it exists, or if a cut of n paths is
// large enough to build it.
func (f *Forest) layoutFor(n int) *layout {
	all := f.Paths.Len()
	f.order.Lock()
	l := f.whole
	f.order.Unlock()
	if l != nil && len(l.row) == all {
		return l
	}
	if n < all/largeCut || n < 1<<12 {
		return nil
	}
	t, paths := f.build(f.allPaths(), f.Paths.Parent)
	l = &layout{table: *t, row: make([]int32, all), leaves: bitset.New(all)}
	l.table.Functions = nil
	for row, p := range paths {
		l.row[p] = int32(row)
		if t.End[row] == int32(row)+1 {
			l.leaves.Add(p)
		}
	}
	l.functions, _ = functionsInUse(f.Paths.Item, paths, f.names())
	f.order.Lock()
	f.whole = l
	f.order.Unlock()
	return l
}

// cutAlong is cut with a layout, out of which it takes the rows of a set that has all
// ancestors.
func (f *Forest) cutAlong(l *layout, used bitset.Set) (*Table, []int32) {
	rows := bitset.New(len(l.row) + 1) // one more, which may be the end of a row
	for p := range used.All() {
		rows.Add(l.row[p])
	}
	at, n := newRanks(rows)
	node := make([]int32, len(l.row))
	eachWord(used, func(from int32, words bitset.Set) {
		for i := range words.All() {
			node[from+i] = at.of(l.row[from+i])
		}
	})
	t, whole := newTable(n), &l.table
	eachWord(rows, func(from int32, words bitset.Set) {
		k := at[from>>6].before
		for i := range words.All() {
			row := from + i
			t.Parent[k] = NoNode
			if up := whole.Parent[row]; up != NoNode {
				t.Parent[k] = at.of(up)
			}
			t.Func[k], t.Depth[k], t.End[k] = whole.Func[row], whole.Depth[row], at.of(whole.End[row])
			k++
		}
	})
	inUse := bitset.New(len(l.functions))
	for _, fn := range t.Func {
		inUse.Add(fn)
	}
	newID := make([]int32, len(l.functions))
	functions := make([]int32, 0, inUse.Len())
	for fn := range inUse.All() {
		newID[fn] = int32(len(functions))
		functions = append(functions, l.functions[fn])
	}
	t.Functions = f.list(functions)
	ranges.Each(ranges.Parts(n), func(_ int, p ranges.Part) {
		for k, fn := range t.Func[p.Lo:p.Hi] {
			t.Func[p.Lo+k] = newID[fn]
		}
	})
	return t, node
}

// ranks has the words of a set, and for each the number of members in the words before.
type ranks []struct {
	word   uint64
	before int32
}

// newRanks returns the ranks of a set and the number of its members.
func newRanks(set bitset.Set) (r ranks, members int) {
	r = make(ranks, len(set))
	for w, word := range set {
		r[w].word, r[w].before = word, int32(members)
		members += bits.OnesCount64(word)
	}
	return r, members
}

// of returns the number of members below i.
func (r ranks) of(i int32) int32 {
	w := &r[i>>6]
	return w.before + int32(bits.OnesCount64(w.word&(1<<(i&63)-1)))
}

// list returns copies of functions.
func (f *Forest) list(ids []int32) []profile.Function {
	return column.Pick(f.Functions, ids)
}

// functionsInUse returns the functions of the used paths in byte order of names, and
// the position of each of them.
func functionsInUse(item, use []int32, by *nameOrder) (ids, at []int32) {
	ranks := bitset.New(len(by.rank))
	for _, p := range use {
		ranks.Add(by.rank[item[p]])
	}
	at = make([]int32, len(by.rank))
	for rank := range ranks.All() {
		fn := by.sorted[rank]
		at[fn] = int32(len(ids))
		ids = append(ids, fn)
	}
	return ids, at
}

// Node returns the table's node of a path of the forest, if the cut has it.
func (c *Cut) Node(path int32) (int32, bool) {
	if int(path) >= len(c.node) {
		return 0, false // added to the forest after the cut
	}
	if n := c.node[path]; int(n) < len(c.Paths) && c.Paths[n] == path {
		return n, true
	}
	return 0, false
}

// Vector translates a vector over the forest into one over the table, in no
// particular order of nodes. Every node of v must be in the cut.
func (c *Cut) Vector(v Vector) Vector {
	w := Vector{Nodes: make([]int32, len(v.Nodes)), Self: v.Self}
	for i, p := range v.Nodes {
		w.Nodes[i] = c.node[p]
	}
	return w
}

// Self spreads a vector over the forest into a dense column of the table. Every
// node of v must be in the cut.
func (c *Cut) Self(v Vector) []int64 {
	self := make([]int64, c.Len())
	for i, p := range v.Nodes {
		self[c.node[p]] = v.Self[i]
	}
	return self
}

// build lays out the paths use (ascending, with all their ancestors), siblings by
// name of function. Parent holds the parent of each, as a position in use. Functions
// without a node are omitted. The second result lists the paths in the order of the
// rows.
func (f *Forest) build(use, parent []int32) (*Table, []int32) {
	s := &stacks{parent: parent, frame: make([]int32, len(use))}
	for i, p := range use {
		s.frame[i] = f.Paths.Item[p]
	}
	ids, function := functionsInUse(f.Paths.Item, use, f.names())
	s.functions, s.function = f.list(ids), function
	t, row := s.build()
	paths := s.frame // no longer needed
	for i, p := range use {
		paths[row[i]] = p
	}
	return t, paths
}

// allPaths returns the numbers of all paths.
func (f *Forest) allPaths() []int32 {
	return column.Places[int32](f.Paths.Len())
}

// AddVectors returns the sum of vectors over one forest or table. Their nodes may be
// unordered and repeated.
func AddVectors(vectors ...Vector) Vector {
	var all Vector
	for _, v := range vectors {
		all.Nodes, all.Self = append(all.Nodes, v.Nodes...), append(all.Self, v.Self...)
	}
	if all.Len() == 0 {
		return Vector{}
	}
	sortWith(all.Nodes, all.Self, int(slices.Max(all.Nodes))+1)
	var sum int64
	n := 0
	for i, node := range all.Nodes {
		sum += all.Self[i]
		if i+1 < len(all.Nodes) && all.Nodes[i+1] == node {
			continue
		}
		if sum != 0 {
			all.Nodes[n], all.Self[n] = node, sum
			n++
		}
		sum = 0
	}
	return Vector{all.Nodes[:n:n], all.Self[:n:n]}
}
