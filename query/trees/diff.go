package trees

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/report/flame"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// DiffRequest asks how two sides differ: two parts of a store, or inputs.
type DiffRequest struct {
	query.Selection `group:"Selection"`
	Average         `group:"Selection"`
	RawNames        bool   `param:"raw-names" group:"View" help:"from a store: show one original name of each function in place of the normalised name" json:"rawNames,omitempty"`
	Sides           Named  `prefix:"" group:"Side" json:"sides,omitzero"`
	Base            Side   `prefix:"base-" group:"Side" json:"base,omitzero"`
	Head            Side   `prefix:"head-" group:"Side" json:"head,omitzero"`
	By              string `param:"by" group:"View" arg:"what" help:"compare by value, share, profile, operation, second, work, or the name of a metric (default: by operation if every profile has operations, otherwise by profile)" json:"by,omitempty"`
	Against         string `param:"against" group:"Side" arg:"what" choices:",history" default:"" help:"compare with the average and the band of runs: history (default sides: the newest run of one benchmark, and the runs before it)" json:"against,omitempty"`
	Net             bool   `param:"net" group:"View" help:"show one tree of differences, as Firefox Profiler does; functions also match by line" json:"net,omitempty"`
	View            string `param:"view" group:"View" arg:"what" choices:"tree,flame,stack-chart,functions,benchmarks" help:"view: tree, flame, stack-chart, functions, benchmarks (a row for each; the command's default if the sides have several)" json:"view,omitempty"`
	SameWidth       bool   `param:"same-width" group:"View" help:"stack chart: same width for every change of the stack, independent of time" json:"sameWidth,omitempty"`
	Gaps            bool   `param:"gaps" group:"View" help:"stack chart: leave time without samples empty, in place of drawing each stack up to the next sample" json:"gaps,omitempty"`
	Sort            string `param:"sort" group:"View" arg:"what" choices:",total,self" default:"" help:"sort functions by the change of total or self (default: of total, the program's own code beyond sampling noise first)" json:"sort,omitempty"`
	Filter          `group:"View"`
	Cut             `group:"Limit"`
	facts.Facts     `json:"facts,omitzero"`

	only   *[2]store.Query // the sides, already chosen; nil: choose them
	Inputs [2][]Input      `json:"-"` // base and head, in place of the store; of one side, the other is of the store
	Limits profile.Limits  `json:"-"` // of original files that are decoded
}

// DiffHead begins the documents of diffs.
type DiffHead struct {
	Profiles  Counts        `json:"profiles"`
	Type      string        `json:"type"`
	Unit      string        `json:"unit"` // of the values; "share" for fractions of a side
	By        string        `json:"by"`
	RootTotal Change        `json:"rootTotal"`
	Notes     []string      `json:"notes"`
	Omitted   query.Omitted `json:"omitted"`

	// Whole is the sides' root totals as measured, in units of Measured.
	Whole    [2]float64 `json:"whole" client:"shares"`
	Measured string     `json:"measured" client:"shares"`
}

// Per is what values are divided by: "per second", …; empty: nothing.
func (h *DiffHead) Per() string {
	switch {
	case h.By == "value" || h.By == "share" || h.By == byProfile && h.Profiles == (Counts{1, 1}):
		return ""
	case h.By == "work":
		return "per unit of work"
	}
	return "per " + h.By
}

// Counts are numbers of the two sides.
type Counts struct {
	Base int `json:"base"`
	Head int `json:"head"`
}

// Change is a value on both sides.
type Change struct {
	Base     document.Number `json:"base"`
	Head     document.Number `json:"head"`
	Delta    document.Number `json:"delta"`
	Relative *float64        `json:"relative"` // delta ÷ |base|; nil without a base
}

// DiffResult is the union of two trees, depth first.
type DiffResult struct {
	DiffHead
	Rows document.Rows[DiffRow] `json:"rows"`
}

