package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// Load reads the profiles of a series with one query.
func Load(ctx context.Context, st store.Reader, s *Series) (*Matrix, error) {
	ids := make([]store.ProfileID, len(s.Profiles))
	place := map[store.ProfileID]int{}
	for i := range s.Profiles {
		ids[i] = s.Profiles[i].ID
		place[ids[i]] = i
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
	return newMatrix(set.Table, s.Profiles, vectors, s.Service), nil
}

// NewMatrix folds vectors over a table, one per profile of a benchmark in order of time,
// into a Matrix. Negative values count as zero.
func NewMatrix(t *calltree.Table, profiles []store.Profile, vectors []calltree.Vector) *Matrix {
	return newMatrix(t, profiles, vectors, false)
}

func newMatrix(t *calltree.Table, profiles []store.Profile, vectors []calltree.Vector, service bool) *Matrix {
	lang := languageOf(t)
	f := fold(t, lang, isWall(profiles), service)
	unit, weighted := unitOf(profiles, vectors)
	m := &Matrix{Unit: unit, Weighted: weighted, Language: lang, Runs: make([]Run, len(profiles))}
	counts := make([]float64, f.forest.Paths.Len()) // of one run, by path of the forest
	used, present := bitset.New(len(counts)), bitset.New(len(counts))
	for i, v := range vectors {
		r := &m.Runs[i]
		r.Profile, r.Metric = &profiles[i], metricOf(&profiles[i])
		r.Operations, r.Estimated = profiles[i].Operations()
		for j, n := range v.Nodes {
			if v.Self[j] <= 0 {
				continue
			}
			x := float64(v.Self[j]) / unit
			switch p := f.own[n]; p {
			case idle:
			case environment:
				r.Environment += x
			default:
				counts[p] += x
				present.Add(p)
			}
		}
		used.Unite(present)
		r.take(counts, present)
	}
	cut := f.forest.Cut(used.Members())
	m.Table = cut.Table
	for i := range m.Runs {
		r := &m.Runs[i]
		for j, p := range r.Nodes {
			n, _ := cut.Node(p)
			counts[n] = r.Count[j]
			present.Add(n)
		}
		r.take(counts, present)
		for _, x := range r.Count {
			r.Total += x
		}
	}
	return m
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
