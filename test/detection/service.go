package detection

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
)

// Service is a simulated service of many instances, all of which are profiled all day at
// 100 samples a second, and of which a new version is slower in one function.
type Service struct {
	Seed      uint64
	Instances int
	Canary    int     // instances of the new version; 0: all, on the second day
	Nodes     int     // of the program, about
	Hours     int     // of each version
	Step      int     // hours of a window; 0: 1
	Minutes   int     // of a window, in place of Step
	Jitter    float64 // deviation of a function's cost between instances; 0: 2 to 10%
	Share     float64 // of the function that changes, about; 0: 1 to 10%
	Impact    float64 // cost of the change, as a share of the program
	Slower    float64 // the same as a share of the function, in place of Impact

	// What differs between the versions beside their code.
	Warm    time.Duration // in which instances whose start is seen compile: cost and compiler fall by e
	Rollout time.Duration // in which the instances of a version start one after the other, with Canary
	Before  time.Duration // for which the version before runs alone, from the start of its instances on, which the store has
	Length  time.Duration // for which the new version runs, in place of Hours
	Load    float64       // of the new version's instances, as a factor; 0: 1
	Mix     float64       // deviation of a module's cost because they answer other requests
	Machine float64       // the same because they run on another type of machine, which has a label
}

// The noise of services.
const (
	loadNoise  = 0.10 // of an instance, all day
	mixNoise   = 0.02 // of a function in all instances, from hour to hour: other requests
	dayMix     = 0.05 // of a module over the day: by night other requests than by day
	dayLoad    = 0.5  // of a day's mean: the load's amplitude
	coresInUse = 0.5
)

// Push stores the windows of the service and returns the name of its slower function.
func (s *Service) Push(ctx context.Context, st *mem.Store) (slower string, err error) {
	r := rand.New(rand.NewPCG(s.Seed, 0xbb67ae8584caa73b))
	p := newProgram(r, s.Nodes)
	fn := s.choose(r, p)
	forest, paths := new(calltree.Forest), make([]int32, len(p.nodes))
	for n, node := range p.nodes {
		at := calltree.NoNode
		if node.parent >= 0 {
			at = paths[node.parent]
		}
		f := p.fns[node.fn]
		paths[n] = forest.Path(at, forest.Function(profile.Function{Name: f.name, Kind: f.kind}))
	}
	instance := make([][]float64, s.Instances)
	for i := range instance {
		instance[i] = append([]float64{logNormal(r, loadNoise)},
			noises(r, p, func(f *simFunction) float64 { return cmp.Or(s.Jitter, f.jitter) })...)
	}
	module := make([]float64, simModules+1)
	for i := range module {
		module[i] = dayMix * r.NormFloat64()
	}
	grown, step := s.Slower, max(1, s.Step)
	if grown == 0 {
		grown = s.Impact / p.selfs()[fn]
	}
	versions := 2
	if s.Canary > 0 {
		versions = 1
	}
	length := time.Duration(step) * time.Hour
	if s.Minutes > 0 {
		length = time.Duration(s.Minutes) * time.Minute
	}
	differs, cold := s.conditions(p)
	end := cmp.Or(s.Length, time.Duration(s.Hours*versions)*time.Hour)
	if s.Before > 0 { // the version before that
		w := s.window(s.Instances, -s.Before-length, length, "0.9")
		if _, err := st.PutWindows(ctx, []*continuous.Window{w}); err != nil {
			return "", err
		}
	}
	for at := -s.Before; at < end; at += length {
		hour := at.Hours()
		mix := noises(r, p, func(*simFunction) float64 { return mixNoise })
		day := math.Sin(2 * math.Pi * hour / 24)
		for f := range mix {
			mix[f] *= math.Exp(day * module[p.fns[f].module+1])
		}
		var list []*continuous.Window
		for i := range s.Instances {
			isNew := i < s.Canary || s.Canary == 0 && at >= time.Duration(s.Hours)*time.Hour
			load := 100 * length.Seconds() * coresInUse * (1 + dayLoad*day) * instance[i][0]
			version, age := "1.0", at-s.start(i, isNew)
			if isNew {
				version = "1.1"
				load *= cmp.Or(s.Load, 1)
			}
			if age < 0 {
				continue
			}
			warm := 0.0
			if s.Warm > 0 && (isNew || s.Before > 0) {
				warm = math.Exp(-float64(age) / float64(s.Warm))
			}
			w := s.window(i, at, length, version)
			w.Forest = forest
			for n, node := range p.nodes {
				cost := node.cost * mix[node.fn] * instance[i][1+node.fn]
				if isNew && node.fn == fn {
					cost *= 1 + grown
				}
				if isNew {
					cost *= differs[node.fn]
				}
				cost *= 1 + warm*cold[node.fn]
				if x := poisson(r, load*cost); x > 0 {
					w.Self.Nodes, w.Self.Self = append(w.Self.Nodes, paths[n]), append(w.Self.Self, x*10_000_000)
				}
			}
			w.Self = calltree.AddVectors(w.Self)
			list = append(list, w)
		}
		if _, err := st.PutWindows(ctx, list); err != nil {
			return "", err
		}
	}
	return p.fns[fn].name, nil
}