// DiffFunctionsResult is the union of the functions of two trees, in rows of depth 0: those
// that increased, then those that decreased, then the others.
type DiffFunctionsResult struct {
	DiffHead
	Functions FunctionCounts         `json:"functionCounts"`       // before anything was omitted
	Shown     [3]int                 `json:"shown" client:"parts"` // rows that increased, decreased and did neither
	Rows      document.Rows[DiffRow] `json:"rows"`
}

// FunctionCounts counts functions by their change.
type FunctionCounts struct {
	Increased int `json:"increased"`
	Decreased int `json:"decreased"`
	Unchanged int `json:"unchanged"`
}

// DiffRow is a call node or function of a diff.
type DiffRow struct {
	Depth    int32         `json:"depth"`
	Function string        `json:"function"`
	File     string        `json:"file"`
	Module   string        `json:"module"`
	Total    Change        `json:"total"`
	Self     Change        `json:"self"`
	Category string        `json:"category"`
	Presence diff.Presence `json:"presence"`           // new, vanished or empty
	Noise    float64       `json:"noise"`              // the delta of Total that chance explains (95%)
	BaseName string        `json:"baseName,omitempty"` // of a renamed function: its name on the base side
}

// WithinNoise reports whether chance explains the change of the total.
func (r *DiffRow) WithinNoise() bool {
	delta := r.Total.Delta.Value()
	return delta != 0 && math.Abs(delta) <= r.Noise
}

// DiffFlameResult is the flame graph of a diff: a box is as wide as the larger side.
type DiffFlameResult struct {
	DiffHead
	Rows document.Rows[DiffFlameRow] `json:"rows"`
}

// DiffFlameRow is a box; Start and End are fractions of the whole width.
type DiffFlameRow struct {
	Depth    int32         `json:"depth"`
	Function string        `json:"function"`
	Start    float64       `json:"start"`
	End      float64       `json:"end"`
	Self     Change        `json:"self"`
	Total    Change        `json:"total"`
	Presence diff.Presence `json:"presence"`
}

// DiffNodeResult is one call node of a diff.
type DiffNodeResult struct {
	Path []string `json:"path"`
	Unit string   `json:"unit"`
	DiffRow
	Heading DiffHead `json:"heading" client:"heading"`
}

// Diff answers a DiffRequest with the union of both trees.
func Diff(ctx context.Context, st store.Store, r *DiffRequest) (*DiffResult, error) {
	return ofComparison(ctx, st, r, (*comparison).rows)
}

// DiffFunctions answers a DiffRequest with the functions of both trees.
func DiffFunctions(ctx context.Context, st store.Store, r *DiffRequest) (*DiffFunctionsResult, error) {
	return ofComparison(ctx, st, r, (*comparison).functions)
}

// DiffFlame answers a DiffRequest with the boxes of its flame graph.
func DiffFlame(ctx context.Context, st store.Store, r *DiffRequest) (*DiffFlameResult, error) {
	return ofComparison(ctx, st, r, (*comparison).flame)
}

// DiffNode answers a DiffRequest with the call node that its Select names.
func DiffNode(ctx context.Context, st store.Store, r *DiffRequest) (*DiffNodeResult, error) {
	return ofComparison(ctx, st, r, (*comparison).node)
}

// ofComparison compares both sides of a request, and answers from the comparison.
func ofComparison[R any](ctx context.Context, st store.Store, r *DiffRequest, answer func(*comparison) (*R, error)) (_ *R, err error) {
	if st, r, err = query.Over(ctx, st, r); err != nil {
		return nil, err
	}
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	c, err := newComparison(ctx, st, r)
	if err != nil {
		return nil, err
	}
	return answer(c)
}

// NetTree answers a DiffRequest with one tree of differences.
func NetTree(ctx context.Context, st store.Store, r *DiffRequest) (*TreeResult, error) {
	return ofNet(ctx, st, r, (*scope).rows)
}

// NetFunctions answers a DiffRequest with the functions of one tree of differences.
func NetFunctions(ctx context.Context, st store.Store, r *DiffRequest) (*FunctionsResult, error) {
	return ofNet(ctx, st, r, func(s *scope) (*FunctionsResult, error) {
		return s.functions(s.tree.FunctionRows(), s.tree.RootTotal()), nil
	})
}

