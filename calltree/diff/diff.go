// Package diff compares two sides of call trees: which functions of the two are the same
// (match, rename, inline), the union of their call paths with the values of both (Diff), and
// views of that: nodes, functions, flame graph, callers, net values.
//
// A side is a list of trees that add up. The package does not know where they come from, how
// many runs stand behind a side, or whether a difference means anything: that is the business
// of the packages below analysis. Like package calltree it is pure.
package diff

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Diff compares two sides, base and head: one Table, the union of the call node paths of
// both, with two columns of values. It keeps every path of either side, including paths
// that are equal on both, cancel, or exist on one side only.
//
// Values stay as measured. A divisor per side says how they are compared: unchanged
// (ByValue), as shares (ByShare), or per unit of work (PerUnit). matchFunctions decides
// which functions of the two sides are the same: name, module, and file below the root of
// the sources count, lines do not.
//
// A Diff is safe for concurrent use once its divisors are set.
type Diff struct {
	*calltree.Table // functions in byte order of names, then of module, file, line
	Type            profile.ValueType
	Base            Side
	Head            Side
	// Notes are sentences for people about what the numbers do not show.
	Notes []string

	common [2]float64 // factors between values of different sampling periods and scales
	sample [2]float64 // value of one sample, per side; 0: unknown
}

// Side is one side of a Diff, in its own unit as measured.
type Side struct {
	Self, Total []int64
	// Divisor makes values comparable with those of the other side.
	Divisor float64
}

// Pair is one number on both sides, as measured.
type Pair struct{ Base, Head int64 }

// Compare returns the diff of two sets of trees, of any size; the values of a side are
// the sum over its trees. The value types of all trees must have one name and unit,
// those of one side must add.
//
// Counts of samples taken at different periods are scaled to the shorter period; Notes
// says so. Times and bytes mean the same at any period and are not scaled.
func Compare(base, head []*calltree.Tree) (*Diff, error) {
	if len(base) == 0 || len(head) == 0 {
		return nil, errors.New("a diff needs a profile on each side")
	}
	for _, side := range [][]*calltree.Tree{base, head} {
		if err := calltree.Addable(side); err != nil {
			return nil, err
		}
	}
	b, n := overlayAll(base), overlayAll(head)
	d := &Diff{Type: n.Type}
	if err := d.commensurable(b, n); err != nil {
		return nil, err
	}
	functions, fb, fn, seen := matchFunctions(b.Functions, n.Functions)
	table, rb, rn := overlay(b.Table, n.Table, fb, fn, functions)
	d.Table = withCategories(table, [2]*calltree.Table{b.Table, n.Table}, [2][]int32{rb, rn})
	var wg sync.WaitGroup // one side each: its two columns read the same rows
	wg.Go(func() { d.Base = Side{Self: calltree.Gather(b.Self, rb), Total: calltree.Gather(b.Total, rb)} })
	wg.Go(func() { d.Head = Side{Self: calltree.Gather(n.Self, rn), Total: calltree.Gather(n.Total, rn)} })
	wg.Wait()
	d.ByValue()
	d.noteNames("versions differ", seen.bumps)
	d.noteApart(seen.apart)
	return d, nil
}

