package suite

import (
	"fmt"
	"math"
)

// workload holds what distinguishes the recorded histories from each other.
// The numbers of the first line are measured; those of the second were fitted
// so that a generated history has the measured figures of the package comment.
type workload struct {
	seed    string  // prefix of the seed files
	samples float64 // per run

	rare   int     // paths with self that the seeds do not have
	mass   float64 // part of the samples that falls on those
	sigma  float64 // spread of their weights, as a logarithm
	region float64 // spread of a region's weight from run to run, as a logarithm
	warm   float64 // part of the Java samples in C1-compiled frames
	cold   float64 // part in interpreted ones
	flip   float64 // part of the frames compiled otherwise in another run
}

var workloads = []workload{
	{seed: "json-parse-catalog", samples: 2844, rare: 9000, mass: 0.12, sigma: 1.5, region: 0.8, warm: 0.10, cold: 0.02, flip: 0.03},
	{seed: "http-codec", samples: 5200, rare: 14000, mass: 0.14, sigma: 1.5, region: 0.8, warm: 0.25, cold: 0.06, flip: 0.03},
	{seed: "lucene-search-bool", samples: 5175, rare: 20000, mass: 0.16, sigma: 1.5, region: 0.8, warm: 0.25, cold: 0.05, flip: 0.03},
	{seed: "json-orders", samples: 445, rare: 1500, mass: 0.10, sigma: 1.5, region: 0.5},
	{seed: "sql-join", samples: 3799, rare: 9000, mass: 0.10, sigma: 1.5, region: 0.8, warm: 0.15, cold: 0.03, flip: 0.03},
	{seed: "text-dedup", samples: 2378, rare: 5000, mass: 0.08, sigma: 1.5, region: 0.8, warm: 0.10, cold: 0.03, flip: 0.03},
	{seed: "code-highlight", samples: 392, rare: 2500, mass: 0.12, sigma: 1.5, region: 0.5},
}

// growReal builds one tree per benchmark: the union of the workload's seeds,
// heavy as recorded, and many rare paths around it. More benchmarks than
// workloads repeat them with a part of the names moved into a package of their
// own.
func growReal(c Config, funcs *funcTable) []*benchmark {
	var all []*benchmark
	for id := range c.Groups * c.Benchmarks {
		w := &workloads[id%len(workloads)]
		seed := hash(c.Seed, saltTree, uint64(id)+1)
		scope := ""
		if id >= len(workloads) {
			scope = fmt.Sprintf("v%02d", id/len(workloads)+1)
		}
		name := func(fn int32) int32 {
			if scope != "" && hash(seed, uint64(fn), saltNames)%100 < 60 {
				return funcs.id(fn, scope)
			}
			return funcs.id(fn, "")
		}
		b := newBuilder(funcs)
		var trees []*seedTree
		for i := range funcs.seeds.trees {
			if t := &funcs.seeds.trees[i]; t.workload == w.seed {
				trees = append(trees, t)
			}
		}
		r := newRand(seed, saltTree)
		b.growReal(w, c.Scale, trees, r, name)
		t := b.finish()
		t.scale(w.samples * c.Scale)
		t.pickSlow(0.12)
		all = append(all, &benchmark{
			group: groupName(id / c.Benchmarks), name: benchmarkName(id), seed: seed, tree: t,
			metric: 40 * math.Exp(0.8*r.norm()), work: w,
		})
	}
	return all
}

