// Package trees answers where samples are spent: call trees of runs and files, with their
// functions, threads and locks, and the same of two sides compared.
//
// Words: a view is one way to show a tree; a side is what a diff compares; a band is what
// earlier runs vary by.
//
// The package does not judge a difference, which package judge does.
package trees

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/growth"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/report/flame"
	"github.com/dendroprof/dendro/store"
)

// TreeRequest asks for a view of the sum of a selection, or of inputs.
type TreeRequest struct {
	query.Selection `group:"Selection"`
	Average         `group:"Selection"`
	RawNames        bool   `param:"raw-names" group:"View" help:"from a store: show one original name of each function in place of the normalised name" json:"rawNames,omitempty"`
	View            string `param:"view" group:"View" arg:"what" choices:"tree,flame,stack-chart,functions,markers,locks,activity" help:"view: tree, flame, stack-chart, functions, markers, locks (who holds and who waits, in thread dumps), activity (when each thread had samples)" json:"view,omitempty"`
	Filter          `group:"View"`
	Modes           bool   `param:"modes" group:"View" help:"categories are the modes in which the virtual machine ran the code of self samples: interpreted, c1, jit, inlined" json:"modes,omitempty"`
	SameWidth       bool   `param:"same-width" group:"View" help:"stack chart: same width for every change of the stack, independent of time" json:"sameWidth,omitempty"`
	Gaps            bool   `param:"gaps" group:"View" help:"stack chart: leave time without samples empty, in place of drawing each stack up to the next sample" json:"gaps,omitempty"`
	Sort            string `param:"sort" group:"View" arg:"what" choices:",self,total,diff" default:"" help:"sort functions by self (default) or total; with --last by diff (default)" json:"sort,omitempty"`
	Cut             `group:"Limit"`

	Inputs []Input        `json:"-"` // in place of the store, if there are any
	Limits profile.Limits `json:"-"` // of original files that are decoded

	// RowsOnly: only the rows of a tree are read, not its columns, which know more of the
	// functions than the rows that are left.
	RowsOnly bool `json:"-"`
}

// TopRequest is a TreeRequest for a list of functions.
type TopRequest struct {
	TreeRequest `default:"view=functions" page:"min-percent=0 rows=25"`
}

// Head begins the documents of trees.
type Head struct {
	Profiles  int             `json:"profiles"` // that were summed
	Type      string          `json:"type"`
	Unit      string          `json:"unit"`
	RootTotal document.Number `json:"rootTotal"` // 100 % of all shares
	// Interval is the time that one sample stands for, in nanoseconds; 0 for values that are no
	// counts, or if it is unknown.
	Interval int64 `json:"interval,omitempty"`
	// Types are the value types to choose from, of files that have several; of a store the runs list them.
	Types   []string      `json:"types,omitempty"`
	Notes   []string      `json:"notes"`
	Omitted query.Omitted `json:"omitted"`
}

// TreeResult is a tree, depth first.
type TreeResult struct {
	Head
	Activity *ActivityResult        `json:"activity,omitempty"` // of an uploaded file, if it is asked for
	Rows     document.Rows[TreeRow] `json:"rows"`
}

// FunctionsResult is a list of functions, whose rows have depth 0.
type FunctionsResult struct {
	Head
	Rows document.Rows[TreeRow] `json:"rows"`
}

// TreeRow is a call node or a function.
type TreeRow struct {
	Depth    int32           `json:"depth"`
	Function string          `json:"function"`
	File     string          `json:"file"`
	Module   string          `json:"module"`
	Total    document.Number `json:"total"`
	Self     document.Number `json:"self"`
	Category string          `json:"category"`

	// Where the function begins; of functions that share their name with another.
	Line   int32 `json:"line,omitempty"`
	Column int32 `json:"column,omitempty"`
}

// FlameResult is a flame graph: its boxes by depth, then from left to right.
type FlameResult struct {
	Head
	Rows document.Rows[BoxRow] `json:"rows"`
}

// StackChartResult is a stack chart: its boxes by depth, then from left to right.
type StackChartResult struct {
	Head
	// Threads are those that have a stack chart, whatever the request selects.
	Threads []ThreadRow `json:"threads,omitempty"`
	// Zero is the time from which ranges count, in milliseconds since the start of the
	// profile.
	Zero float64               `json:"zero,omitempty"`
	Rows document.Rows[BoxRow] `json:"rows"`
}

