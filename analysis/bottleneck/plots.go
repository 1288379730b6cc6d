package bottleneck

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Plot has the numbers of a function in the runs of one benchmark: for Correlation the
// metric (y) at the function's self (x), the paper's figure 5.2; for potentials the share
// of the function (y) in one run after another, and what it costs per operation.
type Plot struct {
	Group     string `json:"group"`
	Benchmark string `json:"benchmark"`
	// Score is the correlation in this benchmark, or the mean of the share.
	Score  float64 `json:"score"`
	X      string  `json:"x,omitempty"`      // unit of x, "share" or that of the value type; empty: points have no x
	Y      string  `json:"y"`                // unit of y, "share" or that of the metric
	Metric string  `json:"metric,omitempty"` // that y is
	// Cost is the mean of what the share costs per operation, in CostUnit; absent if the
	// operations of a run are unknown.
	Cost     float64 `json:"cost,omitempty"`
	CostUnit string  `json:"costUnit,omitempty"`
	// Slope and Intercept are the line of least squares through the points; absent if they
	// do not vary.
	Slope     float64 `json:"slope,omitempty"`
	Intercept float64 `json:"intercept,omitempty"`
	Points    []Point `json:"points"` // by date and run
}

// Point is a profile in a Plot.
type Point struct {
	Run  string    `json:"run"`
	Date time.Time `json:"date,omitzero"`
	X    float64   `json:"x"`
	Y    float64   `json:"y"`
}

// mostPoints is the maximum number of points, functions times profiles, that plots are made of.
var mostPoints = 4 << 20

// plots fills in the plots of the first rows, as many as have room, of each in the benchmarks with the strongest scores.
func (a *analysis) plots(ctx context.Context, rows []*Row) error {
	if a.o.Plots <= 0 || a.r.Value == 0 {
		return nil
	}
	if n := mostPoints / len(a.profiles); n < len(rows) {
		a.r.warn("only the first %d of %d functions have plots: plots have at most %d points", n, len(rows), mostPoints)
		rows = rows[:n]
	}
	if len(rows) == 0 {
		return nil // no name would be all
	}
	names := map[string][]*Row{}
	for _, r := range rows {
		names[r.Function] = append(names[r.Function], r)
	}
	profiles, values, err := a.values(ctx, slices.Sorted(maps.Keys(names)))
	if err != nil {
		return err
	}
	usable := Metrics(profiles, a.o.Raw)
	members := byDate(profiles)
	for name, rows := range names {
		for _, members := range members {
			p := Plot{Group: profiles[members[0]].Benchmark.Group, Benchmark: profiles[members[0]].Benchmark.Name, Y: "share"}
			costs := []float64{}
			for _, n := range members {
				v, has := values[name][n]
				at := &profiles[n]
				point := Point{Run: at.Run.Key, Date: at.Run.Date}
				if at.Sum == 0 || a.o.Rank == Correlation && (!has || math.IsNaN(usable[n])) {
					continue
				}
				switch a.o.Rank {
				case Correlation:
					point.X, p.X = a.measured(at, v.self)
					point.Y, p.Metric, p.Y = a.metricOf(at)
				case Subtree:
					point.Y = float64(v.total) / float64(at.Sum)
				case Own:
					point.Y = float64(v.held) / float64(at.Sum)
				default:
					point.Y = float64(v.self) / float64(at.Sum)
				}
				if operations, _ := at.Covered(); operations > 0 && !at.Type.Momentary() {
					costs = append(costs, point.Y*float64(at.Sum)/math.Pow10(at.Type.Scale)/operations)
				}
				p.Points = append(p.Points, point)
			}
			if a.o.Rank != Correlation && len(costs) == len(p.Points) && len(costs) > 0 {
				p.Cost, p.CostUnit = stat.Mean(costs), profiles[members[0]].PerOperation()
			}
			if a.finishPlot(&p) {
				for _, r := range rows {
					r.Plots = append(r.Plots, p)
				}
			}
		}
		for _, r := range rows {
			a.cutPlots(r)
		}
	}
	return nil
}

