package calltree

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/profile"
)

// Diff compares two sides, base and new: one Table, the union of the call node
// paths of both, under two columns of values. What either side has is in it, so
// nothing vanishes because it is equal on both, cancels, or is on one side only.
//
// Values stay what was measured. What they are compared as is a divisor per side:
// as they are (ByValue), as shares (ByShare), or per unit of work
// (PerUnit). Functions of the sides are one function by the rules of
// matchFunctions: name, file and module count, lines do not.
//
// A Diff is safe for concurrent use once its divisors are chosen.
type Diff struct {
	*Table // functions in byte order of names, then of module, file, line
	Type   profile.ValueType
	Base   Side
	New    Side
	// Notes say what the numbers do not show, in sentences for people.
	Notes []string

	common [2]float64 // factors that make values of different sampling periods and scales comparable
	sample [2]float64 // what one sample adds to a value, per side; 0 when not known
}

// Side is one side of a Diff, in its own unit as measured.
type Side struct {
	Self, Total []int64
	// Divisor makes a value comparable with the other side's.
	Divisor float64
}

// Pair is one number on both sides, as measured.
type Pair struct{ Base, New int64 }

// Compare returns the diff of two sets of trees, of any size; the values of a
// side are the sum over its trees. All trees must have value types of one name
// and unit, those of one side types that add.
//
// Counts of samples that were taken at different periods are made comparable by
// counting a sample of the longer period as so many of the shorter one; Notes
// says so. Times and bytes mean the same at any period and are left alone.
func Compare(base, new []*Tree) (*Diff, error) {
	if len(base) == 0 || len(new) == 0 {
		return nil, errors.New("a diff needs a profile on each side")
	}
	for _, side := range [][]*Tree{base, new} {
		if err := addable(side); err != nil {
			return nil, err
		}
	}
	b, n := overlayAll(base), overlayAll(new)
	d := &Diff{Type: n.Type}
	if err := d.commensurable(b, n); err != nil {
		return nil, err
	}
	functions, fb, fn := matchFunctions(b.Functions, n.Functions)
	table, rb, rn := overlay(b.Table, n.Table, fb, fn, functions)
	d.Table = withCategories(table, [2]*Table{b.Table, n.Table}, [2][]int32{rb, rn})
	var wg sync.WaitGroup // two columns of a side at a time: they read the same rows
	wg.Go(func() { d.Base = Side{Self: gather(b.Self, rb), Total: gather(b.Total, rb)} })
	wg.Go(func() { d.New = Side{Self: gather(n.Self, rn), Total: gather(n.Total, rn)} })
	wg.Wait()
	d.ByValue()
	return d, nil
}

// commensurable finds the factors between the types of the sides and the type of
// their comparison.
func (d *Diff) commensurable(b, n *Tree) error {
	x, y := b.Type, n.Type
	if x.Name != y.Name || x.Unit != y.Unit {
		return fmt.Errorf("%s cannot be compared with %s", x, y)
	}
	if sumAbs(b)+sumAbs(n) > math.MaxInt64 {
		return fmt.Errorf("%w: the sum of both sides exceeds 63 bits", profile.ErrMalformed)
	}
	d.Type.Scale = max(x.Scale, y.Scale)
	d.sample = [2]float64{sampleWeight(x), sampleWeight(y)}
	d.common = [2]float64{math.Pow10(d.Type.Scale - x.Scale), math.Pow10(d.Type.Scale - y.Scale)}
	if x.Unit != "count" || x.Period == y.Period && x.PeriodUnit == y.PeriodUnit {
		return nil
	}
	if x.Period <= 0 || y.Period <= 0 || x.PeriodUnit != y.PeriodUnit {
		d.Notes = append(d.Notes, "the sampling period of one side is not known: values are compared as if it were the other's")
		return nil
	}
	d.Type.Period = min(x.Period, y.Period)
	d.common[0] *= float64(x.Period) / float64(d.Type.Period)
	d.common[1] *= float64(y.Period) / float64(d.Type.Period)
	d.Notes = append(d.Notes, fmt.Sprintf("sampled every %d and %d %s: a sample of the longer period counts as %.4g of the other",
		x.Period, y.Period, x.PeriodUnit, float64(max(x.Period, y.Period))/float64(d.Type.Period)))
	return nil
}

