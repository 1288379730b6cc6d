package expansion

import (
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/paper"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/profile"
)

// Selection is a strategy: the prospect of a context, and the order of extensions.
// Create it with Greedy, Informed or Correlated.
type Selection struct {
	prospect func(c *Context) float64
	order    func(c *Context, prospect float64) float64
}

// Score returns the distance of the current value from its history, in standard
// deviations or similar: positive for more.
type Score func(now float64, history []float64) float64

// Deviation is the paper's score, (now - mean) ÷ std, and 0 if std is 0. So what is new
// scores 0.
func Deviation(now float64, history []float64) float64 {
	score, _ := paper.Score(now, history)
	return score
}

// Counting returns a Deviation whose std is at least that of a count (the root of its
// mean) and of one sample, so that new contexts have a score, and rare ones a small
// one. Unit is the value of one sample (1 for counts).
func Counting(unit float64) Score {
	return func(now float64, hist []float64) float64 {
		mean := stat.Mean(hist) / unit
		variance := math.Max(stat.Variance(hist)/unit/unit, math.Max(mean, 1))
		return (now/unit - mean) / math.Sqrt(variance)
	}
}

// Greedy follows the extensions with the highest score of the tested run against its
// history, averaged over the benchmarks that have one.
func Greedy(score Score) Selection {
	return Selection{
		prospect: func(c *Context) float64 { return c.deviation(score) },
		order:    func(_ *Context, prospect float64) float64 { return prospect },
	}
}

// HalfLife is the default age at which a code change counts half.
const HalfLife = 15 * 24 * time.Hour

// Recency returns how long before the tested run the file of a function was last
// changed; false if unknown.
type Recency func(f *profile.Function) (age time.Duration, known bool)

// Weight returns e^(-λt) with λ = ln 2 / halfLife, at most 1; 0 if unknown.
func (r Recency) Weight(f *profile.Function, halfLife time.Duration) float64 {
	if r == nil {
		return 0
	}
	age, known := r(f)
	if !known {
		return 0
	}
	return math.Exp(-math.Ln2 * math.Max(0, float64(age)/float64(halfLife)))
}

// Informed is Greedy in another order: the score is multiplied by 1 + the recency of
// the added function's code, by 1 + the share of its self samples whose compile mode
// changed, and by 2 if the candidate is at a depth where it never was in this context.
// The prospect is the plain score.
func Informed(score Score, recency Recency, halfLife time.Duration) Selection {
	s := Greedy(score)
	s.order = func(c *Context, prospect float64) float64 {
		depth := 0.0
		if c.newDepth() {
			depth = 1
		}
		f := &c.data.table.Functions[c.data.table.Func[c.end[0]]]
		return prospect * (1 + recency.Weight(f, halfLife)) * (1 + c.modeChange()) * (1 + depth)
	}
	return s
}

// Correlated follows the extensions whose samples correlate most with the time of the
// benchmarks, over the profiles that have the context; see package bottleneck. Reverse
// follows those that fall when time grows.
func Correlated(d *Data, o bottleneck.Correlating, reverse bool) Selection {
	y := d.metrics(o.Raw)
	if o.Least <= 0 {
		o.Least = leastHistory
	}
	sign := 1.0
	if reverse {
		sign = -1
	}
	return Selection{
		prospect: func(c *Context) float64 { return sign * c.correlation(y, o, sign) },
		order:    func(_ *Context, prospect float64) float64 { return prospect },
	}
}

// deviation is the mean over benchmarks of the score of u in this context.
func (c *Context) deviation(score Score) float64 {
	sum, n := 0.0, 0
	for i := range c.data.series {
		s := &c.data.series[i]
		h := s.history()
		if len(h) < leastHistory {
			continue
		}
		past := make([]float64, len(h))
		seen := false
		for k, col := range h {
			past[k] = c.samples[col]
			seen = seen || past[k] != 0
		}
		now := mean(c.samples, s.now())
		if now == 0 && !seen {
			continue // the benchmark does not have the context
		}
		sum += score(now, past)
		n++
	}
	return sum / float64(max(n, 1))
}

// correlation is the mean over benchmarks of the correlation of u in this context with
// y, or what o.Over names in the direction of sign.
func (c *Context) correlation(y []float64, o bottleneck.Correlating, sign float64) float64 {
	var all []float64
	for i := range c.data.series {
		var xs, ys []float64
		for _, col := range c.data.series[i].columns {
			x := c.samples[col]
			if x == 0 || math.IsNaN(y[col]) {
				continue
			}
			if !o.Samples {
				x /= math.Max(1, float64(c.data.columns[col].profile.Sum))
			}
			xs, ys = append(xs, x), append(ys, y[col])
		}
		if len(xs) >= o.Least {
			all = append(all, o.R(xs, ys))
		}
	}
	if len(all) == 0 {
		return 0
	}
	return o.Score(all, sign)
}

// modeChange is the share of the self samples of the function at the end, in this
// context, whose compile mode differs from the history: half the sum of the changes of
// all modes' shares.
func (c *Context) modeChange() float64 {
	var now, past [profile.FrameTypes]float64
	for i := range c.data.series {
		s := &c.data.series[i]
		for _, col := range s.now() {
			c.addModes(col, &now)
		}
		for _, col := range s.history() {
			c.addModes(col, &past)
		}
	}
	a, b := total(&now), total(&past)
	if a == 0 || b == 0 {
		return 0
	}
	change := 0.0
	for m := range now {
		change += math.Abs(now[m]/a-past[m]/b) / 2
	}
	return change
}

func (c *Context) addModes(column int, sums *[profile.FrameTypes]float64) {
	col := &c.data.columns[column]
	if len(col.modes) == 0 {
		return
	}
	var ends []int32 // several nodes of u may have one caller
	c.each(column, func(_, end int32, _ int64) { ends = append(ends, end) })
	slices.Sort(ends)
	for _, end := range slices.Compact(ends) {
		for i := range col.modes {
			sums[col.modes[i].mode] += float64(col.modes[i].sum(end, end+1))
		}
	}
}

func total(x *[profile.FrameTypes]float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum
}

// newDepth reports whether u has in this context a depth that it has in no run of the
// history of the same benchmark.
func (c *Context) newDepth() bool {
	depth := c.data.table.Depth
	for i := range c.data.series {
		s := &c.data.series[i]
		if len(s.history()) < leastHistory {
			continue
		}
		seen := map[int32]bool{}
		for _, col := range s.history() {
			c.each(col, func(start, _ int32, _ int64) { seen[depth[start]] = true })
		}
		found := false
		for _, col := range s.now() {
			c.each(col, func(start, _ int32, _ int64) { found = found || !seen[depth[start]] })
		}
		if found {
			return true
		}
	}
	return false
}
