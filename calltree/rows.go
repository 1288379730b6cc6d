package calltree

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/dendroprof/dendro/calltree/internal/ranges"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
)

// rows is a selection of samples of a table, in order of time if they have times.
// Intervals are in the order in which they begin.
type rows struct {
	*profile.Samples
	table   int
	threads []profile.ThreadID
	order   []int32 // row of each sample; nil: as in the table
	first   int     // of the samples in the range, when order is nil
	n       int
	lasts   bool // the samples are intervals
}

// row returns the row of the i-th sample selected.
func (r *rows) row(i int) int {
	if r.order != nil {
		return int(r.order[i])
	}
	return r.first + i
}

// timed reports whether the samples have times. An empty table counts as timed.
func (r *rows) timed() bool { return r.Time != nil || r.Samples.Len() == 0 }

// time returns the time of the i-th sample selected.
func (r *rows) time(i int) int64 { return r.Time[r.row(i)] }

// rowsOf selects the samples of threads, merged by time; samples of one time keep the
// order of the table. It caches the last selection.
func (v *Viewer) rowsOf(table int, threads []profile.ThreadID) (rows, error) {
	s := &v.profile.Tables[table]
	if have := v.rows; have.Samples == s && (have.threads == nil) == (threads == nil) && slices.Equal(have.threads, threads) {
		return have, nil
	}
	r := rows{Samples: s, table: table, threads: slices.Clone(threads), n: s.Len(), lasts: s.Intervals && s.Time != nil}
	if threads != nil {
		if s.Thread == nil && r.n > 0 {
			return r, fmt.Errorf("the samples of %s have no threads", s.Type.Name)
		}
		r.order = []int32{}
		for row, t := range s.Thread {
			if slices.Contains(threads, t) {
				r.order = append(r.order, int32(row))
			}
		}
		r.n = len(r.order)
	}
	r.sortByTime()
	v.rows = r
	return r, nil
}

// sortByTime sorts the samples by time if they have times.
func (r *rows) sortByTime() {
	if r.Time == nil {
		return
	}
	for i := 1; i < r.n; i++ {
		if r.time(i) >= r.time(i-1) {
			continue
		}
		if r.order == nil {
			r.order = ranges.Numbers(r.n)
		}
		slices.SortFunc(r.order, func(a, b int32) int { return cmp.Or(cmp.Compare(r.Time[a], r.Time[b]), cmp.Compare(a, b)) })
		return
	}
}

// errNoTimes is the error of a view over time of samples without times.
var errNoTimes = errors.New("the samples have no times, which this view needs")

// span returns the samples in a range of time: [lo, hi). Intervals of other threads that
// end before the range may be among them; Shown.value makes them 0.
func (r *rows) span(in Range) (lo, hi int, err error) {
	if in.All() {
		return 0, r.n, nil
	}
	if !r.timed() {
		return 0, 0, fmt.Errorf("range: %w", errNoTimes)
	}
	hi = sort.Search(r.n, func(i int) bool { return r.time(i) >= in.End })
	if r.lasts { // the first ones may last
		for lo < hi && r.end(lo) <= in.Start {
			lo++
		}
		return lo, hi, nil
	}
	lo = sort.Search(r.n, func(i int) bool { return r.time(i) >= in.Start })
	return lo, max(lo, hi), nil
}

// during selects the samples in a range of time.
func (r rows) during(in Range) (rows, error) {
	lo, hi, err := r.span(in)
	if err == nil && r.lasts && !in.All() {
		r.order = r.overlapping(in)
		r.n = len(r.order)
		return r, nil
	}
	if r.order != nil {
		r.order = r.order[lo:hi]
	} else {
		r.first = lo
	}
	r.n = hi - lo
	return r, err
}