func sumAbs(t *Tree) uint64 { return uint64(t.RootTotal()) }

// gather returns the values of rows; 0 for NoNode.
func gather(values []int64, rows []int32) []int64 {
	out := make([]int64, len(rows))
	for i, n := range rows {
		if n != NoNode {
			out[i] = values[n]
		}
	}
	return out
}

// ByValue compares what was measured.
func (d *Diff) ByValue() { d.PerUnit(1, 1) }

// ByShare compares shares of each side's own RootTotal.
func (d *Diff) ByShare() {
	r := d.RootTotal()
	d.Base.Divisor, d.New.Divisor = float64(max(r.Base, 1)), float64(max(r.New, 1))
}

// PerUnit compares values per unit of work: base and new are how much was done
// on each side (profiles, seconds, requests), and must be positive.
func (d *Diff) PerUnit(base, new float64) {
	d.Base.Divisor, d.New.Divisor = base/d.common[0], new/d.common[1]
}

// Exact reports whether values are compared as they are, so that all numbers of
// the diff are whole.
func (d *Diff) Exact() bool { return d.Base.Divisor == 1 && d.New.Divisor == 1 }

// Self returns the self values of node n.
func (d *Diff) Self(n int32) Pair { return Pair{d.Base.Self[n], d.New.Self[n]} }

// Total returns the totals of node n.
func (d *Diff) Total(n int32) Pair { return Pair{d.Base.Total[n], d.New.Total[n]} }

// RootTotal returns the sums of absolute self values: 100% of each side, which
// means the same in every diff of that side.
func (d *Diff) RootTotal() Pair {
	var p Pair
	for n := range d.Parent {
		p.Base += abs(d.Base.Self[n])
		p.New += abs(d.New.Self[n])
	}
	return p
}

// Values returns the two numbers that are compared.
func (d *Diff) Values(p Pair) (base, new float64) {
	return float64(p.Base) / d.Base.Divisor, float64(p.New) / d.New.Divisor
}

// Delta returns new minus base, compared as chosen.
func (d *Diff) Delta(p Pair) float64 {
	if d.Exact() {
		return float64(p.New - p.Base)
	}
	base, new := d.Values(p)
	return new - base
}

// Relative returns the delta divided by the base; false when there is no base
// to divide by.
func (d *Diff) Relative(p Pair) (float64, bool) {
	if p.Base == 0 {
		return 0, false
	}
	base, _ := d.Values(p)
	return d.Delta(p) / math.Abs(base), true
}

// Presence says on which sides something is.
type Presence string

// The presences. Something with no value on both sides is OnBoth.
const (
	OnBoth   Presence = ""
	OnlyNew  Presence = "new"
	Vanished Presence = "vanished"
)

// Presence says whether something with these totals is on one side only.
func (p Pair) Presence() Presence {
	switch {
	case p.Base == 0 && p.New != 0:
		return OnlyNew
	case p.New == 0 && p.Base != 0:
		return Vanished
	}
	return OnBoth
}

// Noise returns the half width of the 95% interval around a delta that counting
// samples leaves: the number of samples that hit a function scatters like a
// Poisson variable, so a value v made of samples of q each has variance q·v. It
// knows nothing of how runs differ (package regression does); a delta inside
// of it says nothing at all. It is 0 where the weight of a sample is not known.
func (d *Diff) Noise(p Pair) float64 {
	variance := func(s *Side, sample float64, v int64) float64 {
		return sample * math.Abs(float64(v)) / (s.Divisor * s.Divisor)
	}
	return 1.96 * math.Sqrt(variance(&d.Base, d.sample[0], p.Base)+variance(&d.New, d.sample[1], p.New))
}

// sampleWeight returns what one sample adds to a value of the type, or 0 when it
// is not known.
func sampleWeight(t profile.ValueType) float64 {
	switch {
	case t.Unit == "count":
		return math.Pow10(t.Scale)
	case t.Unit == "nanoseconds" && t.PeriodUnit == t.Unit:
		return float64(t.Period) * math.Pow10(t.Scale)
	}
	return 0
}

