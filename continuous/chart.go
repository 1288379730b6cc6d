package continuous

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
)

// OverTime returns the merged tree as its type is shown. What happened is added up. Of a
// gauge it is the mean of all windows, times the number of instances: a heap of an hour is as
// large as one of a second, and ten processes use ten times as much. That is exact if the
// instances have equally many windows. Values are rounded.
func (m *Merged) OverTime() *calltree.Tree {
	instances := cmp.Or(m.Instances, int64(len(m.Series))) // a store that does not count them has one of each series
	if len(m.Series) == 0 || !m.Series[0].Type.Gauge() || m.Parts == 0 || m.Parts == instances {
		return m.Tree
	}
	self := make([]int64, len(m.Tree.Self))
	factor := float64(instances) / float64(m.Parts)
	for i, v := range m.Tree.Self {
		self[i] = int64(math.Round(float64(v) * factor))
	}
	return calltree.NewTree(m.Tree.Table, m.Tree.Type, self)
}

// Totals returns the amounts as totals: what the function took, with its callees or itself.
func (a *Amounts) Totals(self bool) *Totals {
	t := &Totals{Series: a.Series, Totals: make([]Total, len(a.Amounts))}
	for i, x := range a.Amounts {
		if x.Sum = x.Whole; self {
			x.Sum = x.Self
		}
		t.Totals[i] = x.Total
	}
	return t
}

// Chart says which points the lines of a chart have: at Start, Start+Step, … up to End. A
// window belongs to the first point at or after its start, so a point stands for the time
// (point − Step, point], and windows are needed from Start − Step on. With steps of at least an hour or a
// day, each window belongs where the sum of its hour or day does, which may not be made yet.
type Chart struct {
	Start, End time.Time
	Step       time.Duration
	By         []string // labels with a line for each of their values; none: one line
	Mean       bool     // the mean of the windows, not their sum; of a gauge too
	Limit      int      // at most so many lines, those of the largest sums; 0: all
	// Open: nothing limits the beginning, and Start follows from the first windows. Their sums, of
	// an hour or a day, begin earlier and belong to the first point.
	Open bool
}

// Line is a line of a chart: points in order of time, those without data left out.
type Line struct {
	Labels Labels // of Chart.By that the series have
	Points []Point
}

// Point is a point of a line.
type Point struct {
	Time  time.Time
	Value float64
	// Covered is the time that any of the windows covers: at most a step.
	Covered time.Duration
}

// Query returns the time of the windows that the chart needs.
func (c *Chart) Query(q Query) Query {
	from := c.Start.Add(time.Millisecond - c.Step).UnixMilli()
	if q.From = time.UnixMilli(Coarsest(c.Step).end(from)).UTC(); c.Open {
		q.From = time.Time{}
	}
	q.Until = c.End.Add(time.Millisecond)
	q.By = c.By
	return q
}

// amount is what the windows of one or more series, which are summed up together, add to a point.
type amount struct {
	sum       float64 // which no number of windows exceeds
	parts     int64
	series    int64 // with raw windows
	last      int32 // the last of these
	instances int64 // of sums, the most
	spans     []span
}

// span is the time of a window, in milliseconds.
type span struct{ from, until int64 }

// covered returns the time that any of the spans covers.
func covered(spans []span) (ms int64) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	end := int64(math.MinInt64)
	for _, s := range spans {
		if s.until > end {
			ms += s.until - max(s.from, end)
			end = s.until
		}
	}
	return ms
}

