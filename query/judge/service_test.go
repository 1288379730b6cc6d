package judge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
)

// released returns a store with two releases of a service, in the newer of which one of ten
// functions takes so many times the time.
func released(t *testing.T, seed uint64, factor float64) *mem.Store {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	st := mem.New()
	forest := &calltree.Forest{}
	var nodes []int32 // the handlers of two requests, which call a library
	for i := range 10 {
		node := calltree.NoNode
		for _, name := range []string{"main.main", fmt.Sprintf("main.handle%d", i%2), fmt.Sprintf("example.com/lib.f%d", i)} {
			node = forest.Path(node, forest.Function(profile.Function{Name: name}))
		}
		nodes = append(nodes, node)
	}
	for hour := range 12 {
		version := "v1"
		if hour >= 6 {
			version = "v2"
		}
		for minute := range 60 {
			var self []int64
			for i := range nodes {
				samples := 20.0
				if i == 3 && hour >= 6 {
					samples *= factor
				}
				self = append(self, int64(samples*(1+0.2*r.NormFloat64()))*1e7)
			}
			w := &continuous.Window{Start: time.Date(2026, 11, 20, hour, minute, 0, 0, time.UTC), Length: time.Minute, Type: profile.NamedType("cpu"), Forest: forest, Hash: profile.Hash{byte(hour), byte(minute)},
				Series: continuous.Series{Service: "shop", Type: continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds"},
					Labels: continuous.Labels{{Name: "version", Value: version}}},
				Self: calltree.Vector{Nodes: nodes, Self: self}}
			if _, err := st.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return st
}

// TestCheckOfService: a check of releases fails exactly if dendro watch posts something of them.
func TestCheckOfService(t *testing.T) {
	failed := 0
	for _, factor := range []float64{1, 1.05, 1.1, 1.3, 2} {
		for seed := range uint64(4) {
			st := released(t, seed, factor)
			found, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, map[string]string{"service": "shop"}))
			if err != nil {
				t.Fatal(err)
			}
			doc, err := Check(t.Context(), st, withDefaults[CheckRequest](t, map[string]string{"service": "shop"}))
			if err != nil {
				t.Fatal(err)
			}
			posted := slices.ContainsFunc(found.Findings, func(f regression.Finding) bool { return f.Stands(false) })
			if doc.Verdict.Failed != posted {
				t.Errorf("factor %g, seed %d: failed %v, posted %v: %s", factor, seed, doc.Verdict.Failed, posted, doc.Verdict.Why)
			}
			if posted {
				failed++
			} else if factor >= 1.1 {
				t.Errorf("factor %g, seed %d: nothing posted", factor, seed)
			}
		}
	}
	if failed == 20 {
		t.Error("every comparison fails")
	}
}
