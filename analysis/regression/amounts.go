package regression

import (
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// Values that are there at one moment, like the objects on a heap, are compared as amounts:
// their shares say nothing when one function always holds 99.9%. Two tests are made of the
// whole program's amount: whether the tested runs have more than the history (a step), and
// whether the amount grows from run to run (a trend). The function that holds the growth is
// named. METHOD.md has the formulas.

// ProcessAttribute names the process of which a run is a snapshot: `--attr process=ID`.
// Growth over the snapshots of one process is a leak.
const ProcessAttribute = "process"

// newerGrowth is the part of a trend that the newer half of the runs must have.
const newerGrowth = 0.2

// growth is a rise of the program's amount, in units of the value type.
type growth struct {
	kind          Kind
	from, to      []int // runs before and after
	before, delta float64
	se, score     float64
	confirmed     bool
}

// grown returns the finding of the first growth that is no noise, of a test of k runs; nil: none is.
func grown(s *history.Series, m *history.Matrix, k int, o *Options, list ...growth) *Finding {
	least, share := stat.ScoreOfTail(o.alpha(k)/2), o.withDefaults().MinShare // of two tests
	for _, g := range list {
		if g.score >= least && g.delta >= share*g.before {
			f := g.finding(s, m, o)
			return &f
		}
	}
	return nil
}

// Grown returns the finding that the program's amount is larger in all tested runs than in those of
// the history; nil: it is not. Like Growing, it is for value types of one moment.
func (r *Rows) Grown(hist, tested []int, o Options) *Finding {
	return grown(r.series, r.sp.Matrix, len(tested), &o, step(r.sp.Matrix, slices.Concat(hist, tested), len(tested)))
}

// Growing returns the finding that the program's amount grows from run to run; nil: it does not.
// It is asked at each run, so that a growth from run to run must be as sure as what one run shows: a
// step would otherwise look like one first. The snapshots of one process are a test of all of them.
func (r *Rows) Growing(runs []int, o Options) *Finding {
	m := r.sp.Matrix
	if f := grown(r.series, m, len(runs), &o, leak(m, runs)); f != nil {
		return f
	}
	return grown(r.series, m, 1, &o, trend(m, runs, false))
}

// traceAmounts is Trace of the program's amounts.
func (r *Rows) traceAmounts(hist, tested []int) (list []float64) {
	m, n := r.sp.Matrix, float64(len(hist))
	mean, squares := amounts(m, hist)
	sd, _ := deviation(m, mean, mean, squares, n-1)
	for _, t := range slices.Concat(hist, tested) {
		list = append(list, (amount(m, t)-mean)/math.Max(sd, math.SmallestNonzeroFloat64))
	}
	return list
}

// Amount is the program's amount in a run, in the unit of the value type.
func (r *Rows) Amount(t int) float64 { return amount(r.sp.Matrix, t) }

// amount is the program's amount in a run.
func amount(m *history.Matrix, t int) float64 {
	return (m.Runs[t].Total + m.Runs[t].Environment) * m.Unit
}

// amounts returns the mean amount of runs, and the squares of their differences from it.
func amounts(m *history.Matrix, runs []int) (mean, squares float64) {
	return size.Squares(runs, func(t int) float64 { return amount(m, t) })
}

// deviation returns the standard deviation of amounts around a mean, from the squares of
// independent residuals, and its degrees of freedom. It is that of the number of sampled
// objects in an amount at least.
func deviation(m *history.Matrix, mean, counted, squares, dof float64) (float64, float64) {
	prior := ofBenchmarks.jitter * mean
	n, counting := size.PriorFreedom+dof, counted*m.Unit
	if m.Weighted {
		counting = 0 // the value of a sample is unknown
	}
	return math.Sqrt(math.Max((squares+size.PriorFreedom*prior*prior)/n, counting)), n
}

// step tests the last k runs against those before; both levels are means.
func step(m *history.Matrix, runs []int, k int) (g growth) {
	n := len(runs) - k
	if n < leastHistory || k < 1 {
		return g
	}
	g = growth{kind: Regression, from: runs[:n], to: runs[n:], confirmed: k > 1}
	before, squares := amounts(m, g.from)
	now, _ := amounts(m, g.to)
	g.before = before
	sd, dof := deviation(m, g.before, g.before, squares, float64(n-1))
	g.delta, g.se = now-g.before, sd*math.Sqrt(1/float64(n)+1/float64(k))
	if g.before > 0 && g.delta > 0 && (k == 1 || slices.IndexFunc(g.to, func(t int) bool { return amount(m, t) < g.before+g.se }) < 0) {
		g.score = stat.StudentScore(g.delta/g.se, dof)
	}
	return g
}

// trend fits a line through the amounts of the runs. The noise is taken from second
// differences, which a line does not change. It is a growth if the newest run has the most
// and the newer half grew too: a step long ago is none. In snapshots of one process, the
// objects that stay are sampled once: only the growth has the noise of counts.
func trend(m *history.Matrix, runs []int, oneProcess bool) (g growth) {
	n := len(runs)
	if n <= leastHistory {
		return g
	}
	g = growth{kind: Regression, from: runs[:1], to: runs[n-1:], confirmed: true}
	var slope, spread, squares float64
	mean, _ := amounts(m, runs)
	for i, t := range runs {
		x := float64(i) - float64(n-1)/2
		slope += x * (amount(m, t) - mean)
		spread += x * x
		if i > 1 {
			d := amount(m, t) - 2*amount(m, runs[i-1]) + amount(m, runs[i-2])
			squares += d * d / 6
		}
	}
	slope /= spread
	counted := mean
	if oneProcess {
		counted = 0
	}
	sd, dof := deviation(m, mean, counted, squares, float64(n-2))
	g.delta, g.se = slope*float64(n-1), sd*float64(n-1)/math.Sqrt(spread)
	if oneProcess && !m.Weighted {
		g.se = math.Hypot(g.se, math.Sqrt(math.Max(0, g.delta)*m.Unit))
	}
	g.before = mean - g.delta/2
	newest := amount(m, runs[n-1])
	is := newest-amount(m, runs[n/2]) >= newerGrowth*g.delta
	for _, t := range runs {
		is = is && newest >= amount(m, t)
	}
	if is && g.delta > 0 && g.delta >= littleOf*g.before {
		g.score = stat.StudentScore(g.delta/g.se, dof)
	}
	g.before = math.Max(g.before, m.Unit)
	return g
}

// leak is the trend of the snapshots of the newest run's process.
func leak(m *history.Matrix, runs []int) growth {
	process := m.Runs[runs[len(runs)-1]].Profile.Run.Attributes[ProcessAttribute]
	if process == "" {
		return growth{}
	}
	g := trend(m, slices.DeleteFunc(slices.Clone(runs),
		func(t int) bool { return m.Runs[t].Profile.Run.Attributes[ProcessAttribute] != process }), true)
	g.kind = Leak
	return g
}

// finding describes the growth and the function that holds it.
func (g *growth) finding(s *history.Series, m *history.Matrix, o *Options) Finding {
	f := newFinding(g.kind, s, g.confirmed)
	f.Score = g.score
	first, last := m.Runs[g.to[0]].Profile.Run, m.Runs[g.from[len(g.from)-1]].Profile.Run
	grows := ""
	if len(g.from) == 1 && len(g.to) == 1 { // a trend began after its first run
		first = s.Profiles[slices.IndexFunc(s.Profiles, func(p store.Profile) bool { return p.Run.Key == last.Key })+1].Run
		grows = ", from run to run"
	}
	f.Since = Since{Run: first.Key, Commit: first.Commit, LastGood: last.Key}
	f.Chance = stat.NormalTail(g.score)
	f.PlaceChance = f.Chance
	f.Delta = Delta{Samples: g.delta / m.Unit, Share: g.delta / g.before, Gross: g.delta / g.before,
		Time: &Estimate{g.delta, g.delta - 1.96*g.se, g.delta + 1.96*g.se, s.Type.Unit}}
	g.place(&f, m, o)
	f.Note = fmt.Sprintf("compared as an amount, not as a share%s", grows)
	f.setID()
	return f
}

// place names the call path that holds most of the growth.
func (g *growth) place(f *Finding, m *history.Matrix, o *Options) {
	t := m.Table
	delta, level := make([]float64, t.Len()), make([]float64, t.Len()) // self, then total
	for _, side := range []struct {
		runs []int
		sign float64
	}{{g.from, -1}, {g.to, 1}} {
		for _, run := range side.runs {
			for i, n := range m.Runs[run].Nodes {
				v := m.Runs[run].Count[i] * m.Unit / float64(len(side.runs))
				delta[n] += side.sign * v
				if side.sign < 0 {
					level[n] += v
				}
			}
		}
	}
	is := own.Functions(t, level, o.Own)
	for n := t.Len() - 1; n >= 0; n-- {
		if p := t.Parent[n]; p != calltree.NoNode {
			delta[p] += delta[n]
			level[p] += level[n]
		}
	}
	at, carrier := calltree.NoNode, -1 // index in the path
	for least := mostOf * g.delta; ; {
		next := calltree.NoNode
		for n := range int32(t.Len()) {
			if t.Parent[n] == at && delta[n] >= least && (next == calltree.NoNode || delta[n] > delta[next]) {
				next = n
			}
		}
		if next == calltree.NoNode {
			break
		}
		at = next
		f.Path = append(f.Path, t.Functions[t.Func[at]].Name)
		if is[t.Func[at]] {
			carrier = len(f.Path) - 1
		}
	}
	if at == calltree.NoNode {
		return
	}
	f.Function = t.Functions[t.Func[at]].Name
	f.Paths = []Path{{f.Path, delta[at] / m.Unit}}
	h := &Headline{Function: f.Function, Own: carrier >= 0}
	node := at
	for i := len(f.Path) - 1; i > max(carrier, 0) && carrier >= 0; i-- {
		h.Calls, node = f.Path[i], t.Parent[node]
	}
	fn := &t.Functions[t.Func[node]]
	h.Function, h.File, h.Line = fn.Name, fn.File, int(fn.StartLine)
	h.New = level[node] == 0
	f.Headline = h
	f.Delta.Base = level[node] / g.before
	if level[at] == 0 {
		f.Presence = New
	}
}
