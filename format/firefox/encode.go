package firefox

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// product is this program, in files that it writes.
const product = "dendro"

// Encode writes table i of p as a processed profile of version 57, which every
// Firefox Profiler since 2025 loads. With table -1 it writes the default table, and
// beside it those of allocations that Firefox Profiler knows as such.
//
// Each thread that has samples or markers becomes a thread, each sample a sample
// with its weight. Values in bytes and in units of time become weights of type
// bytes and tracing-ms, all others samples. Samples without times are put one
// interval apart. Frames have the categories that the profile has or, if it has
// none, categories by the kind of their functions, divided by compile mode.
func Encode(w io.Writer, p *profile.Profile, table int) error {
	e, err := newEncoder(w, p, table)
	if err != nil {
		return fmt.Errorf("writing a Firefox profile: %w", err)
	}
	e.write()
	if err := e.w.Flush(); err != nil {
		return fmt.Errorf("writing a Firefox profile: %w", err)
	}
	return nil
}

// encoder writes one profile. Errors of w come back from its Flush.
type encoder struct {
	writer
	p          *profile.Profile
	samples    *profile.Samples
	native, js *profile.Samples // or nil

	strings    map[string]int32
	stringList []string
	libs       map[profile.ModuleID]int32
	libList    []profile.ModuleID
	moduleOf   map[profile.FunctionID]profile.ModuleID // of the first frame of a function that has one
	marks      marks
	categories categoryList
	usesJS     bool
}

func newEncoder(w io.Writer, p *profile.Profile, table int) (*encoder, error) {
	all := table == -1
	if all {
		table = p.Default
	}
	if table < 0 || table >= len(p.Tables) {
		return nil, fmt.Errorf("no table %d in a profile of %d", table, len(p.Tables))
	}
	e := &encoder{
		writer: writer{w: bufio.NewWriterSize(w, 64<<10)}, p: p, samples: &p.Tables[table],
		strings: map[string]int32{}, libs: map[profile.ModuleID]int32{}, moduleOf: map[profile.FunctionID]profile.ModuleID{},
	}
	for i := range p.Tables {
		switch t := &p.Tables[i]; {
		case !all || i == table:
		case t.Type.Name == typeNative:
			e.native = t
		case t.Type.Name == typeJS:
			e.js = t
		}
	}
	return e, nil
}

func (e *encoder) write() {
	e.survey()
	e.marks = newMarks(e.p.Symbols)
	e.str(`{"meta":`)
	e.meta()
	e.str(`,"threads":[`)
	mains := map[string]bool{}
	for i, t := range e.threads() {
		if i > 0 {
			e.str(",")
		}
		e.thread(&t, mains)
	}
	e.str(`],"libs":[`)
	for i, m := range e.libList {
		e.comma(i)
		e.lib(e.p.Symbols.Modules[m])
	}
	e.str(`],"shared":{"stringArray":[`)
	for i, s := range e.stringList {
		e.comma(i)
		e.text(s)
	}
	e.str("]}}\n")
	e.flush(0)
}

// survey looks at the frames in use: which categories they have, in which libraries
// functions are, and whether any is JavaScript.
func (e *encoder) survey() {
	s := e.p.Symbols
	used := make([]bool, s.Stacks.Len())
	frames := make([]bool, len(s.Frames))
	for _, t := range []*profile.Samples{e.samples, e.native, e.js} {
		if t == nil {
			continue
		}
		for _, st := range t.Stack {
			for ; st != profile.NoStack && !used[st]; st = s.Parent(st) {
				used[st] = true
				frames[s.Leaf(st)] = true
			}
		}
	}
	e.categories.start(e.p, frames)
	for id, u := range frames {
		if !u {
			continue
		}
		fr := &s.Frames[id]
		if fr.Module != 0 && e.moduleOf[fr.Function] == 0 {
			e.moduleOf[fr.Function] = fr.Module
		}
		switch s.Functions[fr.Function].Kind {
		case profile.KindJS, profile.KindJSLabel:
			e.usesJS = true
		}
	}
}

func (e *encoder) meta() {
	p := e.p
	e.str(`{"version":30,"preprocessedProfileVersion":` + strconv.Itoa(written) + `,"interval":`)
	e.millis(int64(e.interval()))
	e.str(`,"startTime":`)
	if start := int64(0); !p.Start.IsZero() {
		start = p.Start.UnixNano()
		e.millis(start)
	} else {
		e.str("0")
	}
	if p.Duration > 0 {
		e.str(`,"profilingStartTime":0,"profilingEndTime":`)
		e.millis(int64(p.Duration))
	}
	e.str(`,"processType":0,"product":"` + product + `","importedFrom":`)
	if from := p.Profiler; from != "" {
		e.text(from)
	} else {
		e.text(p.Format)
	}
	if p.ProfilerVersion != "" {
		e.str(`,"misc":`)
		e.text(p.ProfilerVersion)
	}
	e.str(`,"stackwalk":0,"symbolicated":true,"sourceCodeIsNotOnSearchfox":true,"keepProfileThreadOrder":true,"usesOnlyOneStackType":`)
	e.bool(!e.usesJS)
	e.str(`,"categories":[`)
	for i, c := range e.categories.list {
		e.comma(i)
		e.str(`{"name":`)
		e.text(c.name)
		e.str(`,"color":`)
		e.text(c.color)
		e.str(`,"subcategories":["Other"`)
		for _, sub := range c.subcategories[1:] {
			e.str(",")
			e.text(sub)
		}
		e.str("]}")
	}
	e.str(`],"markerSchema":[`)
	e.markerSchema()
	e.str("]}")
}

