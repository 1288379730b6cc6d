package profiles

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// sweeper sums vectors over the forest. Its arrays are as long as the forest and are allocated
// once; reset clears only what a profile touched.
type sweeper struct {
	self      []int64    // of each path; zero between profiles
	hits      []int32    // paths that got a value, with repetitions
	touched   []int32    // paths with a value and all their ancestors, ascending
	isTouched bitset.Set // the same, which sorts them

	nodes  []int32 // the vector
	values []int64
	sum    uint64 // of its absolute values
}

// grow makes room for a forest of some size.
func (s *sweeper) grow(paths int) {
	s.self = extended(s.self, paths)
	s.isTouched = extended(s.isTouched, bitset.Words(paths))
}

// extended lengthens s by zeros, by at least a quarter.
func extended[S ~[]T, T any](s S, n int) S {
	if n <= len(s) {
		return s
	}
	return append(s, make([]T, n+n/4-len(s))...)
}

// add adds a vector over the forest.
func (s *sweeper) add(v calltree.Vector) {
	for i, p := range v.Nodes {
		s.self[p] += v.Self[i]
	}
	s.hits = append(s.hits, v.Nodes...)
}

// finish computes the vector (nodes, values, sum) of the added values. Values that
// cancelled each other are not part of it, nor are their ancestors.
func (s *sweeper) finish(parent []int32) {
	set := s.isTouched
	for _, p := range s.hits {
		if s.self[p] == 0 {
			continue
		}
		for p != calltree.NoNode && set.Add(p) {
			p = parent[p]
		}
	}
	s.touched = set.Append(s.touched)
	s.nodes, s.values, s.sum = s.nodes[:0], s.values[:0], 0
	for _, p := range s.touched {
		if v := s.self[p]; v != 0 {
			s.nodes, s.values = append(s.nodes, p), append(s.values, v)
			s.sum += encoding.Magnitude(v)
		}
	}
}

// takeVector computes the vector alone, without sum and ancestors, and clears what was
// added. Its time is proportional to the values, and not to the forest.
func (s *sweeper) takeVector() {
	if len(s.hits) < 1<<10 {
		slices.Sort(s.hits)
	} else {
		s.sortHits()
	}
	s.nodes, s.values = s.nodes[:0], s.values[:0]
	for _, p := range s.hits {
		if v := s.self[p]; v != 0 { // the first of its repetitions
			s.nodes, s.values, s.self[p] = append(s.nodes, p), append(s.values, v), 0
		}
	}
	s.hits = s.hits[:0]
}

// sortHits sorts the hits and drops their repetitions, in a set over their range.
func (s *sweeper) sortHits() {
	lo, hi := slices.Min(s.hits)>>6, slices.Max(s.hits)>>6
	set := s.isTouched[lo : hi+1]
	if len(set) > len(s.hits) {
		slices.Sort(s.hits)
		return
	}
	for _, p := range s.hits {
		set.Add(p - lo<<6)
	}
	s.hits = set.Append(s.hits[:0])
	for i := range s.hits {
		s.hits[i] += lo << 6
	}
	clear(set)
}

// reset clears the profile.
func (s *sweeper) reset() {
	for _, p := range s.hits {
		s.self[p] = 0
	}
	clear(s.isTouched)
	s.hits, s.touched = s.hits[:0], s.touched[:0]
}
