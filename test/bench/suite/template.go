package suite

import (
	"math"
	"slices"
)

// funcTable holds the functions of a suite: seeds, their copies in the packages
// of groups and benchmarks, and lambdas made from them.
type funcTable struct {
	seeds *seedSet
	funcs []function
	ids   map[funcKey]int32
	// calm tables take the volatile digits out of recorded names: in a Large
	// suite only the nodes of addLambdas change from run to run.
	calm bool

	// After freeze all names lie in one slab: rendering touches every node of
	// a tree in turn and strings all over the heap would cost more than the
	// copy itself.
	slab []byte
	off  []uint32
}

// funcKey is what a function was made from: a seed's function and the scope it
// was moved to, or the function of this table that a lambda stands for.
type funcKey struct {
	from   int32
	scope  string
	lambda bool
}

func newFuncTable(seeds *seedSet, calm bool) *funcTable {
	return &funcTable{seeds: seeds, ids: map[funcKey]int32{}, calm: calm}
}

// id returns the function that seed function seed becomes in a scope; the empty
// scope keeps its name.
func (t *funcTable) id(seed int32, scope string) int32 {
	key := funcKey{seed, scope, false}
	if id, ok := t.ids[key]; ok {
		return id
	}
	f := t.seeds.funcs[seed]
	if t.calm && f.vol.any() {
		f.name, f.vol = Stable(f.name), volatile{}
	}
	if scope != "" {
		f.name = inScope(f, scope)
		f.vol = findVolatile(f.name)
	}
	id := int32(len(t.funcs))
	t.funcs = append(t.funcs, f)
	t.ids[key] = id
	return id
}

// lambdaOf returns the hidden class's method that takes the place of function
// fn.
func (t *funcTable) lambdaOf(fn int32) int32 {
	key := funcKey{fn, "", true}
	if id, ok := t.ids[key]; ok {
		return id
	}
	id := int32(len(t.funcs))
	t.funcs = append(t.funcs, asLambda(t.funcs[fn]))
	t.ids[key] = id
	return id
}

func (t *funcTable) freeze() {
	for _, f := range t.funcs {
		t.off = append(t.off, uint32(len(t.slab)))
		t.slab = append(t.slab, f.name...)
	}
	t.off = append(t.off, uint32(len(t.slab)))
	t.ids = nil
}

// builder is a call tree that pieces of seeds are hung into.
type builder struct {
	funcs    *funcTable
	parent   []int32
	fn       []int32
	seedFn   []int32 // what fn was made from
	depth    []int16
	region   []uint16 // the grafted piece a node came with
	weight   []float32
	children map[uint64]int32
	byDepth  [][]int32 // nodes that a piece may be hung below
	byFunc   map[int32][]int32
	regions  uint16
}

func newBuilder(funcs *funcTable) *builder {
	return &builder{funcs: funcs, children: map[uint64]int32{}, byFunc: map[int32][]int32{}}
}

func (b *builder) clone() *builder {
	c := *b
	c.parent, c.fn, c.seedFn = slices.Clone(b.parent), slices.Clone(b.fn), slices.Clone(b.seedFn)
	c.depth, c.region, c.weight = slices.Clone(b.depth), slices.Clone(b.region), slices.Clone(b.weight)
	c.children = make(map[uint64]int32, 4*len(b.children))
	for k, v := range b.children {
		c.children[k] = v
	}
	c.byDepth = make([][]int32, len(b.byDepth))
	for d := range b.byDepth {
		c.byDepth[d] = slices.Clone(b.byDepth[d])
	}
	c.byFunc = make(map[int32][]int32, len(b.byFunc))
	for k, v := range b.byFunc {
		c.byFunc[k] = slices.Clone(v)
	}
	return &c
}

// child returns the node of a function below a parent, -1 for a root.
func (b *builder) child(parent, fn, seedFn int32) int32 {
	key := uint64(uint32(parent))<<32 | uint64(uint32(fn))
	if id, ok := b.children[key]; ok {
		return id
	}
	id := int32(len(b.fn))
	b.children[key] = id
	depth := int16(0)
	if parent >= 0 {
		depth = b.depth[parent] + 1
	}
	b.parent = append(b.parent, parent)
	b.fn = append(b.fn, fn)
	b.seedFn = append(b.seedFn, seedFn)
	b.depth = append(b.depth, depth)
	b.region = append(b.region, b.regions)
	b.weight = append(b.weight, 0)
	for len(b.byDepth) <= int(depth) {
		b.byDepth = append(b.byDepth, nil)
	}
	// Nothing Java or Go is called from below the kernel or the C library.
	if k := b.funcs.funcs[fn].kind; k == java || k == golang {
		b.byDepth[depth] = append(b.byDepth[depth], id)
	}
	b.byFunc[seedFn] = append(b.byFunc[seedFn], id)
	return id
}