// nodesOf returns the call node of every sample of the committed range. Node is the
// node in table of each stack.
func (s *Shown) nodesOf(at *step, table *Table, node []int32) ([]int32, error) {
	var found []bool
	s.matched, found = table.search(searchWords(s.View.Search))
	drop := s.dropped()
	nodes := make([]int32, s.rows.n)
	ranges.Each(ranges.Parts(s.rows.n), func(_ int, p ranges.Part) {
		for i := p.Lo; i < p.Hi; i++ {
			nodes[i] = NoNode
			row := s.rows.row(i)
			st := int32(s.rows.Stack[row])
			if st < 0 || drop.byCategory(st) || drop.byState(row) {
				continue
			}
			if at.at != nil {
				if st = at.at[st]; st == NoNode {
					continue
				}
			}
			if n := node[st]; n != NoNode && (found == nil || found[n]) {
				nodes[i] = n
			}
		}
	})
	return nodes, s.dropByMarkers(nodes)
}

// dropByMarkers applies the transforms that select samples by markers; intervals are cut
// where markers begin and end. They depend only on the time of a sample, so their place among the transforms does not matter.
func (s *Shown) dropByMarkers(nodes []int32) error {
	for _, t := range s.View.Transforms {
		if !t.Kind.takesText() {
			continue
		}
		if !s.rows.timed() {
			return fmt.Errorf("transform %s: %w", t, errNoTimes)
		}
		spans := s.viewer.markerSpans(t.Args, s.rows.threads)
		if s.rows.lasts {
			if t.Kind == MarkerSearch {
				s.windows = s.windows.only(spans)
			} else {
				s.windows = s.windows.without(spans)
			}
			continue
		}
		k := 0
		for i := range nodes {
			at := s.rows.time(i)
			for k < len(spans) && spans[k].End <= at {
				k++
			}
			inside := k < len(spans) && spans[k].Start <= at
			if inside != (t.Kind == MarkerSearch) {
				nodes[i] = NoNode
			}
		}
	}
	return nil
}

// markerSpans returns the times of the interval markers that match a search on the
// threads, in order; touching ones are merged.
func (v *Viewer) markerSpans(search []string, threads []profile.ThreadID) []Range {
	var spans []Range
	for m := range v.markers(strings.Join(search, ","), threads) {
		if m.Start < m.End {
			spans = append(spans, Range{m.Start, m.End})
		}
	}
	slices.SortFunc(spans, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	united := spans[:0]
	for _, r := range spans {
		if n := len(united); n > 0 && r.Start <= united[n-1].End {
			united[n-1].End = max(united[n-1].End, r.End)
			continue
		}
		united = append(united, r)
	}
	return united
}

// FindThreads returns the threads with this id or name.
func (v *Viewer) FindThreads(nameOrID string) []profile.ThreadID {
	var ids []profile.ThreadID
	for i, t := range v.profile.Threads {
		if i > 0 && (t.Name == nameOrID || t.ID == nameOrID) {
			ids = append(ids, profile.ThreadID(i))
		}
	}
	return ids
}

// ThreadNames returns the names of the threads, or their ids where they have none.
func (v *Viewer) ThreadNames() []string {
	return column.Of(v.profile.Threads, func(t profile.Thread) string { return cmp.Or(t.Name, t.ID) })
}

// ThreadSamples says how many samples a thread has.
type ThreadSamples struct {
	Thread  profile.ThreadID
	Samples int
}

// Threads returns the threads with samples in a sample table, in the order of the
// profile; nil if samples have no threads.
func (v *Viewer) Threads(table int) []ThreadSamples {
	count := make([]int, len(v.profile.Threads))
	for _, t := range v.profile.Tables[table].Thread {
		count[t]++
	}
	var list []ThreadSamples
	for i, n := range count {
		if i > 0 && n > 0 {
			list = append(list, ThreadSamples{profile.ThreadID(i), n})
		}
	}
	return list
}

// Thread describes a thread of the profile.
func (v *Viewer) Thread(id profile.ThreadID) profile.Thread { return v.profile.Threads[id] }