// interval is the time between two samples that have no times.
func (e *encoder) interval() time.Duration {
	if e.p.Interval > 0 {
		return e.p.Interval
	}
	return time.Millisecond
}

// lib writes one library.
func (e *encoder) lib(m profile.Module) {
	e.str(`{"arch":"","name":`)
	e.text(m.Path)
	e.str(`,"path":`)
	e.text(m.Path)
	e.str(`,"debugName":`)
	e.text(m.Path)
	e.str(`,"debugPath":`)
	e.text(m.Path)
	e.str(`,"breakpadId":`)
	e.text(m.BuildID)
	e.str(`,"codeId":null}`)
}

// string returns the id of a string of the file.
func (e *encoder) string(s string) int32 {
	return intern.Number(e.strings, &e.stringList, s, s)
}

// libOf returns the id of the library of a function, or absent.
func (e *encoder) libOf(fn profile.FunctionID) int32 {
	m := e.moduleOf[fn]
	if m == 0 {
		return absent
	}
	return intern.Number(e.libs, &e.libList, m, m)
}

// threadRows is what is written of one thread: rows of the tables, and markers.
type threadRows struct {
	id                  profile.ThreadID
	samples, native, js []int
	markers             []int
}

// threads returns the threads that have anything, in the order of Threads.
func (e *encoder) threads() []threadRows {
	all := make([]threadRows, len(e.p.Threads))
	for _, part := range []struct {
		t    *profile.Samples
		rows func(*threadRows) *[]int
	}{
		{e.samples, func(t *threadRows) *[]int { return &t.samples }},
		{e.native, func(t *threadRows) *[]int { return &t.native }},
		{e.js, func(t *threadRows) *[]int { return &t.js }},
	} {
		if part.t == nil {
			continue
		}
		for row := range part.t.Stack {
			id := profile.ThreadID(0)
			if part.t.Thread != nil {
				id = part.t.Thread[row]
			}
			rows := part.rows(&all[id])
			*rows = append(*rows, row)
		}
	}
	for i, m := range e.p.Markers {
		all[m.Thread].markers = append(all[m.Thread].markers, i)
	}
	for i := range all {
		all[i].id = profile.ThreadID(i)
		byTime(e.samples, all[i].samples)
		byTime(e.native, all[i].native)
		byTime(e.js, all[i].js)
	}
	return slices.DeleteFunc(all, func(t threadRows) bool {
		return len(t.samples)+len(t.native)+len(t.js)+len(t.markers) == 0
	})
}

// writer appends JSON to a buffer and hands it on.
type writer struct {
	w   *bufio.Writer
	buf []byte
}

// flush hands on what is buffered when it is more than most.
func (w *writer) flush(most int) {
	if len(w.buf) > most {
		w.w.Write(w.buf)
		w.buf = w.buf[:0]
	}
}

func (w *writer) str(s string) {
	w.buf = append(w.buf, s...)
	w.flush(32 << 10)
}

func (w *writer) comma(i int) {
	if i > 0 {
		w.buf = append(w.buf, ',')
	}
}

func (w *writer) text(s string) {
	w.buf = jsonscan.AppendText(w.buf, s)
	w.flush(32 << 10)
}

func (w *writer) int(v int64) { w.buf = strconv.AppendInt(w.buf, v, 10) }

func (w *writer) bool(v bool) { w.buf = strconv.AppendBool(w.buf, v) }

// millis writes nanoseconds as milliseconds.
func (w *writer) millis(v int64) { w.buf = jsonscan.AppendFixed(w.buf, v, 6) }

// column writes one column of n entries; entry writes one.
func (w *writer) column(name string, n int, entry func(i int)) {
	w.str(`,"` + name + `":[`)
	for i := range n {
		w.comma(i)
		entry(i)
		w.flush(32 << 10)
	}
	w.str("]")
}

// ids writes a column of numbers in which absent is null.
func (w *writer) ids(name string, n int, entry func(i int) int32) {
	w.column(name, n, func(i int) {
		if v := entry(i); v != absent {
			w.int(int64(v))
		} else {
			w.buf = append(w.buf, "null"...)
		}
	})
}