// ThreadRow is a thread of a profile.
type ThreadRow struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Process string `json:"process"`
	Samples int    `json:"samples"`
}

// BoxRow is a box. In a flame graph Start, End and Self are fractions of the root total;
// in a stack chart milliseconds since the start of the profile, or numbers of stacks.
type BoxRow struct {
	Depth    int32   `json:"depth"`
	Function string  `json:"function"`
	Start    float64 `json:"start"`
	End      float64 `json:"end"`
	Self     float64 `json:"self"`
}

// Tree answers a TreeRequest with the nodes of the tree.
func Tree(ctx context.Context, st store.Store, r *TreeRequest) (*TreeResult, error) {
	return ofScope(ctx, st, r, viewTree, (*scope).rows)
}

// Functions answers a TreeRequest with the functions of the tree.
func Functions(ctx context.Context, st store.Store, r *TreeRequest) (_ *FunctionsResult, err error) {
	if st, r, err = query.Over(ctx, st, r); err != nil {
		return nil, err
	}
	if r.isPlain(viewFunctions) {
		defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
		if list, err := functionSums(ctx, st, r); err != nil || list != nil {
			return list, err
		}
	}
	return ofScope(ctx, st, r, viewFunctions, func(s *scope) (*FunctionsResult, error) {
		return s.functions(s.tree.FunctionRows(), s.tree.RootTotal()), nil
	})
}

// Flame answers a TreeRequest with the boxes of its flame graph.
func Flame(ctx context.Context, st store.Store, r *TreeRequest) (*FlameResult, error) {
	return ofScope(ctx, st, r, viewFlame, (*scope).flame)
}

// StackChart answers a TreeRequest with the boxes of its stack chart.
func StackChart(ctx context.Context, st store.Store, r *TreeRequest) (*StackChartResult, error) {
	return ofScope(ctx, st, r, viewStackChart, (*scope).stackChart)
}

// Markers answers a TreeRequest with the markers of the profile.
func Markers(ctx context.Context, st store.Store, r *TreeRequest) (*MarkersResult, error) {
	return ofScope(ctx, st, r, viewMarkers, (*scope).markers)
}

// Activity answers a TreeRequest with the samples of each thread over time.
func Activity(ctx context.Context, st store.Store, r *TreeRequest) (*ActivityResult, error) {
	return ofScope(ctx, st, r, viewActivity, (*scope).activity)
}

// Locks answers a TreeRequest with the locks of thread dumps.
func Locks(ctx context.Context, st store.Store, r *TreeRequest) (*LocksResult, error) {
	return ofScope(ctx, st, r, viewLocks, (*scope).locks)
}

// Node answers a TreeRequest with the call node that its Select names.
func Node(ctx context.Context, st store.Store, r *TreeRequest) (*NodeResult, error) {
	return ofScope(ctx, st, r, r.chartOr(viewTree), (*scope).node) // nodes of a stack chart have times
}

// ofScope reads the tree of a request for a view, and answers from it.
func ofScope[R any](ctx context.Context, st store.Store, r *TreeRequest, view string, answer func(*scope) (*R, error)) (_ *R, err error) {
	if st, r, err = query.Over(ctx, st, r); err != nil {
		return nil, err
	}
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	s, err := newScope(ctx, st, r, view)
	if err != nil {
		return nil, err
	}
	return answer(s)
}

// Graph answers a TreeRequest with a picture: of its stack chart if this is its view, else
// of its flame graph.
func Graph(ctx context.Context, st store.Store, r *TreeRequest) (*flame.Graph, error) {
	return ofScope(ctx, st, r, r.chartOr(viewFlame), (*scope).graph)
}

// chartOr returns the view of a stack chart if it is asked for, which needs single samples, else
// another one.
func (r *TreeRequest) chartOr(view string) string {
	if r.View == viewStackChart {
		return viewStackChart
	}
	return view
}

