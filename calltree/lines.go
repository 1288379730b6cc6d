package calltree

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// FunctionLines is a function with the lines of its code that samples were taken in.
type FunctionLines struct {
	Function    profile.Function
	Self, Total int64
	Lines       []LineAmount // by number
}

// LineAmount is one line of a function: Self of the samples taken in the line, Total of
// these and those in what the line called. Line is 0 for frames without a line.
type LineAmount struct {
	Line        int32
	Self, Total int64
}

// Lines returns the lines of the functions that match selects, in the order of the
// profile's functions, summed over the samples of the preview range. A sample counts
// once for a line and once for a function, however often recursion has them on its
// stack. Stacks are as recorded: transforms, kind and search only decide which samples
// count.
func (s *Shown) Lines(match func(*profile.Function) bool) []FunctionLines {
	symbols := s.viewer.profile.Symbols
	selected := make([]bool, len(symbols.Functions))
	for i := range selected {
		selected[i] = match(&symbols.Functions[i])
	}
	perStack := map[profile.StackID]int64{}
	s.each(func(i int, _ int32, value int64) { perStack[s.rows.Stack[s.rows.row(i)]] += value })

	type place struct {
		function profile.FunctionID
		line     int32 // -1: of the whole function
	}
	amounts := map[place]*LineAmount{}
	var counted []place // of this stack
	add := func(at place, value int64, leaf bool) {
		a := amounts[at]
		if a == nil {
			a = &LineAmount{Line: at.line}
			amounts[at] = a
		}
		if leaf {
			a.Self += value
		}
		if !slices.Contains(counted, at) {
			counted = append(counted, at)
			a.Total += value
		}
	}
	for stack, value := range perStack {
		counted = counted[:0]
		for st := stack; st != profile.NoStack; st = profile.StackID(symbols.Stacks.Parent[st]) {
			frame := &symbols.Frames[symbols.Stacks.Item[st]]
			if selected[frame.Function] {
				add(place{frame.Function, frame.Line}, value, st == stack)
				add(place{frame.Function, -1}, value, st == stack)
			}
		}
	}
	lines := map[profile.FunctionID][]LineAmount{}
	for at, a := range amounts {
		if at.line >= 0 {
			lines[at.function] = append(lines[at.function], *a)
		}
	}
	var list []FunctionLines
	for fn := range symbols.Functions {
		id := profile.FunctionID(fn)
		if of := lines[id]; of != nil {
			slices.SortFunc(of, func(a, b LineAmount) int { return cmp.Compare(a.Line, b.Line) })
			whole := amounts[place{id, -1}]
			list = append(list, FunctionLines{symbols.Functions[fn], whole.Self, whole.Total, of})
		}
	}
	return list
}

// CallLines returns the lines from which a function calls another one, with the samples of the
// preview range in these calls as totals, by line; without a callee the lines of its own samples.
func (s *Shown) CallLines(caller, callee string) (list []LineAmount) {
	symbols := s.viewer.profile.Symbols
	is := func(at profile.StackID, name string) bool {
		return symbols.Functions[symbols.Frames[symbols.Stacks.Item[at]].Function].Name == name
	}
	perStack := map[profile.StackID]int64{}
	s.each(func(i int, _ int32, value int64) { perStack[s.rows.Stack[s.rows.row(i)]] += value })
	amounts := map[int32]int64{}
	for stack, value := range perStack {
		called := callee == ""
		var counted []int32 // lines of this stack
		for at := stack; at != profile.NoStack; at = profile.StackID(symbols.Stacks.Parent[at]) {
			if line := symbols.Frames[symbols.Stacks.Item[at]].Line; called && line > 0 && is(at, caller) && !slices.Contains(counted, line) {
				counted = append(counted, line)
				amounts[line] += value
			}
			called = callee != "" && is(at, callee)
		}
	}
	for line, value := range amounts {
		list = append(list, LineAmount{Line: line, Total: value})
	}
	slices.SortFunc(list, func(a, b LineAmount) int { return cmp.Compare(a.Line, b.Line) })
	return list
}
