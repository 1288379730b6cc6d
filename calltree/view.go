package calltree

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// View selects what to show of a profile. It is plain data; the zero value shows
// everything of the first sample table. The steps are applied in this order: threads,
// committed range, transforms, states and idle, kind, search, preview range, weights. So a
// transform sees all frames, and a search the frames that pass the kind filter.
type View struct {
	Table      int                // index in Profile.Tables
	Weights    Weights            // what a sample counts
	Threads    []profile.ThreadID // whose samples, merged by time; nil: all
	Range      Range              // the committed range, counted from the first sample of the profile
	Transforms []Transform        // in this order
	States     []profile.StateID  // keep samples in these states; nil: in all
	NoIdle     bool               // drop samples of waiting threads, by category or state (see dropped)
	Kind       KindFilter         // keep frames of matching functions
	Search     string             // keep samples in which every comma-separated word matches some frame
	Preview    Range              // a part of the committed range, counted like it
}

// Range is a half-open span of time [Start, End) in nanoseconds. The zero value
// means all of the time.
type Range struct{ Start, End int64 }

// All reports whether the range is the zero value.
func (r Range) All() bool { return r == Range{} }

// ParseRange parses `START..END` in milliseconds, with fractions down to the
// nanosecond. A missing side is unlimited.
func ParseRange(text string) (Range, error) {
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return Range{}, fmt.Errorf("range %q: want START..END in milliseconds", text)
	}
	r := Range{Start: math.MinInt64, End: math.MaxInt64}
	for _, side := range []struct {
		text string
		to   *int64
	}{{from, &r.Start}, {to, &r.End}} {
		if side.text == "" {
			continue
		}
		ms, err := strconv.ParseFloat(side.text, 64)
		if err != nil || math.IsNaN(ms) || math.Abs(ms) > math.MaxInt64/2e6 {
			return Range{}, fmt.Errorf("range %q: %q is not a number of milliseconds", text, side.text)
		}
		*side.to = int64(math.Round(ms * 1e6))
	}
	if r.Start >= r.End {
		return Range{}, fmt.Errorf("range %q is empty", text)
	}
	return r, nil
}

// Viewer computes views of a profile. It caches the steps of the last view and starts
// the next one where it differs. A change of range, search, preview, weights or value
// type costs a pass over the samples and one over the call nodes; only other transforms
// or another kind rebuild the table of call nodes.
//
// A Viewer reads all stacks of the profile's Symbols, so decode a file to be viewed
// into Symbols of its own. A Viewer is not safe for concurrent use, and the profile
// must not change.
type Viewer struct {
	profile    *profile.Profile
	categories *Categories
	modules    []string // in the order of their functions, which follow those of the profile
	first      *step
	rows       rows // of the last table and threads
}

// step is the state of the stacks after some transforms.
type step struct {
	*stacks
	at   []int32 // of each stack of the profile: the stack that has its samples now, or NoNode; nil: the same
	next *step   // the last step computed from this one
	text string  // the transform that led here
}

// Shown is a computed view: a call tree and the samples behind it.
type Shown struct {
	*Tree
	View View

	// Unknown lists names in transforms that match no function, category or module
	// of the profile.
	Unknown []string
	// EmptyRange reports that the ranges of the view select no samples.
	EmptyRange bool

	viewer  *Viewer
	rows    rows
	windows windows     // of samples that are intervals
	nodes   []int32     // of the samples of the committed range; NoNode: not counted
	lo, hi  int         // the samples of the preview range among them
	matched functionSet // functions matched by the search; nil without a search
}

// NewViewer returns a viewer of p.
func NewViewer(p *profile.Profile) *Viewer {
	v := &Viewer{profile: p, categories: NewCategories(p.Symbols.Categories)}
	s := &stacks{
		parent:    p.Symbols.Stacks.Parent,
		frame:     p.Symbols.Stacks.Item,
		function:  make([]int32, len(p.Symbols.Frames)),
		kinds:     v.categories,
		functions: v.withModules(p.Symbols.Functions),
	}
	for fr := range s.function {
		s.function[fr] = int32(p.Symbols.Frames[fr].Function)
	}
	if v.categories != nil {
		s.category = v.categories.resolve(p.Symbols)
	}
	v.first = &step{stacks: s}
	return v
}

// Profile returns the profile that is viewed.
func (v *Viewer) Profile() *profile.Profile { return v.profile }

