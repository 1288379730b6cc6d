package suite

import (
	"fmt"
	"math"
)

// workload holds what distinguishes the recorded histories from each other.
type workload struct {
	seed    string  // prefix of the seed files
	samples float64 // per run, measured

	// Fitted so that a generated history has the measured figures of the
	// package comment.
	rare   int     // nodes that the seeds do not have
	piece  int     // longest run of them that is grafted at once
	mass   float64 // part of the samples that falls on them
	sigma  float64 // spread of their weights, as a logarithm
	flat   float64 // exponent on the seeds' counts: below 1 lifts the rare ones
	region float64 // spread of a region's weight from run to run, as a logarithm

	multi float64 // part of the functions with several compile states in a run
	warm  float64 // part of the samples in which those have the second or third state
	flip  float64 // part of the functions compiled otherwise in another run
}

var workloads = []workload{
	{seed: "json-parse-catalog", samples: 2844, rare: 86000, piece: 4, mass: 0.013, sigma: 0.1, flat: 1, region: 0.8, multi: 0.16, warm: 0.55,
		flip: 0.03},
	{seed: "http-codec", samples: 5200, rare: 96000, piece: 6, mass: 0.02, sigma: 0.14, flat: 0.94, region: 1.4, multi: 0.3, warm: 0.5,
		flip: 0.03},
	{seed: "lucene-search-bool", samples: 5175, rare: 120000, piece: 2, mass: 0.026, sigma: 0.2, flat: 1.08, region: 0.1, multi: 0.34,
		warm: 0.55, flip: 0.03},
	{seed: "json-orders", samples: 445, rare: 7300, piece: 2, mass: 0.05, sigma: 0.9, flat: 1.12, region: 0.1},
	{seed: "sql-join", samples: 3799, rare: 120000, piece: 1, mass: 0.009, sigma: 0.1, flat: 1.09, region: 0.23, multi: 0.22, warm: 0.55,
		flip: 0.03},
	{seed: "text-dedup", samples: 2378, rare: 120000, piece: 11, mass: 0.004, sigma: 2.2, flat: 1.01, region: 1.2, multi: 0.16, warm: 0.6,
		flip: 0.03},
	{seed: "code-highlight", samples: 392, rare: 32600, piece: 1, mass: 0.05, sigma: 1.7, flat: 1.08, region: 0.4},
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
		all[id].findTiers(funcs)
	}
	return all
}

func (b *builder) growReal(w *workload, scale float64, trees []*seedTree, r *rnd, name func(int32) int32) {
	sum := 0.0
	for _, t := range trees {
		for root := int32(0); root < int32(len(t.fn)); root += t.size[root] {
			b.graft(-1, t, root, math.MaxInt16, math.MaxInt, 0, name, r, func(node, source int32) {
				b.weight[node] += float32(t.self[source])
			})
		}
	}
	for i := range b.weight {
		b.weight[i] = float32(math.Pow(float64(b.weight[i]), w.flat))
		sum += float64(b.weight[i])
	}
	recorded := len(b.fn)
	want := recorded + int(float64(w.rare)*scale)
	for tries := 0; len(b.fn) < want && tries < 20*want; tries++ {
		b.growRare(trees, w.piece, r, name)
	}
	rare := 0.0
	for n := recorded; n < len(b.fn); n++ {
		// A leaf without weight would never be seen.
		if r.float() < 0.9 || n == len(b.fn)-1 || b.parent[n+1] != int32(n) {
			b.weight[n] = float32(math.Exp(w.sigma * r.norm()))
			rare += float64(b.weight[n])
		}
	}
	f := float32(w.mass / (1 - w.mass) * sum / rare)
	for n := recorded; n < len(b.fn); n++ {
		b.weight[n] *= f
	}
}

// growRare continues a path with what a seed has below the same function in
// another place.
func (b *builder) growRare(trees []*seedTree, piece int, r *rnd, name func(int32) int32) {
	t := trees[r.intn(len(trees))]
	source := int32(r.intn(len(t.fn)))
	p := t.parent[source]
	if p < 0 {
		return
	}
	places := b.byFunc[t.fn[p]]
	if len(places) == 0 {
		return
	}
	// The older of two places: rare paths leave the beaten track once, they
	// seldom fork again.
	at := places[min(r.intn(len(places)), r.intn(len(places)))]
	b.graft(at, t, source, 90, 1+r.intn(piece), 0.4, name, r, nil)
}

// regionClasses bounds the number of factors that a run draws.
const regionClasses = 512

// drawRegions draws the factor of every class of regions: what a JIT compiler
// works on or a collector scans differs from start to start by more than
// sampling.
func (sc *scratch) drawRegions(b *benchmark, run int) {
	if sc.factor == nil {
		sc.factor = make([]float64, regionClasses)
	}
	r := newRand(b.seed, uint64(run), saltRegion)
	s := b.work.region
	for i := range sc.factor {
		sc.factor[i] = math.Exp(s*r.norm() - s*s/2)
	}
}

// compiled returns how many compile states a function has during a run: one, or
// up to three in a part of the functions.
func (b *benchmark) compiled(fn int32) int {
	u := float64(hash(b.seed, uint64(fn), saltStates)>>40) / (1 << 24)
	switch {
	case u < b.work.multi*0.2:
		return 3
	case u < b.work.multi:
		return 2
	}
	return 1
}

// findTiers notes for every path in how many tiers its frames differ. A stack
// without any such frame reads the same in all tiers and must not be written
// twice.
func (b *benchmark) findTiers(funcs *funcTable) {
	t := b.tree
	t.tiers = make([]uint8, len(t.fn))
	for i, fn := range t.fn {
		t.tiers[i] = 1
		if p := t.parent[i]; p >= 0 {
			t.tiers[i] = t.tiers[p]
			if funcs.funcs[fn].kind == java {
				t.tiers[i] = max(t.tiers[i], uint8(b.compiled(fn)))
			}
		}
	}
}

// splitTiers divides the samples of a stack among its tiers.
func (b *benchmark) splitTiers(r *rnd, n uint32, node int32) (count [tiers]uint32) {
	k := int(b.tree.tiers[node])
	if k == 1 {
		count[0] = n
		return count
	}
	for range min(n, 64) {
		if r.float() < b.work.warm {
			count[1+r.intn(k-1)]++
		} else {
			count[0]++
		}
	}
	count[0] += n - min(n, 64)
	return count
}

// states are the orders in which a function takes its compile states, drawn as
// often as the recordings have their first one.
var states = [16]string{
	"ij1", "ij1", "ij0", "i1j", "i1j", "i10", "ij1", "ij1",
	"ji1", "ji1", "j1i", "j10", "1ji", "1ij", "1ij", "01j",
}

// annotate writes the compile state of a frame and returns its length. The
// states belong to the function; in some runs the compiler decided otherwise.
func (b *benchmark) annotate(dst []byte, depth int16, fn int32, tier int, k kind, runHash uint64) int {
	var mark byte
	switch k {
	case kernel:
		mark = 'k'
	case java:
		mark = '0' // the program's main method runs once and stays interpreted
		if depth > 0 {
			h := mix(b.seed ^ uint64(fn)*0x9e3779b97f4a7c15)
			if f := mix(runHash ^ uint64(fn)*0xc2b2ae3d27d4eb4f); float64(f>>40)/(1<<24) < b.work.flip {
				h = mix(f)
			}
			mark = states[h%16][min(tier, b.compiled(fn)-1)]
		}
	default:
		return 0
	}
	return copy(dst, []byte{'_', '[', mark, ']'})
}