func (b *builder) growReal(w *workload, scale float64, trees []*seedTree, r *rnd, name func(int32) int32) {
	sum := 0.0
	for _, t := range trees {
		for root := int32(0); root < int32(len(t.fn)); root += t.size[root] {
			b.graft(-1, t, root, math.MaxInt16, math.MaxInt, 0, name, r, func(node, source int32) {
				b.weight[node] += float32(t.self[source])
				sum += float64(t.self[source])
			})
		}
	}
	// Half of the recorded stacks were seen once. Drawing them from their own
	// count would show them in most runs; a recorded single sample stands for
	// several such paths, of which a run shows a few.
	recorded := len(b.fn)
	var nodes []int32
	want := int(float64(w.rare) * scale)
	for tries := 0; len(nodes) < want && tries < 50*want; tries++ {
		nodes = b.growRare(trees, r, name, nodes)
	}
	rare := 0.0
	for _, n := range nodes {
		b.weight[n] = float32(math.Exp(w.sigma * r.norm()))
		rare += float64(b.weight[n])
	}
	f := float32(w.mass / (1 - w.mass) * sum / rare)
	for _, n := range nodes {
		if int(n) >= recorded {
			b.weight[n] *= f
		}
	}
}

// growRare continues a path with what a seed has below the same function in
// another place, and appends the nodes that can have self samples of their own.
func (b *builder) growRare(trees []*seedTree, r *rnd, name func(int32) int32, nodes []int32) []int32 {
	t := trees[r.intn(len(trees))]
	source := int32(r.intn(len(t.fn)))
	p := t.parent[source]
	if p < 0 {
		return nodes
	}
	places := b.byFunc[t.fn[p]]
	if len(places) == 0 {
		return nodes
	}
	at := places[r.intn(len(places))]
	have := len(b.fn)
	b.graft(at, t, source, 90, 12, 0.4, name, r, nil)
	for n := have; n < len(b.fn); n++ {
		if r.float() < 0.5 || n == len(b.fn)-1 {
			nodes = append(nodes, int32(n))
		}
	}
	return nodes
}

// drawRegions draws the factor of every region: what a JIT compiler works on
// or a collector scans differs from start to start by more than sampling.
func (sc *scratch) drawRegions(b *benchmark, run int) {
	n := 0
	for _, g := range b.tree.region {
		n = max(n, int(g)+1)
	}
	sc.factor = resized(sc.factor, n)
	r := newRand(b.seed, uint64(run), saltRegion)
	s := b.work.region
	for i := range sc.factor {
		sc.factor[i] = math.Exp(s*r.norm() - s*s/2)
	}
}

// splitTiers divides the samples of a Java stack among the compile states that
// its frames had at one time or another during the run.
func (b *benchmark) splitTiers(r *rnd, n uint32, node int32, sc *scratch) {
	w := b.work
	if n > 24 {
		cold, warm := uint32(float64(n)*w.cold), uint32(float64(n)*w.warm)
		sc.counts[0][node] = cold
		sc.counts[1][node] = warm
		sc.counts[2][node] = n - cold - warm
		return
	}
	for range n {
		switch u := r.float(); {
		case u < w.cold:
			sc.counts[0][node]++
		case u < w.cold+w.warm:
			sc.counts[1][node]++
		default:
			sc.counts[2][node]++
		}
	}
}

// states are the annotations of a tier's frames by decile, as often as the
// recordings have them.
var states = [tiers]string{"000000111j", "1111111iij", "iiiiiiijjj"}

// annotate writes the compile state of a frame and returns its length. The
// state belongs to the node and the tier; in some runs the compiler decided
// otherwise.
func (b *benchmark) annotate(dst []byte, node int32, tier int, k kind, runHash uint64) int {
	var mark byte
	switch k {
	case kernel:
		mark = 'k'
	case java:
		mark = '0' // the program's main method runs once and stays interpreted
		if b.tree.depth[node] > 0 {
			at := uint64(node)<<8 | uint64(tier)
			h := mix(b.seed ^ at*0x9e3779b97f4a7c15)
			if f := mix(runHash ^ at*0xc2b2ae3d27d4eb4f); float64(f>>40)/(1<<24) < b.work.flip {
				h = mix(f)
			}
			mark = states[tier][h%10]
		}
	default:
		return 0
	}
	return copy(dst, []byte{'_', '[', mark, ']'})
}
