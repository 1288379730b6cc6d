package expansion

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// direction is the way in which a path grows.
type direction bool

const (
	down direction = false // to callees
	up   direction = true  // to callers
)

// focus is the candidate u: its call nodes, by profile.
type focus struct {
	data    *Data
	starts  []int32    // the call nodes of u, ascending
	present []presence // of each column
}

// presence lists the nodes of u with samples in a profile.
type presence struct {
	start []int32 // index in focus.starts, ascending
	total []int64
}

// focus returns the candidate of a function.
func (d *Data) focus(f int32) *focus {
	u := &focus{data: d, starts: d.nodes[f], present: make([]presence, len(d.columns))}
	for i := range d.columns {
		p := &u.present[i]
		for k, n := range u.starts {
			if v := d.total(&d.columns[i], n); v != 0 {
				p.start = append(p.start, int32(k))
				p.total = append(p.total, v)
			}
		}
	}
	return u
}

// Context is the candidate u within one path: those of its call nodes that have the
// path, each with the last node of the path.
type Context struct {
	*focus
	dir   direction
	start []int32 // index in focus.starts, ascending
	end   []int32 // the path's last node, of each start
	trace Trace   // up to here, once chosen
	rank  rank

	samples []float64 // of u in the context, by column
	own     []float64 // of the function at the end, by column
}

// alone returns u without any context.
func (u *focus) alone(dir direction) *Context {
	c := &Context{focus: u, dir: dir, end: u.starts, start: make([]int32, len(u.starts))}
	for i := range c.start {
		c.start[i] = int32(i)
	}
	c.measure()
	return c
}

// Function returns the name of the function at the end of the path.
func (c *Context) Function() string { return c.data.table.Name(c.end[0]) }

// extensions returns the contexts that are one function longer.
func (c *Context) extensions() []*Context {
	t := c.data.table
	byFunction := map[int32]*Context{}
	var list []*Context
	extend := func(start, n int32) {
		x := byFunction[t.Func[n]]
		if x == nil {
			x = &Context{focus: c.focus, dir: c.dir}
			byFunction[t.Func[n]] = x
			list = append(list, x)
		}
		x.start = append(x.start, start)
		x.end = append(x.end, n)
	}
	for i, n := range c.end {
		if c.dir == up {
			if p := t.Parent[n]; p != calltree.NoNode {
				extend(c.start[i], p)
			}
			continue
		}
		for child := n + 1; child < t.End[n]; child = t.End[child] {
			extend(c.start[i], child)
		}
	}
	for _, x := range list {
		x.measure()
	}
	return list
}

// each visits the nodes of u that have samples in a column and in this context.
func (c *Context) each(column int, visit func(start, end int32, total int64)) {
	p := &c.present[column]
	col := &c.data.columns[column]
	common(p.start, c.start, func(i, k int) {
		end := c.end[k]
		if c.dir == down && end != c.starts[p.start[i]] && c.data.total(col, end) == 0 {
			return // u has no such callee here
		}
		visit(c.starts[p.start[i]], end, p.total[i])
	})
}

// measure sums the samples of u and of the function at the end, per column; nested
// nodes count once.
func (c *Context) measure() {
	t := c.data.table
	c.samples = make([]float64, len(c.data.columns))
	c.own = make([]float64, len(c.data.columns))
	var ends []int32
	for i := range c.data.columns {
		var sum, open int64
		ends = ends[:0]
		c.each(i, func(start, end int32, total int64) {
			if int64(start) >= open {
				open = int64(t.End[start])
				sum += total
			}
			ends = append(ends, end)
		})
		c.samples[i] = float64(sum)
		slices.Sort(ends)
		sum, open = 0, 0
		for _, n := range ends {
			if int64(n) >= open {
				open = int64(t.End[n])
				sum += c.data.total(&c.data.columns[i], n)
			}
		}
		c.own[i] = float64(sum)
	}
}

// step describes the context as the last step of its trace.
func (c *Context) step() Step {
	s := Step{Function: c.Function(), Diff: round(c.data.diff(c.own)), CandidateDiff: round(c.data.diff(c.samples)),
		CandidateScore: round(c.rank.prospect)}
	if len(c.rank.why) > 0 {
		s.Why, s.Weight = c.rank.why, round(c.rank.weight)
	}
	before, now := false, false
	for i := range c.data.series {
		for _, k := range c.data.series[i].history() {
			before = before || c.samples[k] != 0
		}
		for _, k := range c.data.series[i].now() {
			now = now || c.samples[k] != 0
		}
	}
	switch {
	case now && !before:
		s.Status = "+"
	case before && !now:
		s.Status = "-"
	}
	return s
}

// common visits the indices at which two ascending lists have the same value. It costs
// time proportional to the shorter one.
func common(a, b []int32, visit func(i, k int)) {
	swapped := len(a) > len(b)
	if swapped {
		a, b = b, a
	}
	k := 0
	for i, v := range a {
		if k < len(b) && b[k] < v {
			n, _ := slices.BinarySearch(b[k:], v)
			k += n
		}
		if k == len(b) {
			return
		}
		if b[k] == v {
			if swapped {
				visit(k, i)
			} else {
				visit(i, k)
			}
		}
	}
}
