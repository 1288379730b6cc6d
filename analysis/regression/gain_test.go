package regression

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// TestGainMayBeNone: a callee takes less, and its caller more, on a machine whose speed varies by
// 30%: no improvement that is listed has an interval that holds 0.
func TestGainMayBeNone(t *testing.T) {
	listed := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		part := float64(seed%4) / 4 // of the gain
		speeds := make([]float64, 8)
		b := fixed(service(8, func(i int, run map[string]int64) {
			speed := math.Exp(0.3 * r.NormFloat64())
			speeds[i] = speed
			for _, path := range slices.Sorted(maps.Keys(run)) { // one order, so that a seed is one history
				m := float64(run[path]) * speed
				if i >= 4 && strings.HasSuffix(path, "main.escape") {
					m *= 0.4
				}
				if i >= 4 && strings.HasSuffix(path, "main.render") {
					m *= 1 + 0.45*part
				}
				run[path] = max(0, int64(math.Round(m+math.Sqrt(m)*r.NormFloat64())))
			}
		}))
		add := b.edit
		b.edit = func(i int, f *store.File) {
			add(i, f)
			f.Metrics = append(f.Metrics, testrun.Metric{Name: "time", Mean: 1000 * speeds[i], Unit: "ns/op", Better: testrun.Lower, Primary: true})
		}
		res := find(t, put(t, b), newest(4))
		for _, f := range res.Findings {
			if f.Kind != Improvement {
				continue
			}
			listed++
			if d := f.Delta.Time; d == nil || d.High >= 0 {
				t.Errorf("seed %d: %s %+v", seed, f.Function, d)
			}
		}
	}
	if listed < 100 {
		t.Errorf("only %d improvements", listed)
	}
}