// NetFlame answers a DiffRequest with the flame graph of one tree of differences.
func NetFlame(ctx context.Context, st store.Store, r *DiffRequest) (*FlameResult, error) {
	return ofNet(ctx, st, r, (*scope).flame)
}

// NetNode answers a DiffRequest with a call node of one tree of differences.
func NetNode(ctx context.Context, st store.Store, r *DiffRequest) (*NodeResult, error) {
	return ofNet(ctx, st, r, (*scope).node)
}

// ofNet makes one tree of the differences of both sides, and answers from it.
func ofNet[R any](ctx context.Context, st store.Store, r *DiffRequest, answer func(*scope) (*R, error)) (_ *R, err error) {
	if st, r, err = query.Over(ctx, st, r); err != nil {
		return nil, err
	}
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	c, trees, _, err := r.trees(ctx, st)
	if err != nil {
		return nil, err
	}
	s, err := c.netScope(trees)
	if err != nil {
		return nil, err
	}
	return answer(s)
}

// DiffGraph answers a DiffRequest with a picture: of the stack charts of both sides if they
// are its view, else of its flame graph.
func DiffGraph(ctx context.Context, st store.Store, r *DiffRequest) (*flame.Graph, error) {
	switch {
	case r.View == viewStackChart:
		g, err := r.chartGraph(ctx, st)
		return g, query.Hinted(ctx, st, &r.Selection, err)
	case r.Net:
		return ofNet(ctx, st, r, (*scope).graph)
	}
	return ofComparison(ctx, st, r, (*comparison).graph)
}

// comparison is a diff with what its numbers are called.
type comparison struct {
	*diff.Diff
	*viewer
	r     *DiffRequest
	by    string // what values are divided by
	unit  string
	scale int
	count [2]int
	names [2]string // of the files that are the sides, if there is one on each
	// renamed has the base name of each function that was renamed, by its name.
	renamed map[string]string
}

// newComparison reads both sides and compares them.
func newComparison(ctx context.Context, st store.Store, r *DiffRequest) (*comparison, error) {
	c, trees, sides, err := r.trees(ctx, st)
	if err != nil {
		return nil, err
	}
	v := c.viewer
	below, err := v.below(slices.Concat(trees[0], trees[1])) // a function may be on one side only
	if err != nil {
		return nil, err
	}
	whole := slices.Clone(below)
	trees[0], trees[1] = below[:len(trees[0])], below[len(trees[0]):]
	for i := range trees {
		for k := range trees[i] {
			if v.under != nil {
				trees[i][k] = v.under.Under(trees[i][k])
			}
		}
	}
	if v.under != nil && !slices.ContainsFunc(slices.Concat(trees[0], trees[1]), func(t *calltree.Tree) bool { return t.Len() > 0 }) {
		var all []profile.Function
		for _, t := range whole {
			all = append(all, t.Functions...)
		}
		return nil, noPath(v.Under, all)
	}
	if err := c.compare(trees, sides); err != nil {
		return nil, err
	}
	if err := c.rename(ctx, st, trees, sides); err != nil {
		return nil, err
	}
	if err := v.checkCallers(c.Table); err != nil {
		return nil, err
	}
	if c.by == byOperation {
		c.noteOperations(sides)
	}
	c.notes = append(c.notes, c.Notes...)
	return c, nil
}

// trees reads both sides and makes the trees of their inputs.
func (r *DiffRequest) trees(ctx context.Context, st store.Store) (c *comparison, trees [2][]*calltree.Tree, sides [2][]Input, err error) {
	c = &comparison{r: r}
	var all []*calltree.Shown
	c.viewer, sides, err = r.eachSide(ctx, st, viewTree, func(i int, v *viewer, list []Input) error {
		shown, err := v.show(list)
		all = append(all, shown...)
		for k, s := range shown {
			trees[i] = append(trees[i], withPeriod(s.Tree, &list[k]))
			c.count[i] += list[k].profiles
		}
		if len(list) == 1 {
			c.names[i] = list[0].name
		}
		return err
	})
	if err != nil {
		return nil, trees, sides, err
	}
	return c, r.inOneType(trees), sides, c.checkFound(all)
}

