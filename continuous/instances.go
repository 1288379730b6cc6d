package continuous

import (
	"fmt"
	"slices"
	"time"
)

// InstanceLabels are the labels that tell the instances of a service apart, and change with every
// deployment. Raw windows keep them, and sums have how many instances there were.
var InstanceLabels = []string{"host.name", "hostname", "instance", "k8s.pod.ip", "k8s.pod.name", "k8s.pod.uid", "pod", "pod_ip", "pod_name"}

// Sum returns the series whose sums have the windows of a series: without the labels of its
// instance. A series that has none of them is its own.
func (s *Series) Sum(instance []string) (sum Series, other bool) {
	var gone []string
	kept := slices.DeleteFunc(slices.Clone(s.Labels), func(l Label) bool {
		is := slices.Contains(instance, l.Name)
		if is {
			gone = append(gone, l.Name)
		}
		return is
	})
	if gone == nil {
		return *s, false
	}
	return Series{Service: s.Service, Type: s.Type, Labels: kept, Summed: gone}, true
}

// Summed returns the labels that sums of some of the series lack.
func Summed(names []string, s *Series) []string {
	for _, name := range s.Summed {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// SummedError is the error of a selection by a label that the sums in its time lack: some of what
// they have may belong to it.
type SummedError struct {
	Label string
	Since time.Time // of the windows that have it; zero: none has
}

// Error names the label and the time, if there is one.
func (e *SummedError) Error() string {
	if e.Since.IsZero() {
		return fmt.Sprintf("label %.80q is in no hour: hours and days have the sums of all instances; leave the label out", e.Label)
	}
	return fmt.Sprintf("label %.80q is kept in windows since %s: before, hours and days have the sums of all instances; select the time from then on (--since), or leave the label out",
		e.Label, e.Since.UTC().Format("2006-01-02T15:04Z"))
}

// Asked says that the error is of what was asked, and not of the store.
func (*SummedError) Asked() {}

// Finest returns what a selection by labels that sums lack reads: no sums where raw windows are
// kept. Without is the selection without the conditions on such labels, of which it returns the
// first; empty: the selection needs nothing but sums.
func (q *Query) Finest(summed []string, coarsest Level) (level Level, without Query, label string) {
	without = *q
	without.Matchers = slices.DeleteFunc(slices.Clone(q.Matchers), func(m Matcher) bool {
		is := slices.Contains(summed, m.Name)
		if is && label == "" {
			label = m.Name
		}
		return is
	})
	if label != "" || slices.ContainsFunc(q.By, func(name string) bool { return slices.Contains(summed, name) }) {
		coarsest = Raw
	}
	return coarsest, without, label
}

// Instances counts those behind the windows of a selection: each series is one, but series that
// are summed up together are the most that there are in an hour.
type Instances struct {
	summed []string
	groups map[Key]int64     // of the series that are summed up
	group  []int64           // of series
	seen   map[[2]int64]bool // series in hours
	count  map[[2]int64]int64
	most   []int64 // by group
}

// NewInstances returns a count for series, of a store whose sums lack some labels; nil: there are
// none.
func NewInstances(series []Series, summed []string) *Instances {
	if len(summed) == 0 {
		return nil
	}
	c := &Instances{summed: summed, groups: map[Key]int64{}, seen: map[[2]int64]bool{}, count: map[[2]int64]int64{}}
	for i := range series {
		sum, _ := series[i].Sum(summed)
		key := sum.Key()
		if _, ok := c.groups[key]; !ok {
			c.groups[key] = int64(len(c.groups))
		}
		c.group = append(c.group, c.groups[key])
	}
	c.most = make([]int64, len(c.groups))
	return c
}

// Add counts a window, of the series at a place.
func (c *Instances) Add(t *Total) {
	if c == nil {
		return
	}
	g, n := c.group[t.Series], t.Instances
	if t.Level == Raw {
		hour := Hour.Begin(t.Start.UnixMilli())
		in, at := [2]int64{int64(t.Series), hour}, [2]int64{g, hour}
		if !c.seen[in] {
			c.seen[in] = true
			c.count[at]++
		}
		n = c.count[at]
	}
	c.most[g] = max(c.most[g], n)
}

// Join counts those of an answer about some of the windows: the same instances may be in others.
func (c *Instances) Join(m *Merged) {
	if c == nil {
		return
	}
	of := map[int64]int64{}
	for i := range m.Series {
		n := int64(1)
		if len(m.Most) == len(m.Series) {
			n = m.Most[i]
		}
		sum, _ := m.Series[i].Sum(c.summed)
		of[c.groups[sum.Key()]] += n
	}
	for g, n := range of {
		c.most[g] = max(c.most[g], n)
	}
}

// Tell says in an answer how many there are; of no count one of each series.
func (c *Instances) Tell(m *Merged) {
	m.Instances, m.Most = int64(len(m.Series)), nil
	if c == nil {
		return
	}
	m.Instances, m.Most = 0, make([]int64, len(m.Series))
	rest := slices.Clone(c.most)
	for i := range m.Series {
		sum, _ := m.Series[i].Sum(c.summed)
		g := c.groups[sum.Key()]
		m.Most[i], rest[g] = rest[g], 0
		m.Instances += m.Most[i]
	}
}
