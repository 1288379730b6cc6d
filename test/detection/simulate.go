package detection

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Plan is one simulated history. Equal plans give equal histories.
type Plan struct {
	Seed      uint64
	Nodes     int     // call nodes of the program, about
	Runs      int     // before the change
	K         int     // with the change
	Samples   int     // of a mean run
	FixedWork bool    // the number of samples follows the cost; else the time is fixed
	Kind      string  // of change; see planter.plant
	Impact    float64 // share of the program
}

// Simulated is a history with a known change in its last K runs.
type Simulated struct {
	Plan  Plan
	Truth Truth
	// Table, Profiles and Vectors are what a store would answer.
	Table    *calltree.Table
	Profiles []store.Profile
	Vectors  []calltree.Vector
}

// simRun is the state of the machine and the compiler in one run.
type simRun struct {
	applied  float64 // part of the planted change that is there
	machine  float64
	function []float64
	inlined  map[[2]int]bool
	gc, jit  float64
}

// Simulate makes up a program, plants a change and samples runs. It returns false
// when the program has no place for such a change.
func Simulate(plan Plan) (*Simulated, bool) {
	r := rand.New(rand.NewPCG(plan.Seed, 0x6a09e667f3bcc908))
	p := newProgram(r, plan.Nodes)
	before := len(p.nodes)
	pl := newPlanter(r, p, plan)
	if !pl.plant() {
		return nil, false
	}
	s := &Simulated{Plan: plan, Truth: pl.t}
	forest := &calltree.Forest{}
	var sums []map[int32]int64
	total := plan.Runs + plan.K
	for t := range total {
		run := pl.run(t, total)
		counts, metric := pl.sample(run, before, forest)
		sums = append(sums, counts)
		s.Profiles = append(s.Profiles, store.Profile{ID: store.ProfileID(fmt.Sprintf("%016x", t)),
			Benchmark: testrun.Benchmark{Group: "sim", Name: fmt.Sprintf("h%d", plan.Seed)},
			Run:       testrun.Run{Key: fmt.Sprintf("run-%03d", t), Date: time.Date(2026, 1, 1+t, 3, 0, 0, 0, time.UTC)},
			Type:      profile.ValueType{Name: profile.CPUSamples, Unit: "count"},
			Metrics:   []testrun.Metric{{Name: "time", Mean: metric, Unit: "ms/op", Better: testrun.Lower, Primary: true}}})
	}
	s.cut(forest, sums)
	return s, true
}

// cut makes the table and the vectors of all runs.
func (s *Simulated) cut(forest *calltree.Forest, sums []map[int32]int64) {
	used := map[int32]bool{}
	for _, c := range sums {
		for p := range c {
			used[p] = true
		}
	}
	cut := forest.Cut(slices.Sorted(maps.Keys(used)))
	s.Table = cut.Table
	for i, c := range sums {
		var v calltree.Vector
		for _, p := range slices.Sorted(maps.Keys(c)) { // one plan is one history: others draw per node of it
			n, _ := cut.Node(p)
			v.Nodes = append(v.Nodes, n)
			v.Self = append(v.Self, c[p])
			s.Profiles[i].Sum += c[p]
		}
		s.Vectors = append(s.Vectors, v)
	}
}

// Rows prepares the history as an analysis of a store would.
func (s *Simulated) Rows() *regression.Rows {
	series := &history.Series{Benchmark: s.Profiles[0].Benchmark, Type: s.Profiles[0].Type, Profiles: s.Profiles}
	return regression.Prepare(series, history.NewMatrix(s.Table, s.Profiles, s.Vectors))
}

// Split returns the runs before the change and the last k.
func (s *Simulated) Split(k int) (hist, tested []int) {
	n := len(s.Profiles)
	for t := range n {
		if t < n-k {
			hist = append(hist, t)
		} else {
			tested = append(tested, t)
		}
	}
	return hist, tested
}

// The noise of runs.
const (
	machineNoise = 0.01
	memoryNoise  = 0.015
	moduleNoise  = 0.012
	contextNoise = 0.02
	metricNoise  = 0.007
	lengthNoise  = 0.03
	slowRunShare = 0.06 // runs on a machine that is 5 to 30% slower
	longGCShare  = 0.1  // runs in which the collector takes half as much again
	onceLeast    = 5    // stacks of a run that no other run has
	onceMore     = 20
	spikesBefore = 3 // and twice as many: runs with spikes
)

