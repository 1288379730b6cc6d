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

// Data is the profiles that contexts are measured on, over one table of call
// nodes. It does not change and is safe for concurrent use.
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
	tested  int // how many at the end are under test
}

// history returns the columns before the tested ones.
func (s *series) history() []int { return s.columns[:len(s.columns)-s.tested] }

// now returns the columns under test.
func (s *series) now() []int { return s.columns[len(s.columns)-s.tested:] }

// Load reads the profiles of benchmarks; of each the newest tested runs (1 if
// tested is below) are under test, those before are their history. All must have
// one value type. With modes, the compile modes that Informed looks at come too.
func Load(ctx context.Context, st store.Reader, benchmarks []history.Series, tested int, modes bool) (*Data, error) {
	var q store.Query
	for i := range benchmarks {
		for k := range benchmarks[i].Profiles {
			q.Profiles = append(q.Profiles, benchmarks[i].Profiles[k].ID)
		}
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
			if c, ok := at[benchmarks[i].Profiles[k].ID]; ok { // else deleted meanwhile
				s.columns = append(s.columns, c)
			}
		}
		s.tested = min(max(tested, 1), len(s.columns))
		d.series = append(d.series, s)
	}
	d.nodes = make([][]int32, len(d.table.Functions))
	for n, f := range d.table.Func {
		d.nodes[f] = append(d.nodes[f], int32(n))
	}
	return d, nil
}

// SampleUnit returns what one sample is, in the unit of the values.
func (d *Data) SampleUnit() float64 { return d.unit }

// Warnings says what the data is too little for.
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
	return []string{fmt.Sprintf("%d of %d benchmarks have fewer than %d runs before the tested one: nothing deviates in them", short, len(d.series), leastHistory)}
}

// fill takes in a vector, which comes in any order of nodes.
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

// leastHistory is the number of runs before the tested one below which there is no
// deviation.
const leastHistory = 2

// diff returns the sum over benchmarks of what is there now less the mean before.
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

// metrics returns y of every column, NaN where there is none.
func (d *Data) metrics(raw bool) []float64 {
	profiles := make([]store.Profile, len(d.columns))
	for i := range d.columns {
		profiles[i] = *d.columns[i].profile
	}
	return bottleneck.Metrics(profiles, raw)
}

// round takes off what floating point leaves in the last bits, which must not
// decide the order of equals.
func round(x float64) float64 {
	const digits = 1e9
	if math.Abs(x) > 1e6 {
		return x
	}
	return math.Round(x*digits) / digits
}