// withModules appends one function per module, named after it, for CollapseResource.
// They come last in display order of ties, in the order of the
// format's resources, or else of their first functions. Such a function is JavaScript if the profile
// says that the module is a source of scripts or, if it does not say, if all functions
// of the module are; otherwise it has the kind of the first one that is not, and no
// label.
func (v *Viewer) withModules(functions []profile.Function) []profile.Function {
	kinds := map[string]profile.Kind{}
	var modules []string
	for i := range functions {
		f := &functions[i]
		if f.Module == "" {
			continue
		}
		kind, ok := kinds[f.Module]
		if !ok {
			modules = append(modules, f.Module)
		}
		if !ok || kind == profile.KindJS {
			kind = f.Kind
		}
		if kind == profile.KindJSLabel {
			kind = profile.KindUnknown
		}
		kinds[f.Module] = kind
	}
	order := make(map[string]int, len(modules))
	for i, m := range v.profile.Symbols.Resources {
		order[m] = i - len(v.profile.Symbols.Resources)
	}
	slices.SortStableFunc(modules, func(a, b string) int { return cmp.Compare(order[a], order[b]) })
	all := functions[:len(functions):len(functions)]
	for _, m := range modules {
		kind := kinds[m]
		if script, known := v.profile.Symbols.Scripts[m]; known && script {
			kind = profile.KindJS
		} else if known && kind == profile.KindJS {
			kind = profile.KindUnknown
		}
		all = append(all, profile.Function{Name: m, Module: m, Kind: kind})
	}
	v.modules = modules
	return all
}

// Stackless returns how much of the view has no stack: lost is the total of the function
// profile.LostName, gaps is what is counted nowhere. Both are sums without signs.
func (s *Shown) Stackless() (lost, gaps int64) {
	for n := int32(0); int(n) < s.Len(); n = s.End[n] {
		if s.Functions[s.Func[n]].Name == profile.LostName {
			lost += abs(s.Total[n])
		}
	}
	if s.viewer == nil {
		return lost, 0
	}
	drop := s.dropped()
	for i := s.lo; i < s.hi; i++ {
		if row := s.rows.row(i); s.rows.Stack[row] == profile.NoStack && !drop.byState(row) {
			gaps += abs(s.value(i))
		}
	}
	return lost, gaps
}

// Zero returns the time from which ranges count: that of the first sample of the
// profile over all threads or, without samples, of the first marker.
func (v *Viewer) Zero() int64 {
	p := v.profile
	var times []int64
	for i := range p.Tables {
		if t := p.Tables[i].Time; len(t) > 0 && (times == nil || i == p.Default) {
			times = t
		}
	}
	switch {
	case times != nil:
		return slices.Min(times)
	case len(p.Markers) > 0:
		return p.Markers[0].Start // they are in order
	}
	return 0
}

// absolute returns the range, which counts from the zero of v, in the profile's time.
func (v *Viewer) absolute(r Range) Range {
	if r.All() {
		return r
	}
	zero := v.Zero()
	for _, at := range []*int64{&r.Start, &r.End} {
		if *at != math.MinInt64 && *at < math.MaxInt64-max(0, zero) {
			*at += zero
		}
	}
	return r
}

// Show computes a view. It returns an error if the profile lacks the data for it.
func (v *Viewer) Show(view View) (*Shown, error) {
	p := v.profile
	if view.Table < 0 || view.Table >= len(p.Tables) {
		return nil, fmt.Errorf("value type %d of %d", view.Table, len(p.Tables))
	}
	s := &Shown{View: view, viewer: v}
	var err error
	if s.rows, err = v.rowsOf(view.Table, view.Threads); err != nil {
		return nil, err
	}
	if s.rows, err = s.rows.during(v.absolute(view.Range)); err != nil {
		return nil, err
	}
	at, err := s.transform()
	if err != nil {
		return nil, err
	}
	table, node := at.layout()
	if s.nodes, err = s.nodesOf(at, table, node); err != nil {
		return nil, err
	}
	if s.lo, s.hi, err = s.rows.span(v.absolute(view.Preview)); err != nil {
		return nil, err
	}
	s.cut(v.absolute(view.Range), v.absolute(view.Preview))
	typ, self, err := s.weigh(table.Len())
	if err != nil {
		return nil, err
	}
	s.Tree = NewTree(table, typ, self)
	s.EmptyRange = s.lo == s.hi && s.rows.Len() > 0 && !(view.Range.All() && view.Preview.All())
	return s, nil
}