// compare computes the diff of both sides.
func (c *comparison) compare(trees [2][]*calltree.Tree, sides [2][]Input) (err error) {
	if c.Diff, err = diff.Compare(trees[0], trees[1]); err != nil {
		return err
	}
	return c.divide(sides)
}

// netTitle names the tree of differences.
const netTitle = "net difference"

// netScope returns the tree of the differences as what a TreeRequest shows.
func (c *comparison) netScope(trees [2][]*calltree.Tree) (*scope, error) {
	var side [2]*calltree.Tree
	for i, list := range trees {
		side[i] = list[0]
		if len(list) > 1 {
			var err error
			if side[i], err = calltree.Merge(list...); err != nil {
				return nil, err
			}
		}
	}
	net, err := diff.Net(side[0], side[1])
	if err != nil {
		return nil, err
	}
	below, err := c.below([]*calltree.Tree{net})
	if err != nil {
		return nil, err
	}
	s := &scope{viewer: c.viewer, named: viewFlame, r: &TreeRequest{Sort: c.r.Sort, Filter: c.r.Filter, Cut: c.r.Cut}, title: netTitle,
		tree: below[0], count: c.count[0] + c.count[1]}
	if err := s.narrow(); err != nil {
		return nil, err
	}
	return s, c.checkCallers(s.tree.Table)
}

// What the sides of a diff are compared by, if it is not a metric.
const (
	byProfile   = "profile"
	byOperation = "operation"
)

// byDefault compares amounts per operation if the operations of all profiles are known;
// what is there at one moment, like a heap, does not grow with them.
func (c *comparison) byDefault(sides [2][]Input) string {
	if c.Type.Momentary() {
		return byProfile
	}
	several := map[testrun.Benchmark]bool{}
	for _, list := range sides {
		for k := range list {
			if list[k].operations <= 0 {
				return byProfile
			}
			maps.Copy(several, list[k].benchmarks)
		}
	}
	if len(several) > 1 {
		c.note("%d benchmarks are added up, whose operations differ: --view benchmarks compares each per operation", len(several))
		return byProfile
	}
	return byOperation
}

// noteOperations says how many operations the sides have.
func (c *comparison) noteOperations(sides [2][]Input) {
	if c.r.Against != "" { // averages, of no number
		c.note(atMedianLevel)
		return
	}
	var n [2]float64
	estimated := ""
	for i, list := range sides {
		for k := range list {
			n[i] += list[k].told
			if list[k].estimated {
				estimated = ", some of them estimated"
			}
		}
	}
	level := ""
	if slices.ContainsFunc(slices.Concat(sides[0], sides[1]), func(in Input) bool { return len(in.rates) > 1 }) {
		level = ", at the level of the median run of each side"
	}
	c.note("compared per operation: %s and %s operations%s%s (--by profile: per profile)", words.Count(int64(n[0])), words.Count(int64(n[1])), estimated, level)
}

// divide sets what the sides are compared by.
func (c *comparison) divide(sides [2][]Input) error {
	c.unit, c.scale = c.Type.Unit, c.Type.Scale
	if c.by = c.r.By; c.by == "" {
		c.by = c.byDefault(sides)
	}
	switch c.by {
	case "value":
		return nil
	case "share":
		c.ByShare()
		c.unit, c.scale = "share", 0
		return nil
	}
	var work [2]float64
	for i, list := range sides {
		for k := range list {
			amount, err := c.workOf(&list[k], i)
			if err != nil {
				return err
			}
			work[i] += amount
		}
		if c.by == byOperation {
			work[i] = operationsAtMedian(list, work[i])
		}
		if !(work[i] > 0) {
			return fmt.Errorf("--by %s: the %s side has no value to divide by", c.by, sideName(i))
		}
	}
	if c.by == "work" {
		work = [2]float64{c.r.Base.Work, c.r.Head.Work}
	}
	c.PerUnit(work[0], work[1])
	return nil
}

