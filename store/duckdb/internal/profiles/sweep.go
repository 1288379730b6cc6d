package profiles

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// sweeper sums vectors over the forest and computes the rows of functions. Its arrays
// are as long as the forest and are allocated once; reset clears only what a profile
// touched, so that the time is proportional to the size of the profile.
type sweeper struct {
	self, total []int64    // of each path; zero between profiles
	hits        []int32    // paths that got a value, with repetitions
	touched     []int32    // paths with a value and all their ancestors, ascending
	isTouched   bitset.Set // the same, which sorts them

	fn              []int32 // functions with a node
	fnSelf, fnTotal []int64 // of each function
	isFn            []bool
	isListed        []bool // functions with a row

	nodes  []int32 // the vector
	values []int64
	sum    uint64 // of its absolute values
}

// grow makes room for a forest of some size.
func (s *sweeper) grow(paths, functions int) {
	s.growVector(paths)
	s.total = extended(s.total, paths)
	s.fnSelf = extended(s.fnSelf, functions)
	s.fnTotal = extended(s.fnTotal, functions)
	s.isFn = extended(s.isFn, functions)
	s.isListed = extended(s.isListed, functions)
}

// growVector makes room for what takeVector needs.
func (s *sweeper) growVector(paths int) {
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

// rows appends, after functions, the rows of the profile at a position.
func (s *sweeper) rows(r *columns, profile int32) {
	for _, fn := range s.fn {
		if s.isListed[fn] {
			r.profile, r.fn = append(r.profile, profile), append(r.fn, fn)
			r.self, r.total = append(r.self, s.fnSelf[fn]), append(r.total, s.fnTotal[fn])
		}
	}
}

// functions computes, after finish, the rows of functions that calltree's FunctionRows
// lists. Rec holds for each path its nearest ancestor of the same function: a path is
// outermost in its function if it has none.
func (s *sweeper) functions(paths *prefixtree.Tree, rec []int32) {
	parent, item := paths.Parent, paths.Item
	for _, p := range slices.Backward(s.touched) {
		self := s.self[p]
		total := s.total[p] + self
		s.total[p] = total
		if up := parent[p]; up != calltree.NoNode {
			s.total[up] += total
		}
		fn := item[p]
		if !s.isFn[fn] {
			s.isFn[fn] = true
			s.fn = append(s.fn, fn)
		}
		s.fnSelf[fn] += self
		if rec[p] == calltree.NoNode && total != 0 {
			s.fnTotal[fn] += total
			s.isListed[fn] = true
		}
	}
}

// reset clears the profile.
func (s *sweeper) reset() {
	for _, p := range s.hits {
		s.self[p] = 0
	}
	if len(s.total) > 0 {
		for _, p := range s.touched {
			s.total[p] = 0
		}
	}
	clear(s.isTouched)
	for _, fn := range s.fn {
		s.fnSelf[fn], s.fnTotal[fn], s.isFn[fn], s.isListed[fn] = 0, 0, false, false
	}
	s.hits, s.touched, s.fn = s.hits[:0], s.touched[:0], s.fn[:0]
}
