package cli

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
)

// showOptions are the flags of `dendro tree` and `dendro top`, which differ in
// what they show unless told.
type showOptions struct {
	input
	viewOptions
	cutOptions
	sort   string
	under  string
	output destination
}

// viewNames lists the views of one tree.
var viewNames = []string{"tree", "flame", "stack-chart", "functions"}

func newTree(e *env) *cobra.Command {
	o := showOptions{viewOptions: viewOptions{view: "tree"}, cutOptions: page, sort: "total"}
	c := &cobra.Command{
		Use:   "tree [flags] [FILE...]",
		Short: "Show the call tree of a selection, of one profile, or of files",
		Long: `Tree prints the merged call tree of the selected profiles, or of the files named:
every call node with its total (samples in it and below) and self (samples in it
alone), callees below callers, the largest first. What is left out is said at
the end; -o json leaves nothing out unless asked to.

Filters apply in the order: --thread, --range, --transform, --no-idle, --kind,
--search, --preview. What needs single samples (--range, --thread, --no-idle, the
stack chart, weights such as --type traced) works on files, and on profiles that
were imported with --keep-source.`,
		Example: `  dendro tree --benchmark checkout --last 1
  dendro tree --profile 9f1c2ab04d5e6677 --depth 6
  dendro tree cpu.pb.gz other.folded --min-percent 2 -o json
  dendro tree profile.json --invert --kind js --range 1200..1900
  dendro tree profile.json --transform 'drop-function:poll' --callers malloc
  dendro tree cpu.pb.gz -o flame.html`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, e, args) },
	}
	o.addFlags(c)
	return c
}

func (o *showOptions) addFlags(c *cobra.Command) {
	o.input.addFlags(c)
	o.viewOptions.addFlags(c, viewNames...)
	c.Flags().BoolVar(&o.sameWidth, "same-width", false, "stack chart: every change of the stack takes the same width, whatever its time")
	o.cutOptions.addFlags(c)
	c.Flags().Var(&choice{&o.sort, []string{"total", "self", "diff"}}, "sort", "functions by `what`: total, self, or in top --last diff")
	c.Flags().StringVar(&o.under, "under", "", "only what matches this call path `pattern`, and what is below it (A;**;B)")
	o.output.addFlag(c, "text", "json", "md", "tsv", "csv", "html", "svg")
}

func (o *showOptions) run(c *cobra.Command, e *env, files []string) error {
	if err := o.settle(c, o.output.format); err != nil {
		return err
	}
	if o.sort == "diff" {
		return usagef("--sort diff needs top --last n: the runs to compare with those before")
	}
	s, err := o.scene(c.Context(), e, files)
	if err != nil {
		return err
	}
	return o.output.write(e, func(e *env) error { return o.print(e, s) })
}

// scene is what is to be printed: a tree, and the samples behind it if they are
// of one profile.
type scene struct {
	*calltree.Tree
	shown *calltree.Shown // nil when there are none, or several
	title string
}

func (o *showOptions) scene(ctx context.Context, e *env, files []string) (*scene, error) {
	list, err := o.recordings(ctx, e, files, &o.viewOptions)
	if err != nil {
		return nil, err
	}
	return o.sceneOf(e, list)
}

// sceneOf is scene of what was read.
func (o *showOptions) sceneOf(e *env, list []recording) (*scene, error) {
	shown, err := o.show(e, o.typ(), list)
	if err != nil {
		return nil, err
	}
	trees := make([]*calltree.Tree, len(shown))
	for i := range shown {
		trees[i] = shown[i].Tree
	}
	s := &scene{title: titleOf(list, shown[0].Type)}
	if len(trees) == 1 && list[0].viewer != nil {
		s.shown = shown[0]
	}
	trees = o.below(e, trees)
	s.Tree = trees[0]
	if len(trees) > 1 {
		if s.Tree, err = calltree.Merge(trees...); err != nil {
			return nil, err
		}
	}
	if o.under != "" {
		p, err := calltree.ParsePattern(o.under)
		if err != nil {
			return nil, usageError{err}
		}
		if s.Tree = p.Under(s.Tree); s.Tree.Len() == 0 {
			fmt.Fprintf(e.err, "dendro: no call path matches %s\n", words.Clean(o.under))
		}
	}
	return s, nil
}

// titleOf names what is shown: the file, or how many profiles.
func titleOf(list []recording, typ profile.ValueType) string {
	if len(list) == 1 && list[0].name != "" {
		return filepath.Base(list[0].name) + ", " + typ.Name
	}
	n := 0
	for i := range list {
		n += list[i].profiles
	}
	return fmt.Sprintf("%d %s, %s", n, words.Plural(n, "profile"), typ.Name)
}

