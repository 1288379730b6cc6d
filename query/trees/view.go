package trees

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
)

// Views of a request, as --view names them, and the view of the samples by line.
const (
	viewTree       = "tree"
	viewFlame      = "flame"
	viewStackChart = "stack-chart"
	viewFunctions  = "functions"
	viewBenchmarks = "benchmarks"
	viewMarkers    = "markers"
	viewLocks      = "locks"
	viewActivity   = "activity"
	viewLines      = "lines"
)

// The maximum of what makes a view walk through its tree once more.
const (
	maxTransforms = 100
	maxWords      = 100 // of all searches
)

// Filter says which samples and frames a view shows, and from which end. Filters apply
// in the order: threads, range, transforms, states, idle, kind, search, preview.
type Filter struct {
	Invert     bool     `param:"invert" help:"show the tree bottom-up: leaf functions first, their callers below" json:"invert,omitempty"`
	Callers    string   `param:"callers" arg:"function" help:"show the callers of this function, as an inverted tree" json:"callers,omitempty"`
	Callees    string   `param:"callees" arg:"function" help:"show the callees of this function, merged over all its callers" json:"callees,omitempty"`
	Under      string   `param:"under" arg:"pattern" help:"show the subtrees that begin at this call path (A;**;B)" json:"under,omitempty"`
	Select     string   `param:"select" arg:"path" help:"show details of the call node with this path (A;B;C; with --invert from the leaf)" json:"select,omitempty"`
	Transforms []string `param:"transform" arg:"KIND:ARG" help:"apply this transform; repeatable, applied in order" json:"transform,omitempty"`
	RootLabels []string `param:"root-label" arg:"key" help:"group by this label: add a frame KEY=VALUE as the outermost one; repeatable" json:"rootLabel,omitempty"`
	LeafLabels []string `param:"leaf-label" arg:"key" help:"add a frame KEY=VALUE of this label as the innermost one; repeatable" json:"leafLabel,omitempty"`
	Kind       string   `param:"kind" arg:"name" help:"keep frames of this kind: js, cpp, java, native, kernel, python, go, …" json:"kind,omitempty"`
	SampleFilter
}

// SampleFilter says which samples count.
type SampleFilter struct {
	Search  string   `param:"search" arg:"words" help:"keep stacks in which every comma-separated word matches a function, file or module" json:"search,omitempty"`
	Range   string   `param:"range" arg:"START..END" help:"keep samples of this range, in milliseconds since the first sample, END excluded" json:"range,omitempty"`
	Preview string   `param:"preview" arg:"START..END" help:"keep samples of this range inside --range; a stack chart still shows all of --range" json:"preview,omitempty"`
	Threads []string `param:"thread" arg:"name" help:"keep this thread, by name or id; repeatable" json:"thread,omitempty"`
	States  []string `param:"state" arg:"name" help:"keep samples of threads in this state (RUNNABLE,BLOCKED), exact or glob; repeatable" json:"state,omitempty"`
	LabelFilter
	NoIdle bool `param:"no-idle" help:"drop samples of waiting threads, except of those that wait for a lock that another thread holds" json:"noIdle,omitempty"`
}

// LabelFilter says which samples count by their labels. Stores keep none: samples with their
// labels are in the original files.
type LabelFilter struct {
	Labels   []string `param:"label" arg:"KEY=VALUE" help:"keep samples with this label, exact or glob; repeatable: any value of a key, every key" json:"label,omitempty"`
	NoLabels []string `param:"no-label" arg:"KEY=VALUE" help:"drop samples with this label, exact or glob; repeatable" json:"noLabel,omitempty"`
}

// Flag returns the flag of the first label; empty: there is none.
func (f *LabelFilter) Flag() string {
	switch {
	case len(f.Labels) > 0:
		return "--label"
	case len(f.NoLabels) > 0:
		return "--no-label"
	}
	return ""
}

// Cut drops rows of a tree or a list.
type Cut struct {
	Depth      int     `param:"depth" arg:"n" min:"0" help:"maximum depth (0: all)" json:"depth,omitempty"`
	MinPercent float64 `param:"min-percent" arg:"percent" min:"0" page:"0.5" help:"drop nodes with a total below this percentage of the root" json:"minPercent,omitempty"`
	Rows       int     `param:"rows" arg:"n" min:"0" help:"maximum number of rows (0: all)" json:"rows,omitempty"`
}

// strategies are the values of `type` that are no value type but a way to weigh samples.
var strategies = []string{"native-allocations", "native-deallocations-sites", "native-deallocations-memory",
	"native-retained-allocations", "js-allocations", "traced"}