// scope is the tree that a request is about, and the samples behind it if they are of
// one profile.
type scope struct {
	*viewer
	r     *TreeRequest
	named string // the view, as --view names it
	tree  *calltree.Tree
	all   []*calltree.Shown // the view of each input
	list  []Input
	shown *calltree.Shown // the one of all; nil: there are none, or several
	// samples are those of shown.
	samples *calltree.Viewer
	title   string
	count   int
	// fromZero counts the times of a stack chart from the first sample.
	fromZero bool
	shared   map[string]bool // names of two functions and more; nil: not yet known
	// byMode has the self values of each node by category, if these are modes.
	byMode [][]int64
}

// Validate refuses a request that makes no sense, whatever it is answered from.
func (r *TreeRequest) Validate() error { return r.validate(r.View) }

func (r *TreeRequest) validate(view string) error {
	switch {
	case r.Callers != "" && view == viewFunctions:
		return param.Errorf("--callers is a tree: leave out --view functions")
	case r.Sort == "diff" && !r.comparesRuns(view):
		return param.Errorf("--sort diff needs a list of functions of a selection with --last n, the runs to compare with those before, and no filter")
	case len(r.Inputs) > 0 && len(r.Types) > 1:
		return param.Errorf("files show one value type: give one --type")
	case view == viewMarkers && r.Select != "":
		return param.Errorf("--select selects a call node: leave out --view markers")
	case len(r.Inputs) > 0 && r.Average.Average != "":
		return param.Errorf("--average needs a selection from a store, not files")
	case r.Modes && (r.Average.Average != "" || r.Pushed.Chosen() || len(r.Inputs) > 1):
		return param.Errorf("--modes needs the sum of runs, or one file: averages, pushed profiles and sums of files have no compile modes")
	case r.Modes && (r.Callers != "" || r.Callees != "" || r.Under != ""):
		return param.Errorf("--modes shows whole stacks: leave out --callers, --callees and --under (--transform focus-function:NAME shows what a function calls)")
	case r.Pushed.Chosen() && len(r.Inputs) > 0:
		return ErrOfFiles
	case r.Pushed.Chosen() && r.RawNames:
		return errRawNames
	}
	_, _, err := r.parse()
	return err
}

func newScope(ctx context.Context, st store.Store, r *TreeRequest, view string) (*scope, error) {
	if err := r.validate(view); err != nil {
		return nil, err
	}
	v, err := newViewer(ctx, &r.Filter, query.TypeOf(&r.Selection))
	if err != nil {
		return nil, err
	}
	list := r.Inputs
	if len(list) > 0 {
		list, err = v.selected(list)
	} else {
		read := &reading{Average: r.Average, rawNames: r.RawNames, modes: r.Modes, limits: r.Limits, viewer: v}
		if r.RowsOnly && view == viewTree && r.isPlain(view) {
			read.above = r.MinPercent
		}
		var q store.Query
		if q, v.notes, err = query.OneType(ctx, st, &r.Selection); err == nil {
			if len(q.Types) == 1 {
				v.typ = q.Types[0]
			}
			list, err = read.ofStore(ctx, st, q, view)
		}
	}
	if err == nil {
		err = v.checkStates(list)
	}
	if err != nil {
		return nil, err
	}
	if r.Modes {
		for i := range list {
			list[i].showModes()
		}
	}
	s, err := v.scope(list, r, view)
	if err == nil && view != viewMarkers { // whose search is another
		err = v.checkFound(s.all)
	}
	return s, err
}

// scope merges the views of inputs.
func (v *viewer) scope(list []Input, r *TreeRequest, view string) (*scope, error) {
	shown, err := v.show(list)
	if err != nil {
		return nil, err
	}
	trees := column.Of(shown, func(s *calltree.Shown) *calltree.Tree { return s.Tree })
	s := &scope{viewer: v, r: r, named: view, all: shown, list: list}
	for i := range list {
		s.count += list[i].profiles
	}
	s.title = titleOf(list, s.count, shown[0].Type)
	if len(trees) == 1 && list[0].viewer != nil {
		s.shown, s.samples = shown[0], list[0].viewer
	}
	if trees, err = v.below(trees); err != nil {
		return nil, err
	}
	s.tree = trees[0]
	if len(trees) > 1 {
		if s.tree, err = calltree.Merge(trees...); err != nil {
			return nil, err
		}
	}
	if err := s.narrow(); err != nil {
		return nil, err
	}
	if r.Modes {
		s.setModes()
	}
	return s, v.checkCallers(s.tree.Table)
}

