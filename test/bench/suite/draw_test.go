package suite

import (
	"math"
	"testing"
)

func TestPoisson(t *testing.T) {
	r := newRand(1)
	for _, mean := range []float64{0.001, 0.3, 4, 23, 25, 900} {
		const n = 200_000
		sum, squares := 0.0, 0.0
		for range n {
			x := float64(r.poisson(mean))
			sum += x
			squares += x * x
		}
		m := sum / n
		v := squares/n - m*m
		// Five standard errors of the mean, and of the variance (μ + 2μ²)/n.
		if math.Abs(m-mean) > 5*math.Sqrt(mean/n) {
			t.Errorf("mean %v of %v", m, mean)
		}
		if math.Abs(v-mean) > 5*math.Sqrt((mean+2*mean*mean)/n)+0.001*mean {
			t.Errorf("variance %v of %v", v, mean)
		}
	}
}

func TestNorm(t *testing.T) {
	r := newRand(2)
	const n = 100_000
	var sum, squares float64
	for range n {
		x := r.norm()
		sum += x
		squares += x * x
	}
	if m := sum / n; math.Abs(m) > 0.02 {
		t.Errorf("mean %v", m)
	}
	if v := squares / n; math.Abs(v-1) > 0.03 {
		t.Errorf("variance %v", v)
	}
}

// The planted effects: the metric goes with the slow subtree's share, and about
// one run in twenty has a heavier subtree.
func TestEffects(t *testing.T) {
	s := New(Config{Groups: 1, Benchmarks: 1, Runs: 400, Scale: 0.1})
	b := s.benchmarks[0]
	if b.tree.share < 0.05 || b.tree.share > 0.3 {
		t.Errorf("the slow subtree has %.2f of the samples", b.tree.share)
	}
	var x, y []float64
	spikes := 0
	sc := new(scratch)
	for run := range 400 {
		e := b.effects(run)
		if e.spikeEnd > e.spike {
			spikes++
			if e.spikeFactor < 2 || e.spikeFactor > 4 {
				t.Errorf("factor %v", e.spikeFactor)
			}
			continue
		}
		sc.draw(b, run, Large)
		slow, all := 0.0, 0.0
		for _, d := range sc.drawn {
			all += float64(d.count[0])
			if d.node >= b.tree.slow && d.node < b.tree.slow+b.tree.size[b.tree.slow] {
				slow += float64(d.count[0])
			}
		}
		x, y = append(x, slow/all), append(y, e.metric)
	}
	if spikes < 8 || spikes > 36 {
		t.Errorf("%d of 400 runs have a spike", spikes)
	}
	if r := pearson(x, y); r < 0.8 {
		t.Errorf("share and metric correlate with %.2f", r)
	}
}

func pearson(x, y []float64) float64 {
	n := float64(len(x))
	var sx, sy, sxx, syy, sxy float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
		sxx, syy, sxy = sxx+x[i]*x[i], syy+y[i]*y[i], sxy+x[i]*y[i]
	}
	return (sxy - sx*sy/n) / math.Sqrt((sxx-sx*sx/n)*(syy-sy*sy/n))
}

// Each function of a Real suite has one or a few compile states in a run, and
// stacks without a function of several are not split.
func TestTiers(t *testing.T) {
	s := New(Config{Shape: Real, Groups: 2, Benchmarks: 1, Runs: 1, Scale: 0.1})
	for _, b := range s.benchmarks {
		several, total := 0, 0
		for i, fn := range b.tree.fn {
			if s.funcs.funcs[fn].kind != java || b.tree.parent[i] < 0 {
				continue
			}
			total++
			if n := b.compiled(fn); n > 1 {
				several++
				if int(b.tree.tiers[i]) < n {
					t.Errorf("path of %d tiers with a function of %d", b.tree.tiers[i], n)
				}
			}
		}
		if several == 0 || several > total/2 {
			t.Errorf("%d of %d nodes have several states", several, total)
		}
	}
}