func isStrategy(typ string) bool {
	return slices.Contains(strategies, typ) || strings.Contains(typ, ":")
}

// needsSamples returns the parameter for which a view needs single samples, with their
// times and threads; empty: none does.
func (f *Filter) needsSamples(view, typ string) string {
	switch {
	case f.Range != "" || f.Preview != "":
		return "--range"
	case len(f.Threads) > 0:
		return "--thread"
	case len(f.States) > 0:
		return "--state"
	case f.NoIdle:
		return "--no-idle"
	case f.LabelFilter.Flag() != "":
		return f.LabelFilter.Flag()
	case len(f.RootLabels) > 0:
		return "--root-label"
	case len(f.LeafLabels) > 0:
		return "--leaf-label"
	case view == viewStackChart, view == viewMarkers, view == viewLocks, view == viewActivity:
		return "--view " + view
	case view == viewLines:
		return "a list of lines"
	case isStrategy(typ):
		return "--type " + typ
	case slices.ContainsFunc(f.Transforms, func(t string) bool { return strings.Contains(t, "marker") }):
		return "--transform filter:…marker…"
	}
	return ""
}

// changesTree reports whether the filter changes what a tree holds.
func (f *Filter) changesTree() bool { return len(f.Transforms) > 0 || f.Kind != "" || f.Search != "" }

func (f *Filter) inverted() bool { return f.Invert || f.Callers != "" }

// parse reads the texts of the filter, before anything large is read.
func (f *Filter) parse() (view calltree.View, under *callpath.Pattern, err error) {
	view = calltree.View{Search: f.Search, NoIdle: f.NoIdle}
	if f.Callers != "" && f.Callees != "" {
		return view, nil, param.Errorf("--callers and --callees exclude each other")
	}
	if n := len(f.Transforms); n > maxTransforms {
		return view, nil, param.Errorf("--transform: %d transforms; the maximum is %d", n, maxTransforms)
	}
	search := f.Search
	for _, text := range f.Transforms {
		t, err := calltree.ParseTransform(text)
		if err != nil {
			return view, nil, param.Errorf("--transform: %w", err)
		}
		if view.Transforms = append(view.Transforms, t); t.Kind == calltree.MarkerSearch || t.Kind == calltree.OutsideMarker {
			search += "," + t.Args[0]
		}
	}
	if n := strings.Count(search, ",") + 1; n > maxWords {
		return view, nil, param.Errorf("--search: %d words; the maximum is %d", n, maxWords)
	}
	if view.Kind, err = calltree.ParseKindFilter(f.Kind); err != nil {
		return view, nil, param.Errorf("--kind: %w", err)
	}
	for _, r := range []struct {
		flag, text string
		to         *calltree.Range
	}{{"--range", f.Range, &view.Range}, {"--preview", f.Preview, &view.Preview}} {
		if r.text == "" {
			continue
		}
		if *r.to, err = calltree.ParseRange(r.text); err != nil {
			return view, nil, param.Errorf("%s: %w", r.flag, err)
		}
	}
	if err := f.checkLabels(); err != nil {
		return view, nil, err
	}
	if f.Under != "" {
		if under, err = callpath.Parse(f.Under); err != nil {
			return view, nil, param.Errorf("--under: %w", err)
		}
	}
	return view, under, nil
}

// Validate refuses texts that cannot be read.
func (f *Filter) Validate() error {
	_, _, err := f.parse()
	return err
}

// TransformKinds lists the kinds of transforms.
func TransformKinds() []string { return calltree.TransformKinds() }

// viewer applies one filter to inputs and collects notes.
type viewer struct {
	*Filter
	view  calltree.View
	under *callpath.Pattern
	typ   string
	notes []string
	// unknown counts the inputs in which a name of a transform is not.
	unknown map[string]int
}

// newViewer returns a viewer whose matching of call paths ends with the context.
func newViewer(ctx context.Context, f *Filter, typ string) (*viewer, error) {
	view, under, err := f.parse()
	if under != nil {
		under.StopWhen(func() bool { return ctx.Err() != nil })
	}
	return &viewer{Filter: f, view: view, under: under, typ: typ, notes: []string{}, unknown: map[string]int{}}, err
}

