package storetest

import (
	"context"
	"math"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// fast is an engine with answers of its own, by other methods than those of
// package store, and at wish with a fault.
type fast struct {
	store.Store
	wrongSums, wrongMoments, anyType bool
}

func (f fast) Aggregates() store.Aggregates {
	return store.Aggregates{SumFunctions: f.SumFunctions, FunctionMoments: f.FunctionMoments, MergeTrees: f.MergeTrees}
}

func (f fast) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	sums, err := store.SumFunctions(ctx, plain{f.Store}, q)
	if err == nil && f.wrongSums && len(sums.Rows) > 1 {
		sums.Rows[1].SelfShare += 1e-6
	}
	return sums, err
}

// FunctionMoments computes in two passes: means first, then deviations.
func (f fast) FunctionMoments(ctx context.Context, q store.Query, m store.Measure) (*store.MomentSet, error) {
	set, err := f.Store.Functions(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	out := &store.MomentSet{Profiles: set.Profiles, Functions: set.Functions}
	benchmark := store.BenchmarkIndex(set.Profiles, &out.Benchmarks)
	series := map[[2]int32]*points{}
	for chunk, err := range set.Rows {
		if err != nil {
			return nil, err
		}
		for i, fn := range chunk.Function {
			p := &set.Profiles[chunk.Profile[i]]
			x := float64(chunk.Total[i])
			if m.Self {
				x = float64(chunk.Self[i])
			}
			if m.Share {
				x /= float64(p.Sum)
			}
			key := [2]int32{benchmark[chunk.Profile[i]], fn}
			if series[key] == nil {
				series[key] = &points{}
			}
			series[key].add(x, p)
		}
	}
	for b := range out.Benchmarks {
		for fn := range set.Functions {
			if s := series[[2]int32{int32(b), int32(fn)}]; s != nil {
				row := s.moments()
				row.Benchmark, row.Function = int32(b), int32(fn)
				if f.wrongMoments && row.N > 2 {
					row.M2 *= 1 + 1e-6
				}
				out.Rows = append(out.Rows, row)
			}
		}
	}
	return out, nil
}

// points are the observations of one function in one benchmark.
type points struct {
	x      []float64 // of all profiles
	xy, yx []float64 // x and y of those with a metric
}

func (s *points) add(x float64, p *store.Profile) {
	s.x = append(s.x, x)
	if metric, ok := p.Metric(); ok {
		s.xy, s.yx = append(s.xy, x), append(s.yx, metric.Mean)
	}
}

func (s *points) moments() store.Moments {
	row := store.Moments{N: int64(len(s.x)), NY: int64(len(s.xy)), Mean: mean(s.x), MeanX: mean(s.xy), MeanY: mean(s.yx)}
	row.M2 = products(s.x, s.x, row.Mean, row.Mean)
	row.M2X = products(s.xy, s.xy, row.MeanX, row.MeanX)
	row.M2Y = products(s.yx, s.yx, row.MeanY, row.MeanY)
	row.CovC = products(s.xy, s.yx, row.MeanX, row.MeanY)
	return row
}

func mean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / math.Max(1, float64(len(v)))
}

func products(a, b []float64, meanA, meanB float64) float64 {
	var sum float64
	for i := range a {
		sum += (a[i] - meanA) * (b[i] - meanB)
	}
	return sum
}

// MergeTrees merges one tree after the other.
func (f fast) MergeTrees(ctx context.Context, q store.Query, _ float64) (*calltree.Tree, []store.Profile, error) {
	set, err := f.Store.Trees(ctx, q, store.TreeOptions{})
	if err != nil {
		return nil, nil, err
	}
	if err := store.OneType(set.Profiles, q); err != nil && (!f.anyType || len(set.Profiles) == 0) {
		return nil, nil, err
	}
	if err := store.CheckSum(set.Profiles); err != nil {
		return nil, nil, err
	}
	var trees []*calltree.Tree
	for v, err := range set.Vectors {
		if err != nil {
			return nil, nil, err
		}
		self := make([]int64, set.Table.Len())
		for i, n := range v.Nodes {
			self[n] = v.Self[i]
		}
		trees = append(trees, calltree.NewTree(set.Table, store.SumType(set.Profiles), self))
	}
	t, err := calltree.Merge(trees...)
	return t, set.Profiles, err
}
