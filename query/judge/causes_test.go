package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"

	"github.com/dendroprof/dendro/test/runtest"
)

// toolchain returns a store of six benchmarks whose code takes so many times as long from night 12 on.
func toolchain(t *testing.T, times float64) store.Store {
	t.Helper()
	var runs []runtest.Run
	for b := range 6 {
		r := rand.New(rand.NewPCG(uint64(b), 1))
		weights := make([]float64, 20)
		for k := range weights {
			weights[k] = 50 + 500*r.ExpFloat64()
		}
		for i := range 18 {
			var stacks []string
			for k, w := range weights {
				if i >= 12 {
					w *= times
				}
				w *= 1 + 0.02*r.NormFloat64()
				stacks = append(stacks, fmt.Sprintf("main;run;m%d.f%d;m%d.g%d %d", b, k, b, k, int(w+r.NormFloat64()*5)))
			}
			runs = append(runs, runtest.Run{Benchmark: fmt.Sprint("b", b), Key: fmt.Sprintf("n%02d", i), Operations: 100,
				Stacks: strings.Join(stacks, ", ")})
		}
	}
	return runtest.Store(t, runs...)
}

// TestChangesHaveNames: a change of all code keeps its size and its note while later runs show places in which it
// is seen most.
func TestChangesHaveNames(t *testing.T) {
	list, err := Regressions(t.Context(), toolchain(t, 0.85), withDefaults[RegressionsRequest](t, nil))
	if err != nil || len(list.Findings) == 0 {
		t.Fatal(list, err)
	}
	for i := range list.Findings {
		if f := &list.Findings[i]; report.Label(f) == "" && (f.Note == "" || math.Abs(f.Delta.Share+0.15) > 0.01) {
			t.Errorf("%+v", f)
		}
	}
}
