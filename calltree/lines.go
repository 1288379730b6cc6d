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
	frame := func(st int32) (*profile.Frame, bool) {
		f := &symbols.Frames[symbols.Stacks.Item[st]]
		return f, selected[f.Function]
	}
	lines := map[profile.FunctionID][]LineAmount{}
	for at, a := range s.amounts(func(st int32) (place, bool) { f, ok := frame(st); return place{f.Function, f.Line}, ok }) {
		lines[at.function] = append(lines[at.function], LineAmount{at.line, a.self, a.total})
	}
	whole := s.amounts(func(st int32) (place, bool) { f, ok := frame(st); return place{f.Function, 0}, ok })
	var list []FunctionLines
	for fn := range symbols.Functions {
		if of := sorted(lines[profile.FunctionID(fn)]); of != nil {
			a := whole[place{profile.FunctionID(fn), 0}]
			list = append(list, FunctionLines{symbols.Functions[fn], a.self, a.total, of})
		}
	}
	return list
}

func sorted(list []LineAmount) []LineAmount {
	slices.SortFunc(list, func(a, b LineAmount) int { return cmp.Compare(a.Line, b.Line) })
	return list
}

// CallLines returns the lines from which a function calls another one, with the samples of the
// preview range in these calls as totals, by line; without a callee the lines of its own samples.
func (s *Shown) CallLines(caller, callee string) (list []LineAmount) {
	symbols := s.viewer.profile.Symbols
	is := func(st int32, name string) bool {
		return symbols.Functions[symbols.Frames[symbols.Stacks.Item[st]].Function].Name == name
	}
	for at, a := range s.amounts(func(st int32) (place, bool) {
		if callee != "" {
			if !is(st, callee) {
				return place{}, false
			}
			if st = symbols.Stacks.Parent[st]; st < 0 {
				return place{}, false
			}
		}
		line := symbols.Frames[symbols.Stacks.Item[st]].Line
		return place{line: line}, line > 0 && is(st, caller)
	}) {
		switch {
		case callee != "":
			list = append(list, LineAmount{Line: at.line, Total: a.total})
		case a.ends:
			list = append(list, LineAmount{Line: at.line, Total: a.self})
		}
	}
	return sorted(list)
}

// place is a line of a function.
type place struct {
	function profile.FunctionID
	line     int32
}

// amount is what a place has: self of the samples that end in it, total of those that have it
// on their stacks.
type amount struct {
	self, total int64
	ends        bool // samples end in it
	open        int  // how often it is on the stack in work
}

// amounts adds up the samples of the preview range by places. At returns that of the innermost
// frame of a stack; false: it has none. A sample counts once for a place. The time is
// proportional to the samples and the stacks, however deep these are.
func (s *Shown) amounts(at func(st int32) (place, bool)) map[place]*amount {
	stacks := s.viewer.first
	self, total := make([]int64, stacks.len()), make([]int64, stacks.len())
	ends, met := make([]bool, stacks.len()), make([]bool, stacks.len())
	s.each(func(i int, _ int32, value int64) {
		st := s.rows.Stack[s.rows.row(i)]
		self[st] += value
		ends[st] = true
	})
	amounts, of := map[place]*amount{}, make([]*amount, stacks.len())
	for st, up := range slices.Backward(stacks.parent) {
		total[st] += self[st]
		if met[st] = met[st] || ends[st]; !met[st] {
			continue
		}
		if up >= 0 {
			total[up] += total[st]
			met[up] = true
		}
		if p, ok := at(int32(st)); ok {
			if of[st] = amounts[p]; of[st] == nil {
				of[st] = &amount{}
				amounts[p] = of[st]
			}
			of[st].self += self[st]
			of[st].ends = of[st].ends || ends[st]
		}
	}
	stacks.depthFirst(func(st int32) {
		if a := of[st]; a != nil {
			if a.open == 0 {
				a.total += total[st]
			}
			a.open++
		}
	}, func(st int32) {
		if of[st] != nil {
			of[st].open--
		}
	})
	return amounts
}
