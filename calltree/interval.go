package calltree

import (
	"math"
	"slices"
	"sort"
)

// windows are the spans of time, in order and apart, of which a view counts. Nil is all.
type windows []Range

// only returns what of w is in spans, which are in order and apart.
func (w windows) only(spans []Range) windows {
	if w == nil {
		return append(windows{}, spans...)
	}
	both := windows{}
	for i, k := 0, 0; i < len(w) && k < len(spans); {
		if r := (Range{max(w[i].Start, spans[k].Start), min(w[i].End, spans[k].End)}); r.Start < r.End {
			both = append(both, r)
		}
		if w[i].End < spans[k].End {
			i++
		} else {
			k++
		}
	}
	return both
}

// without returns what of w is not in spans, which are in order and apart.
func (w windows) without(spans []Range) windows {
	var rest []Range
	from := int64(math.MinInt64)
	for _, r := range spans {
		if from < r.Start {
			rest = append(rest, Range{from, r.Start})
		}
		from = r.End
	}
	return w.only(append(rest, Range{from, math.MaxInt64}))
}

// overlap returns how much of [from, to) is inside of w.
func (w windows) overlap(from, to int64) (sum int64) {
	i := sort.Search(len(w), func(i int) bool { return w[i].End > from })
	for ; i < len(w) && w[i].Start < to; i++ {
		sum += min(to, w[i].End) - max(from, w[i].Start)
	}
	return sum
}

// end returns when the i-th sample ends: an interval by its length, an instant at once.
func (r *rows) end(i int) int64 {
	row := r.row(i)
	at := r.Time[row]
	if !r.lasts {
		return at
	}
	if v := r.Value[row]; v < math.MaxInt64-max(at, 0) {
		return at + v
	}
	return math.MaxInt64
}

// overlapping returns the row of each selected interval that is partly in a range.
func (r *rows) overlapping(in Range) []int32 {
	order := []int32{}
	for i := range r.n {
		if r.time(i) < in.End && r.end(i) > in.Start {
			order = append(order, int32(r.row(i)))
		}
	}
	return slices.Clip(order)
}

// cut limits intervals to the ranges of the view.
func (s *Shown) cut(ranges ...Range) {
	for _, r := range ranges {
		if s.rows.lasts && !r.All() {
			s.windows = s.windows.only([]Range{r})
		}
	}
}

// value returns what the i-th sample counts in the preview range: of an interval, the part
// inside of the windows.
func (s *Shown) value(i int) int64 {
	if s.windows == nil {
		return s.rows.Value[s.rows.row(i)]
	}
	return s.windows.overlap(s.rows.time(i), s.rows.end(i))
}