// narrow keeps what is below the call path of --under.
func (s *scope) narrow() error {
	if s.under == nil {
		return nil
	}
	all := s.tree.Functions
	if s.tree = s.under.Under(s.tree); s.tree.Len() == 0 {
		return noPath(s.Under, all)
	}
	return nil
}

// noPath is the error of --under with a pattern that no call path matches.
func noPath(pattern string, functions []profile.Function) error {
	hint := ""
	if !strings.Contains(pattern, ";") {
		hint = words.DidYouMean(pattern, query.WithShortNames(functions))
	}
	return fmt.Errorf("%w: no call path matches %s%s", store.ErrNothing, words.Clean(pattern), hint)
}

// titleOf names what is shown: the file, or how many profiles.
func titleOf(list []Input, profiles int, typ profile.ValueType) string {
	if len(list) == 1 && list[0].name != "" {
		return filepath.Base(list[0].name) + ", " + typ.Name
	}
	return fmt.Sprintf("%s, %s", words.Counted(profiles, "profile"), typ.Name)
}

func (s *scope) head(root int64, omitted query.Omitted) Head {
	t := s.tree.Type
	return Head{Profiles: s.count, Type: t.Name, Unit: t.Unit, RootTotal: document.Whole(root, t.Scale), Interval: t.Interval(),
		Types: s.typesOfFiles(), Notes: s.notes, Omitted: omitted}
}

// typesOfFiles returns the value types of the files; nil: there is one, or the inputs are of a store.
func (s *scope) typesOfFiles() (types []string) {
	for _, in := range s.r.Inputs {
		for t := range in.profile.Tables {
			types = append(types, in.profile.Tables[t].Type.Name)
		}
	}
	slices.Sort(types)
	if types = slices.Compact(types); len(types) < 2 {
		return nil
	}
	return types
}

// row returns the JSON of a function with its numbers.
func (s *scope) row(fn, depth int32, total, self int64, category string) TreeRow {
	f, scale := &s.tree.Functions[fn], s.tree.Type.Scale
	row := TreeRow{Depth: depth, Function: f.Name, File: f.File, Module: f.Module, Total: document.Whole(total, scale),
		Self: document.Whole(self, scale), Category: category}
	if s.shared == nil {
		s.shared = sharedNames(s.tree.Functions)
	}
	if s.shared[f.Name] {
		row.Line, row.Column = f.StartLine, f.Column
	}
	return row
}

// sharedNames returns the names that more than one function has.
func sharedNames(functions []profile.Function) map[string]bool {
	seen, shared := make(map[string]bool, len(functions)), map[string]bool{}
	for i := range functions {
		if name := functions[i].Name; seen[name] {
			shared[name] = true
		} else {
			seen[name] = true
		}
	}
	return shared
}

// nodes returns the tree, upright or inverted.
func (s *scope) nodes() treeNodes {
	if s.inverted() {
		return s.invert(s.tree)
	}
	return s.tree
}

// rows returns the nodes of the tree.
func (s *scope) rows() (*TreeResult, error) {
	v := s.nodes()
	list := cutTree(&s.r.Cut, v)
	rows := document.RowsOf(len(list.rows), func(i int) TreeRow {
		r := &list.rows[i]
		category := v.CategoryName(r.Node)
		if s.byMode != nil && !s.inverted() {
			category = s.modesOf(r.Node)
		}
		return s.row(r.Func, r.Depth, r.Total, r.Self, category)
	})
	rows.Columns = func(w *document.Writer) {
		n, scale := len(list.rows), s.tree.Type.Scale
		functions := tableOf(s.tree.Functions, n, func(i int) int32 { return list.rows[i].Func })
		functions.tell(s.tree.Table, s.tree.Self)
		w.Derived("parent", n, func(i int) document.Number { return document.Whole(int64(list.parent[i]), 0) })
		w.Numbers("depth", n, func(i int) document.Number { return document.Whole(int64(list.rows[i].Depth), 0) })
		w.Numbers("function", n, func(i int) document.Number { return document.Whole(functions.number(list.rows[i].Func), 0) })
		w.Derived("total", n, func(i int) document.Number { return document.Whole(list.rows[i].Total, scale) })
		w.Numbers("self", n, func(i int) document.Number { return document.Whole(list.rows[i].Self, scale) })
		writeCategories(w, s.tree.Categories, n, func(i int) profile.CategoryID { return list.rows[i].Category })
		functions.write(w)
	}
	return &TreeResult{Head: s.head(v.RootTotal(), list.omitted), Rows: rows}, nil
}

