package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
)

// viewOptions are the flags that say what is to be seen of profiles; `tree`,
// `top` and `diff` have them all.
type viewOptions struct {
	view             string
	invert           bool
	callers, callees string
	selected         string // --select

	transforms   []string
	kind, search string
	span, inner  string // --range, --preview
	threads      []string
	noIdle       bool
	sameWidth    bool

	parsed calltree.View // what the texts say, for any profile; see parse
}

func (v *viewOptions) addFlags(c *cobra.Command, views ...string) {
	f := c.Flags()
	if v.view == "" {
		v.view = views[0]
	}
	f.Var(&choice{&v.view, views}, "view", "`what` to show: "+strings.Join(views, ", "))
	f.BoolVar(&v.invert, "invert", false, "bottom-up: the functions that samples end in, and below them their callers")
	f.StringVar(&v.callers, "callers", "", "the callers of this `function`, as an inverted tree")
	f.StringVar(&v.callees, "callees", "", "what this `function` calls, merged over all its callers")
	f.StringVar(&v.selected, "select", "", "numbers of the node with this call `path` (A;B;C; inverted: from the leaf)")
	f.StringArrayVar(&v.transforms, "transform", nil, "`KIND:ARG`, repeatable, in order; kinds: "+strings.Join(calltree.TransformKinds(), ", "))
	f.StringVar(&v.kind, "kind", "", "only frames of this `kind`: js, cpp, java, native, kernel, python, go, …")
	f.StringVar(&v.search, "search", "", "only samples in whose stack every one of the `words` (a,b) is part of a function, file or module name")
	f.StringVar(&v.span, "range", "", "only samples of this time, `START..END` in ms, END not included")
	f.StringVar(&v.inner, "preview", "", "a range `START..END` inside --range")
	f.StringArrayVar(&v.threads, "thread", nil, "only this thread, by `name` or id; repeatable")
	f.BoolVar(&v.noIdle, "no-idle", false, "without samples of a thread that waits")
	c.MarkFlagsMutuallyExclusive("callers", "callees")
}

// strategies are the values of --type that are no value type but a way to weigh
// samples.
var strategies = []string{"native-allocations", "native-deallocations-sites", "native-deallocations-memory",
	"native-retained-allocations", "js-allocations", "traced"}

func isStrategy(typ string) bool {
	return slices.Contains(strategies, typ) || strings.Contains(typ, ":")
}

// needsSamples reports whether the view can be made only of single samples, with
// their times and threads, and names the flag that wants them.
func (v *viewOptions) needsSamples(typ string) (flag string, needed bool) {
	switch {
	case v.span != "" || v.inner != "":
		return "--range", true
	case len(v.threads) > 0:
		return "--thread", true
	case v.noIdle:
		return "--no-idle", true
	case v.view == "stack-chart":
		return "--view stack-chart", true
	case isStrategy(typ):
		return "--type " + typ, true
	case slices.ContainsFunc(v.transforms, func(t string) bool { return strings.Contains(t, "marker") }):
		return "--transform filter:…marker…", true
	}
	return "", false
}

// filtered reports whether the view changes what a tree holds.
func (v *viewOptions) filtered() bool {
	return len(v.transforms) > 0 || v.kind != "" || v.search != ""
}

// parse resolves what needs no profile, so that a mistake is told before a large
// file is read.
func (v *viewOptions) parse() error {
	if v.callers != "" && v.view == "functions" {
		return usagef("--callers is a tree: not with --view functions")
	}
	view := calltree.View{Search: v.search, NoIdle: v.noIdle}
	var err error
	for _, text := range v.transforms {
		t, err := calltree.ParseTransform(text)
		if err != nil {
			return usageError{err}
		}
		view.Transforms = append(view.Transforms, t)
	}
	if view.Kind, err = calltree.ParseKindFilter(v.kind); err != nil {
		return usageError{err}
	}
	for _, r := range []struct {
		flag, text string
		to         *calltree.Range
	}{{"--range", v.span, &view.Range}, {"--preview", v.inner, &view.Preview}} {
		if r.text == "" {
			continue
		}
		if *r.to, err = calltree.ParseRange(r.text); err != nil {
			return usagef("%s: %w", r.flag, err)
		}
	}
	v.parsed = view
	return nil
}

// of resolves the flags for one profile.
func (v *viewOptions) of(viewer *calltree.Viewer, typ string) (calltree.View, error) {
	view := v.parsed
	var err error
	if view.Table, view.Weights, err = viewer.ParseType(typ); err != nil {
		return view, usageError{err}
	}
	for _, name := range v.threads {
		view.Threads = append(view.Threads, viewer.FindThreads(name)...)
	}
	slices.Sort(view.Threads)
	view.Threads = slices.Compact(view.Threads)
	return view, nil
}

// ofThreads leaves out the recordings without any of the threads that are asked for,
// and says so. A thread that none of them has is an error.
func (v *viewOptions) ofThreads(e *env, list []recording) ([]recording, error) {
	if len(v.threads) == 0 {
		return list, nil
	}
	has := make([]bool, len(list))
	for _, name := range v.threads {
		found := false
		for i := range list {
			if list[i].viewer != nil && len(list[i].viewer.FindThreads(name)) > 0 {
				has[i], found = true, true
			}
		}
		switch {
		case !found && len(list) == 1:
			return nil, fmt.Errorf("%sthere is no thread %q", list[0].prefix(), name)
		case !found:
			return nil, fmt.Errorf("there is no thread %q in any of %d profiles", name, len(list))
		}
	}
	var with []recording
	for i := range list {
		if has[i] {
			with = append(with, list[i])
		}
	}
	if n := len(list) - len(with); n > 0 {
		fmt.Fprintf(e.err, "%d %s without such a thread left out\n", n, words.Plural(n, "profile"))
	}
	return with, nil
}

