package calltree

import "errors"

// openBox is a box of a stack chart whose end is not known yet.
type openBox struct {
	node  int32
	start int64 // nanoseconds, or stacks
	self  int64
}

// ChartOptions say how a stack chart is drawn. The zero value is Firefox Profiler's way.
type ChartOptions struct {
	// SameWidth: the axis counts changes of stacks instead of time.
	SameWidth bool
	// Gaps: a box ends one interval after its last sample where no other follows within a
	// few intervals, because nothing says what ran in the time without samples. It needs an
	// interval, and samples that are no intervals themselves.
	Gaps bool
}

// idleAfter is after how many intervals without a sample the time counts as idle. Samplers
// come late by an interval or two.
const idleAfter = 5

// StackChart returns the boxes of the samples of the committed range over time.
// Consecutive samples share a box while its call node is on the stack of all of them. A
// box ends at the time of the first sample outside of it, the last one an interval after
// its last sample. Search drops samples; see Matches.
func (s *Shown) StackChart(o ChartOptions) ([]Box, error) {
	sameWidth := o.SameWidth
	if w := s.View.Weights; w != AsRecorded && w != Traced {
		return nil, errors.New("allocations have no stack chart")
	}
	if !s.rows.timed() {
		return nil, errNoTimes
	}
	c := chart{table: s.Table, unit: 1e6}
	if sameWidth {
		c.unit = 1
	}
	within := s.viewer.absolute(s.View.Range)
	last, tick := NoNode, int64(0)
	interval := int64(s.viewer.profile.Interval)
	if !o.Gaps || sameWidth || s.rows.lasts {
		interval = 0
	}
	for i, node := range s.nodes {
		if i > 0 && interval > 0 && s.rows.time(i)-s.rows.time(i-1) > idleAfter*interval && last != NoNode {
			c.enter(NoNode, s.rows.time(i-1)+interval)
			last = NoNode
		}
		if node == last {
			continue
		}
		at := tick
		if !sameWidth {
			at = max(s.rows.time(i), within.Start)
		}
		c.enter(node, at)
		last = node
		tick++
	}
	if len(s.nodes) > 0 {
		end := tick
		if !sameWidth {
			end = s.end(within)
		}
		c.enter(NoNode, end)
	}
	return byDepth(c.boxes), nil
}

// end returns when the last of the samples ends: one interval of the profile after it
// or, of intervals, with the last one or the range.
func (s *Shown) end(within Range) int64 {
	last := s.rows.time(len(s.nodes) - 1)
	if !s.rows.lasts {
		return last + int64(s.viewer.profile.Interval)
	}
	for i := range s.nodes {
		last = max(last, s.rows.end(i))
	}
	if !within.All() {
		last = min(last, within.End)
	}
	return last
}

// Matches reports whether a word of the view's search matches the function, so that its
// boxes can be highlighted. Without a search it returns false.
func (s *Shown) Matches(fn int32) bool { return s.matched != nil && s.matched[fn] }

// chart builds boxes from nodes entered one after the other.
type chart struct {
	table *Table
	unit  float64 // of a box, in units of time
	open  []openBox
	since int64 // when the innermost open node was entered
	boxes []Box
}

// enter closes the boxes that do not contain node, and opens those of its callers and
// its own. NoNode closes all.
func (c *chart) enter(node int32, at int64) {
	if n := len(c.open); n > 0 {
		c.open[n-1].self += at - c.since
	}
	c.since = at
	for n := len(c.open); n > 0; n-- {
		b := c.open[n-1]
		if b.node <= node && node < c.table.End[b.node] {
			break
		}
		c.boxes = append(c.boxes, Box{Node: b.node, Func: c.table.Func[b.node], Depth: int32(n - 1),
			Start: float64(b.start) / c.unit, End: float64(at) / c.unit, Self: float64(b.self) / c.unit})
		c.open = c.open[:n-1]
	}
	if node == NoNode {
		return
	}
	from := len(c.open)
	for n := node; int(c.table.Depth[n]) >= from; n = c.table.Parent[n] {
		c.open = append(c.open, openBox{node: n, start: at})
		if c.table.Parent[n] == NoNode {
			break
		}
	}
	for i, j := from, len(c.open)-1; i < j; i, j = i+1, j-1 {
		c.open[i], c.open[j] = c.open[j], c.open[i]
	}
}