// graft copies the subtree of a seed tree below a node, at most max new nodes
// and no deeper than limit. Subtrees are omitted at random with probability
// prune, so that two copies of a piece differ. visit is called with every node of the
// copy together with its source.
func (b *builder) graft(at int32, from *seedTree, root int32, limit int16, max int, prune float64,
	name func(seedFn int32) int32, r *rnd, visit func(node, source int32)) {
	b.regions++
	have := len(b.fn)
	place := map[int32]int32{}
	base := from.depth[root]
	depth := int16(-1)
	if at >= 0 {
		depth = b.depth[at]
	}
	for i := root; i < root+from.size[root]; {
		tooDeep := depth+1+from.depth[i]-base > limit
		if tooDeep || i > root && r.float() < prune {
			i += from.size[i]
			continue
		}
		p := at
		if i > root {
			p = place[from.parent[i]]
		}
		node := b.child(p, name(from.fn[i]), from.fn[i])
		place[i] = node
		if visit != nil {
			visit(node, i)
		}
		if len(b.fn)-have >= max {
			return
		}
		i++
	}
}

// template is a finished tree: depth first, siblings by name, with the expected
// samples of each node.
type template struct {
	parent []int32
	fn     []int32
	depth  []int16
	size   []int32
	region []uint16
	tiers  []uint8 // of a Real template, see findTiers
	selfs  []selfNode
	// slow is the subtree [slow, slow+size) whose cost follows the latent
	// factor; share is its part of the expected samples.
	slow  int32
	share float64
}

type selfNode struct {
	node int32
	mean float64
}

// finish orders the tree. Weights are taken over as they are.
func (b *builder) finish() *template {
	funcs := b.funcs.funcs
	order := depthFirst(b.parent, func(list []int32) {
		slices.SortFunc(list, func(x, y int32) int {
			a, c := funcs[b.fn[x]].name, funcs[b.fn[y]].name
			switch {
			case a < c:
				return -1
			case a > c:
				return 1
			}
			return 0
		})
	})
	n := len(order)
	place := make([]int32, n)
	for i, old := range order {
		place[old] = int32(i)
	}
	t := &template{
		parent: make([]int32, n), fn: make([]int32, n), depth: make([]int16, n),
		size: make([]int32, n), region: make([]uint16, n),
	}
	for i, old := range order {
		p := b.parent[old]
		if p >= 0 {
			p = place[p]
		}
		t.parent[i], t.fn[i], t.depth[i], t.region[i] = p, b.fn[old], b.depth[old], b.region[old]
		if w := b.weight[old]; w > 0 {
			t.selfs = append(t.selfs, selfNode{int32(i), float64(w)})
		}
	}
	fillSizes(t.parent, t.size)
	return t
}

// scale multiplies the expected samples so that they add up to total.
func (t *template) scale(total float64) {
	sum := 0.0
	for _, s := range t.selfs {
		sum += s.mean
	}
	for i := range t.selfs {
		t.selfs[i].mean *= total / sum
	}
}

// totals returns the expected inclusive samples per node.
func (t *template) totals() []float64 {
	total := make([]float64, len(t.fn))
	for _, s := range t.selfs {
		total[s.node] += s.mean
	}
	for i := len(total) - 1; i >= 0; i-- {
		if p := t.parent[i]; p >= 0 {
			total[p] += total[i]
		}
	}
	return total
}

// pickSlow chooses the subtree that the latent factor acts on: the one whose
// share comes closest to the wanted one.
func (t *template) pickSlow(want float64) {
	total := t.totals()
	all := 0.0
	for i, p := range t.parent {
		if p < 0 {
			all += total[i]
		}
	}
	best := math.Inf(1)
	for i := range total {
		if t.depth[i] == 0 {
			continue
		}
		if d := math.Abs(total[i]/all - want); d < best {
			best, t.slow, t.share = d, int32(i), total[i]/all
		}
	}
}
