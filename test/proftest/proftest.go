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
// line of `×3  ×1` gives every column its weight, one of `@0  @1.5` its time in
// milliseconds, one of `#main  #worker` its thread, one of `&1  &2` its address.
//
// Attributes of a function follow its name in brackets: `f[lib:libc]` its
// module, `f[file:a.c]`, `f[line:3]`, `f[kind:js]`, and `f[cat:DOM]` or
// `f[cat:DOM/Style]` the category of this frame. A profile with categories has the
// grey category Other before all others.
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
	var header header
	var columns []int // where the cells of the first line of frames begin
	for _, line := range strings.Split(strings.ReplaceAll(drawing, "\r", ""), "\n") {
		line = strings.TrimRight(strings.TrimLeft(line, "\t"), " \t")
		if line == "" {
			continue
		}
		if columns == nil && header.read(p, strings.Fields(line)) {
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
	header.check(len(stacks), drawing)
	table := &p.Tables[i]
	for c, names := range stacks {
		table.Add(Stack(p.Symbols, names...), header.weight(c))
	}
	table.Time = append(table.Time, header.times...)
	table.Thread = append(table.Thread, header.threads...)
	table.Address = append(table.Address, header.addresses...)
}

// header has the facts of each column from the lines above the first frames.
type header struct {
	weights, times []int64
	threads        []profile.ThreadID
	addresses      []uint64
}

// read reads a line if it is one of the header.
func (h *header) read(p *profile.Profile, cells []string) bool {
	sign, _ := utf8.DecodeRuneInString(cells[0])
	for _, c := range cells {
		switch text := strings.TrimPrefix(c, string(sign)); sign {
		case '×':
			h.weights = append(h.weights, parse(text, 1))
		case '@':
			h.times = append(h.times, parse(text, 1e6))
		case '#':
			h.threads = append(h.threads, thread(p, text))
		case '&':
			h.addresses = append(h.addresses, uint64(parse(text, 1)))
		default:
			return false
		}
	}
	return true
}

// check panics unless every line that there is has a cell for each column.
func (h *header) check(columns int, drawing string) {
	for _, n := range []int{len(h.weights), len(h.times), len(h.threads), len(h.addresses)} {
		if n != 0 && n != columns {
			panic(fmt.Sprintf("%d cells for %d columns in:\n%s", n, columns, drawing))
		}
	}
}

func (h *header) weight(column int) int64 {
	if h.weights == nil {
		return 1
	}
	return h.weights[column]
}

// parse returns a number times unit.
func parse(text string, unit float64) int64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return int64(v * unit)
}

// thread returns the thread of a name, adding it if it is new.
func thread(p *profile.Profile, name string) profile.ThreadID {
	id := slices.IndexFunc(p.Threads, func(t profile.Thread) bool { return t.Name == name })
	if id < 0 {
		id = len(p.Threads)
		p.Threads = append(p.Threads, profile.Thread{Name: name})
	}
	return profile.ThreadID(id)
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

// Stack interns a stack of functions, outermost first, each spelled as in a
// drawing.
func Stack(s *profile.Symbols, names ...string) profile.StackID {
	st := profile.NoStack
	for _, n := range names {
		st = s.Stack(st, s.Frame(frame(s, n)))
	}
	return st
}

// note is the text in brackets after a name.
var note = regexp.MustCompile(`\[(lib|file|line|kind|cat):([^\]]*)\]$`)

// frame returns the frame that a cell stands for.
func frame(s *profile.Symbols, cell string) profile.Frame {
	var fr profile.Frame
	var fn profile.Function
	for {
		m := note.FindStringSubmatch(cell)
		if m == nil {
			break
		}
		cell = strings.TrimSuffix(cell, m[0])
		switch value := m[2]; m[1] {
		case "lib":
			fn.Module = value
		case "file":
			fn.File = value
		case "line":
			fn.StartLine = int32(parse(value, 1))
		case "kind":
			kind, err := profile.ParseKind(value)
			if err != nil {
				panic(err)
			}
			fn.Kind = kind
		case "cat":
			fr.Category = category(s, value)
		}
	}
	fn.Name = cell
	fr.Function = s.Function(fn)
	return fr
}

// category interns `Name` or `Name/Subcategory`.
func category(s *profile.Symbols, text string) profile.CategoryID {
	s.Category(profile.Category{Name: "Other", Color: "grey"})
	name, sub, _ := strings.Cut(text, "/")
	c := profile.Category{Name: name, Color: "blue"}
	if name == "Other" {
		c.Color = "grey"
	}
	group := s.Category(c)
	if sub == "" {
		return group
	}
	c.Subcategory = sub
	return s.Category(c)
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

// DrawInverted draws all of an inverted tree in display order.
func DrawInverted(v *calltree.Inverted) string {
	var b strings.Builder
	v.Walk(func(h int32) bool {
		fmt.Fprintf(&b, "%s- %s (total: %s, self: %s)\n", strings.Repeat("  ", int(v.Depth(h))), v.Name(h), dash(v.Total(h)), dash(v.Self(h)))
		return true
	})
	return b.String()
}

// DrawBoxes draws boxes, a line per depth: `A [0, 0.5) self 0.25 | B [0.5, 1)`.
func DrawBoxes(functions []profile.Function, boxes []calltree.Box) string {
	var b strings.Builder
	for i, box := range boxes {
		switch {
		case i == 0:
		case box.Depth != boxes[i-1].Depth:
			b.WriteByte('\n')
		default:
			b.WriteString(" | ")
		}
		fmt.Fprintf(&b, "%s [%.4g, %.4g)", functions[box.Func].Name, box.Start, box.End)
		if box.Self != 0 {
			fmt.Fprintf(&b, " self %.4g", box.Self)
		}
	}
	if len(boxes) > 0 {
		b.WriteByte('\n')
	}
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
