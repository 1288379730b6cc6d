package suite

import "math"

// effects is what happens to one benchmark in one run, apart from sampling.
type effects struct {
	slow   float64 // factor on the samples of the template's slow subtree
	metric float64 // milliseconds
	// spiked runs have one more subtree, [spike, spikeEnd), made heavier.
	spike, spikeEnd int32
	spikeFactor     float64
}

const (
	slowSigma  = 0.25 // of the latent factor, as a logarithm
	noiseSigma = 0.01 // of the metric
	spikeRate  = 0.05
)

func (b *benchmark) effects(run int) effects {
	r := newRand(b.seed, uint64(run), saltRun)
	e := effects{slow: math.Exp(slowSigma * r.norm())}
	e.metric = b.metric * (1 + b.tree.share*(e.slow-1)) * (1 + noiseSigma*r.norm())
	if r.float() < spikeRate {
		n := len(b.tree.fn)
		// A root would make the whole profile heavier, which no share shows.
		for range 50 {
			at := int32(r.intn(n))
			if b.tree.depth[at] > 0 && b.tree.size[at] > 1 && int(b.tree.size[at]) < n/4 {
				e.spike, e.spikeEnd = at, at+b.tree.size[at]
				break
			}
		}
		e.spikeFactor = 2 + 2*r.float()
	}
	return e
}

// tiers is the number of compile states that a stack's frames can be in at one
// time: interpreted and barely compiled, compiled by C1, compiled by C2.
const tiers = 3

// scratch is the memory of one rendering, reused through a pool.
type scratch struct {
	counts  [tiers][]uint32 // samples per template node
	used    [tiers]bool
	touched []bool
	factor  []float64 // per region of a Real template
	line    []byte
	end     []int32
	text    []byte
	starts  []int
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// draw fills in the counts of one profile.
func (sc *scratch) draw(b *benchmark, run int, shape Shape) {
	t := b.tree
	e := b.effects(run)
	r := newRand(b.seed, uint64(run), saltCounts)
	for k := range sc.counts {
		sc.used[k] = shape == Real || k == tiers-1
		if sc.used[k] {
			sc.counts[k] = resized(sc.counts[k], len(t.fn))
		}
	}
	slowEnd := t.slow + t.size[t.slow]
	if shape == Real {
		sc.drawRegions(b, run)
	}
	for _, s := range t.selfs {
		mean := s.mean
		if s.node >= t.slow && s.node < slowEnd {
			mean *= e.slow
		}
		if s.node >= e.spike && s.node < e.spikeEnd {
			mean *= e.spikeFactor
		}
		if shape == Real {
			mean *= sc.factor[t.region[s.node]]
		}
		n := r.poisson(mean)
		if n == 0 {
			continue
		}
		if shape == Large || !t.inJava[s.node] {
			sc.counts[tiers-1][s.node] = n
			continue
		}
		b.splitTiers(r, n, s.node, sc)
	}
}
