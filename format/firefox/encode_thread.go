package firefox

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// local gives the entries of a table of the Symbols that a thread uses numbers of
// their own, in their order.
type local[T ~int32] struct {
	list []T
	of   []int32 // by id in the Symbols, absent if it is not in list
}

func newLocal[T ~int32](n int) local[T] { return local[T]{of: slices.Repeat([]int32{absent}, n)} }

// reset forgets the entries.
func (l *local[T]) reset() {
	for _, id := range l.list {
		l.of[id] = absent
	}
	l.list = l.list[:0]
}

// use adds an entry and reports whether it is new.
func (l *local[T]) use(id T) bool {
	if l.of[id] != absent {
		return false
	}
	l.of[id] = 0
	l.list = append(l.list, id)
	return true
}

// number gives the entries their numbers.
func (l *local[T]) number() {
	slices.Sort(l.list)
	for i, id := range l.list {
		l.of[id] = int32(i)
	}
}

// threadSymbols are the symbols of one thread.
type threadSymbols struct {
	stacks    local[profile.StackID]
	frames    local[profile.FrameID]
	functions local[profile.FunctionID]
	resources []string // names
	resource  map[string]int32
}

func newThreadSymbols(s *profile.Symbols) threadSymbols {
	return threadSymbols{stacks: newLocal[profile.StackID](s.Stacks.Len()), frames: newLocal[profile.FrameID](len(s.Frames)),
		functions: newLocal[profile.FunctionID](len(s.Functions))}
}

// symbolsOf returns the symbols of a thread, until the next.
func (e *encoder) symbolsOf(t *threadRows) *threadSymbols {
	s, l := e.p.Symbols, &e.symbols
	l.stacks.reset()
	l.frames.reset()
	l.functions.reset()
	l.resources, l.resource = nil, map[string]int32{}
	for _, part := range []struct {
		t    *profile.Samples
		rows []int
	}{{e.samples, t.samples}, {e.native, t.native}, {e.js, t.js}} {
		for _, row := range part.rows {
			for st := part.t.Stack[row]; st != profile.NoStack && l.stacks.use(st); st = s.Parent(st) {
				if fr := s.Leaf(st); l.frames.use(fr) {
					l.functions.use(s.Frames[fr].Function)
				}
			}
		}
	}
	l.stacks.number()
	l.frames.number()
	l.functions.number()
	for _, fn := range l.functions.list {
		if m := s.Functions[fn].Module; m != "" {
			intern.Number(l.resource, &l.resources, m, m)
		}
	}
	return l
}

// noThread is what the thread is called that samples of no thread are written in,
// for the format wants one. Read back, they are of none again.
const noThread = "all threads"

// thread writes one thread. mains holds the processes that have a main thread: the
// first of each is it.
func (e *encoder) thread(t *threadRows, mains map[string]bool) {
	who := e.p.Threads[t.id]
	process, pid := splitProcess(who.Process)
	name := who.Name
	if t.id == 0 {
		name = noThread
	}
	pid = cmp.Or(pid, "0")
	e.Put(`{"name":`, name, `,"isMainThread":`)
	e.bool(!mains[pid])
	mains[pid] = true
	if process != "" {
		e.Put(`,"processName":`, process)
	}
	e.Put(`,"pid":`, pid, `,"tid":`)
	tid := who.ID
	if t.id == 0 {
		tid = "0"
	}
	e.tid(tid)
	e.Put(`,"processType":"default","processStartupTime":0,"processShutdownTime":null,"registerTime":0,"unregisterTime":null,"pausedRanges":[]`)
	s := e.symbolsOf(t)
	e.funcTable(s)
	e.frameTable(s)
	e.stackTable(s)
	e.resourceTable(s)
	e.Put(`,"nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],"functionSize":[]}`)
	e.rows("samples", e.samples, t.samples, s, tid)
	if len(t.native) > 0 {
		e.rows("nativeAllocations", e.native, t.native, s, tid)
	}
	if len(t.js) > 0 {
		e.rows("jsAllocations", e.js, t.js, s, tid)
	}
	e.markers(t)
	e.Put("}")
}

// tid writes the id of a thread: a number if it is one.
func (e *encoder) tid(id string) {
	if n, err := strconv.ParseInt(id, 10, 53); err == nil && strconv.FormatInt(n, 10) == id {
		e.Int(n)
	} else {
		e.Put("", id)
	}
}

var processAndID = regexp.MustCompile(`^(.*) \(([0-9]+)\)$`)

// splitProcess undoes processOf.
func splitProcess(process string) (name, pid string) {
	if m := processAndID.FindStringSubmatch(process); m != nil {
		return m[1], m[2]
	}
	if _, err := strconv.ParseUint(process, 10, 64); err == nil || process == "" {
		return "", process
	}
	return process, ""
}

func (e *encoder) begin(name string, length int) {
	e.Put(`,"` + name + `":{"length":` + strconv.Itoa(length))
}