// value is what a profile has of a function.
type value struct {
	self, total int64
	held        int64 // of Own
}

// values returns what each of the selected profiles has of some functions, by name and number of
// the profile. It queries the store for these functions only.
func (a *analysis) values(ctx context.Context, names []string) ([]store.Profile, map[string]map[int32]value, error) {
	values := make(map[string]map[int32]value, len(names))
	for _, name := range names {
		values[name] = map[int32]value{}
	}
	if a.o.Rank == Own {
		profiles, err := a.heldByProfile(ctx, values)
		return profiles, values, err
	}
	set, err := a.st.Functions(ctx, a.q, names)
	if err != nil {
		return nil, nil, err
	}
	for chunk, err := range set.Rows {
		if err != nil {
			return nil, nil, err
		}
		for i, f := range chunk.Function {
			m := values[set.Functions[f].Name]
			v := m[chunk.Profile[i]]
			m[chunk.Profile[i]] = value{self: v.self + chunk.Self[i], total: v.total + chunk.Total[i]}
		}
	}
	return set.Profiles, values, nil
}

// byDate returns the numbers of the profiles of each benchmark, by date and run.
func byDate(list []store.Profile) [][]int32 {
	var names []string
	of := store.BenchmarkIndex(list, &names)
	members := make([][]int32, len(names))
	for i, b := range of {
		members[b] = append(members[b], int32(i))
	}
	for _, m := range members {
		slices.SortStableFunc(m, func(i, k int32) int {
			return cmp.Or(list[i].Run.Date.Compare(list[k].Run.Date), cmp.Compare(list[i].Run.Key, list[k].Run.Key))
		})
	}
	return members
}

// measured returns what correlates of a function with a self, and its unit.
func (a *analysis) measured(p *store.Profile, self int64) (x float64, unit string) {
	if a.o.Samples {
		return float64(self) / math.Pow10(p.Type.Scale), p.Type.Unit
	}
	return float64(self) / float64(p.Sum), "share"
}

// metricOf returns what correlates of a profile: the metric or, of a rate, the time of one.
func (a *analysis) metricOf(p *store.Profile) (y float64, name, unit string) {
	m, _ := p.Metric()
	if !a.o.Raw && m.Better == testrun.Higher {
		return 1 / m.Mean, m.Name, "1/(" + m.Unit + ")"
	}
	return m.Mean, m.Name, m.Unit
}

// finishPlot computes the score and the line of a plot; false: nothing is to be shown.
func (a *analysis) finishPlot(p *Plot) bool {
	x, y := make([]float64, len(p.Points)), make([]float64, len(p.Points))
	some := false
	for i, point := range p.Points {
		x[i], y[i] = point.X, point.Y
		some = some || point.Y != 0
	}
	if a.o.Rank != Correlation {
		p.Score = round(stat.Mean(y))
		return some
	}
	if len(x) < a.o.Least {
		return false
	}
	p.Score = round(a.o.R(x, y))
	if v := stat.Variance(x); v > 0 {
		p.Slope = stat.Pearson(x, y) * math.Sqrt(stat.Variance(y)/v)
		p.Intercept = stat.Mean(y) - p.Slope*stat.Mean(x)
	}
	return true
}

// cutPlots keeps the plots of a row with the strongest scores in the direction of its own.
func (a *analysis) cutPlots(r *Row) {
	sign := 1.0
	if r.Score < 0 {
		sign = -1
	}
	slices.SortStableFunc(r.Plots, func(p, q Plot) int {
		return cmp.Or(-cmp.Compare(sign*p.Score, sign*q.Score), cmp.Compare(p.Group, q.Group), cmp.Compare(p.Benchmark, q.Benchmark))
	})
	r.Plots = r.Plots[:min(len(r.Plots), a.o.Plots)]
}
