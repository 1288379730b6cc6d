package querier

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
)

// dotNodes is the default number of functions in a graph.
const dotNodes = 100

// dotGraph returns the functions of a tree, and who calls whom, in the language of Graphviz:
// at most so many functions, those of the largest totals. Edges have the totals of the
// callee below the caller, if both are shown; a function that calls itself has none.
func dotGraph(t *calltree.Tree, most int64) string {
	rows := t.FunctionRows() // by total
	all := len(rows)
	if int64(len(rows)) > most {
		rows = rows[:most]
	}
	shown := map[int32]int{}
	for i, r := range rows {
		shown[r.Func] = i
	}
	var b strings.Builder
	total := t.RootTotal()
	share := func(v int64) string { return fmt.Sprintf("%.2f%%", 100*float64(v)/float64(max(total, 1))) }
	fmt.Fprintf(&b, "digraph \"dendro\" {\nnode [shape=box];\ngraph [label=%s];\n",
		quoteDot(fmt.Sprintf("%d %s, %s of %s functions", total, t.Type.Unit, words.Count(len(rows)), words.Count(all))))
	for i, r := range rows {
		fmt.Fprintf(&b, "n%d [label=%s];\n", i+1, quoteDot(fmt.Sprintf("%s\n%d (%s) of %d (%s)", t.Functions[r.Func].Name, r.Self, share(r.Self),
			r.Total, share(r.Total))))
	}
	type edge struct{ from, to int }
	calls := map[edge]int64{}
	for n := range int32(t.Len()) {
		if p := t.Parent[n]; p != calltree.NoNode {
			from, ok := shown[t.Func[p]]
			to, both := shown[t.Func[n]]
			if ok && both && from != to {
				calls[edge{from, to}] += t.Total[n]
			}
		}
	}
	byPlace := func(x, y edge) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to)) }
	for _, e := range slices.SortedFunc(maps.Keys(calls), byPlace) {
		if calls[e] != 0 {
			fmt.Fprintf(&b, "n%d -> n%d [label=%s];\n", e.from+1, e.to+1, quoteDot(strconv.FormatInt(calls[e], 10)))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// quoteDot quotes a text: of a label, in which a line feed begins a line.
func quoteDot(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", " ", "\x00", " ").Replace(text) + `"`
}
