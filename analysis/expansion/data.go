package expansion

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// Data is the profiles on which contexts are measured, over one table of call nodes. It
// is immutable and safe for concurrent use.
type Data struct {
	table   *calltree.Table
	nodes   [][]int32 // of each function, ascending
	columns []column
	series  []series
	unit    float64 // of one sample
}

// column is one profile.
type column struct {
	profile *store.Profile
	nodes   []int32 // with a self value, ascending
	before  []int64 // before[i]: sum of the self values of nodes[:i]
	modes   []modeColumn
}

// modeColumn is the part of a profile's self values in one compile mode.
type modeColumn struct {
	mode profile.FrameType
	column
}

// series is the columns of one benchmark, oldest first.
type series struct {
	columns []int
	tested  int // number of columns at the end that are tested
}

// history returns the columns before the tested ones.
func (s *series) history() []int { return s.columns[:len(s.columns)-s.tested] }

// now returns the tested columns.
func (s *series) now() []int { return s.columns[len(s.columns)-s.tested:] }

// Load reads the profiles of benchmarks. The newest runs of each, at least one, are
// tested; those before are their history. All must have one value type. With modes it
// also reads the compile modes that Informed uses.
func Load(ctx context.Context, st store.Reader, benchmarks []history.Series, tested int, modes bool) (*Data, error) {
	var q store.Query
	for i := range benchmarks {
		q.Profiles = append(q.Profiles, store.IDs(benchmarks[i].Profiles)...)
	}
	if len(q.Profiles) == 0 {
		return nil, fmt.Errorf("contexts: %w", store.ErrNothing)
	}
	set, err := st.Trees(ctx, q, store.TreeOptions{Modes: modes})
	if err != nil {
		return nil, fmt.Errorf("contexts: %w", err)
	}
	if err := store.OneType(set.Profiles, q); err != nil {
		return nil, fmt.Errorf("contexts: %w", err)
	}
	d := &Data{table: set.Table, columns: make([]column, len(set.Profiles))}
	d.index()
	at := map[store.ProfileID]int{}
	for i := range set.Profiles {
		at[set.Profiles[i].ID] = i
		d.columns[i].profile = &set.Profiles[i]
	}
	var common int64
	for v, err := range set.Vectors {
		if err != nil {
			return nil, fmt.Errorf("contexts: %w", err)
		}
		c := &d.columns[v.Profile]
		c.fill(v.Vector)
		common = history.CommonDivisor(common, v.Self)
		for _, m := range v.Modes {
			mc := modeColumn{mode: m.Mode}
			mc.fill(m.Vector)
			c.modes = append(c.modes, mc)
		}
	}
	d.unit = history.SampleUnit(set.Profiles[0].Type, common)
	for i := range benchmarks {
		s := series{}
		for k := range benchmarks[i].Profiles {
			if c, ok := at[benchmarks[i].Profiles[k].ID]; ok { // otherwise deleted meanwhile
				s.columns = append(s.columns, c)
			}
		}
		s.tested = min(max(tested, 1), len(s.columns))
		d.series = append(d.series, s)
	}
	return d, nil
}

// Of returns the data of one benchmark whose stacks are cut to the program's own frames:
// contexts have no frames of the kernel or of a virtual machine.
func Of(m *history.Matrix, tested int) *Data {
	d := &Data{table: m.Table, columns: make([]column, len(m.Runs)), unit: m.Unit}
	d.index()
	s := series{tested: min(max(tested, 1), len(m.Runs))}
	for i := range m.Runs {
		r := &m.Runs[i]
		v := calltree.Vector{Nodes: r.Nodes, Self: make([]int64, len(r.Count))}
		for j, x := range r.Count {
			v.Self[j] = int64(math.Round(x * m.Unit))
		}
		d.columns[i].profile = r.Profile
		d.columns[i].fill(v)
		s.columns = append(s.columns, i)
	}
	d.series = []series{s}
	return d
}

// index lists the nodes of each function.
func (d *Data) index() {
	d.nodes = make([][]int32, len(d.table.Functions))
	for n, f := range d.table.Func {
		d.nodes[f] = append(d.nodes[f], int32(n))
	}
}

// SampleUnit returns the value of one sample.
func (d *Data) SampleUnit() float64 { return d.unit }

// Warnings reports benchmarks with too little data.
func (d *Data) Warnings() []string {
	short := 0
	for i := range d.series {
		if len(d.series[i].history()) < leastHistory {
			short++
		}
	}
	if short == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d benchmarks have fewer than %d runs before the tested one: they have no deviations", short, len(d.series), leastHistory)}
}

// fill stores a vector, whose nodes may be in any order.
func (c *column) fill(v calltree.Vector) {
	order := make([]int, len(v.Nodes))
	for i := range order {
		order[i] = i
	}
	if !slices.IsSorted(v.Nodes) {
		slices.SortFunc(order, func(i, j int) int { return int(v.Nodes[i]) - int(v.Nodes[j]) })
	}
	c.nodes = make([]int32, len(order))
	c.before = make([]int64, len(order)+1)
	for k, i := range order {
		c.nodes[k] = v.Nodes[i]
		c.before[k+1] = c.before[k] + v.Self[i]
	}
}

// sum returns the self values of the nodes [from, to).
func (c *column) sum(from, to int32) int64 {
	i, _ := slices.BinarySearch(c.nodes, from)
	if i == len(c.nodes) || c.nodes[i] >= to {
		return 0
	}
	n, _ := slices.BinarySearch(c.nodes[i:], to)
	return c.before[i+n] - c.before[i]
}

// total returns the total of a node in a column.
func (d *Data) total(c *column, n int32) int64 { return c.sum(n, d.table.End[n]) }

// function returns the function of a name; in a store names are distinct.
func (d *Data) function(name string) (int32, bool) {
	list := d.table.FunctionsNamed(name)
	if len(list) == 0 {
		return 0, false
	}
	return list[0], true
}

// leastHistory is the minimum number of runs before the tested one for a deviation.
const leastHistory = 2

// diff returns the sum over benchmarks of the mean of the tested runs minus the mean
// before.
func (d *Data) diff(x []float64) float64 {
	sum := 0.0
	for i := range d.series {
		s := &d.series[i]
		if h := s.history(); len(h) > 0 {
			sum += mean(x, s.now()) - mean(x, h)
		}
	}
	return sum
}

func mean(x []float64, columns []int) float64 {
	sum := 0.0
	for _, c := range columns {
		sum += x[c]
	}
	return sum / float64(max(len(columns), 1))
}

// metrics returns the metric of every column, NaN if it has none.
func (d *Data) metrics(raw bool) []float64 {
	profiles := make([]store.Profile, len(d.columns))
	for i := range d.columns {
		profiles[i] = *d.columns[i].profile
	}
	return bottleneck.Metrics(profiles, raw)
}

// round removes the last bits of a float, which must not decide the order of equal
// values.
func round(x float64) float64 {
	const digits = 1e9
	if math.Abs(x) > 1e6 {
		return x
	}
	return math.Round(x*digits) / digits
}

// Functions returns the functions that contexts may have.
func (d *Data) Functions() []profile.Function { return d.table.Functions }