// commensurable sets the type of the comparison and the factors from the types of the
// sides to it.
func (d *Diff) commensurable(b, n *calltree.Tree) error {
	x, y := b.Type, n.Type
	counted, timed := 0, 1
	if x.Unit != "count" {
		counted, timed = timed, counted
	}
	types := [2]profile.ValueType{x, y}
	asSamples := timesOfSamples(types[timed], types[counted])
	if !asSamples && (x.Name != y.Name || x.Unit != y.Unit) {
		return fmt.Errorf("%s cannot be compared with %s", x, y)
	}
	if sumAbs(b)+sumAbs(n) > math.MaxInt64 {
		return fmt.Errorf("%w: the sum of both sides exceeds 63 bits", profile.ErrMalformed)
	}
	d.Type.Scale = max(x.Scale, y.Scale)
	d.sample = [2]float64{sampleWeight(x), sampleWeight(y)}
	d.common = [2]float64{math.Pow10(d.Type.Scale - x.Scale), math.Pow10(d.Type.Scale - y.Scale)}
	if asSamples {
		d.Type = types[counted]
		d.common[timed] /= d.sample[timed]
		d.Notes = append(d.Notes, fmt.Sprintf("%s is compared as samples of %s", types[timed], types[timed].Format(d.sample[timed])))
		return nil
	}
	if x.Unit != "count" || x.Period == y.Period && x.PeriodUnit == y.PeriodUnit {
		return nil
	}
	if x.Period <= 0 || y.Period <= 0 || x.PeriodUnit != y.PeriodUnit {
		d.Notes = append(d.Notes, "the sampling period of one side is unknown: values are compared as if both were equal")
		return nil
	}
	d.Type.Period = min(x.Period, y.Period)
	d.common[0] *= float64(x.Period) / float64(d.Type.Period)
	d.common[1] *= float64(y.Period) / float64(d.Type.Period)
	d.Notes = append(d.Notes, fmt.Sprintf("sampled every %d and %d %s: a sample of the longer period counts as %.4g of the other",
		x.Period, y.Period, x.PeriodUnit, float64(max(x.Period, y.Period))/float64(d.Type.Period)))
	return nil
}

// timesOfSamples reports whether times are those of samples that the other side counts, as
// two outputs of one profiler are: py-spy's raw has samples, its speedscope their times.
func timesOfSamples(time, samples profile.ValueType) bool {
	return samples.Unit == "count" && samples.Scale == 0 && time.Unit == "nanoseconds" && time.Scale == 0 && sampleWeight(time) > 0 &&
		(samples.Name == time.Name+"-samples" || time.Name == "time" &&
			(samples.Name == profile.CPUSamples || samples.Name == profile.WallSamples))
}

func sumAbs(t *calltree.Tree) uint64 { return uint64(t.RootTotal()) }

// ByValue compares the values as measured.
func (d *Diff) ByValue() { d.PerUnit(1, 1) }

// ByShare compares shares of each side's own RootTotal.
func (d *Diff) ByShare() {
	r := d.RootTotal()
	d.Base.Divisor, d.Head.Divisor = float64(max(r.Base, 1)), float64(max(r.Head, 1))
}

// PerUnit compares values per unit of work: base and head are the amounts of work of the
// sides (profiles, seconds, requests), and must be positive.
func (d *Diff) PerUnit(base, head float64) {
	d.Base.Divisor, d.Head.Divisor = base/d.common[0], head/d.common[1]
}

// Exact reports whether values are compared unchanged, so that all numbers of the diff
// are whole.
func (d *Diff) Exact() bool { return d.Base.Divisor == 1 && d.Head.Divisor == 1 }

// Self returns the self values of node n.
func (d *Diff) Self(n int32) Pair { return Pair{d.Base.Self[n], d.Head.Self[n]} }

// Total returns the totals of node n.
func (d *Diff) Total(n int32) Pair { return Pair{d.Base.Total[n], d.Head.Total[n]} }

// RootTotal returns the sums of absolute self values: 100% of each side. It is the same
// in every diff of that side.
func (d *Diff) RootTotal() Pair {
	var p Pair
	for n := range d.Parent {
		p.Base += abs(d.Base.Self[n])
		p.Head += abs(d.Head.Self[n])
	}
	return p
}

// Values returns the two numbers as compared.
func (d *Diff) Values(p Pair) (base, head float64) {
	return float64(p.Base) / d.Base.Divisor, float64(p.Head) / d.Head.Divisor
}

// Delta returns head minus base, as compared.
func (d *Diff) Delta(p Pair) float64 {
	if d.Exact() {
		return float64(p.Head - p.Base)
	}
	base, head := d.Values(p)
	return head - base
}

