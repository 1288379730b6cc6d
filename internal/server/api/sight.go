package api

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// sight is what a request wants to see of a tree.
type sight struct {
	view             calltree.View
	invert           bool
	callers, callees string
	under            *calltree.Pattern
	depth, rows      int
	minPercent       float64

	filtered bool     // the view changes what a tree holds
	warnings []string // names that nothing has
}

// rowsUnlessAsked bounds an answer that does not say how much of it is wanted.
const rowsUnlessAsked = 100_000

func (p *params) sight() *sight {
	s := &sight{invert: p.flag("invert"), callers: p.text("callers", ""), callees: p.text("callees", ""),
		depth: p.whole("depth", 0, 0), rows: p.whole("rows", rowsUnlessAsked, 0), minPercent: p.number("min-percent", 0), warnings: []string{}}
	if s.callers != "" && s.callees != "" {
		p.fail("callers and callees exclude each other")
	}
	s.view.Search = p.text("search", "")
	for _, text := range p.texts("transform") {
		t, err := calltree.ParseTransform(text)
		if err != nil {
			p.fail("transform: %w", err)
		}
		s.view.Transforms = append(s.view.Transforms, t)
	}
	kind := p.text("kind", "")
	var err error
	if s.view.Kind, err = calltree.ParseKindFilter(kind); err != nil {
		p.fail("kind: %w", err)
	}
	if text := p.text("under", ""); text != "" {
		if s.under, err = calltree.ParsePattern(text); err != nil {
			p.fail("under: %w", err)
		}
	}
	s.filtered = len(s.view.Transforms) > 0 || kind != "" || s.view.Search != ""
	return s
}

// of returns the tree as it is to be seen, upright.
func (s *sight) of(t *calltree.Tree) (*calltree.Tree, error) {
	if s.filtered {
		viewer := calltree.NewViewer(t.Profile())
		view := s.view
		var err error
		if view.Table, view.Weights, err = viewer.ParseType(""); err != nil {
			return nil, err
		}
		shown, err := viewer.Show(view)
		if err != nil {
			return nil, mistake(err)
		}
		for _, name := range shown.Unknown {
			s.warnings = append(s.warnings, "nothing is named "+words.Clean(name))
		}
		t = shown.Tree
	}
	if s.callees != "" {
		t = t.Callees(s.named(t.Table, s.callees))
	}
	if s.under != nil {
		t = s.under.Under(t)
	}
	return t, nil
}

// named looks up functions.
func (s *sight) named(t *calltree.Table, name string) []int32 {
	ids := t.FunctionsNamed(name)
	if len(ids) == 0 {
		s.warnings = append(s.warnings, "no function is named "+words.Clean(name))
	}
	return ids
}

// inverted returns the tree bottom-up, or nil when it is wanted upright.
func (s *sight) inverted(t *calltree.Tree) *calltree.Inverted {
	switch {
	case s.callers != "":
		return t.Callers(s.named(t.Table, s.callers))
	case s.invert:
		return t.Invert()
	}
	return nil
}

// outline is a tree, a diff or the inverse of one as it is listed.
type outline[R any] interface {
	Walk(visit func(n int32) bool)
	Row(n int32) R
}

// nodes are the rows of an outline that are answered, in display order.
type nodes[R any] struct {
	rows   []R
	parent []int32 // of each row, or -1
	left   int     // subtrees that are not
}

