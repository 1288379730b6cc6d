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

// tiers is the number of compile states that a stack's frames can have during
// one run, for instance interpreted, compiled by C1 and compiled by C2.
const tiers = 3

// scratch is the memory of one rendering, reused through a pool.
type scratch struct {
	drawn  []drawn
	factor []float64 // per class of regions of a Real template
	line   []byte
	end    []int32 // of the frame at each depth of line
	path   []int32 // the node at each depth of line
	below  []int32
	text   []byte
	starts []int // of the lines of the text
}

// drawn is a node that got samples, by tier. Nodes are in depth-first order.
type drawn struct {
	node  int32
	count [tiers]uint32
}

// draw draws the counts of one profile.
func (sc *scratch) draw(b *benchmark, run int, shape Shape) {
	t := b.tree
	e := b.effects(run)
	r := newRand(b.seed, uint64(run), saltCounts)
	sc.drawn = sc.drawn[:0]
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
			mean *= sc.factor[t.region[s.node]%regionClasses]
		}
		n := r.poisson(mean)
		if n == 0 {
			continue
		}
		d := drawn{node: s.node}
		if shape == Real {
			d.count = b.splitTiers(r, n, s.node)
		} else {
			d.count[0] = n
		}
		sc.drawn = append(sc.drawn, d)
	}
}
