package profiles

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// TestMoments compares the moments of sums that two workers added with those computed from
// their definition, for numbers far from zero, some profiles without a metric.
func TestMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for round := range 50 {
		var profiles []store.Profile
		var rows columns
		for i := range 2 + r.IntN(30) {
			p := store.Profile{Benchmark: testrun.Benchmark{Name: "b"}, Sum: 1}
			if round%2 == 0 || r.IntN(3) > 0 {
				p.Metrics = []testrun.Metric{{Mean: 1e6 + r.Float64()}}
			}
			profiles = append(profiles, p)
			rows.profile, rows.fn, rows.self = append(rows.profile, int32(i)), append(rows.fn, 3), append(rows.self, 1e9+r.Int64N(100))
		}
		var benchmarks []string
		series := newSeries(profiles, store.Measure{Self: true}, &benchmarks)
		parts := make([]sums, 3) // one has nothing
		split := r.IntN(len(profiles))
		for w, part := range []columns{
			{profile: rows.profile[:split], fn: rows.fn[:split], self: rows.self[:split]},
			{profile: rows.profile[split:], fn: rows.fn[split:], self: rows.self[split:]},
		} {
			parts[w].index = make([][]int32, 1)
			parts[w].add(series, part, 4)
		}
		all := mergeSums(parts, 4)
		got := all.rows[0].moments(3, series.meanY[0])

		want := store.Moments{Function: 3}
		for i, p := range profiles {
			want.N++
			want.Mean += float64(rows.self[i])
			if len(p.Metrics) > 0 {
				want.NY++
				want.MeanX += float64(rows.self[i])
				want.MeanY += p.Metrics[0].Mean
			}
		}
		want.Mean /= float64(want.N)
		want.MeanX /= max(1, float64(want.NY))
		want.MeanY /= max(1, float64(want.NY))
		for i, p := range profiles {
			want.M2 += math.Pow(float64(rows.self[i])-want.Mean, 2)
			if len(p.Metrics) > 0 {
				dx, dy := float64(rows.self[i])-want.MeanX, p.Metrics[0].Mean-want.MeanY
				want.M2X, want.M2Y, want.CovC = want.M2X+dx*dx, want.M2Y+dy*dy, want.CovC+dx*dy
			}
		}
		near := func(name string, got, want float64) {
			if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("round %d: %s is %v, want %v", round, name, got, want)
			}
		}
		if got.N != want.N || got.NY != want.NY || got.Function != want.Function {
			t.Errorf("round %d: %+v, want %+v", round, got, want)
		}
		near("mean", got.Mean, want.Mean)
		near("M2", got.M2, want.M2)
		near("mean of x", got.MeanX, want.MeanX)
		near("mean of y", got.MeanY, want.MeanY)
		near("M2 of x", got.M2X, want.M2X)
		near("M2 of y", got.M2Y, want.M2Y)
		near("covariance", got.CovC, want.CovC)
	}
}