// Relative returns the delta divided by the base; false if the base is 0.
func (d *Diff) Relative(p Pair) (float64, bool) {
	if p.Base == 0 {
		return 0, false
	}
	base, _ := d.Values(p)
	return d.Delta(p) / math.Abs(base), true
}

// Presence tells which sides have something.
type Presence string

// The presences. OnBoth includes no value on either side.
const (
	OnBoth   Presence = ""
	OnlyHead Presence = "new"
	Vanished Presence = "vanished"
)

// Presence tells which sides have something with these totals.
func (p Pair) Presence() Presence {
	switch {
	case p.Base == 0 && p.Head != 0:
		return OnlyHead
	case p.Head == 0 && p.Base != 0:
		return Vanished
	}
	return OnBoth
}

// Noise returns the largest delta that the counting of samples alone causes in 95% of
// cases if nothing changed. The number of samples that hit a function varies like a
// Poisson variable, so a value v of samples of q each has variance q·v; what v is if
// nothing changed, both sides tell, so that a function that a short side misses by chance
// has not vanished. Half a sample per side corrects for whole numbers. Differences between
// runs (see package regression) come on top; a delta within the noise means nothing. It
// is 0 if the value of a sample is unknown.
func (d *Diff) Noise(p Pair) float64 {
	base, head := d.Values(p)
	k := d.NoisePerValue()
	return (k[0]+k[1])/(2*z95*z95) + math.Sqrt(k[0]*math.Abs(base)+k[1]*math.Abs(head))
}

const z95 = 1.96 // half the width of a 95% interval, in standard errors

// NoisePerValue returns the factors of Noise for values as compared:
// (k₀+k₁) ÷ (2·1.96²) + √(k₀·|base| + k₁·|head|).
func (d *Diff) NoisePerValue() [2]float64 {
	if d.sample[0] == 0 || d.sample[1] == 0 {
		return [2]float64{}
	}
	// Of variances a·v and b·v, the mean v weighted by 1/a and 1/b has (a+b)·v = b·base + a·head.
	return [2]float64{z95 * z95 * d.sample[1] / d.Head.Divisor, z95 * z95 * d.sample[0] / d.Base.Divisor}
}

// sampleWeight returns the value of one sample of the type, or 0 if it is unknown.
func sampleWeight(t profile.ValueType) float64 {
	switch {
	case t.Unit == "count":
		return math.Pow10(t.Scale)
	case t.Unit == "nanoseconds" && t.PeriodUnit == t.Unit:
		return float64(t.Period) * math.Pow10(t.Scale)
	}
	return 0
}

// Shown reports for every node whether a view lists it: it has a total on either side,
// or a child is shown.
func (d *Diff) Shown() []bool {
	return d.WithCallers(func(n int32) bool { return d.Total(n) != Pair{} })
}

// Order compares two numbers for display: by |delta| descending, then by the larger of
// the two sides descending. Callers order ties by function.
func (d *Diff) Order(a, b Pair) int {
	return cmp.Or(cmp.Compare(math.Abs(d.Delta(b)), math.Abs(d.Delta(a))), cmp.Compare(d.Larger(b), d.Larger(a)))
}

// Larger returns the larger absolute value of the two sides, as compared.
func (d *Diff) Larger(p Pair) float64 {
	base, head := d.Values(p)
	return max(math.Abs(base), math.Abs(head))
}

// Children appends the children of n (NoNode: the roots) to buf in display
// order: Order of their totals, ties by function.
func (d *Diff) Children(n int32, buf []int32) []int32 {
	from := len(buf)
	buf = slices.AppendSeq(buf, d.ByFunction(n))
	slices.SortStableFunc(buf[from:], func(a, b int32) int { return d.Order(d.Total(a), d.Total(b)) })
	return buf
}