// onSide calls f with what a side says of the value type and the range of time, in place of
// the filter's.
func (v *viewer) onSide(s *Side, f func() error) error {
	own, filter, view, typ := *v.Filter, v.Filter, v.view, v.typ
	v.Filter, v.typ = &own, cmp.Or(s.Type, typ)
	defer func() { v.Filter, v.view, v.typ = filter, view, typ }()
	if s.Range != "" {
		own.Range = s.Range
		var err error
		if v.view.Range, err = calltree.ParseRange(s.Range); err != nil {
			return param.Errorf("--range: %w", err)
		}
	}
	return f()
}

func (v *viewer) note(format string, args ...any) {
	v.tell([]string{fmt.Sprintf(format, args...)})
}

// tell adds the notes that are not there yet.
func (v *viewer) tell(notes []string) {
	for _, text := range notes {
		if !slices.Contains(v.notes, text) {
			v.notes = append(v.notes, text)
		}
	}
}

// show makes the view of every input.
func (v *viewer) show(list []Input) ([]*calltree.Shown, error) {
	shown := make([]*calltree.Shown, len(list))
	for i := range list {
		in := &list[i]
		typ := v.typ
		if in.viewer == nil {
			if !v.changesTree() {
				shown[i] = &calltree.Shown{Tree: in.tree}
				continue
			}
			in.viewer = calltree.NewViewer(in.tree.Profile())
			typ = ""
		}
		view, err := v.of(in.viewer, typ)
		if err == nil {
			shown[i], err = in.viewer.Show(view)
		}
		if err != nil {
			return nil, fmt.Errorf("%s%w", in.prefix(), err)
		}
		for _, name := range shown[i].Unknown {
			v.unknown[name]++
		}
		if shown[i].EmptyRange {
			v.note("%sno samples are inside --range and --preview, which count from the first sample", in.prefix())
		}
	}
	v.noteStackless(shown)
	return shown, nil
}

// noteStackless says how much has no stack, and whether it is in the totals.
func (v *viewer) noteStackless(shown []*calltree.Shown) {
	var lost, gaps, total int64
	for _, s := range shown {
		l, g := s.Stackless()
		lost, gaps, total = lost+l, gaps+g, total+s.RootTotal()
	}
	if len(shown) == 0 {
		return
	}
	t := shown[0].Type
	text := func(n int64) string { return words.Value(float64(n), t.Unit, t.Scale) }
	if lost != 0 {
		v.note("%s: %s of %s without a stack, which count as the function %s", t.Name, text(lost), text(total), profile.LostName)
	}
	if gaps != 0 {
		v.note("%s: %s without a stack (gaps, idle threads), not in the total", t.Name, text(gaps))
	}
}

// noteHidden says how many samples are of other types than the default one.
func (v *viewer) noteHidden(p *profile.Profile, table int) {
	var others []string
	shown := p.Tables[table].Taken()
	all := shown
	for _, i := range p.Hidden(table) {
		n := p.Tables[i].Taken()
		others = append(others, fmt.Sprintf("%s of %s", words.Count(n), p.Tables[i].Type.Name))
		all += n
	}
	if len(others) > 0 {
		v.note("%s of %s samples are of %s, the default type; others with --type: %s", words.Count(shown), words.Count(all),
			p.Tables[table].Type.Name, strings.Join(others, ", "))
	}
}

// of resolves the filter for one profile.
func (v *viewer) of(viewer *calltree.Viewer, typ string) (calltree.View, error) {
	view := v.view
	var err error
	if view.Table, view.Weights, err = viewer.ParseType(typ); err != nil {
		return view, param.Errorf("--type: %w", err)
	}
	if v.typ == "" {
		v.noteHidden(viewer.Profile(), view.Table)
	}
	for _, name := range v.Threads {
		view.Threads = append(view.Threads, viewer.FindThreads(name)...)
	}
	slices.Sort(view.Threads)
	view.Threads = slices.Compact(view.Threads)
	if len(v.States) > 0 {
		view.States = statesNamed(viewer, v.stateNames())
	}
	return view, nil
}

// below replaces trees by the callees of a function, if one is named.
func (v *viewer) below(trees []*calltree.Tree) ([]*calltree.Tree, error) {
	if v.Callees == "" {
		return trees, nil
	}
	found := false
	below := make([]*calltree.Tree, len(trees))
	for i, t := range trees {
		ids := t.FunctionsNamed(v.Callees)
		found = found || len(ids) > 0
		below[i] = t.Callees(ids)
	}
	if !found {
		var all []profile.Function
		for _, t := range trees {
			all = append(all, t.Functions...)
		}
		return nil, query.UnknownFunction(v.Callees, all)
	}
	return below, nil
}