// operationsAtMedian returns the number of operations by which a side's sum is divided, so that
// its total is that of its median run per operation: the level of findings and of the metric. Of
// one run it is the number as counted.
func operationsAtMedian(list []Input, counted float64) float64 {
	var rates []float64
	sum := 0.0
	for k := range list {
		rates = append(rates, list[k].rates...)
		sum += list[k].sum
	}
	if median := stat.Median(rates); len(rates) > 1 && median > 0 && sum > 0 {
		return sum / median
	}
	return counted
}

// workOf returns how much work an input stands for.
func (c *comparison) workOf(in *Input, side int) (float64, error) {
	switch c.by {
	case byProfile:
		return float64(in.profiles), nil
	case byOperation:
		if in.operations <= 0 {
			return 0, param.Errorf("%s--by operation: the number of operations of some profiles is unknown: import them with --operations N, or with --metrics of benchmarks that ran a fixed number (-benchtime 1000x)", in.prefix())
		}
		return in.operations, nil
	case "second":
		if in.duration <= 0 {
			return 0, fmt.Errorf("%s--by second: the duration of some profiles is unknown", in.prefix())
		}
		return in.duration.Seconds(), nil
	case "work":
		if w := [2]float64{c.r.Base.Work, c.r.Head.Work}[side]; w > 0 {
			return w, nil
		}
		return 0, param.Errorf("--by work needs --base-work and --head-work")
	}
	if v, ok := in.metrics[c.by]; ok {
		return v, nil
	}
	if len(in.metrics) == 0 {
		return 0, param.Errorf("%s--by %s: not a metric of every profile; files have no metrics (--by work)", in.prefix(), c.by)
	}
	return 0, param.Errorf("--by %s: not a metric of every profile; metrics: %s", c.by,
		strings.Join(slices.Sorted(maps.Keys(in.metrics)), ", "))
}

// changeOf returns the values that are compared: whole and exact if nothing divides them.
func (c *comparison) changeOf(p diff.Pair) Change {
	var x Change
	if c.Exact() {
		x = Change{Base: document.Whole(p.Base, c.scale), Head: document.Whole(p.Head, c.scale), Delta: document.Whole(p.Head-p.Base, c.scale)}
	} else {
		base, head := c.Values(p)
		x = Change{Base: document.Fraction(base, c.scale), Head: document.Fraction(head, c.scale), Delta: document.Fraction(c.Delta(p), c.scale)}
	}
	if r, ok := c.Relative(p); ok {
		x.Relative = &r
	}
	return x
}

func (c *comparison) head(root diff.Pair, omitted query.Omitted) DiffHead {
	by := math.Pow10(c.Type.Scale)
	return DiffHead{Profiles: Counts{c.count[0], c.count[1]}, Type: c.Type.Name, Unit: c.unit, By: c.by, RootTotal: c.changeOf(root),
		Notes:   c.notes,
		Omitted: omitted, Whole: [2]float64{float64(root.Base) / by, float64(root.Head) / by}, Measured: c.Type.Unit}
}

func (c *comparison) row(fn, depth int32, total, self diff.Pair, category string) DiffRow {
	f := &c.Functions[fn]
	return DiffRow{Depth: depth, Function: f.Name, File: f.File, Module: f.Module, Total: c.changeOf(total), Self: c.changeOf(self),
		Category: category, Presence: total.Presence(), Noise: c.Noise(total) / math.Pow10(c.scale), BaseName: c.renamed[f.Name]}
}

// diffNodes is a diff, upright or inverted.
type diffNodes interface {
	Nodes[diff.Row]
	CategoryName(n int32) string
	RootTotal() diff.Pair
	Flame(minWidth float64) []calltree.Box
}

func (c *comparison) nodes() diffNodes {
	switch {
	case c.viewer.Filter.Callers != "":
		return c.Diff.Callers(c.FunctionsNamed(c.viewer.Filter.Callers))
	case c.viewer.Filter.Invert:
		return c.Diff.Invert()
	}
	return c.Diff
}

