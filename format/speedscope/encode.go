package speedscope

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

const (
	schema = "https://www.speedscope.app/file-format-schema.json"
	// frameless is what a sample without a stack is in a file: no frames.
	frameless = profile.NoStack
)

// Encode writes table i of p, or with table -1 the default one, since the format
// puts no two values beside each other. Each thread becomes a sampled profile, in
// the order of Threads; samples are in the order of their times, or of the table
// when it has none. Each is written for itself, with its weight.
func Encode(w io.Writer, p *profile.Profile, table int) error {
	if table == -1 && len(p.Tables) > 0 {
		table = p.Default
	}
	if table < 0 || table >= len(p.Tables) {
		return fmt.Errorf("writing speedscope: no table %d in a profile of %d", table, len(p.Tables))
	}
	e := encoder{p: p, s: &p.Tables[table], w: bufio.NewWriterSize(w, 64<<10)}
	e.write()
	if err := e.w.Flush(); err != nil {
		return fmt.Errorf("writing speedscope: %w", err)
	}
	return nil
}

// encoder writes one table. Errors of w come back from its Flush.
type encoder struct {
	p   *profile.Profile
	s   *profile.Samples
	w   *bufio.Writer
	buf []byte

	index map[profile.FrameID]int32 // of each frame in the file
	path  []profile.FrameID
}

func (e *encoder) write() {
	t := e.s.Type
	e.buf = append(e.buf, `{"$schema":"`+schema+`","exporter":"dendro","name":`...)
	e.buf = jsonscan.AppendText(e.buf, t.Name)
	e.buf = append(e.buf, `,"activeProfileIndex":0,"shared":{"frames":[`...)
	e.writeFrames()
	e.buf = append(e.buf, `]},"profiles":[`...)
	for i, rows := range e.threads() {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.writeProfile(rows)
	}
	e.buf = append(e.buf, "]}\n"...)
	e.w.Write(e.buf)
}

// flush hands on what is buffered when it is much.
func (e *encoder) flush() {
	if len(e.buf) > 32<<10 {
		e.w.Write(e.buf)
		e.buf = e.buf[:0]
	}
}

// writeFrames writes the frames that samples use, in the order of their ids.
func (e *encoder) writeFrames() {
	s := e.p.Symbols
	used := make([]bool, s.Stacks.Len())
	for _, st := range e.s.Stack {
		for ; st != frameless && !used[st]; st = s.Parent(st) {
			used[st] = true
		}
	}
	inUse := make([]bool, len(s.Frames))
	for st, u := range used {
		if u {
			inUse[s.Leaf(profile.StackID(st))] = true
		}
	}
	e.index = map[profile.FrameID]int32{}
	bySpot := map[frame]int32{}
	for id, u := range inUse {
		if !u {
			continue
		}
		fn := &s.Functions[s.Frames[id].Function]
		fr := frame{fn.Name, fn.File, s.Frames[id].Line, s.Frames[id].Column}
		i, ok := bySpot[fr]
		if !ok {
			i = int32(len(bySpot))
			bySpot[fr] = i
			e.writeFrame(fr, i == 0)
		}
		e.index[profile.FrameID(id)] = i
	}
}

func (e *encoder) writeFrame(fr frame, first bool) {
	if !first {
		e.buf = append(e.buf, ',')
	}
	e.buf = append(e.buf, `{"name":`...)
	e.buf = jsonscan.AppendText(e.buf, fr.name)
	if fr.file != "" {
		e.buf = append(e.buf, `,"file":`...)
		e.buf = jsonscan.AppendText(e.buf, fr.file)
	}
	if fr.line > 0 {
		e.buf = append(e.buf, `,"line":`...)
		e.buf = strconv.AppendInt(e.buf, int64(fr.line), 10)
	}
	if fr.column > 0 {
		e.buf = append(e.buf, `,"col":`...)
		e.buf = strconv.AppendInt(e.buf, int64(fr.column), 10)
	}
	e.buf = append(e.buf, '}')
	e.flush()
}

// threads returns the rows of each thread that has any, in the order of Threads.
func (e *encoder) threads() (list [][]int) {
	rows := make([][]int, len(e.p.Threads))
	for i := range e.s.Stack {
		t := profile.ThreadID(0)
		if e.s.Thread != nil {
			t = e.s.Thread[i]
		}
		rows[t] = append(rows[t], i)
	}
	for _, r := range rows {
		if len(r) == 0 {
			continue
		}
		if e.s.Time != nil {
			slices.SortStableFunc(r, func(a, b int) int { return cmp.Compare(e.s.Time[a], e.s.Time[b]) })
		}
		list = append(list, r)
	}
	return list
}

// unitOf returns the unit of a value type and the decimals that its values have in
// that unit.
func unitOf(t profile.ValueType) (unit string, decimals int) {
	switch t.Unit {
	case "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes":
		return t.Unit, t.Scale
	}
	return "none", t.Scale
}

func (e *encoder) writeProfile(rows []int) {
	unit, decimals := unitOf(e.s.Type)
	var start, total int64
	if e.s.Time != nil && unit == "nanoseconds" && decimals == 0 {
		start = e.s.Time[rows[0]]
	}
	for _, r := range rows {
		total += e.s.Value[r]
	}
	e.buf = append(e.buf, `{"type":"sampled","name":`...)
	e.buf = jsonscan.AppendText(e.buf, e.threadName(rows[0]))
	e.buf = append(e.buf, `,"unit":"`+unit+`","startValue":`...)
	e.buf = jsonscan.AppendFixed(e.buf, start, decimals)
	e.buf = append(e.buf, `,"endValue":`...)
	e.buf = jsonscan.AppendFixed(e.buf, start+total, decimals)
	e.buf = append(e.buf, `,"samples":[`...)
	for i, r := range rows {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.buf = append(e.buf, '[')
		e.path = e.p.Symbols.Path(e.s.Stack[r], e.path[:0])
		for j, fr := range e.path {
			if j > 0 {
				e.buf = append(e.buf, ',')
			}
			e.buf = strconv.AppendInt(e.buf, int64(e.index[fr]), 10)
		}
		e.buf = append(e.buf, ']')
		e.flush()
	}
	e.buf = append(e.buf, `],"weights":[`...)
	for i, r := range rows {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.buf = jsonscan.AppendFixed(e.buf, e.s.Value[r], decimals)
		e.flush()
	}
	e.buf = append(e.buf, "]}"...)
}

// threadName spells the thread of a row so that thread reads it back.
func (e *encoder) threadName(row int) string {
	if e.s.Thread == nil || e.s.Thread[row] == 0 {
		return ""
	}
	t := e.p.Threads[e.s.Thread[row]]
	if t.ID == "" {
		return t.Name
	}
	name := fmt.Sprintf("Thread %s \"%s\"", t.ID, t.Name)
	if t.Process != "" {
		name = fmt.Sprintf("Process %s %s", t.Process, name)
	}
	return name
}
