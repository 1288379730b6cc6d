package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// Load reads the profiles of a series with one query.
func Load(ctx context.Context, st store.Reader, s *Series) (*Matrix, error) {
	all, err := Read(ctx, st, s)
	if err != nil {
		return nil, err
	}
	return newMatrix(all.table, s.Profiles, all.vectors, s.Service), nil
}

// Samples is the stored samples of the runs of a series, of which Matrix makes matrices of
// some of the runs.
type Samples struct {
	series  *Series
	table   *calltree.Table
	vectors []calltree.Vector
}

// Read reads the profiles of a series with one query.
func Read(ctx context.Context, st store.Reader, s *Series) (*Samples, error) {
	ids, place := store.IDs(s.Profiles), map[store.ProfileID]int{}
	for i, id := range ids {
		place[id] = i
	}
	set, err := st.Trees(ctx, store.Query{Profiles: ids}, store.TreeOptions{})
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", s.Benchmark, err)
	}
	vectors := make([]calltree.Vector, len(ids))
	for v, err := range set.Vectors {
		if err != nil {
			return nil, fmt.Errorf("history of %s: %w", s.Benchmark, err)
		}
		// In the order of the series, not of the engine.
		if i, ok := place[set.Profiles[v.Profile].ID]; ok {
			vectors[i] = calltree.Vector{Nodes: slices.Clone(v.Nodes), Self: slices.Clone(v.Self)}
		}
	}
	return &Samples{s, set.Table, vectors}, nil
}

// NewSamples returns samples over a table, one vector per profile of the series.
func NewSamples(s *Series, t *calltree.Table, vectors []calltree.Vector) *Samples {
	return &Samples{s, t, vectors}
}

// Matrix returns the matrix of some runs, given as ascending indexes of the series. It is the
// same as that of a series of only these runs.
func (s *Samples) Matrix(runs []int) *Matrix {
	profiles, vectors := make([]store.Profile, len(runs)), make([]calltree.Vector, len(runs))
	for i, t := range runs {
		profiles[i], vectors[i] = s.series.Profiles[t], s.vectors[t]
	}
	return newMatrix(s.table, profiles, vectors, s.series.Service)
}

// NewMatrix folds vectors over a table, one per profile of a benchmark in order of time,
// into a Matrix. Negative values count as zero.
func NewMatrix(t *calltree.Table, profiles []store.Profile, vectors []calltree.Vector) *Matrix {
	return newMatrix(t, profiles, vectors, false)
}

func newMatrix(t *calltree.Table, profiles []store.Profile, vectors []calltree.Vector, service bool) *Matrix {
	used := nodesOf(t, vectors)
	f := fold(t, used, languageOf(t, used), isWall(profiles), service)
	unit, weighted := unitOf(profiles, vectors)
	m := &Matrix{Unit: unit, Weighted: weighted, Runs: make([]Run, len(profiles))}
	waits := levelWaits(profiles)
	counts := make([]float64, f.forest.Paths.Len()) // of one run, by path of the forest
	all, present := bitset.New(len(counts)), bitset.New(len(counts))
	for i, v := range vectors {
		r := &m.Runs[i]
		r.Profile, r.Metric = &profiles[i], metricOf(&profiles[i])
		r.Operations, _ = profiles[i].Covered()
		r.Operations /= waits[i]
		slept := 0.0
		for j, n := range v.Nodes {
			if v.Self[j] <= 0 {
				continue
			}
			x := float64(v.Self[j]) / (unit * waits[i])
			switch p := f.own[n]; p {
			case idle:
				slept += x
			case environment:
				r.Environment += x
			default:
				counts[p] += x
				present.Add(p)
			}
		}
		all.Unite(present)
		r.take(counts, present)
		if told, _ := profiles[i].Operations(); slept > 0 && told != r.Operations { // the CPU time is that of the other samples
			r.Operations *= sum(r.Count, r.Environment) / sum(r.Count, r.Environment+slept)
		}
	}
	cut := f.forest.Cut(all.Members())
	m.Table = cut.Table
	for i := range m.Runs {
		r := &m.Runs[i]
		for j, p := range r.Nodes {
			n, _ := cut.Node(p)
			counts[n] = r.Count[j]
			present.Add(n)
		}
		r.take(counts, present)
		r.Total = sum(r.Count, 0)
	}
	return m
}

// levelWaits returns the factors of samples by which runs differ that waited for a processor for different parts of
// their time. While a program waits, its samples are all of one stack: they say no more than one that runs. Of runs of
// one version, the variance of counts is w^1.04 times the mean, w the sampled time in CPU times.
func levelWaits(profiles []store.Profile) []float64 {
	factors := make([]float64, len(profiles))
	mean := 0.0
	for i := range profiles {
		factors[i] = -math.Log1p(-profiles[i].Waited())
		mean += factors[i] / float64(len(profiles))
	}
	for i := range factors {
		factors[i] = math.Exp(factors[i] - mean)
	}
	return factors
}

// nodesOf returns the nodes of vectors with all their ancestors.
func nodesOf(t *calltree.Table, vectors []calltree.Vector) []bool {
	used := make([]bool, t.Len())
	for _, v := range vectors {
		for _, n := range v.Nodes {
			for ; n != calltree.NoNode && !used[n]; n = t.Parent[n] {
				used[n] = true
			}
		}
	}
	return used
}

// take moves the counts that are present into the run, in ascending order, so that sums
// over them are reproducible.
func (r *Run) take(counts []float64, present bitset.Set) {
	r.Nodes = present.Members()
	r.Count = make([]float64, len(r.Nodes))
	for i, n := range r.Nodes {
		r.Count[i], counts[n] = counts[n], 0
	}
	clear(present)
}

// sum returns the sum of values and beside. The order of the additions is fixed, so that the
// same profile always has the same sum.
func sum(values []float64, beside float64) (s float64) {
	for _, x := range values {
		s += x
	}
	return s + beside
}

func isWall(profiles []store.Profile) bool {
	return len(profiles) > 0 && strings.HasPrefix(profiles[0].Type.Name, profile.Wall)
}

// unitOf returns the value of one sample of the profiles, and whether it is only the
// divisor of all values: the sampling interval if values are multiples of it, a small
// number if samples have weights.
func unitOf(profiles []store.Profile, vectors []calltree.Vector) (unit float64, weighted bool) {
	if len(profiles) == 0 {
		return 1, false
	}
	t := profiles[0].Type
	var common int64
	_, known := OneSample(t)
	for i := 0; !known && i < len(vectors); i++ {
		common = CommonDivisor(common, vectors[i].Self)
	}
	return SampleUnit(t, common), !known
}
