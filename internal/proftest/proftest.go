// Package proftest turns small drawings into profiles and trees, and trees back
// into drawings, so that a test shows its whole input and its whole result.
//
// A drawing of samples has one column per sample, outermost frame on top:
//
//	A  A  A
//	B  B  C
//	C
//
// Columns are separated by two or more spaces or by tabs; a column may begin
// with `×3` on the first line of the drawing (weights; all columns then have
// one). A drawing of a tree has one call node a line, indented by depth:
//
//   - A (total: 3, self: —)
//   - B (total: 2, self: 1)
//
// The package is for tests only; nothing outside of tests imports it.
package proftest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

var columnGap = regexp.MustCompile(`\t+| {2,}`)

// Columns returns the profile that a drawing shows, with one table of value
// type cpu-samples. It panics when the drawing makes no sense.
func Columns(drawing string) *profile.Profile {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: profile.ValueType{Name: profile.CPUSamples, Unit: "count"}}}
	AddColumns(p, 0, drawing)
	return p
}

// AddColumns adds the samples of a drawing to table i of p.
func AddColumns(p *profile.Profile, i int, drawing string) {
	var stacks [][]string
	var weights []int64
	for _, line := range strings.Split(strings.TrimSpace(strings.ReplaceAll(drawing, "\r", "")), "\n") {
		cells := columnGap.Split(strings.TrimRight(strings.TrimLeft(line, "\t"), " "), -1)
		if strings.HasPrefix(strings.TrimSpace(line), "×") {
			for _, c := range strings.Fields(line) {
				w, err := strconv.ParseInt(strings.TrimPrefix(c, "×"), 10, 64)
				if err != nil {
					panic(err)
				}
				weights = append(weights, w)
			}
			continue
		}
		for c, cell := range cells {
			if c >= len(stacks) {
				stacks = append(stacks, nil)
			}
			if cell = strings.TrimSpace(cell); cell != "" && cell != "·" {
				stacks[c] = append(stacks[c], cell)
			}
		}
	}
	for c, names := range stacks {
		weight := int64(1)
		if weights != nil {
			weight = weights[c]
		}
		p.Tables[i].Add(Stack(p.Symbols, names...), weight)
	}
}

// Stack interns a stack of plain functions, outermost first.
func Stack(s *profile.Symbols, names ...string) profile.StackID {
	st := profile.NoStack
	for _, n := range names {
		st = s.Stack(st, s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: n})}))
	}
	return st
}

// Tree returns the call tree of a drawing of samples.
func Tree(drawing string) *calltree.Tree { return calltree.FromProfile(Columns(drawing), 0) }

// Draw draws the shown nodes of a tree in display order.
func Draw(t *calltree.Tree) string {
	var b strings.Builder
	t.Walk(func(n int32) bool {
		fmt.Fprintf(&b, "%s- %s (total: %s, self: %s)\n", strings.Repeat("  ", int(t.Depth[n])), t.Name(n), dash(t.Total[n]), dash(t.Self[n]))
		return true
	})
	return b.String()
}

func dash(v int64) string {
	if v == 0 {
		return "—"
	}
	return strconv.FormatInt(v, 10)
}

// Trim removes the common margin of a drawing in Go source, and the line breaks
// around it.
func Trim(drawing string) string {
	lines := strings.Split(strings.Trim(drawing, "\n\t "), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimLeft(l, "\t")
	}
	return strings.Join(lines, "\n") + "\n"
}