// Growth answers a TreeRequest by comparing the functions of the newest Last runs with
// those before.
func Growth(ctx context.Context, st store.Store, r *TreeRequest) (*growth.Result, error) {
	return growth.List(ctx, st, &r.Selection, r.Sort, r.Rows)
}

// comparesRuns reports whether a list of functions compares the newest runs with those
// before: it does so for the runs as they are, without a filter.
func (r *TreeRequest) comparesRuns(view string) bool {
	return r.Last > 0 && view == viewFunctions && r.isPlain(view)
}

// isPlain reports whether the request shows the sum of a selection as it is.
func (r *TreeRequest) isPlain(view string) bool {
	return len(r.Inputs) == 0 && r.Select == "" && !r.inverted() && r.Callees == "" && r.Under == "" &&
		r.Average.Average == "" &&
		!r.RawNames && !r.Modes && !r.changesTree() && r.needsSamples(view, query.TypeOf(&r.Selection)) == ""
}

// functionSums lists the functions of a selection from their sums; nil if values cancel,
// because a tree lists a function of which only the sum is zero.
func functionSums(ctx context.Context, st store.Store, r *TreeRequest) (*FunctionsResult, error) {
	if err := r.validate(viewFunctions); err != nil {
		return nil, err
	}
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	sums, err := store.TotalFunctions(ctx, st, q)
	if err != nil {
		return nil, err
	}
	t := &calltree.Tree{Table: &calltree.Table{Functions: sums.Functions}, Type: store.SumType(sums.Profiles)}
	count := query.Summed(st, sums.Profiles)
	s := &scope{viewer: &viewer{notes: notes}, r: r, tree: t, count: count, title: titleOf(nil, count, t.Type)}
	rows, root := make([]calltree.FunctionRow, len(sums.Rows)), int64(0)
	for i, sum := range sums.Rows {
		if sum.Total == 0 {
			return nil, nil
		}
		rows[i] = calltree.FunctionRow{Func: sum.Function, Self: sum.Self, Total: sum.Total}
		root += sum.Self
	}
	calltree.SortFunctionRows(rows)
	return s.functions(rows, root), nil
}

// functions returns the list of functions.
func (s *scope) functions(rows []calltree.FunctionRow, root int64) *FunctionsResult {
	if s.r.Sort != "total" {
		slices.SortStableFunc(rows, func(a, b calltree.FunctionRow) int { return cmp.Compare(abs(b.Self), abs(a.Self)) })
	}
	all := len(rows)
	rows = slices.DeleteFunc(rows, func(r calltree.FunctionRow) bool { return float64(abs(r.Total))*100 < s.r.MinPercent*float64(root) })
	rows = words.First(rows, s.r.Rows)
	modes := s.modesOfFunctions()
	return &FunctionsResult{Head: s.head(root, query.Omitted{Rows: all - len(rows)}), Rows: document.RowsOf(len(rows), func(i int) TreeRow {
		return s.row(rows[i].Func, 0, rows[i].Total, rows[i].Self, modes(rows[i].Func))
	})}
}

// boxes returns the boxes of the view, and what they are boxes of.
func (s *scope) boxes() ([]calltree.Box, treeNodes, error) {
	least := s.r.MinPercent / 100
	if s.named == viewStackChart {
		if s.shown == nil {
			return nil, nil, param.Errorf("a stack chart needs one profile with times: give one file, or select one profile imported with --keep-source")
		}
		if s.Callers != "" || s.Callees != "" || s.Under != "" {
			return nil, nil, param.Errorf("a stack chart shows whole stacks: leave out --callers, --callees and --under")
		}
		boxes, err := s.shown.StackChart(calltree.ChartOptions{SameWidth: s.r.SameWidth, Gaps: s.r.Gaps}) // it has no bottom-up form
		if zero := s.zero(); s.fromZero && !s.r.SameWidth {
			for i := range boxes {
				boxes[i].Start -= zero
				boxes[i].End -= zero
			}
		}
		return boxes, s.tree, err
	}
	if s.inverted() {
		v := s.invert(s.tree)
		return v.Flame(least), v, nil
	}
	return s.tree.Flame(least), s.tree, nil
}