// visible takes the rows that a sight wants; at says how deep a row is and how
// large as a share of the whole.
func visible[R any](s *sight, v outline[R], at func(R) (depth int32, share float64)) *nodes[R] {
	out := &nodes[R]{}
	var open []int32 // the row at each depth
	v.Walk(func(n int32) bool {
		r := v.Row(n)
		depth, share := at(r)
		if share*100 < s.minPercent || s.depth > 0 && int(depth) >= s.depth || s.rows > 0 && len(out.rows) >= s.rows {
			out.left++
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
	return out
}

// functionTable numbers the functions that an answer uses, in order of appearance.
type functionTable struct {
	all  []profile.Function
	used []int32 // of all
	at   []int32 // of each of all: its number plus one
}

func tableOf(all []profile.Function) *functionTable {
	return &functionTable{all: all, at: make([]int32, len(all))}
}

func (f *functionTable) number(fn int32) int64 {
	if f.at[fn] == 0 {
		f.used = append(f.used, fn)
		f.at[fn] = int32(len(f.used))
	}
	return int64(f.at[fn] - 1)
}

// write writes the functions; all of them must have been numbered.
func (f *functionTable) write(d *document) {
	d.list("functions", len(f.used), func(i int) any { return describe(&f.all[f.used[i]]) })
}

func describe(f *profile.Function) functionAnswer {
	return functionAnswer{f.Name, f.File, f.Module, f.Language, f.Kind.String()}
}

// merged returns the sum of a selection as a request wants to see it.
func (a *api) merged(r *http.Request, q store.Query, s *sight) (*calltree.Tree, int, error) {
	t, profiles, err := store.MergeTrees(r.Context(), a.Store, q)
	if err != nil {
		return nil, 0, err
	}
	t, err = s.of(t)
	return t, len(profiles), err
}

// seen returns the sum of the profiles that a request selects, as it wants to see
// it, and how many they are.
func (a *api) seen(r *http.Request) (t *calltree.Tree, profiles int, s *sight, err error) {
	p := paramsOf(r)
	q, s := p.selection(), p.sight()
	if err := p.finish(); err != nil {
		return nil, 0, nil, err
	}
	t, profiles, err = a.merged(r, q, s)
	return t, profiles, s, err
}

// head begins the document of a tree.
func head(d *document, t *calltree.Tree, profiles int, s *sight) {
	d.member("profiles", profiles)
	d.member("type", t.Type)
	d.member("unit", t.Type.Unit)
	d.member("scale", t.Type.Scale)
	d.member("root_total", t.RootTotal())
	d.member("warnings", s.warnings)
}

// tree answers with the merged call tree of a selection in columns.
func (a *api) tree(w http.ResponseWriter, r *http.Request) error {
	t, profiles, s, err := a.seen(r)
	if err != nil {
		return err
	}
	var v outline[calltree.Row] = t
	if inverted := s.inverted(t); inverted != nil {
		v = inverted
	}
	root := float64(max(1, t.RootTotal()))
	list := visible(s, v, func(r calltree.Row) (int32, float64) { return r.Depth, float64(max(r.Total, -r.Total)) / root })
	functions := tableOf(t.Functions)
	d := newDocument(w)
	head(d, t, profiles, s)
	d.object("nodes", func() {
		n := len(list.rows)
		d.numbers("parent", n, func(i int) int64 { return int64(list.parent[i]) })
		d.numbers("depth", n, func(i int) int64 { return int64(list.rows[i].Depth) })
		d.numbers("function", n, func(i int) int64 { return functions.number(list.rows[i].Func) })
		d.numbers("self", n, func(i int) int64 { return list.rows[i].Self })
		d.numbers("total", n, func(i int) int64 { return list.rows[i].Total })
	})
	functions.write(d)
	d.member("leftOut", list.left)
	d.close()
	return nil
}

// flame answers with the boxes of a flame graph in columns.
func (a *api) flame(w http.ResponseWriter, r *http.Request) error {
	t, profiles, s, err := a.seen(r)
	if err != nil {
		return err
	}
	var all []calltree.Box
	if inverted := s.inverted(t); inverted != nil {
		all = inverted.Flame(s.minPercent / 100)
	} else {
		all = t.Flame(s.minPercent / 100)
	}
	boxes := make([]calltree.Box, 0, min(len(all), max(s.rows, 1)))
	for _, b := range all {
		if (s.depth == 0 || int(b.Depth) < s.depth) && (s.rows == 0 || len(boxes) < s.rows) {
			boxes = append(boxes, b)
		}
	}
	functions := tableOf(t.Functions)
	d := newDocument(w)
	head(d, t, profiles, s)
	d.object("boxes", func() {
		n := len(boxes)
		d.numbers("depth", n, func(i int) int64 { return int64(boxes[i].Depth) })
		d.numbers("function", n, func(i int) int64 { return functions.number(boxes[i].Func) })
		d.list("start", n, func(i int) any { return boxes[i].Start })
		d.list("end", n, func(i int) any { return boxes[i].End })
		d.list("self", n, func(i int) any { return boxes[i].Self })
	})
	functions.write(d)
	d.member("leftOut", len(all)-len(boxes))
	d.close()
	return nil
}

// sumAnswer is a function with what it took over a selection.
type sumAnswer struct {
	functionAnswer
	Self       int64   `json:"self"`
	Total      int64   `json:"total"`
	Profiles   int64   `json:"profiles"`   // that have it
	SelfShare  float64 `json:"selfShare"`  // mean over all selected profiles
	TotalShare float64 `json:"totalShare"` // likewise
}

// functions lists what functions took over a selection.
func (a *api) functions(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q, sort, rows := p.selection(), p.choice("sort", "total", "self"), p.whole("rows", rowsUnlessAsked, 0)
	if err := p.finish(); err != nil {
		return err
	}
	sums, err := store.SumFunctions(r.Context(), a.Store, q)
	if err != nil {
		return err
	}
	list := rankSums(sums, sort)
	all := len(list)
	list = words.First(list, rows)
	n := float64(len(sums.Profiles))
	typ := sums.Profiles[0].Type
	var root int64
	for i := range sums.Profiles {
		root += sums.Profiles[i].Sum
	}
	d := newDocument(w)
	d.member("profiles", len(sums.Profiles))
	d.member("type", typ)
	d.member("unit", typ.Unit)
	d.member("scale", typ.Scale)
	d.member("root_total", root)
	d.member("functions", all)
	d.list("rows", len(list), func(i int) any {
		s := list[i]
		return sumAnswer{describe(&sums.Functions[s.Function]), s.Self, s.Total, s.Profiles, s.SelfShare / n, s.TotalShare / n}
	})
	d.close()
	return nil
}

// rankSums orders the functions that any profile has: by self or total, largest
// first, then by name.
func rankSums(sums *store.FunctionSums, by string) []store.FunctionSum {
	list := slices.DeleteFunc(slices.Clone(sums.Rows), func(s store.FunctionSum) bool { return s.Profiles == 0 })
	size := func(s store.FunctionSum) int64 { return max(s.Total, -s.Total) }
	if by == "self" {
		size = func(s store.FunctionSum) int64 { return max(s.Self, -s.Self) }
	}
	slices.SortFunc(list, func(a, b store.FunctionSum) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a.Function, b.Function))
	})
	return list
}
