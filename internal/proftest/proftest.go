// Package proftest turns small drawings into profiles and trees, and trees back
// into drawings, so that a test shows its whole input and its whole result.
//
// A drawing of samples has one column per sample, outermost frame on top:
//
//	A  A  A
//	B  B  C
//	C
//
// Columns are separated by two or more spaces or by tabs. A cell belongs to the
// column under whose first frame it stands, as the eye sees it; in lines that are
// not aligned, and behind tabs, cells are counted from the left and `·` is an
// empty one. A column of nothing but `·` is a sample without a stack. A first
// line of `×3  ×1` gives every column its weight.
//
// A drawing of a tree has one call node a line, indented by depth:
//
//   - A (total: 3, self: —)
//   - B (total: 2, self: 1)
//
// The package is for tests only; nothing outside of tests imports it.
package proftest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// cellText is a function name: words with single spaces in between.
var cellText = regexp.MustCompile(`\S+(?: \S+)*`)

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
	var columns []int // where the cells of the first line of frames begin
	for _, line := range strings.Split(strings.ReplaceAll(drawing, "\r", ""), "\n") {
		line = strings.TrimRight(strings.TrimLeft(line, "\t"), " \t")
		if line == "" {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(line), "×") {
			weights = parseWeights(line)
			continue
		}
		cells, starts := splitCells(line)
		if columns == nil {
			columns = starts
		}
		for k, c := range assign(columns, starts) {
			for c >= len(stacks) {
				stacks = append(stacks, nil)
			}
			if cells[k] != "·" {
				stacks[c] = append(stacks[c], cells[k])
			}
		}
	}
	if weights != nil && len(weights) != len(stacks) {
		panic(fmt.Sprintf("%d weights for %d columns in:\n%s", len(weights), len(stacks), drawing))
	}
	for c, names := range stacks {
		weight := int64(1)
		if weights != nil {
			weight = weights[c]
		}
		p.Tables[i].Add(Stack(p.Symbols, names...), weight)
	}
}

func parseWeights(line string) []int64 {
	var weights []int64
	for _, c := range strings.Fields(line) {
		w, err := strconv.ParseInt(strings.TrimPrefix(c, "×"), 10, 64)
		if err != nil {
			panic(err)
		}
		weights = append(weights, w)
	}
	return weights
}

// splitCells returns the cells of a line and where each begins, in runes. Behind
// a tab a place means nothing: -1.
func splitCells(line string) (cells []string, starts []int) {
	for _, m := range cellText.FindAllStringIndex(line, -1) {
		start := utf8.RuneCountInString(line[:m[0]])
		if strings.Contains(line[:m[0]], "\t") {
			start = -1
		}
		cells, starts = append(cells, line[m[0]:m[1]]), append(starts, start)
	}
	return cells, starts
}

// assign returns the column of each cell: by place if all stand exactly under a
// column, else by number.
func assign(columns, starts []int) []int {
	byPlace := make([]int, len(starts))
	byNumber := make([]int, len(starts))
	aligned := true
	for k, start := range starts {
		byNumber[k] = k
		byPlace[k] = slices.Index(columns, start)
		aligned = aligned && start >= 0 && byPlace[k] >= 0
	}
	if aligned {
		return byPlace
	}
	return byNumber
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
