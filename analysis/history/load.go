package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
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
	return NewMatrix(set.Table, s.Profiles, vectors), nil
}

// NewMatrix folds vectors over a table, one per profile in order of time, into a
// Matrix. Negative values count as zero.
func NewMatrix(t *calltree.Table, profiles []store.Profile, vectors []calltree.Vector) *Matrix {
	lang := languageOf(t)
	f := fold(t, lang, isWall(profiles))
	unit, weighted := unitOf(profiles, vectors)
	m := &Matrix{Unit: unit, Weighted: weighted, Language: lang, Runs: make([]Run, len(profiles))}
	counts := make([]map[int32]float64, len(profiles)) // by path of the forest
	used := map[int32]bool{}
	for i, v := range vectors {
		r := &m.Runs[i]
		r.Profile, r.Metric = &profiles[i], metricOf(&profiles[i])
		c := make(map[int32]float64, len(v.Nodes))
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
				c[p] += x
				used[p] = true
			}
		}
		counts[i] = c
	}
	paths := make([]int32, 0, len(used))
	for p := range used {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	cut := f.forest.Cut(paths)
	m.Table = cut.Table
	for i := range counts {
		m.Runs[i].fill(counts[i], cut)
	}
	return m
}

// fill sets the counts of a run in ascending order of nodes, so that sums over them
// are reproducible.
func (r *Run) fill(counts map[int32]float64, cut *calltree.Cut) {
	byNode := make(map[int32]float64, len(counts))
	r.Nodes = make([]int32, 0, len(counts))
	for p, x := range counts {
		n, _ := cut.Node(p)
		byNode[n] = x
		r.Nodes = append(r.Nodes, n)
	}
	slices.Sort(r.Nodes)
	r.Count = make([]float64, len(r.Nodes))
	for i, n := range r.Nodes {
		r.Count[i] = byNode[n]
		r.Total += byNode[n]
	}
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