func (e *encoder) funcTable(s *threadSymbols) {
	list := s.functions.list
	fn := func(i int) *profile.Function { return &e.p.Symbols.Functions[list[i]] }
	n := len(list)
	e.begin("funcTable", n)
	e.ids("name", n, func(i int) int32 { return e.string(fn(i).Name) })
	e.column("isJS", n, func(i int) { e.bool(fn(i).Kind == profile.KindJS) })
	e.column("relevantForJS", n, func(i int) { e.bool(fn(i).Kind == profile.KindJSLabel) })
	e.column("resource", n, func(i int) {
		r, ok := s.resource[fn(i).Module]
		if !ok {
			r = -1
		}
		e.Int(int64(r))
	})
	e.ids("fileName", n, func(i int) int32 {
		if fn(i).File == "" {
			return absent
		}
		return e.string(fn(i).File)
	})
	e.ids("lineNumber", n, func(i int) int32 { return orAbsent(fn(i).StartLine) })
	e.ids("columnNumber", n, func(i int) int32 { return orAbsent(fn(i).Column) })
	e.Put("}")
}

// orAbsent returns a line or column, absent if it is not known.
func orAbsent(n int32) int32 {
	if n <= 0 {
		return absent
	}
	return n
}

// maxAddress is the largest whole number that a reader in JavaScript can hold.
const maxAddress = 1<<53 - 1

func (e *encoder) frameTable(s *threadSymbols) {
	list := s.frames.list
	fr := func(i int) *profile.Frame { return &e.p.Symbols.Frames[list[i]] }
	n := len(list)
	e.begin("frameTable", n)
	e.ids("func", n, func(i int) int32 { return s.functions.of[fr(i).Function] })
	e.column("address", n, func(i int) {
		if a := fr(i).Address; a > 0 && a <= maxAddress {
			e.Int(int64(a))
		} else {
			e.Int(-1)
		}
	})
	e.column("inlineDepth", n, func(i int) { e.Int(int64(fr(i).InlineDepth)) })
	null := func(int) int32 { return absent }
	e.ids("category", n, func(i int) int32 { group, _ := e.categories.of(e.p.Symbols, fr(i)); return group })
	e.ids("subcategory", n, func(i int) int32 { _, sub := e.categories.of(e.p.Symbols, fr(i)); return sub })
	e.ids("nativeSymbol", n, null)
	e.ids("innerWindowID", n, null)
	e.ids("line", n, func(i int) int32 { return orAbsent(fr(i).Line) })
	e.ids("column", n, func(i int) int32 { return orAbsent(fr(i).Column) })
	e.Put("}")
}

func (e *encoder) stackTable(s *threadSymbols) {
	list := s.stacks.list
	e.begin("stackTable", len(list))
	e.ids("frame", len(list), func(i int) int32 { return s.frames.of[e.p.Symbols.Leaf(list[i])] })
	e.ids("prefix", len(list), func(i int) int32 { return s.stack(e.p.Symbols.Parent(list[i])) })
	e.Put("}")
}

// stack returns the row of a stack, or absent.
func (s *threadSymbols) stack(id profile.StackID) int32 {
	if id == profile.NoStack {
		return absent
	}
	return s.stacks.of[id]
}

// resourceTable writes one library for each module; which file it is is known if
// any frame of a function in it says so.
func (e *encoder) resourceTable(s *threadSymbols) {
	libs := slices.Repeat([]int32{absent}, len(s.resources))
	for _, fn := range s.functions.list {
		if r, ok := s.resource[e.p.Symbols.Functions[fn].Module]; ok && libs[r] == absent {
			libs[r] = e.libOf(fn)
		}
	}
	n := len(s.resources)
	e.begin("resourceTable", n)
	e.ids("name", n, func(i int) int32 { return e.string(s.resources[i]) })
	e.ids("host", n, func(int) int32 { return absent })
	e.ids("type", n, func(int) int32 { return 1 })
	e.ids("lib", n, func(i int) int32 { return libs[i] })
	e.Put("}")
}

// rows writes rows of a table of samples.
func (e *encoder) rows(name string, t *profile.Samples, rows []int, s *threadSymbols, tid string) {
	n := len(rows)
	e.begin(name, n)
	e.ids("stack", n, func(i int) int32 { return s.stack(t.Stack[rows[i]]) })
	e.column("time", n, func(i int) {
		if t.Time != nil {
			e.millis(t.Time[rows[i]])
		} else {
			e.millis(int64(i) * int64(e.interval()))
		}
	})
	kind, decimals := weightTypeOf(t.Type)
	one := decimals == 0 && name == "samples"
	for _, row := range rows {
		one = one && t.Value[row] == 1
	}
	if one {
		e.Put(`,"weight":null`)
	} else {
		e.column("weight", n, func(i int) { e.Fixed(t.Value[rows[i]], decimals) })
	}
	e.Put(`,"weightType":"` + kind + `"`)
	if name == "nativeAllocations" && t.Address != nil {
		e.column("memoryAddress", n, func(i int) { e.Int(int64(t.Address[rows[i]] & maxAddress)) })
		e.column("threadId", n, func(int) { e.tid(tid) })
	}
	if name == "jsAllocations" {
		e.column("className", n, func(int) { e.Put(`""`) })
		e.column("typeName", n, func(int) { e.Put(`""`) })
		e.column("coarseType", n, func(int) { e.Put(`""`) })
		e.column("inNursery", n, func(int) { e.bool(false) })
	}
	e.Put("}")
}

// weightTypeOf returns the type of weights for a value type and the decimals that
// its values have as such.
func weightTypeOf(t profile.ValueType) (kind string, decimals int) {
	switch t.Unit {
	case "bytes":
		return "bytes", t.Scale
	case "nanoseconds":
		return "tracing-ms", t.Scale + 6
	case "microseconds":
		return "tracing-ms", t.Scale + 3
	case "milliseconds":
		return "tracing-ms", t.Scale
	}
	return "samples", t.Scale
}