// Walk visits the shown nodes in display order, depth first. Visit returns false to
// skip the descendants of a node.
func (d *Diff) Walk(visit func(n int32) bool) {
	shown := d.Shown()
	calltree.Walk(d.Children, func(n int32) bool { return shown[n] && visit(n) })
}

// Row is one line of a tree view of a diff.
type Row struct {
	Node, Depth, Func int32
	Self, Total       Pair
}

// Row returns the line of node n.
func (d *Diff) Row(n int32) Row {
	return Row{Node: n, Depth: d.Depth[n], Func: d.Func[n], Self: d.Self(n), Total: d.Total(n)}
}

// FunctionChange is one line of the function list of a diff.
type FunctionChange struct {
	Func        int32 // index in Table.Functions
	Self, Total Pair  // in Total every sample counts once, however often the function recurs
}

// FunctionRows returns a line for every function of either side, the largest change first:
// in Order of the totals, ties by function. Each side is summed on its own, so a function is
// listed even if its nodes cancel between the sides.
func (d *Diff) FunctionRows() []FunctionChange {
	rows := make([]FunctionChange, len(d.Functions))
	listed := make([]bool, len(d.Functions))
	outermost := calltree.NewOutermost(len(d.Functions))
	for n, fn := range d.Func {
		out := outermost.Enter(int32(n), fn, d.End[n])
		total := d.Total(int32(n))
		if total == (Pair{}) {
			continue
		}
		listed[fn] = true
		r := &rows[fn]
		r.Self.Base += d.Base.Self[n]
		r.Self.Head += d.Head.Self[n]
		if out {
			r.Total.Base += total.Base
			r.Total.Head += total.Head
		}
	}
	list := rows[:0]
	for fn := range listed {
		if listed[fn] {
			r := rows[fn]
			r.Func = int32(fn)
			list = append(list, r)
		}
	}
	d.sortChanges(list, func(r FunctionChange) Pair { return r.Total })
	return list
}

// sortChanges puts rows into the Order of a number of them, ties by function.
func (d *Diff) sortChanges(rows []FunctionChange, by func(FunctionChange) Pair) {
	slices.SortFunc(rows, func(a, b FunctionChange) int {
		return cmp.Or(d.Order(by(a), by(b)), cmp.Compare(a.Func, b.Func))
	})
}

// MoreAndLess splits function rows into those that use more on the head side, less, or
// the same, each in Order of the number that by returns, ties by function. It reorders
// rows.
func (d *Diff) MoreAndLess(rows []FunctionChange, by func(FunctionChange) Pair) (more, less, same []FunctionChange) {
	d.sortChanges(rows, by)
	for _, r := range rows {
		switch delta := d.Delta(by(r)); {
		case delta > 0:
			more = append(more, r)
		case delta < 0:
			less = append(less, r)
		default:
			same = append(same, r)
		}
	}
	return more, less, same
}

// Widths returns the tree of the widths of nodes in a flame graph of both sides: self
// is the larger self value of the two, as compared. So children always fit into their
// parent, and new, vanished and cancelled nodes have a place. Fractions are scaled up,
// to 2^52 in total; the unit has no meaning.
func (d *Diff) Widths() *calltree.Tree {
	self := make([]int64, d.Len())
	scale := 1.0
	if !d.Exact() {
		sum := 0.0
		for n := range self {
			sum += d.Larger(d.Self(int32(n)))
		}
		if sum > 0 {
			scale = (1 << 52) / sum
		}
	}
	for n := range self {
		p := d.Self(int32(n))
		self[n] = int64(math.Round(d.Larger(p) * scale))
		if self[n] == 0 && p != (Pair{}) {
			self[n] = 1 // invisible, but present
		}
	}
	return calltree.NewTree(d.Table, profile.ValueType{}, self)
}

// Flame returns the boxes of a flame graph of both sides, by the rules of Tree.Flame
// with Widths as totals. Start and End are shares of the sum of all widths.
func (d *Diff) Flame(minWidth float64) []calltree.Box { return d.Widths().Flame(minWidth) }