// Lines returns the lines of windows, in order of their labels. The value of a point is the
// sum of its windows. Of a gauge it is the mean of each series, added up over the series; of
// instances that hours have summed up, the mean of all, times their number.
func (c *Chart) Lines(t *Totals) []Line {
	var summed []string
	for i := range t.Series {
		summed = Summed(summed, &t.Series[i])
	}
	type group struct {
		line, series Key
		gauge        bool
	}
	lines, groups := map[Key]*chartLine{}, map[group]map[int64]amount{}
	var order []group // that of the series
	coarsest := Coarsest(c.Step)
	for at := 0; at < len(t.Totals); {
		of := t.Totals[at].Series
		series := &t.Series[of]
		labels := c.labels(series)
		sum, _ := series.Sum(summed)
		g := group{(&Series{Labels: labels}).Key(), sum.Key(), series.Type.Gauge() && !c.Mean}
		points := groups[g]
		if points == nil {
			points = map[int64]amount{}
			groups[g], order = points, append(order, g)
		}
		for ; at < len(t.Totals) && t.Totals[at].Series == of; at++ {
			w := &t.Totals[at]
			start := w.Start.UnixMilli()
			if n, ok := c.point(coarsest.Begin(start)); ok {
				a := points[n]
				a.sum, a.parts = a.sum+float64(w.Sum), a.parts+w.Parts
				a.spans = append(a.spans, span{start, start + min(w.Length, w.Covered).Milliseconds()})
				if w.Level != Raw {
					a.instances = max(a.instances, w.Instances)
				} else if a.series == 0 || a.last != of {
					a.series, a.last = a.series+1, of
				}
				points[n] = a
			}
		}
		if len(points) > 0 && lines[g.line] == nil {
			lines[g.line] = &chartLine{labels: labels, value: map[int64]float64{}, parts: map[int64]int64{}, spans: map[int64][]span{}}
		}
	}
	for _, g := range order {
		if points := groups[g]; len(points) > 0 {
			lines[g.line].add(points, g.gauge)
		}
	}
	return c.sorted(lines)
}

// chartLine is a line whose points are still added up, by the number of the point.
type chartLine struct {
	labels Labels
	value  map[int64]float64
	parts  map[int64]int64
	spans  map[int64][]span
	sum    float64
}

func (l *chartLine) add(points map[int64]amount, gauge bool) {
	for n, a := range points {
		v := a.sum
		if gauge {
			v = v / float64(max(a.parts, 1)) * float64(max(a.series, a.instances, 1))
		}
		l.value[n] += v
		l.parts[n] += a.parts
		l.spans[n] = append(l.spans[n], a.spans...)
		l.sum += v
	}
}

// point returns the number of the point that a window with a start, in milliseconds since 1970, belongs to.
func (c *Chart) point(start int64) (n int64, ok bool) {
	step, after := c.Step.Milliseconds(), start-c.Start.UnixMilli()
	if step < 1 || after <= -step && !c.Open {
		return 0, false
	}
	if n = (after + step - 1) / step; after <= 0 {
		n = 0
	}
	return n, n*step <= c.End.UnixMilli()-c.Start.UnixMilli()
}

// labels returns the labels of a series that name its line.
func (c *Chart) labels(s *Series) (list Labels) {
	for _, name := range c.By {
		if v := s.Label(name); v != "" {
			list = append(list, Label{name, v})
		}
	}
	slices.SortFunc(list, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b Label) bool { return a.Name == b.Name })
}

// sorted returns the lines that the limit leaves.
func (c *Chart) sorted(lines map[Key]*chartLine) []Line {
	list := slices.Collect(maps.Values(lines))
	byLabels := func(a, b *chartLine) int { return (&Series{Labels: a.labels}).Compare(&Series{Labels: b.labels}) }
	if c.Limit > 0 && len(list) > c.Limit {
		slices.SortFunc(list, func(a, b *chartLine) int { return cmp.Or(cmp.Compare(b.sum, a.sum), byLabels(a, b)) })
		list = list[:c.Limit]
	}
	slices.SortFunc(list, byLabels)
	return column.Of(list, func(l *chartLine) Line { return Line{Labels: l.labels, Points: c.points(l)} })
}

func (c *Chart) points(l *chartLine) []Point {
	numbers := slices.Sorted(maps.Keys(l.value))
	points := make([]Point, len(numbers))
	for i, n := range numbers {
		v := l.value[n]
		if c.Mean {
			v /= float64(max(l.parts[n], 1))
		}
		points[i] = Point{Time: c.Start.Add(time.Duration(n) * c.Step), Value: v,
			Covered: min(c.Step, time.Duration(covered(l.spans[n]))*time.Millisecond)}
	}
	return points
}