// show makes the view of every recording, and says on stderr which names in
// transforms nothing has.
func (v *viewOptions) show(e *env, typ string, list []recording) ([]*calltree.Shown, error) {
	shown := make([]*calltree.Shown, len(list))
	unknown := map[string]int{}
	for i := range list {
		r := &list[i]
		if r.viewer == nil {
			if !v.filtered() {
				shown[i] = &calltree.Shown{Tree: r.tree}
				continue
			}
			r.viewer = calltree.NewViewer(r.tree.Profile())
			typ = ""
		}
		view, err := v.of(r.viewer, typ)
		if err == nil {
			shown[i], err = r.viewer.Show(view)
		}
		if err != nil {
			return nil, fmt.Errorf("%s%w", r.prefix(), err)
		}
		for _, name := range shown[i].Unknown {
			unknown[name]++
		}
		if shown[i].EmptyRange {
			fmt.Fprintf(e.err, "dendro: warning: %sno samples are inside --range and --preview, which count from the first sample\n", r.prefix())
		}
	}
	for name, n := range unknown {
		if n == len(list) {
			fmt.Fprintf(e.err, "dendro: warning: nothing is named %s\n", words.Clean(name))
		}
	}
	return shown, nil
}

// below returns the trees below a function, if --callees names one.
func (v *viewOptions) below(e *env, trees []*calltree.Tree) []*calltree.Tree {
	if v.callees == "" {
		return trees
	}
	found := false
	below := make([]*calltree.Tree, len(trees))
	for i, t := range trees {
		ids := t.FunctionsNamed(v.callees)
		found = found || len(ids) > 0
		below[i] = t.Callees(ids)
	}
	if !found {
		warnNoFunction(e, v.callees)
	}
	return below
}

func warnNoFunction(e *env, name string) {
	fmt.Fprintf(e.err, "dendro: warning: no function is named %s\n", words.Clean(name))
}

// functionsNamed looks up a function for --callers.
func functionsNamed(e *env, t *calltree.Table, name string) []int32 {
	ids := t.FunctionsNamed(name)
	if len(ids) == 0 {
		warnNoFunction(e, name)
	}
	return ids
}

// cutOptions are the flags that leave out rows.
type cutOptions struct {
	depth      int
	minPercent float64
	rows       int
}

// page is what fits on some screens of text.
var page = cutOptions{minPercent: 0.5}

func (c *cutOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&c.depth, "depth", 0, "show `n` levels (0: all)")
	cmd.Flags().Float64Var(&c.minPercent, "min-percent", c.minPercent, "leave out nodes with a total below this `share` of the root; other outputs than text and md have all unless it is given")
	cmd.Flags().IntVar(&c.rows, "rows", c.rows, "print `n` rows at most (0: all)")
}

// settle takes back defaults that are for people who read a page of text; other
// outputs get everything unless less is asked for.
func (c *cutOptions) settle(cmd *cobra.Command, format outputFormat) error {
	if c.depth < 0 || c.rows < 0 || c.minPercent < 0 {
		return usagef("--depth, --rows and --min-percent must not be negative")
	}
	if format.complete() {
		if !cmd.Flags().Changed("min-percent") {
			c.minPercent = 0
		}
		if !cmd.Flags().Changed("rows") {
			c.rows = 0
		}
	}
	return nil
}

// out reports whether a row is left out, given how many are in.
func (c *cutOptions) out(depth int32, total, root float64, in int) bool {
	return total*100 < c.minPercent*root || c.depth > 0 && int(depth) >= c.depth || c.rows > 0 && in >= c.rows
}

// branches counts the subtrees that a view does not show.
type branches struct {
	n     int
	total float64 // in them, absolute
}

func (b branches) text(root float64) string {
	share := 0.0
	if root > 0 {
		share = b.total / root
	}
	return fmt.Sprintf("not shown: %s %s with %s of the total (--min-percent, --depth, --rows)", grouped(b.n), words.Plural(b.n, "subtree"), percent(share))
}

// outline is a tree as it is printed: upright or inverted.
type outline interface {
	Walk(visit func(n int32) bool)
	Row(n int32) calltree.Row
	CategoryName(n int32) string
	RootTotal() int64
}

// visible returns the rows to print, in display order, and what is left out.
func (c *cutOptions) visible(v outline) ([]calltree.Row, branches) {
	root := v.RootTotal()
	size := func(r calltree.Row) float64 { return float64(abs(r.Total)) }
	if t, ok := v.(*calltree.Tree); ok && slices.ContainsFunc(t.Self, func(x int64) bool { return x < 0 }) {
		// What cancels is as large as what is in it.
		absolute := calltree.NewTree(t.Table, t.Type, absolutes(t.Self)).Total
		size = func(r calltree.Row) float64 { return float64(absolute[r.Node]) }
	}
	var list []calltree.Row
	var left branches
	v.Walk(func(n int32) bool {
		r := v.Row(n)
		if total := size(r); c.out(r.Depth, total, float64(root), len(list)) {
			left.n++
			left.total += total
			return false
		}
		list = append(list, r)
		return true
	})
	return list, left
}

func absolutes(values []int64) []int64 {
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = abs(v)
	}
	return out
}

// rowOf returns the JSON of a function with its numbers.
func rowOf(f *profile.Function, depth int32, total, self any, category string) treeRow {
	return treeRow{Depth: depth, Function: f.Name, File: f.File, Module: f.Module, Total: total, Self: self, Category: category}
}