// start returns when an instance starts.
func (s *Service) start(i int, isNew bool) time.Duration {
	switch {
	case s.Canary == 0 && isNew:
		return time.Duration(s.Hours) * time.Hour
	case s.Canary == 0:
		return 0
	case isNew:
		return s.Rollout * time.Duration(i) / time.Duration(s.Canary)
	}
	return s.Rollout*time.Duration(i-s.Canary)/time.Duration(s.Instances-s.Canary) - s.Before
}

// choose returns a function of the program's own: the one whose share is nearest to Share, or
// any that has between 1 and 10%.
func (s *Service) choose(r *rand.Rand, p *simProgram) int {
	if s.Share > 0 {
		nearest, by := 0, math.Inf(1)
		for fn, share := range p.selfs() {
			if d := math.Abs(math.Log(share / s.Share)); p.own(fn) && d < by {
				nearest, by = fn, d
			}
		}
		return nearest
	}
	var can []int
	for fn, share := range p.selfs() {
		if p.own(fn) && share > 0.01 && share < 0.1 {
			can = append(can, fn)
		}
	}
	if len(can) == 0 {
		return slices.Index(p.selfs(), slices.Max(p.selfs()))
	}
	return can[r.IntN(len(can))]
}

// conditions returns how the cost of each function differs in the new version's instances though its
// code does not, and what it costs in addition before it was compiled.
func (s *Service) conditions(p *simProgram) (differs, cold []float64) {
	r := rand.New(rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15))
	modules := make([]float64, simModules+1)
	for i := range modules {
		modules[i] = logNormal(r, s.Mix)
	}
	for i := range p.fns {
		differs = append(differs, modules[p.fns[i].module+1]*logNormal(r, s.Machine))
		cold = append(cold, r.ExpFloat64())
	}
	return differs, cold
}

// noises returns a factor of each function's cost.
func noises(r *rand.Rand, p *simProgram, sigma func(*simFunction) float64) []float64 {
	list := []float64{}
	for i := range p.fns {
		list = append(list, logNormal(r, sigma(&p.fns[i])))
	}
	return list
}

func (s *Service) window(i int, at, length time.Duration, version string) *continuous.Window {
	machine := "m5.large"
	if version == "1.1" && s.Machine > 0 {
		machine = "m7.large"
	}
	w := &continuous.Window{
		Series: continuous.Series{Service: "shop", Type: continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds",
			PeriodType: "cpu", PeriodUnit: "nanoseconds"},
			Labels: continuous.Labels{{Name: "instance_type", Value: machine}, {Name: "pod", Value: fmt.Sprintf("shop-%d", i)},
				{Name: "service_version", Value: version}}},
		Start: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC).Add(at), Length: length,
		Type: profile.ValueType{Name: profile.CPU, Unit: "nanoseconds", Period: 10_000_000, PeriodUnit: "nanoseconds"},
	}
	binary.LittleEndian.PutUint32(w.Hash[:], uint32(int(at/time.Minute)*(s.Instances+1)+i))
	return w
}