// transform applies the transforms and the kind filter. It reuses the steps of the last
// view as far as they are the same.
func (s *Shown) transform() (*step, error) {
	at := s.viewer.first
	for _, t := range s.View.Transforms {
		if t.Kind.takesText() {
			continue // it selects samples, see rows.go
		}
		e, err := s.apply(at, t)
		if err != nil {
			return nil, err
		}
		at = e
	}
	if ok := s.View.Kind.selected(at.functions); ok != nil {
		at = at.then("kind:"+string(s.View.Kind), func() effect { return at.restrict(ok) })
	}
	return at, nil
}

// then returns the step after do, which it calls only if text differs from the last
// step computed from this one.
func (at *step) then(text string, do func() effect) *step {
	if at.next != nil && at.next.text == text {
		return at.next
	}
	e := do()
	at.next = &step{stacks: e.stacks, text: text, at: compose(at.at, e.to)}
	return at.next
}

// compose returns where samples go that move first by a, then by b. Nil moves nothing.
func compose(a, b []int32) []int32 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	c := make([]int32, len(a))
	for i, x := range a {
		if x != NoNode {
			x = b[x]
		}
		c[i] = x
	}
	return c
}

// apply applies one transform and records unknown names.
func (s *Shown) apply(at *step, t Transform) (*step, error) {
	if len(t.Args) == 0 {
		return nil, fmt.Errorf("transform %s has no argument", t.Kind)
	}
	ok := t.Only.selected(at.functions)
	switch t.Kind {
	case FocusCategory:
		return s.focusCategory(at, t)
	case CollapseResource:
		return s.collapseResource(at, t, ok)
	case CollapseRecursion:
		if t.Args[0] == EveryFunction {
			return at.then(t.String(), at.collapseAllRecursion), nil
		}
	}
	path := pathNamed(at.functions, t.Args)
	for i, name := range t.Args {
		if path.steps[i] == nil {
			s.unknown(name)
		}
	}
	var do func() effect
	switch t.Kind {
	case MergeFunction:
		do = func() effect { return at.mergeFunction(path.any) }
	case MergeNode:
		do = func() effect { return at.mergeNode(path, ok) }
	case DropFunction:
		do = func() effect { return at.dropFunction(path.any) }
	case FocusFunction:
		do = func() effect { return at.focusFunction(path.any) }
	case FocusSubtree:
		do = func() effect { return at.focusSubtree(path, ok) }
	case FocusSubtreeInverted:
		do = func() effect { return at.focusSubtreeInverted(path, ok) }
	case FocusSelf:
		do = func() effect { return at.focusSelf(path.any, ok) }
	case CollapseFunction:
		do = func() effect { return at.collapseFunction(path.any) }
	case CollapseDirectRecursion:
		do = func() effect { return at.collapseRecursion(path.any, true, ok) }
	case CollapseRecursion:
		do = func() effect { return at.collapseRecursion(path.any, false, nil) }
	case StackPrefix:
		do = func() effect { return at.stackPrefix(path) }
	case StackSuffix:
		do = func() effect { return at.stackSuffix(path.any) }
	case FunctionInclude:
		do = func() effect { return at.functionInclude(path.any) }
	default:
		return nil, fmt.Errorf("unknown transform %q", t.Kind)
	}
	return at.then(t.String(), do), nil
}

func (s *Shown) unknown(name string) {
	if !slices.Contains(s.Unknown, name) {
		s.Unknown = append(s.Unknown, name)
	}
}

func (s *Shown) focusCategory(at *step, t Transform) (*step, error) {
	if at.category == nil {
		return nil, errors.New("transform " + t.String() + ": this profile has no categories")
	}
	wanted := make([]bool, len(at.kinds.list))
	found := false
	for c, cat := range at.kinds.list {
		wanted[c] = c != 0 && cat.Name == t.Args[0]
		found = found || wanted[c]
	}
	if !found {
		s.unknown(t.Args[0])
	}
	return at.then(t.String(), func() effect {
		return at.keep(func(st int) bool { return wanted[at.category[st]] })
	}), nil
}

func (s *Shown) collapseResource(at *step, t Transform, ok []bool) (*step, error) {
	i := slices.Index(s.viewer.modules, t.Args[0])
	if i < 0 {
		s.unknown(t.Args[0])
		return at, nil
	}
	one := int32(len(s.viewer.profile.Symbols.Functions) + i)
	return at.then(t.String(), func() effect { return at.collapseResource(t.Args[0], one, ok) }), nil
}
