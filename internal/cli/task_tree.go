package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/traceprof"
)

// stackRow is an element of an analysis as it is listed.
type stackRow struct {
	Depth    int32  `json:"depth"`
	Function string `json:"function"` // the code signature
	Total    int32  `json:"total"`    // ms
	Self     int32  `json:"self"`     // ms
	Count    int32  `json:"count"`    // snapshots

	indent int32 // branchings above
	only   bool  // the caller has no other callee, and stands in the line above
}

// stackRows lists the elements of a tree in display order: callees below their
// caller, the longest first.
func stackRows(a *traceprof.Analysis, t *traceprof.StackTree) []stackRow {
	callees := make([][]int32, t.Len()+1) // by id of the caller
	for i := range t.Parent {
		callees[t.Parent[i]] = append(callees[t.Parent[i]], int32(i))
	}
	type open struct {
		element, depth, indent int32
		only                   bool
	}
	var stack []open
	push := func(of, depth, indent int32) {
		next := callees[of]
		if len(next) > 1 {
			indent++
		}
		slices.SortStableFunc(next, func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.Duration[b], t.Duration[a]), cmp.Compare(t.Count[b], t.Count[a]))
		})
		for _, i := range slices.Backward(next) {
			stack = append(stack, open{i, depth, indent, of > 0 && len(next) == 1})
		}
	}
	rows := make([]stackRow, 0, t.Len())
	for push(0, 0, 0); len(stack) > 0; {
		o := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		i := o.element
		rows = append(rows, stackRow{o.depth, a.Functions[t.Function[i]].Name, t.Duration[i], t.Self[i], t.Count[i], o.indent, o.only})
		push(i+1, o.depth+1, o.indent)
	}
	return rows
}

// stackTree is a tree of an analysis as it is listed.
type stackTree struct {
	Rows []stackRow `json:"rows"`
}

// stackTrees lists the elements that are large enough, of all trees together as many as
// are asked for, and counts those that are left out.
func (c *cutOptions) stackTrees(a *traceprof.Analysis, sum int64) (trees []stackTree, left int) {
	trees = []stackTree{}
	shown := 0
	for i := range a.Trees {
		all := stackRows(a, &a.Trees[i])
		rows := all[:0]
		under := int32(math.MaxInt32) // depth of an element whose callees are left out
		for _, r := range all {
			if r.Depth > under {
				continue
			}
			under = math.MaxInt32
			if c.out(r.Depth, float64(r.Total), float64(sum), shown) {
				under = r.Depth
				continue
			}
			rows = append(rows, r)
			shown++
		}
		left += len(all) - len(rows)
		trees = append(trees, stackTree{rows})
	}
	return trees, left
}

// print prints an analysis.
func (o *taskAnalyzeOptions) print(e *env, a *traceprof.Analysis, segments int) error {
	var sum int64
	for i := range a.Trees {
		sum += int64(a.Trees[i].Duration[0])
	}
	trees, left := o.stackTrees(a, sum)
	if o.output.format == "json" {
		return e.writeJSON(struct {
			Tip       string      `json:"tip"`
			Found     int64       `json:"found"`
			Snapshots int         `json:"snapshots"`
			Unit      string      `json:"unit"`
			Trees     []stackTree `json:"trees"`
		}{a.Tip, a.Found, a.Snapshots, "ms", trees})
	}
	w, colour := bufio.NewWriter(e.out), e.colour()
	fmt.Fprintf(w, "%s %s of %d %s, %s between them\n", grouped(a.Snapshots), words.Plural(a.Snapshots, "snapshot"), segments, words.Plural(segments, "segment"), millis(sum))
	if a.Tip != "" {
		fmt.Fprintln(w, a.Tip)
	}
	fmt.Fprintf(w, "%9s %9s %6s  %s\n", "total ms", "self ms", "dumps", "function")
	for i := range trees {
		for j := range trees[i].Rows {
			r := &trees[i].Rows[j]
			line := r.line()
			if colour && sum > 0 {
				line = heavy(float64(r.Total) / float64(sum)).paint(line)
			}
			fmt.Fprintln(w, line)
		}
	}
	if left > 0 {
		fmt.Fprintf(w, "… %s more %s (--rows 0, --min-percent 0 and --depth show them)\n", grouped(left), words.Plural(left, "element"))
	}
	return w.Flush()
}

// lineWidth is what a line of a tree takes at most.
const lineWidth = 100

// line writes an element for people.
func (r *stackRow) line() string {
	self := ""
	if r.Self != 0 {
		self = grouped(r.Self)
	}
	indent := strings.Repeat("· ", int(min(r.indent, 20)))
	if r.only {
		indent += "↳ "
	}
	line := fmt.Sprintf("%9s %9s %6s  %s", grouped(r.Total), self, grouped(r.Count), indent)
	return line + tailOf(words.Clean(r.Function), lineWidth-utf8.RuneCountInString(line))
}

// tailOf cuts a text to a width from its front: the method and the line of a code
// signature stand at its end.
func tailOf(text string, width int) string {
	n := utf8.RuneCountInString(text)
	if n <= width {
		return text
	}
	runes := []rune(text)
	return "…" + string(runes[n-max(width-1, 8):])
}
