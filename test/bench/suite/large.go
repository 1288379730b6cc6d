package suite

import (
	"fmt"
	"math"
)

// The figures of a Large benchmark at scale 1. Sizes of the three levels follow
// from the study's table: 10 benchmarks of 5 groups have 88 k distinct
// normalised paths, 100 of 10 groups 755 k.
const (
	largeGlobal  = 2100 // nodes that all benchmarks share
	largeGroup   = 2700 // further nodes that the benchmarks of a group share
	largeNodes   = 11900
	largeDepth   = 118 // of the deepest node: 119 frames
	largeSamples = 40  // expected samples per node with self
	largeSigma   = 1.8
	lambdaShare  = 0.02
)

var groupNames = []string{"accesscontrol", "search", "checkout", "billing", "graph", "stream", "index", "cart", "report", "mail"}

var workNames = []string{"readById", "writeBatch", "mixed", "scanRange", "joinTwo", "aggregate", "parseCatalog", "renderPage",
	"dedupTitles", "codec"}

func groupName(g int) string {
	if g < len(groupNames) {
		return groupNames[g]
	}
	return fmt.Sprintf("%s%d", groupNames[g%len(groupNames)], g/len(groupNames)+1)
}

// benchmarkName spells parameters as the suites of graph databases do.
func benchmarkName(b int) string {
	jdk := []string{"17", "21", "25"}[b%3]
	return fmt.Sprintf("%03d_(deployment,EMBEDDED)_(jdk,%s)_%s", b+1, jdk, workNames[b%len(workNames)])
}

// piece is a subtree of a seed that can be grafted.
type piece struct {
	tree *seedTree
	root int32
}

// library is the choice of pieces that one level of the hierarchy draws from.
// Real programs call the same library code from many places, so a library is
// small and its first pieces are drawn most.
type library []piece

func newLibrary(seeds *seedSet, n int, r *rnd) library {
	var lib library
	nodes := 0
	for i := range seeds.trees {
		nodes += len(seeds.trees[i].fn)
	}
	for len(lib) < n {
		// Any node of any seed is as likely: big recordings give more pieces.
		root, tree := int32(r.intn(nodes)), &seeds.trees[0]
		for i := 1; int(root) >= len(tree.fn); i++ {
			root -= int32(len(tree.fn))
			tree = &seeds.trees[i]
		}
		if k := seeds.funcs[tree.fn[root]].kind; k != java && k != golang {
			continue
		}
		if s := tree.size[root]; s >= 12 && s <= 250 {
			lib = append(lib, piece{tree, root})
		}
	}
	return lib
}

func (l library) pick(r *rnd) piece {
	return l[int(float64(len(l))*math.Pow(r.float(), 1.4))]
}

// growLarge builds the trees level by level: one for all, a copy of it grown on
// for each group, a copy of that for each benchmark.
func growLarge(c Config, funcs *funcTable) []*benchmark {
	size := func(n float64) int { return max(20, int(n*c.Scale)) }
	libSize := func(n float64) int { return max(3, int(n*c.Scale)) }
	r := newRand(c.Seed, saltTree)
	root := newBuilder(funcs)
	lib := newLibrary(funcs.seeds, libSize(62), r)
	root.plantRoots(r, func(fn int32) int32 { return funcs.id(fn, "") })
	root.growLarge(size(largeGlobal), lib, r, func(fn int32) int32 { return funcs.id(fn, "") })

	var all []*benchmark
	for g := range c.Groups {
		gname := groupName(g)
		inGroup := func(fn int32) int32 {
			if hash(c.Seed, uint64(g), uint64(fn), saltNames)%100 < 55 {
				return funcs.id(fn, gname)
			}
			return funcs.id(fn, "")
		}
		r := newRand(c.Seed, saltTree, uint64(g)+1)
		group := root.clone()
		group.growLarge(size(largeGlobal+largeGroup), newLibrary(funcs.seeds, libSize(80), r), r, inGroup)
		for k := range c.Benchmarks {
			id := g*c.Benchmarks + k
			seed := hash(c.Seed, saltTree, uint64(g)+1, uint64(k)+1)
			all = append(all, group.clone().largeBenchmark(c, id, seed, gname, inGroup))
		}
	}
	return all
}

