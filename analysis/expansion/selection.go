package expansion

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/paper"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/profile"
)

// Selection is a strategy: Greedy, Informed and Correlated are Dendro's; any type with these
// methods is one.
type Selection interface {
	// Prospect scores the candidate in a context. A path ends before the first at or below
	// the threshold.
	Prospect(c *Context) float64
	// Weigh returns what makes an extension more promising than its prospect. The best have
	// the largest prospect × (1 + weight) × (1 + weight) …
	Weigh(c *Context) []Reason
}

// Reason is what Selection.Weigh found about the function at the end of a context.
type Reason struct {
	Measure  string  `json:"measure"`  // "recency", "mode" or "depth"
	Weight   float64 `json:"weight"`   // 0: does not count
	Distance string  `json:"distance"` // how far from the history: "changed 2 days ago"
}

// Benchmarks yields the candidate's samples in this context, in the unit of the value type:
// for each benchmark with enough runs those of the tested runs, and of the runs before.
func (c *Context) Benchmarks() iter.Seq2[[]float64, []float64] {
	of := func(columns []int) []float64 {
		x := make([]float64, len(columns))
		for i, col := range columns {
			x[i] = c.samples[col]
		}
		return x
	}
	return func(yield func(now, history []float64) bool) {
		for i := range c.data.series {
			s := &c.data.series[i]
			if len(s.history()) >= leastHistory && !yield(of(s.now()), of(s.history())) {
				return
			}
		}
	}
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
func Greedy(score Score) Selection { return greedy{score} }

type greedy struct{ score Score }

// Prospect is the mean over benchmarks of the score of u in this context.
func (g greedy) Prospect(c *Context) float64 {
	sum, n := 0.0, 0
	for now, history := range c.Benchmarks() {
		m := stat.Mean(now)
		if m == 0 && !slices.ContainsFunc(history, func(x float64) bool { return x != 0 }) {
			continue // the benchmark does not have the context
		}
		sum += g.score(m, history)
		n++
	}
	return sum / float64(max(n, 1))
}

func (greedy) Weigh(*Context) []Reason { return nil }

// HalfLife is the default age at which a code change counts half.
const HalfLife = 15 * 24 * time.Hour

// Recency returns how long before the tested run the file of a function was last
// changed; false if unknown.
type Recency func(f *profile.Function) (age time.Duration, known bool)

// weigh returns e^(-λt) with λ = ln 2 / halfLife, at most 1; nothing if the age is unknown.
func (r Recency) weigh(f *profile.Function, halfLife time.Duration) []Reason {
	if r == nil {
		return nil
	}
	age, known := r(f)
	if !known {
		return nil
	}
	age = max(age, 0)
	n, unit := int(age.Hours()), "hour"
	if n >= 48 {
		n, unit = n/24, "day"
	}
	if n != 1 {
		unit += "s"
	}
	return []Reason{{"recency", math.Exp(-math.Ln2 * float64(age) / float64(halfLife)), fmt.Sprintf("changed %d %s ago", n, unit)}}
}

// Informed is Greedy in another order, with three weights: the recency of the added
// function's code; the share of its self samples whose compile mode changed; 1 if the
// candidate is at a depth where it never was in this context.
func Informed(score Score, recency Recency, halfLife time.Duration) Selection {
	return informed{greedy{score}, recency, halfLife}
}

type informed struct {
	greedy
	recency  Recency
	halfLife time.Duration
}

func (s informed) Weigh(c *Context) []Reason {
	list := s.recency.weigh(&c.data.table.Functions[c.data.table.Func[c.end[0]]], s.halfLife)
	if change, text := c.modeChange(); change > 0 {
		list = append(list, Reason{"mode", change, text})
	}
	if depth, is := c.newDepth(); is {
		list = append(list, Reason{"depth", 1, fmt.Sprintf("new depth %d", depth)})
	}
	return list
}

// Correlated follows the extensions whose samples correlate most with the time of the
// benchmarks, over the profiles that have the context; see package bottleneck. Reverse
// follows those that fall when time grows.
func Correlated(d *Data, o bottleneck.Correlating, reverse bool) Selection {
	if o.Least <= 0 {
		o.Least = leastHistory
	}
	sign := 1.0
	if reverse {
		sign = -1
	}
	return correlated{d.metrics(o.Raw), o, sign}
}

type correlated struct {
	metrics []float64 // of each column
	by      bottleneck.Correlating
	sign    float64
}

func (s correlated) Prospect(c *Context) float64 {
	return s.sign * c.correlation(s.metrics, s.by, s.sign)
}

func (correlated) Weigh(*Context) []Reason { return nil }

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
// all modes' shares; and the mode whose share rose most.
func (c *Context) modeChange() (change float64, text string) {
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
		return 0, ""
	}
	most := 0.0
	for m := range now {
		rise := now[m]/a - past[m]/b
		change += math.Abs(rise) / 2
		if rise > most {
			most, text = rise, fmt.Sprintf("mode became %s: %.0f%%, before %.0f%%", profile.FrameType(m), 100*now[m]/a, 100*past[m]/b)
		}
	}
	return change, text
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

// newDepth returns the least depth, 1 for a root, that u has in this context and in no run
// of the history of the same benchmark.
func (c *Context) newDepth() (least int32, is bool) {
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
		for _, col := range s.now() {
			c.each(col, func(start, _ int32, _ int64) {
				if at := depth[start] + 1; !seen[depth[start]] && (!is || at < least) {
					least, is = at, true
				}
			})
		}
	}
	return least, is
}
