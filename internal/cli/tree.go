package cli

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/calltree"
)

// treeOptions are the flags of `dendro tree`.
type treeOptions struct {
	input
	depth      int
	minPercent float64
	rows       int
	under      string
	output     outputFormat
}

func newTree(e *env) *cobra.Command {
	var o treeOptions
	c := &cobra.Command{
		Use:   "tree [flags] [FILE...]",
		Short: "Show the call tree of a selection, of one profile, or of files",
		Long: `Tree prints the merged call tree of the selected profiles, or of the files named:
every call node with its total (samples in it and below) and self (samples in it
alone), callees below callers, the largest first. What is left out is said at
the end; -o json leaves nothing out unless asked to.`,
		Example: `  dendro tree --benchmark checkout --last 1
  dendro tree --profile 9f1c2ab04d5e6677 --depth 6
  dendro tree cpu.pb.gz other.folded --min-percent 2 -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.output == "json" && !c.Flags().Changed("min-percent") {
				o.minPercent = 0
			}
			return o.run(c.Context(), e, args)
		},
	}
	o.addFlags(c)
	c.Flags().IntVar(&o.depth, "depth", 0, "show `n` levels (0: all)")
	c.Flags().Float64Var(&o.minPercent, "min-percent", 0.5, "leave out nodes with a total below this `share` of the root")
	c.Flags().IntVar(&o.rows, "rows", 0, "print `n` rows at most (0: all)")
	c.Flags().StringVar(&o.under, "under", "", "only what matches this call path `pattern`, and what is below it (A;**;B)")
	o.output.addFlag(c, "text", "json", "md", "tsv")
	return c
}

func (o *treeOptions) run(ctx context.Context, e *env, files []string) error {
	if o.depth < 0 || o.rows < 0 || o.minPercent < 0 {
		return usagef("--depth, --rows and --min-percent must not be negative")
	}
	t, err := o.tree(ctx, e, files)
	if err != nil {
		return err
	}
	if o.under != "" {
		p, err := calltree.ParsePattern(o.under)
		if err != nil {
			return usageError{err}
		}
		if t = p.Under(t); t.Len() == 0 {
			fmt.Fprintf(e.err, "dendro: no call path matches %s\n", escape(o.under))
		}
	}
	return o.print(e, t)
}

// cut is what a tree view leaves out.
type cut struct {
	nodes int
	self  int64 // their self values, absolute
}

// visible returns the nodes to print, in display order, and what is left out.
func (o *treeOptions) visible(t *calltree.Tree) ([]int32, cut) {
	root := t.RootTotal()
	var list []int32
	var left cut
	t.Walk(func(n int32) bool {
		small := float64(abs(t.Total[n]))*100 < o.minPercent*float64(root)
		if small || o.depth > 0 && int(t.Depth[n]) >= o.depth || o.rows > 0 && len(list) >= o.rows {
			for x := n; x < t.End[n]; x++ {
				left.nodes++
				left.self += abs(t.Self[x])
			}
			return false
		}
		list = append(list, n)
		return true
	})
	return list, left
}

func (o *treeOptions) print(e *env, t *calltree.Tree) error {
	list, left := o.visible(t)
	switch o.output {
	case "json":
		rows := make([]treeRow, len(list))
		for i, n := range list {
			rows[i] = newTreeRow(t, n)
		}
		return e.writeJSON(treeAnswer{RootTotal: scaled(t.RootTotal(), t.Type.Scale), Unit: t.Type.Unit, Rows: rows})
	case "md", "tsv":
		return o.table(t, list).print(e, o.output)
	}
	w := bufio.NewWriter(e.out)
	o.text(w, t, list, e.colour())
	if left.nodes > 0 {
		fmt.Fprintf(w, "not shown: %s call %s, in which %s of the samples end (--min-percent, --depth, --rows)\n",
			grouped(left.nodes), plural(left.nodes, "node"), percent(share(left.self, t.RootTotal())))
	}
	return w.Flush()
}

// text prints one node a line; the numbers stand in front, so that names may be
// as long as they are.
func (o *treeOptions) text(w *bufio.Writer, t *calltree.Tree, list []int32, colour bool) {
	root := t.RootTotal()
	fmt.Fprintf(w, "%s in total\n", amount(root, t.Type.Unit, t.Type.Scale))
	fmt.Fprintf(w, "%8s %8s  %s\n", "total", "self", "function")
	for _, n := range list {
		self := ""
		if t.Self[n] != 0 {
			self = percent(share(t.Self[n], root))
		}
		line := fmt.Sprintf("%8s %8s  %s%s", percent(share(t.Total[n], root)), self, indent(int(t.Depth[n])), escape(t.Name(n)))
		if colour {
			line = heavy(share(abs(t.Total[n]), root)).paint(line)
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

func (o *treeOptions) table(t *calltree.Tree, list []int32) *table {
	tb := &table{columns: []column{{name: "depth", right: true}, {name: "total", right: true}, {name: "self", right: true},
		{name: "share", right: true, text: percent}, {name: "function"}, {name: "module"}, {name: "file"}}}
	for _, n := range list {
		f := &t.Functions[t.Func[n]]
		tb.add(t.Depth[n], scaled(t.Total[n], t.Type.Scale), scaled(t.Self[n], t.Type.Scale), share(t.Total[n], t.RootTotal()), f.Name, f.Module, f.File)
	}
	return tb
}

// treeAnswer is the JSON of trees and function lists (docs/format/json.md).
type treeAnswer struct {
	RootTotal any       `json:"root_total"`
	Unit      string    `json:"unit"`
	Rows      []treeRow `json:"rows"`
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

func newTreeRow(t *calltree.Tree, n int32) treeRow {
	f := &t.Functions[t.Func[n]]
	return treeRow{Depth: t.Depth[n], Function: f.Name, File: f.File, Module: f.Module,
		Total: scaled(t.Total[n], t.Type.Scale), Self: scaled(t.Self[n], t.Type.Scale)}
}

// patternHelp explains patterns in the help of commands that take them.
const patternHelp = `A pattern is a call path: pieces separated by ';', each an exact function name,
a glob ('*', '?') or /a regular expression/; '**' stands for any frames. 'A;B' is
B called directly by A, 'A;**;B' B anywhere below A; '^;A' begins at the outermost
frame, 'A;$' ends at the innermost. In a name, ';' and '\' are written '\;', '\\'.`