// flame returns the boxes of the flame graph.
func (s *scope) flame() (*FlameResult, error) {
	rows, omitted, err := s.boxRows()
	return &FlameResult{s.head(s.tree.RootTotal(), omitted), rows}, err
}

// stackChart returns the boxes of the stack chart.
func (s *scope) stackChart() (*StackChartResult, error) {
	rows, omitted, err := s.boxRows()
	if err != nil {
		return nil, err
	}
	return &StackChartResult{s.head(s.tree.RootTotal(), omitted), s.threads(), s.zero(), rows}, nil
}

func (s *scope) boxRows() (rows document.Rows[BoxRow], omitted query.Omitted, err error) {
	all, _, err := s.boxes()
	if err != nil {
		return rows, omitted, err
	}
	boxes, omitted := s.r.cutBoxes(all)
	rows = document.RowsOf(len(boxes), func(i int) BoxRow {
		b := &boxes[i]
		return BoxRow{b.Depth, s.tree.Functions[b.Func].Name, b.Start, b.End, b.Self}
	})
	rows.Columns = func(w *document.Writer) {
		n := len(boxes)
		functions := tableOf(s.tree.Functions, n, func(i int) int32 { return boxes[i].Func })
		functions.tell(s.tree.Table, s.tree.Self)
		w.Numbers("depth", n, func(i int) document.Number { return document.Whole(int64(boxes[i].Depth), 0) })
		w.Numbers("function", n, func(i int) document.Number { return document.Whole(functions.number(boxes[i].Func), 0) })
		w.Numbers("start", n, func(i int) document.Number { return document.Fraction(boxes[i].Start, 0) })
		w.Numbers("end", n, func(i int) document.Number { return document.Fraction(boxes[i].End, 0) })
		w.Numbers("self", n, func(i int) document.Number { return document.Fraction(boxes[i].Self, 0) })
		functions.write(w)
	}
	return rows, omitted, nil
}

// zero returns the time from which ranges count, in milliseconds since the start of the
// profile.
func (s *scope) zero() float64 { return float64(s.samples.Zero()) / 1e6 }

// threads returns the threads of a stack chart.
func (s *scope) threads() []ThreadRow {
	var list []ThreadRow
	for _, t := range s.samples.Threads(s.shown.View.Table) {
		x := s.samples.Thread(t.Thread)
		list = append(list, ThreadRow{x.Name, x.ID, x.Process, t.Samples})
	}
	return list
}

// graph returns the picture of the view.
func (s *scope) graph() (*flame.Graph, error) {
	all, v, err := s.boxes()
	if err != nil {
		return nil, err
	}
	t := s.tree
	g := &flame.Graph{Title: s.title, Unit: t.Type.Unit, Scale: t.Type.Scale, Functions: t.Functions,
		Root: flame.Value{Head: float64(t.RootTotal())}}
	boxes, omitted := s.r.cutBoxes(all)
	if s.named == viewStackChart { // it shows how long, not how many
		g.Time, g.Scale = true, 0
		if g.Unit = "milliseconds"; s.r.SameWidth {
			g.Unit = "stacks"
		}
	}
	for _, b := range boxes {
		box := flame.Box{Func: b.Func, Depth: b.Depth, Start: b.Start, End: b.End, Self: flame.Value{Head: b.Self},
			Total: flame.Value{Head: b.End - b.Start}}
		if !g.Time {
			r := v.Row(b.Node)
			box.Self, box.Total = flame.Value{Head: float64(r.Self)}, flame.Value{Head: float64(r.Total)}
		}
		g.Boxes = append(g.Boxes, box)
	}
	if g.Time {
		start, end, _ := g.Extent()
		g.Root.Head = end - start
	}
	g.Notes = s.r.graphNotes(omitted.Rows)
	return g, nil
}

// graphNotes says what the limits omit from a picture.
func (c *Cut) graphNotes(boxes int) (notes []string) {
	if c.MinPercent > 0 {
		notes = append(notes, fmt.Sprintf("boxes below %g%% omitted (--min-percent)", c.MinPercent))
	}
	if boxes > 0 {
		notes = append(notes, fmt.Sprintf("%d boxes omitted (--depth, --rows)", boxes))
	}
	return notes
}
