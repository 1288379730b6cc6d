package speedscope

import (
	"fmt"
	"io"
	"slices"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/intern"
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
	e := encoder{Writer: jsonscan.NewWriter(w), p: p, s: &p.Tables[table]}
	e.write()
	if err := e.Flush(); err != nil {
		return fmt.Errorf("writing speedscope: %w", err)
	}
	return nil
}

// encoder writes one table.
type encoder struct {
	jsonscan.Writer
	p *profile.Profile
	s *profile.Samples

	index []int32 // of each frame in use, its place in the file
	path  []profile.FrameID
}

func (e *encoder) write() {
	e.Put(`{"$schema":"`+schema+`","exporter":"dendro","name":`, e.s.Type.Name, `,"activeProfileIndex":0,"shared":{"frames":`)
	frames := e.frames()
	e.List(len(frames), func(i int) { e.writeFrame(frames[i]) })
	e.Put(`},"profiles":`)
	threads := slices.DeleteFunc(e.s.ByThread(len(e.p.Threads)), func(rows []int) bool { return len(rows) == 0 })
	e.List(len(threads), func(i int) { e.writeProfile(threads[i]) })
	e.Put("}\n")
}

// frames returns the frames that samples use, in the order of their ids.
func (e *encoder) frames() (list []frame) {
	s := e.p.Symbols
	used := make([]bool, s.Stacks.Len())
	inUse := make([]bool, len(s.Frames))
	for _, st := range e.s.Stack {
		for ; st != frameless && !used[st]; st = s.Parent(st) {
			used[st], inUse[s.Leaf(st)] = true, true
		}
	}
	e.index = make([]int32, len(s.Frames))
	bySpot := map[frame]int32{}
	for id, u := range inUse {
		if u {
			fn := &s.Functions[s.Frames[id].Function]
			fr := frame{fn.Name, fn.File, s.Frames[id].Line, s.Frames[id].Column}
			e.index[id] = intern.Number(bySpot, &list, fr, fr)
		}
	}
	return list
}

func (e *encoder) writeFrame(fr frame) {
	e.Put(`{"name":`, fr.name)
	if fr.file != "" {
		e.Put(`,"file":`, fr.file)
	}
	if fr.line > 0 {
		e.Put(`,"line":`)
		e.Int(int64(fr.line))
	}
	if fr.column > 0 {
		e.Put(`,"col":`)
		e.Int(int64(fr.column))
	}
	e.Put("}")
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
	e.Put(`{"type":"sampled","name":`, e.threadName(rows[0]), `,"unit":"`+unit+`","startValue":`)
	e.Fixed(start, decimals)
	e.Put(`,"endValue":`)
	e.Fixed(start+total, decimals)
	e.Put(`,"samples":`)
	e.List(len(rows), func(i int) {
		e.path = e.p.Symbols.Path(e.s.Stack[rows[i]], e.path[:0])
		e.List(len(e.path), func(j int) { e.Int(int64(e.index[e.path[j]])) })
	})
	e.Put(`,"weights":`)
	e.List(len(rows), func(i int) { e.Fixed(e.s.Value[rows[i]], decimals) })
	e.Put("}")
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