// Shown reports for every node whether a view lists it: it has a total on either
// side, or a child is shown.
func (d *Diff) Shown() []bool {
	return d.withCallers(func(n int32) bool { return d.Total(n) != Pair{} })
}

// Order compares two numbers for display: by |delta| descending, then by the
// larger of the two sides descending. What is still equal goes by function.
func (d *Diff) Order(a, b Pair) int {
	return cmp.Or(cmp.Compare(math.Abs(d.Delta(b)), math.Abs(d.Delta(a))), cmp.Compare(d.Larger(b), d.Larger(a)))
}

// Larger returns the larger absolute value of the two sides, as compared.
func (d *Diff) Larger(p Pair) float64 {
	base, new := d.Values(p)
	return max(math.Abs(base), math.Abs(new))
}

// Children appends the children of n (NoNode: the roots) to buf in display
// order: Order of their totals, ties by function.
func (d *Diff) Children(n int32, buf []int32) []int32 {
	from := len(buf)
	buf = slices.AppendSeq(buf, d.children(n))
	slices.SortStableFunc(buf[from:], func(a, b int32) int { return d.Order(d.Total(a), d.Total(b)) })
	return buf
}

// Walk visits the shown nodes in display order, depth first. Visit returns
// false to leave out what is below the node.
func (d *Diff) Walk(visit func(n int32) bool) {
	shown := d.Shown()
	walk(d.Children, func(n int32) bool { return shown[n] && visit(n) })
}

// DiffRow is one line of a diff in an outline.
type DiffRow struct {
	Node, Depth, Func int32
	Self, Total       Pair
}

// Row returns the line of node n.
func (d *Diff) Row(n int32) DiffRow {
	return DiffRow{Node: n, Depth: d.Depth[n], Func: d.Func[n], Self: d.Self(n), Total: d.Total(n)}
}

// FunctionChange is one line of the function list of a diff.
type FunctionChange struct {
	Func        int32 // index in Table.Functions
	Self, Total Pair  // in Total every sample counts once, however often the function recurs
}

// FunctionRows returns a line for every function that either side has, in order
// of functions. Each side is added up on its own, so a function is listed even
// if its nodes cancel between the sides.
func (d *Diff) FunctionRows() []FunctionChange {
	rows := make([]FunctionChange, len(d.Functions))
	listed := make([]bool, len(d.Functions))
	outermost := newOutermost(len(d.Functions))
	for n, fn := range d.Func {
		out := outermost.enter(int32(n), fn, d.End[n])
		total := d.Total(int32(n))
		if total == (Pair{}) {
			continue
		}
		listed[fn] = true
		r := &rows[fn]
		r.Self.Base += d.Base.Self[n]
		r.Self.New += d.New.Self[n]
		if out {
			r.Total.Base += total.Base
			r.Total.New += total.New
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
	return list
}

// MoreAndLess splits function rows into those that take more on the new side,
// those that take less, and those that take the same, each in Order of the
// number that by picks, ties by function. Rows is reordered.
func (d *Diff) MoreAndLess(rows []FunctionChange, by func(FunctionChange) Pair) (more, less, same []FunctionChange) {
	slices.SortStableFunc(rows, func(a, b FunctionChange) int {
		return cmp.Or(d.Order(by(a), by(b)), cmp.Compare(a.Func, b.Func))
	})
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

// Widths returns the tree whose numbers are how wide nodes are in a flame graph of
// both sides: self is the larger self value of the two, as compared. So children
// always fit into their parent, and what is new, what vanished and what cancels
// all have their place. Numbers that are not whole are scaled up, to 2^52 in
// total; the unit is of no meaning.
func (d *Diff) Widths() *Tree {
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
			self[n] = 1 // too small to see, but not absent
		}
	}
	return NewTree(d.Table, profile.ValueType{}, self)
}

// Flame returns the boxes of a flame graph of both sides, by the rules of
// Tree.Flame with Widths for totals. Start and End are shares of the sum of all
// widths.
func (d *Diff) Flame(minWidth float64) []Box { return d.Widths().Flame(minWidth) }
