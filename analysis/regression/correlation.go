package regression

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Correlation says which series of a function and of a benchmark are compared.
// The zero value is the default.
type Correlation struct {
	// Samples takes a function's self samples as they are, instead of its share of
	// the profile: with Raw, the thesis's formula.
	Samples bool
	// Raw takes the metric as it is stored, instead of as a time: a rate is better
	// higher, and correlates the other way round.
	Raw   bool
	Least int  // profiles with the function and a metric; default 2
	Max   bool // order by the largest correlation of a benchmark instead of the mean
}

// Correlated is a function whose samples go with the time of benchmarks.
type Correlated struct {
	Function   string  `json:"function"`
	Score      float64 `json:"score"` // mean, or largest, correlation over its benchmarks
	Benchmarks int     `json:"benchmarks"`
	Profiles   int     `json:"profiles"` // that have the function and a metric
}

// series accumulates the co-moments of x and y (Welford's update in two
// variables).
type series struct {
	n          int
	mx, my     float64
	xx, yy, xy float64
}

func (s *series) add(x, y float64) {
	s.n++
	n := float64(s.n)
	dx, dy := x-s.mx, y-s.my
	s.mx += dx / n
	s.my += dy / n
	s.xx += dx * (x - s.mx)
	s.yy += dy * (y - s.my)
	s.xy += dx * (y - s.my)
}

// leastProduct is the product of deviations at or below which a correlation is 0.
const leastProduct = 1e-8

func (s *series) r() float64 {
	if d := math.Sqrt(s.xx) * math.Sqrt(s.yy); d > leastProduct {
		return math.Max(-1, math.Min(1, s.xy/d))
	}
	return 0
}

// Correlate ranks functions by how far their self samples go with the time of the
// selected profiles: Pearson's r per benchmark, then the mean over benchmarks.
// That is what finds a slower library that many benchmarks share: each run of each
// benchmark is a witness. Profiles without a metric are left out and counted. The
// answer is by falling score; what is at its end got cheaper where time grew.
func Correlate(ctx context.Context, st store.Reader, q store.Query, c Correlation) (list []Correlated, without int, err error) {
	if c.Least == 0 {
		c.Least = 2
	}
	if _, err := store.Select(ctx, st, q); err != nil {
		return nil, 0, err
	}
	set, err := st.Functions(ctx, q, nil)
	if err != nil {
		return nil, 0, err
	}
	type key struct {
		benchmark testrun.Benchmark
		function  int32
	}
	all := map[key]*series{}
	metric, without := metrics(set.Profiles, c.Raw)
	for rows, err := range set.Rows {
		if err != nil {
			return nil, 0, err
		}
		for i, p := range rows.Profile {
			y, ok := metric[p]
			if !ok {
				continue
			}
			x := float64(rows.Self[i])
			if !c.Samples {
				x /= math.Max(1, float64(set.Profiles[p].Sum))
			}
			k := key{set.Profiles[p].Benchmark, rows.Function[i]}
			if all[k] == nil {
				all[k] = &series{}
			}
			all[k].add(x, y)
		}
	}
	sums := map[int32]*Correlated{}
	scores := map[int32][]float64{}
	for k, s := range all {
		if s.n < c.Least {
			continue
		}
		if sums[k.function] == nil {
			sums[k.function] = &Correlated{Function: set.Functions[k.function].Name}
		}
		sums[k.function].Profiles += s.n
		scores[k.function] = append(scores[k.function], s.r())
	}
	for f, r := range sums {
		r.Benchmarks = len(scores[f])
		slices.Sort(scores[f]) // so that the sum has one order
		for _, v := range scores[f] {
			r.Score += v / float64(r.Benchmarks)
		}
		if c.Max {
			r.Score = scores[f][r.Benchmarks-1]
		}
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Correlated) int {
		return cmp.Or(-cmp.Compare(a.Score, b.Score), -cmp.Compare(a.Profiles, b.Profiles), cmp.Compare(a.Function, b.Function))
	})
	return list, without, nil
}

// metrics returns y of the profiles that have one. As a time, it is relative to
// the benchmark's largest, so that the unit does not decide what counts as
// constant.
func metrics(profiles []store.Profile, raw bool) (y map[int32]float64, without int) {
	y = map[int32]float64{}
	largest := map[testrun.Benchmark]float64{}
	for i := range profiles {
		m, ok := profiles[i].Metric()
		v := m.Mean
		if !raw && m.Better == testrun.Higher {
			v = 1 / v
		}
		if !ok || math.IsInf(v, 0) || !raw && !(v > 0) {
			without++
			continue
		}
		y[int32(i)] = v
		largest[profiles[i].Benchmark] = math.Max(largest[profiles[i].Benchmark], v)
	}
	if !raw {
		for p := range y {
			y[p] /= largest[profiles[p].Benchmark]
		}
	}
	return y, without
}