func (o *showOptions) print(e *env, s *scene) error {
	switch {
	case o.selected != "":
		return o.printSelected(e, s)
	case o.output.format == "html" || o.output.format == "svg":
		return o.document(e, s)
	case o.view == "functions":
		return o.printFunctions(e, s.Tree)
	case o.view == "flame" || o.view == "stack-chart":
		return o.printBoxes(e, s)
	case o.inverted():
		return o.printTree(e, s.Tree, o.turned(e, s.Tree))
	}
	return o.printTree(e, s.Tree, s.Tree)
}

// inverted reports whether the view is bottom-up.
func (o *viewOptions) inverted() bool { return o.invert || o.callers != "" }

// turned returns the tree bottom-up.
func (o *viewOptions) turned(e *env, t *calltree.Tree) *calltree.Inverted {
	if o.callers != "" {
		return t.Callers(functionsNamed(e, t.Table, o.callers))
	}
	return t.Invert()
}

// printTree prints the tree t as the outline v shows it.
func (o *showOptions) printTree(e *env, t *calltree.Tree, v outline) error {
	root := v.RootTotal()
	list, left := o.visible(v)
	switch o.output.format {
	case "json":
		head := treeAnswer{RootTotal: scaled(root, t.Type.Scale), Unit: t.Type.Unit}
		return writeRows(e.out, head, len(list), func(i int) any {
			r := &list[i]
			return rowOf(&t.Functions[r.Func], r.Depth, scaled(r.Total, t.Type.Scale), scaled(r.Self, t.Type.Scale), v.CategoryName(r.Node))
		})
	case "md", "tsv", "csv":
		return o.treeTable(t, root, list).print(e, o.output.format)
	}
	w := bufio.NewWriter(e.out)
	o.text(w, t, root, list, e.colour())
	if left.n > 0 {
		fmt.Fprintln(w, left.text(float64(root)))
	}
	return w.Flush()
}

// text prints one node a line; the numbers stand in front, so that names may be
// as long as they are.
func (o *showOptions) text(w *bufio.Writer, t *calltree.Tree, root int64, list []calltree.Row, colour bool) {
	fmt.Fprintf(w, "%s in total\n", amount(root, t.Type.Unit, t.Type.Scale))
	fmt.Fprintf(w, "%8s %8s  %s\n", "total", "self", "function")
	for i := range list {
		r := &list[i]
		self := ""
		if r.Self != 0 {
			self = percent(share(r.Self, root))
		}
		line := fmt.Sprintf("%8s %8s  %s%s", percent(share(r.Total, root)), self, indent(int(r.Depth)), words.Clean(t.Functions[r.Func].Name))
		if colour {
			line = heavy(share(abs(r.Total), root)).paint(line)
		}
		fmt.Fprintln(w, line)
	}
}

// indent draws the depth; beyond what fits on a line it is written as a number.
func indent(depth int) string {
	const wide = 24
	if depth <= wide {
		return strings.Repeat("· ", depth)
	}
	return strings.Repeat("· ", wide) + "[" + strconv.Itoa(depth) + "] "
}

func (o *showOptions) treeTable(t *calltree.Tree, root int64, list []calltree.Row) *table {
	tb := &table{columns: []column{{name: "depth", right: true}, {name: "total", right: true}, {name: "self", right: true},
		{name: "share", right: true, text: percent}, {name: "function"}, {name: "module"}, {name: "file"}}}
	for i := range list {
		r := &list[i]
		f := &t.Functions[r.Func]
		tb.add(r.Depth, scaled(r.Total, t.Type.Scale), scaled(r.Self, t.Type.Scale), share(r.Total, root), f.Name, f.Module, f.File)
	}
	return tb
}

// treeAnswer is the JSON of trees, function lists and boxes (docs/schema/json.md),
// but for its rows.
type treeAnswer struct {
	RootTotal any    `json:"root_total"`
	Unit      string `json:"unit"`
}

type treeRow struct {
	Depth    int32  `json:"depth"`
	Function string `json:"function"`
	File     string `json:"file"`
	Module   string `json:"module"`
	Total    any    `json:"total"`
	Self     any    `json:"self"`
	Category string `json:"category"`
}

// patternHelp explains patterns in the help of commands that take them.
const patternHelp = `A pattern is a call path: pieces separated by ';', each an exact function name,
a glob ('*', '?') or /a regular expression/; '**' stands for any frames. 'A;B' is
B called directly by A, 'A;**;B' B anywhere below A; '^;A' begins at the outermost
frame, 'A;$' ends at the innermost. In a name, ';' and '\' are written '\;', '\\'.`