// invert returns the tree bottom-up.
func (v *viewer) invert(t *calltree.Tree) *calltree.Inverted {
	if v.Callers != "" {
		return t.Callers(t.FunctionsNamed(v.Callers))
	}
	return t.Invert()
}

// checkCallers refuses a view of the callers of a function that a tree has not.
func (v *viewer) checkCallers(t *calltree.Table) error {
	if v.Callers != "" && len(t.FunctionsNamed(v.Callers)) == 0 {
		return query.UnknownFunction(v.Callers, t.Functions)
	}
	return nil
}

// Nodes are the call nodes of a tree or a diff in display order.
type Nodes[R any] interface {
	Walk(visit func(n int32) bool)
	Row(n int32) R
}

// visible are the rows of a tree that a cut leaves.
type visible[R any] struct {
	rows    []R
	parent  []int32 // of each row, or calltree.NoNode
	omitted query.Omitted
}

// cut keeps the rows that are deep and large enough; at says how deep a row is, its size,
// and what it counts for where it is omitted. root is the size of everything, whole what
// shares are of.
func cut[R any](c *Cut, v Nodes[R], root, whole float64, at func(R) (depth int32, size, counts float64)) *visible[R] {
	out := &visible[R]{}
	if all, ok := v.(interface{ Len() int }); ok && *c == (Cut{}) {
		out.rows, out.parent = make([]R, 0, all.Len()), make([]int32, 0, all.Len())
	}
	var open []int32 // the row at each depth
	left := 0.0
	v.Walk(func(n int32) bool {
		r := v.Row(n)
		depth, size, counts := at(r)
		if size*100 < c.MinPercent*root || c.Depth > 0 && int(depth) >= c.Depth || c.Rows > 0 && len(out.rows) >= c.Rows {
			out.omitted.Rows++
			left += counts
			return false
		}
		parent := calltree.NoNode
		if depth > 0 {
			parent = open[depth-1]
		}
		open = append(open[:depth], int32(len(out.rows)))
		out.rows, out.parent = append(out.rows, r), append(out.parent, parent)
		return true
	})
	if whole > 0 {
		out.omitted.Share = left / whole
	}
	return out
}

// CutNodes returns the rows of a tree that a Cut keeps, and what it omits. At says how deep
// a row is, its size, and what it counts for where it is omitted; root is the size of
// everything, and shares are of whole.
func CutNodes[R any](c *Cut, v Nodes[R], root, whole float64, at func(R) (depth int32, size, counts float64)) ([]R, query.Omitted) {
	kept := cut(c, v, root, whole, at)
	return kept.rows, kept.omitted
}

// cutTree keeps the rows of a tree. Where values cancel, a node is as large as what is
// in it.
func cutTree(c *Cut, v treeNodes) *visible[calltree.Row] {
	root := float64(v.RootTotal())
	size := func(r calltree.Row) float64 { return math.Abs(float64(r.Total)) }
	if t, ok := v.(*calltree.Tree); ok && slices.ContainsFunc(t.Self, func(x int64) bool { return x < 0 }) {
		absolute := column.Of(t.Self, abs)
		totals := calltree.NewTree(t.Table, t.Type, absolute).Total
		size = func(r calltree.Row) float64 { return float64(totals[r.Node]) }
	}
	return cut[calltree.Row](c, v, root, root, func(r calltree.Row) (int32, float64, float64) { return r.Depth, size(r), size(r) })
}

// cutBoxes keeps the boxes that are not too deep or too many.
func (c *Cut) cutBoxes(boxes []calltree.Box) ([]calltree.Box, query.Omitted) {
	var list []calltree.Box
	for _, b := range boxes {
		if c.Depth > 0 && int(b.Depth) >= c.Depth || c.Rows > 0 && len(list) >= c.Rows {
			continue
		}
		list = append(list, b)
	}
	return list, query.Omitted{Rows: len(boxes) - len(list)}
}

// treeNodes is a tree, upright or inverted.
type treeNodes interface {
	Nodes[calltree.Row]
	CategoryName(n int32) string
	RootTotal() int64
}

// withPeriod gives a count of samples the period that its file says, so that profiles
// sampled at different rates can be compared.
func withPeriod(t *calltree.Tree, in *Input) *calltree.Tree {
	if t.Type.Unit != "count" || t.Type.Period != 0 || in.interval <= 0 {
		return t
	}
	timed := *t
	timed.Type.Period, timed.Type.PeriodUnit = int64(in.interval), "nanoseconds"
	return &timed
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