// run draws the state of run t.
func (pl *planter) run(t, total int) *simRun {
	r := pl.r
	run := &simRun{machine: logNormal(r, machineNoise), inlined: map[[2]int]bool{}, gc: logNormal(r, 0.2), jit: logNormal(r, 0.35)}
	memory := logNormal(r, memoryNoise)
	changed := t >= pl.plan.Runs
	slow := r.Float64() < slowRunShare
	if slow || pl.plan.Kind == "slow" && changed {
		run.machine *= 1.05 + 0.25*r.Float64()
		memory *= 1.03 + 0.07*r.Float64()
	}
	if r.Float64() < longGCShare {
		run.gc *= 1.5
	}
	modules := make([]float64, simModules)
	for i := range modules {
		modules[i] = logNormal(r, moduleNoise)
	}
	for i := range pl.p.fns {
		f := &pl.p.fns[i]
		c := logNormal(r, f.jitter)
		if f.module >= 0 {
			c *= modules[f.module]
		}
		if f.memory {
			c *= memory
		}
		if f.flip > 0 && r.Float64() < f.flip {
			c *= f.flipCost
		}
		run.function = append(run.function, c)
	}
	switch pl.plan.Kind {
	case "drift":
		run.applied = float64(t) / float64(total-1)
	case "spikes":
		if t == pl.plan.Runs-spikesBefore || t == pl.plan.Runs-2*spikesBefore {
			run.applied = 1
		}
	default:
		if changed {
			run.applied = 1
		}
	}
	for _, in := range pl.p.inlined {
		if r.Float64() < in.probability {
			run.inlined[[2]int{in.caller, in.callee}] = true
		}
	}
	for pair := range pl.e.inlined {
		run.inlined[pair] = run.applied > 0
	}
	for pair := range pl.e.uninlined {
		run.inlined[pair] = run.applied == 0
	}
	return run
}

// sample draws the profile of a run: counts by path of the forest, and the metric.
// Nodes from before on exist only with the change.
func (pl *planter) sample(run *simRun, before int, forest *calltree.Forest) (map[int32]int64, float64) {
	r := pl.r
	cost, sum := pl.costs(run, before)
	mean := float64(pl.plan.Samples) * logNormal(r, lengthNoise)
	if pl.plan.FixedWork {
		mean = float64(pl.plan.Samples) * sum * run.machine * logNormal(r, machineNoise)
	}
	metric := 100 * sum * run.machine * logNormal(r, metricNoise)
	ids := make([]int32, len(pl.p.fns))
	for i := range pl.p.fns {
		ids[i] = -1
	}
	function := func(i int) int32 {
		if ids[i] < 0 {
			f := profile.Function{Name: pl.p.fns[i].name, Kind: pl.p.fns[i].kind}
			if name, ok := pl.e.renamed[i]; ok && run.applied > 0 {
				f.Name = name
			}
			ids[i] = forest.Function(f)
		}
		return ids[i]
	}
	counts := map[int32]int64{}
	emitted := make([]int32, len(pl.p.nodes))
	for i, n := range pl.p.nodes {
		parent := calltree.NoNode
		if n.parent >= 0 {
			parent = emitted[n.parent]
		}
		if emitted[i] = parent; i >= before && run.applied == 0 {
			continue
		}
		if n.parent < 0 || !run.inlined[[2]int{pl.p.nodes[n.parent].fn, n.fn}] {
			emitted[i] = forest.Path(parent, function(n.fn))
		}
		if x := poisson(r, mean*cost[i]/sum); x > 0 {
			counts[emitted[i]] += x
		}
	}
	for range onceLeast + r.IntN(onceMore) { // class loading, rare branches
		fn := r.IntN(len(pl.p.fns))
		at := emitted[r.IntN(before)]
		if pl.p.own(fn) {
			counts[forest.Path(at, function(fn))] += 1 + int64(r.ExpFloat64()*float64(pl.plan.Samples)/2e4)
		}
	}
	return counts, metric
}

// costs draws what every node costs in a run, and their sum.
func (pl *planter) costs(run *simRun, before int) (cost []float64, sum float64) {
	r := pl.r
	cost = make([]float64, len(pl.p.nodes))
	for i, n := range pl.p.nodes {
		v := 0.0
		if i < before {
			v = n.cost * run.function[n.fn] * logNormal(r, contextNoise)
		}
		switch f := &pl.p.fns[n.fn]; {
		case f.kind != profile.KindVM:
		case f.name[0] == 'C':
			v *= run.jit
		case f.name[0] != 's':
			v *= run.gc
		}
		if n.rare > 0 {
			if r.Float64() < n.rare {
				v /= n.rare
			} else {
				v = 0
			}
		}
		if m, ok := pl.e.scale[i]; ok {
			v *= 1 + (m-1)*run.applied
		}
		if x, ok := pl.e.extra[i]; ok && run.applied > 0 {
			v += x * run.applied * run.function[n.fn] * logNormal(r, contextNoise)
		}
		cost[i] = v
		sum += v
	}
	return cost, sum
}

// poisson draws a Poisson count: by products of uniforms for small means, by the
// transformed rejection of Hörmann (1993, PTRS) for large ones.
func poisson(r *rand.Rand, mean float64) int64 {
	if mean <= 0 {
		return 0
	}
	if mean < 30 {
		limit, product := math.Exp(-mean), r.Float64()
		n := int64(0)
		for ; product > limit; n++ {
			product *= r.Float64()
		}
		return n
	}
	b := 0.931 + 2.53*math.Sqrt(mean)
	a := -0.059 + 0.02483*b
	alpha := 1.1239 + 1.1328/(b-3.4)
	sure := 0.9277 - 3.6224/(b-2)
	for {
		u, v := r.Float64()-0.5, r.Float64()
		edge := 0.5 - math.Abs(u)
		k := math.Floor((2*a/edge+b)*u + mean + 0.43)
		if edge >= 0.07 && v <= sure {
			return int64(k)
		}
		if k < 0 || edge < 0.013 && v > edge {
			continue
		}
		lg, _ := math.Lgamma(k + 1)
		if math.Log(v*alpha/(a/(edge*edge)+b)) <= k*math.Log(mean)-mean-lg {
			return int64(k)
		}
	}
}
