package callgrind

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// Encode writes a table of p, or with table -1 all of them as columns, as a file
// of callgrind. Own costs are by line, calls by line and callee. The file has the
// total of each function, as the profile's function list has it: of a function
// that calls itself only the innermost call on a stack passes its cost on.
//
// Lost are call paths, threads, times, labels and states, and how often functions
// were called (1 is written). Negative values are an error: costs are counts.
// Values that are scaled go to a smaller unit of time where there is one and are
// rounded otherwise.
func Encode(w io.Writer, p *profile.Profile, table int) error {
	var tables []*profile.Samples
	switch {
	case len(p.Tables) == 0 || table < -1 || table >= len(p.Tables):
		return fmt.Errorf("write callgrind: no sample table %d of %d", table, len(p.Tables))
	case table >= 0:
		tables = append(tables, &p.Tables[table])
	default:
		tables = append(tables, &p.Tables[p.Default])
		for i := range p.Tables {
			if i != p.Default {
				tables = append(tables, &p.Tables[i])
			}
		}
	}
	e := &encoder{
		p: p, columns: len(tables),
		rows:    map[place]int{},
		numbers: [3]map[string]int{{}, {}, {}},
		seen:    make([]int32, len(p.Symbols.Functions)),
	}
	for column, t := range tables {
		if err := e.collect(t, column); err != nil {
			return fmt.Errorf("write callgrind: %w", err)
		}
	}
	e.out = bufio.NewWriterSize(w, 64<<10)
	e.write()
	if err := e.out.Flush(); err != nil {
		return fmt.Errorf("write callgrind: %w", err)
	}
	return nil
}

// place is where a cost is: in a function and line, by itself or in the calls to
// another function.
type place struct {
	function profile.FunctionID
	callee   profile.FunctionID // itself: own cost
	line     int32
	self     bool
}

// encoder holds the state of one Encode.
type encoder struct {
	p       *profile.Profile
	columns int
	events  []string
	sums    []int64

	rows  map[place]int // index in costs, in units of columns
	order []place
	costs []int64

	path  []profile.FrameID
	seen  []int32 // of each function: the number of the stack that it was last met in
	stack int32

	out     *bufio.Writer
	numbers [3]map[string]int
}

// collect adds the samples of a table to a column.
func (e *encoder) collect(t *profile.Samples, column int) error {
	scale, err := t.Unscale()
	if err != nil {
		return err
	}
	e.events = append(e.events, eventName(t.Type.Name, scale.Unit))
	e.sums = append(e.sums, 0)
	for i, st := range t.Stack {
		v := scale.Apply(t.Value[i])
		switch {
		case v < 0:
			return fmt.Errorf("value type %s has negative values; costs have none", t.Type.Name)
		case v == 0 || st == profile.NoStack:
			continue
		}
		e.sums[column] += v
		e.path = e.p.Symbols.Path(st, e.path[:0])
		e.addStack(v, column)
	}
	return nil
}

// addStack adds a value along the path, from its inner end.
func (e *encoder) addStack(v int64, column int) {
	e.stack++
	frames := e.p.Symbols.Frames
	leaf := &frames[e.path[len(e.path)-1]]
	e.add(place{function: leaf.Function, callee: leaf.Function, line: leaf.Line, self: true}, v, column)
	e.seen[leaf.Function] = e.stack
	for i := len(e.path) - 2; i >= 0; i-- {
		fr := &frames[e.path[i]]
		if e.seen[fr.Function] == e.stack {
			continue // its total has the value already
		}
		e.seen[fr.Function] = e.stack
		e.add(place{function: fr.Function, callee: frames[e.path[i+1]].Function, line: fr.Line}, v, column)
	}
}

func (e *encoder) add(at place, v int64, column int) {
	row, ok := e.rows[at]
	if !ok {
		row = len(e.order)
		e.rows[at] = row
		e.order = append(e.order, at)
		e.costs = append(e.costs, make([]int64, e.columns)...)
	}
	e.costs[row*e.columns+column] += v
}

// eventName returns a name without blanks that says its unit.
func eventName(name, unit string) string {
	if unit != "count" && unit != unitEvents && unit != "" {
		name += "_(" + unit + ")"
	}
	return strings.Join(strings.Fields(name), "_")
}

func (e *encoder) write() {
	creator := "dendro"
	fmt.Fprintf(e.out, "# callgrind format\nversion: 1\ncreator: %s\n", creator)
	if len(e.p.Comments) > 0 {
		fmt.Fprintf(e.out, "cmd: %s\n", oneLine(e.p.Comments[0]))
	}
	fmt.Fprintf(e.out, "positions: line\nevents: %s\nsummary:%s\n", strings.Join(e.events, " "), numbers(e.sums))
	slices.SortFunc(e.order, func(a, b place) int {
		switch {
		case a.function != b.function:
			return int(a.function) - int(b.function)
		case a.self != b.self:
			if a.self {
				return -1
			}
			return 1
		case a.callee != b.callee:
			return int(a.callee) - int(b.callee)
		}
		return int(a.line) - int(b.line)
	})
	last := profile.FunctionID(-1)
	for _, at := range e.order {
		if at.function != last {
			e.writeFunction(at.function, "\nob=", "fl=", "fn=")
			last = at.function
		}
		if !at.self {
			e.writeFunction(at.callee, "cob=", "cfi=", "cfn=")
			fmt.Fprintf(e.out, "calls=1 0\n")
		}
		row := e.rows[at] * e.columns
		fmt.Fprintf(e.out, "%d%s\n", at.line, numbers(e.costs[row:row+e.columns]))
	}
	fmt.Fprintf(e.out, "\ntotals:%s\n", numbers(e.sums))
}

// numbers writes costs, each behind a blank; zeros at the end may be left out.
func numbers(costs []int64) string {
	var b strings.Builder
	for _, v := range costs {
		fmt.Fprintf(&b, " %d", v)
	}
	return b.String()
}

// writeFunction writes where a function is, under the given keys.
func (e *encoder) writeFunction(id profile.FunctionID, object, file, function string) {
	fn := &e.p.Symbols.Functions[id]
	module, source := fn.Module, fn.File
	module = cmp.Or(module, unknown)
	source = cmp.Or(source, unknown)
	e.writeName(objects, object, module)
	e.writeName(files, file, source)
	e.writeName(functions, function, fn.Name)
}

// writeName writes a name with its number, in full the first time.
func (e *encoder) writeName(kind int, key, name string) {
	name = oneLine(name)
	n, ok := e.numbers[kind][name]
	if ok {
		fmt.Fprintf(e.out, "%s(%d)\n", key, n)
		return
	}
	n = len(e.numbers[kind]) + 1
	e.numbers[kind][name] = n
	fmt.Fprintf(e.out, "%s(%d) %s\n", key, n, name)
}

// oneLine replaces what would end a line, and a name of nothing.
func oneLine(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text))
	if text == "" {
		return unknown
	}
	return text
}