func (b *builder) largeBenchmark(c Config, id int, seed uint64, group string, inGroup func(int32) int32) *benchmark {
	r := newRand(seed, saltTree)
	scope := fmt.Sprintf("%s%03d", workNames[id%len(workNames)], id+1)
	own := func(fn int32) int32 {
		if hash(seed, uint64(fn), saltNames)%100 < 60 {
			return b.funcs.id(fn, scope)
		}
		return inGroup(fn)
	}
	// The table has profiles of 6 k to 18 k nodes.
	factor := min(1.5, max(0.55, math.Exp(0.28*r.norm()-0.04)))
	target := max(20, int(largeNodes*factor*c.Scale))
	libSize := max(3, int(100*c.Scale))
	b.growLarge(target, newLibrary(b.funcs.seeds, libSize, r), r, own)
	b.addLambdas(r)
	b.weighLarge(newRand(seed, saltWeights))
	t := b.finish()
	t.scale(float64(len(t.selfs)) * largeSamples)
	t.pickSlow(0.12)
	return &benchmark{
		group: group, name: benchmarkName(id), seed: seed, tree: t,
		metric: 40 * math.Exp(0.8*r.norm()),
	}
}

// plantRoots starts the tree with the outermost frames of the seeds.
func (b *builder) plantRoots(r *rnd, name func(int32) int32) {
	for i := range b.funcs.seeds.trees {
		t := &b.funcs.seeds.trees[i]
		for n := int32(0); n < int32(len(t.fn)); n += t.size[n] {
			if t.size[n] > 100 {
				b.graft(-1, t, n, 6, 12, 0.3, name, r, nil)
			}
		}
	}
}

// growLarge hangs pieces below nodes of the tree until it has target nodes.
func (b *builder) growLarge(target int, lib library, r *rnd, name func(int32) int32) {
	for len(b.fn) < target {
		// Where the piece is hung decides the mean depth; see TestLargeShape.
		want := int(43 + 19*r.norm())
		want = min(max(want, 2), len(b.byDepth)-1, largeDepth-1)
		for want > 0 && len(b.byDepth[want]) == 0 {
			want--
		}
		at := b.byDepth[want][r.intn(len(b.byDepth[want]))]
		p := lib.pick(r)
		b.graft(at, p.tree, p.root, largeDepth, min(200, target-len(b.fn)), 0.08, name, r, nil)
	}
}

// addLambdas makes one node in fifty a method of a hidden class. It takes nodes
// near the leaves: hidden classes near the root would make every path below
// them new in every run.
func (b *builder) addLambdas(r *rnd) {
	below := make([]int32, len(b.fn))
	fillSizes(b.parent, below)
	want := int(lambdaShare * float64(len(b.fn)))
	for tries := 0; want > 0 && tries < 100*len(b.fn); tries++ {
		i := int32(r.intn(len(b.fn)))
		if below[i] > 4 || b.funcs.funcs[b.fn[i]].kind != java || b.funcs.funcs[b.fn[i]].vol.any() {
			continue
		}
		// The scope has to survive: two benchmarks that shared a function
		// share its lambda.
		b.fn[i] = b.funcs.lambdaOf(b.fn[i])
		want--
	}
}

// weighLarge gives every leaf and a part of the inner nodes a lognormal weight.
func (b *builder) weighLarge(r *rnd) {
	leaf := make([]bool, len(b.fn))
	leaves := 0
	for i := range leaf {
		leaf[i] = true
	}
	for _, p := range b.parent {
		if p >= 0 {
			leaf[p] = false
		}
	}
	for _, l := range leaf {
		if l {
			leaves++
		}
	}
	n := float64(len(b.fn))
	inner := max(0, (0.475*n-float64(leaves))/(n-float64(leaves)))
	for i := range b.weight {
		if leaf[i] || r.float() < inner {
			b.weight[i] = float32(math.Exp(largeSigma * r.norm()))
		}
	}
}
