package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// ofService returns runs of a service: samples of functions that follow its load, and deviate
// from it in each run by so much.
func ofService(r *rand.Rand, loads []float64, functions int, deviation float64, samples func(run, fn int) float64) *bench {
	b := &bench{group: "g", name: "cpu"}
	for i, load := range loads {
		run := map[string]int64{}
		for fn := range functions {
			level := samples(i, fn) * load * math.Exp(deviation*r.NormFloat64())
			run[fmt.Sprintf("main.main;shop.Serve;shop.f%d", fn)] = max(0, int64(math.Round(level+math.Sqrt(level)*r.NormFloat64())))
		}
		b.runs = append(b.runs, run)
	}
	b.edit = func(_ int, f *store.File) { f.Metrics = append(f.Metrics, testrun.NewOperations(60, false)) }
	return b
}

// TestLoadOfService: a load that halves or doubles with a release is neither a gain nor a cost of
// the program, and chance alone makes few functions findings.
func TestLoadOfService(t *testing.T) {
	functions := 0
	for _, load := range []float64{0.5, 0.7, 1.5, 2.2} {
		for seed := range uint64(20) {
			loads := []float64{1, 1, 1, 1, 1, 1, load, load, load, load, load, load}
			b := ofService(rand.New(rand.NewPCG(seed, 1)), loads, 20, 0.05, func(_, fn int) float64 { return float64(200 * (fn + 1)) })
			req := newest(6)
			req.Service = true
			for _, f := range find(t, put(t, b), req).Findings {
				if f.Function == "" {
					t.Errorf("load %.1f, seed %d: %s %s, %s", load, seed, f.Status, f.Kind, f.Note)
				} else if f.Status == Confirmed && f.Kind.Costs() {
					functions++
				}
			}
		}
	}
	if functions > 4 {
		t.Errorf("%d of 80 comparisons confirm a function that did not change", functions)
	}
}

// TestPowerOfService: of a service with few samples too, a confirmed finding is not smaller than
// the change that the report says is detected.
func TestPowerOfService(t *testing.T) {
	confirmed := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := ofService(r, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 15, 0.1, func(run, fn int) float64 {
			if run >= 6 && fn == 0 {
				return 9
			}
			return 4
		})
		req := newest(6)
		req.Service = true
		res := find(t, put(t, b), req)
		for _, f := range costs(res.Findings) {
			detects := 0.0
			for _, c := range res.Benchmarks[0].Analyses[len(res.Benchmarks[0].Analyses)-1].Detectable.Changes {
				if c.Share == powerShare {
					detects = c.Change
				}
			}
			if f.Status == Confirmed && f.Kind == Regression {
				if confirmed++; math.Max(f.Delta.Gross, f.Delta.Share) < detects {
					t.Errorf("seed %d: confirmed %s of %.1f%%, though %.1f%% are detected", seed, f.Function, 100*f.Delta.Share, 100*detects)
				}
			}
		}
	}
	if confirmed == 0 {
		t.Error("nothing is confirmed")
	}
}

// TestLibraryOfService: a library's function that many functions call is found in a release that makes it slower,
// though none of its callers shows its part of that within its own noise.
func TestLibraryOfService(t *testing.T) {
	const days, callers = 30, 20
	found := 0
	for seed := range uint64(days) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := ofService(r, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, callers, 0.05, func(int, int) float64 { return 2000 })
		for i, run := range b.runs {
			for fn := range callers {
				level := 100.0
				if i >= 6 {
					level = 130
				}
				run[fmt.Sprintf("main.main;shop.Serve;shop.f%d;lib.Encode", fn)] = int64(level + math.Sqrt(level)*r.NormFloat64())
			}
		}
		req := newest(6)
		req.Service, req.Own = true, []string{"shop"}
		if slices.ContainsFunc(costs(find(t, put(t, b), req).Findings), func(f Finding) bool { return f.Headline.Calls == "lib.Encode" }) {
			found++
		}
	}
	if found < days*9/10 {
		t.Errorf("found in %d of %d releases", found, days)
	}
}