// both adds the sides, for the share of what is omitted.
func (c *comparison) both(p diff.Pair) float64 {
	base, head := c.Values(p)
	return math.Abs(base) + math.Abs(head)
}

// rows returns the nodes of the diff. A node is as large as the larger of its sides, so
// that what vanished is shown like what is new.
func (c *comparison) rows() (*DiffResult, error) {
	v := c.nodes()
	root := v.RootTotal()
	list := cut[diff.Row](&c.r.Cut, v, c.Larger(root), c.both(root), func(r diff.Row) (int32, float64, float64) {
		return r.Depth, c.Larger(r.Total), c.both(r.Total)
	})
	rows := document.RowsOf(len(list.rows), func(i int) DiffRow {
		r := &list.rows[i]
		return c.row(r.Func, r.Depth, r.Total, r.Self, v.CategoryName(r.Node))
	})
	rows.Columns = func(w *document.Writer) {
		n := len(list.rows)
		functions := tableOf(c.Functions, n, func(i int) int32 { return list.rows[i].Func })
		functions.tell(c.Table, c.Base.Self, c.Head.Self)
		functions.renamed = c.renamed
		at := func(i int) *diff.Row { return &list.rows[i] }
		w.Derived("parent", n, func(i int) document.Number { return document.Whole(int64(list.parent[i]), 0) })
		w.Numbers("depth", n, func(i int) document.Number { return document.Whole(int64(at(i).Depth), 0) })
		w.Numbers("function", n, func(i int) document.Number { return document.Whole(functions.number(at(i).Func), 0) })
		w.Derived("baseTotal", n, func(i int) document.Number { return c.changeOf(at(i).Total).Base })
		w.Derived("headTotal", n, func(i int) document.Number { return c.changeOf(at(i).Total).Head })
		w.Numbers("baseSelf", n, func(i int) document.Number { return c.changeOf(at(i).Self).Base })
		w.Numbers("headSelf", n, func(i int) document.Number { return c.changeOf(at(i).Self).Head })
		w.Derived("noise", n, func(i int) document.Number { return document.Fraction(c.Noise(at(i).Total), c.scale) })
		if v == diffNodes(c.Diff) && c.Category != nil {
			writeCategories(w, c.Categories, n, func(i int) profile.CategoryID { return c.Category[at(i).Node] })
		}
		perValue := c.NoisePerValue()
		w.Array("noisePerValue", 2, func(side int) any { return perValue[side] / math.Pow10(c.scale) })
		functions.write(w)
	}
	return &DiffResult{DiffHead: c.head(root, list.omitted), Rows: rows}, nil
}

// programFirst moves the functions of the program whose change is beyond sampling noise
// before those of the runtime and the kernel, and those within noise.
func (c *comparison) programFirst(list []diff.FunctionChange) []diff.FunctionChange {
	var own, others []diff.FunctionChange
	for _, f := range list {
		switch c.Functions[f.Func].Kind {
		case profile.KindKernel, profile.KindVM, profile.KindStub, profile.KindGoRuntime:
			others = append(others, f)
		default:
			if math.Abs(c.Delta(f.Total)) <= c.Noise(f.Total) {
				others = append(others, f)
			} else {
				own = append(own, f)
			}
		}
	}
	return append(own, others...)
}

// functions returns the list of functions: those that increased, then those that
// decreased, then the others.
func (c *comparison) functions() (*DiffFunctionsResult, error) {
	number := func(r diff.FunctionChange) diff.Pair { return r.Total }
	if c.r.Sort == "self" {
		number = func(r diff.FunctionChange) diff.Pair { return r.Self }
	}
	more, less, same := c.MoreAndLess(c.FunctionRows(), number)
	if c.r.Sort == "" {
		more, less = c.programFirst(more), c.programFirst(less)
	}
	counts, shown := FunctionCounts{len(more), len(less), len(same)}, [3]int{}
	root := c.Larger(c.RootTotal())
	var list []diff.FunctionChange
	for i, part := range [][]diff.FunctionChange{more, less, same} {
		for _, f := range part {
			if c.Larger(number(f))*100 >= c.r.MinPercent*root && (c.r.Cut.Rows == 0 || shown[i] < c.r.Cut.Rows) {
				list = append(list, f)
				shown[i]++
			}
		}
	}
	omitted := query.Omitted{Rows: len(more) + len(less) + len(same) - len(list)}
	return &DiffFunctionsResult{c.head(c.RootTotal(), omitted), counts, shown, document.RowsOf(len(list), func(i int) DiffRow {
		return c.row(list[i].Func, 0, list[i].Total, list[i].Self, "")
	})}, nil
}

