package firefox

import (
	"cmp"
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
	if err := e.Flush(); err != nil {
		return fmt.Errorf("writing a Firefox profile: %w", err)
	}
	return nil
}

// encoder writes one profile.
type encoder struct {
	jsonscan.Writer
	p          *profile.Profile
	samples    *profile.Samples
	native, js *profile.Samples // or nil

	strings    map[string]int32
	stringList []string
	libs       map[profile.ModuleID]int32
	libList    []profile.ModuleID
	moduleOf   map[profile.FunctionID]profile.ModuleID // of the first frame of a function that has one
	symbols    threadSymbols                           // of the thread at hand
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
		Writer: jsonscan.NewWriter(w), p: p, samples: &p.Tables[table], symbols: newThreadSymbols(p.Symbols),
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
	e.Put(`{"meta":`)
	e.meta()
	e.Put(`,"threads":`)
	mains := map[string]bool{}
	threads := e.threads()
	e.List(len(threads), func(i int) { e.thread(&threads[i], mains) })
	e.Put(`,"libs":`)
	e.List(len(e.libList), func(i int) { e.lib(e.p.Symbols.Modules[e.libList[i]]) })
	e.Put(`,"shared":{"stringArray":`)
	e.List(len(e.stringList), func(i int) { e.Put("", e.stringList[i]) })
	e.Put("}}\n")
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
	e.Put(`{"version":30,"preprocessedProfileVersion":` + strconv.Itoa(written) + `,"interval":`)
	e.millis(int64(e.interval()))
	e.Put(`,"startTime":`)
	if p.Start.IsZero() {
		e.Put("0")
	} else {
		e.millis(p.Start.UnixNano())
	}
	if p.Duration > 0 {
		e.Put(`,"profilingStartTime":0,"profilingEndTime":`)
		e.millis(int64(p.Duration))
	}
	e.Put(`,"processType":0,"product":"`+product+`","importedFrom":`, cmp.Or(p.Profiler, p.Format))
	if p.ProfilerVersion != "" {
		e.Put(`,"misc":`, p.ProfilerVersion)
	}
	e.Put(`,"stackwalk":0,"symbolicated":true,"sourceCodeIsNotOnSearchfox":true,"keepProfileThreadOrder":true,"usesOnlyOneStackType":`)
	e.bool(!e.usesJS)
	e.Put(`,"categories":`)
	e.List(len(e.categories.list), func(i int) {
		c := &e.categories.list[i]
		e.Put(`{"name":`, c.name, `,"color":`, c.color, `,"subcategories":`)
		e.List(len(c.subcategories), func(i int) { e.Put("", c.subcategories[i]) })
		e.Put("}")
	})
	e.Put(`,"markerSchema":`)
	e.markerSchema()
	e.Put("}")
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
	e.Put(`{"arch":"","name":`, m.Path, `,"path":`, m.Path, `,"debugName":`, m.Path, `,"debugPath":`, m.Path,
		`,"breakpadId":`, m.BuildID, `,"codeId":null}`)
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
		for id, rows := range part.t.ByThread(len(all)) {
			*part.rows(&all[id]) = rows
		}
	}
	for i, m := range e.p.Markers {
		all[m.Thread].markers = append(all[m.Thread].markers, i)
	}
	for i := range all {
		all[i].id = profile.ThreadID(i)
	}
	return slices.DeleteFunc(all, func(t threadRows) bool {
		return len(t.samples)+len(t.native)+len(t.js)+len(t.markers) == 0
	})
}

func (e *encoder) bool(v bool) { e.Put(strconv.FormatBool(v)) }

// millis writes nanoseconds as milliseconds.
func (e *encoder) millis(v int64) { e.Fixed(v, 6) }

// column writes one column of n entries; entry writes one.
func (e *encoder) column(name string, n int, entry func(i int)) {
	e.Put(`,"` + name + `":`)
	e.List(n, entry)
}

// ids writes a column of numbers in which absent is null.
func (e *encoder) ids(name string, n int, entry func(i int) int32) {
	e.column(name, n, func(i int) {
		if v := entry(i); v != absent {
			e.Int(int64(v))
		} else {
			e.Put("null")
		}
	})
}