// flame returns the boxes of the flame graph.
func (c *comparison) flame() (*DiffFlameResult, error) {
	v := c.nodes()
	boxes, omitted := c.r.cutBoxes(v.Flame(c.r.MinPercent / 100))
	return &DiffFlameResult{c.head(v.RootTotal(), omitted), document.RowsOf(len(boxes), func(i int) DiffFlameRow {
		b, r := &boxes[i], v.Row(boxes[i].Node)
		return DiffFlameRow{Depth: b.Depth, Function: c.Functions[b.Func].Name, Start: b.Start, End: b.End, Self: c.changeOf(r.Self),
			Total: c.changeOf(r.Total), Presence: r.Total.Presence()}
	})}, nil
}

// node describes the call node that --select names.
func (c *comparison) node() (*DiffNodeResult, error) {
	if c.inverted() {
		return nil, param.Errorf("--select in a diff needs the top-down tree: leave out --invert and --callers")
	}
	path, err := calltree.ParsePath(c.Select)
	if err != nil {
		return nil, param.Errorf("--select: %w", err)
	}
	n, ok := c.FindPath(path)
	if !ok {
		return nil, fmt.Errorf("no call node has the path %s: %w", c.Select, store.ErrNothing)
	}
	r := c.Row(n)
	return &DiffNodeResult{path, c.unit, c.row(r.Func, r.Depth, r.Total, r.Self, c.CategoryName(n)), c.head(c.RootTotal(), query.Omitted{})},
		nil
}

// graph returns the picture of the diff.
func (c *comparison) graph() (*flame.Graph, error) {
	v := c.nodes()
	value := func(p diff.Pair) flame.Value {
		base, head := c.Values(p)
		return flame.Value{Base: base, Head: head}
	}
	g := &flame.Graph{Title: c.title(), Unit: c.unit, Scale: c.scale, Functions: c.Functions, Diff: true,
		Root: value(v.RootTotal()), Notes: append([]string{}, c.notes...)}
	boxes, omitted := c.r.cutBoxes(v.Flame(c.r.MinPercent / 100))
	for _, b := range boxes {
		r := v.Row(b.Node)
		g.Boxes = append(g.Boxes, flame.Box{Func: b.Func, Depth: b.Depth, Start: b.Start, End: b.End,
			Self: value(r.Self), Total: value(r.Total), Noise: c.Noise(r.Total)})
	}
	if h := c.head(v.RootTotal(), query.Omitted{}); h.Per() != "" {
		g.Notes = append(g.Notes, "values are "+h.Per())
	}
	g.Notes = append(g.Notes, "a box is as wide as the larger of its two sides")
	g.Notes = append(g.Notes, c.r.graphNotes(omitted.Rows)...)
	return g, nil
}

// title names both sides.
func (c *comparison) title() string {
	if c.names[0] != "" && c.names[1] != "" {
		a, b := withoutCommonFolder(c.names[0], c.names[1])
		return a + " → " + b
	}
	return fmt.Sprintf("%d → %d profiles, %s", c.count[0], c.count[1], c.Type.Name)
}

// withoutCommonFolder shortens two file names by the folders that both begin with.
func withoutCommonFolder(a, b string) (string, string) {
	for {
		i := strings.IndexByte(a, '/')
		if i < 0 || !strings.HasPrefix(b, a[:i+1]) {
			return a, b
		}
		a, b = a[i+1:], b[i+1:]
	}
}
