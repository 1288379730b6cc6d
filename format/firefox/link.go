package firefox

import (
	"strings"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// linker makes a profile of a file.
type linker struct {
	file   *file
	p      *profile.Profile
	limits profile.Limits

	stringFields map[fieldKey]bool
	categoryIDs  [][]profile.CategoryID // of the file at hand, by category and subcategory
	tables       []*sampleTable         // by value type, in order of appearance
	firstType    profile.ValueType      // of the samples of the first thread
	cpuThreads   int
	counters     int
	lost         int // samples of stacks that are not in the file
	unknown      int // references to other rows that are not in the file
}

func (k *linker) link() error {
	f, p := k.file, k.p
	if err := f.checkVersion(); err != nil {
		return err
	}
	if p.Profiler = f.imported; p.Profiler == "" {
		p.Profiler = f.product
	}
	p.ProfilerVersion = strings.TrimPrefix(f.misc, "rv:")
	if f.startSet && f.start != 0 && !f.clocks.start.Far() {
		p.Start = time.Unix(0, f.start).UTC()
	}
	p.Interval = time.Duration(f.interval)
	if f.duration > 0 {
		p.Duration = time.Duration(f.duration)
	}
	if err := k.process(f, 0); err != nil {
		return err
	}
	k.finishTables()
	k.sortMarkers()
	k.warn()
	return nil
}

// warn says what was left out.
func (k *linker) warn() {
	k.p.WarnCount(k.lost, "%d samples are of stacks that are not in the file; they count as %s", profile.LostName)
	k.p.WarnCount(k.unknown, "%d references to strings, functions, frames or stacks that are not in the file; functions of these are %s", profile.NoName)
	k.p.WarnCount(k.counters, "%d counters were left out")
	if k.cpuThreads > 0 {
		k.p.Warnf("the CPU use of samples of %d threads was left out", k.cpuThreads)
	}
	switch unit := k.file.timeUnit; unit {
	case "", "ms":
	default:
		k.p.Warnf("the time axis is in %s; it was read as milliseconds", unit)
	}
}

// process adds the threads of a file, or of a process of a raw one, whose times
// are later by shift.
func (k *linker) process(f *file, shift int64) error {
	k.setCategories(f)
	k.stringFields = f.stringFields
	k.counters += f.counters
	var shared *linked
	if !f.isRaw() && f.shared.seen() {
		var err error
		if shared, err = k.symbols(f, &f.shared, &f.shared.strings); err != nil {
			return err
		}
	}
	for _, t := range f.threads {
		if err := k.thread(f, t, shared, shift); err != nil {
			return err
		}
	}
	for _, sub := range f.processes {
		sub.inherit(f)
		if err := k.process(sub, shift+sub.start-f.start); err != nil {
			return err
		}
	}
	return nil
}

// inherit gives a process of a raw profile what only the file around it says.
func (f *file) inherit(outer *file) {
	if !f.startSet {
		f.start = outer.start
	}
	if len(f.categories) == 0 {
		f.categories = outer.categories
	}
	if f.stringFields == nil {
		f.stringFields = outer.stringFields
	}
}

// setCategories interns the categories of a file: all groups first, so that the
// first of a colour is the first of the file, then what they are divided into.
// Subcategory 0 is the group itself.
func (k *linker) setCategories(f *file) {
	k.categoryIDs = make([][]profile.CategoryID, len(f.categories))
	for i, c := range f.categories {
		id := k.p.Symbols.Category(profile.Category{Name: c.name, Color: c.color})
		k.categoryIDs[i] = append(make([]profile.CategoryID, 0, max(1, len(c.subcategories))), id)
	}
	for i, c := range f.categories {
		for _, sub := range c.subcategories[min(1, len(c.subcategories)):] {
			id := k.p.Symbols.Category(profile.Category{Name: c.name, Color: c.color, Subcategory: sub})
			k.categoryIDs[i] = append(k.categoryIDs[i], id)
		}
	}
}

// category returns the category of a group and a subcategory; 0, which is the
// caller's, when the file has no such group, and the group when it has no such
// subcategory.
func (k *linker) category(group, sub int32) profile.CategoryID {
	if group < 0 || int(group) >= len(k.categoryIDs) {
		return 0
	}
	list := k.categoryIDs[group]
	if sub < 0 || int(sub) >= len(list) {
		sub = 0
	}
	return list[sub]
}

// linked is what the rows of symbol tables became.
type linked struct {
	strings *texts
	stacks  []profile.StackID
}

// symbols interns the functions, frames and stacks of tables of the processed
// format.
func (k *linker) symbols(f *file, t *symbolTables, strings *texts) (*linked, error) {
	functions, libs := k.functions(f, t, strings)
	t.inferCategories()
	return k.stacks(t, k.frames(f, t, functions, libs), strings)
}

// reference returns the entry of a row as the id of one of n entries, or false and counts it.
func (k *linker) reference(c *column, row, n int) (int32, bool) {
	id := c.id(row)
	if id < 0 || int(id) >= n {
		k.unknown++
		return absent, false
	}
	return id, true
}

// text returns the string that the entry of a row names.
func (k *linker) text(c *column, row int, strings *texts) string {
	if id, ok := k.reference(c, row, strings.len()); ok {
		return strings.text(id)
	}
	return profile.NoName
}

// functions interns the functions of a table in its order and returns with each
// the library that it is in by its resource, or absent.
func (k *linker) functions(f *file, t *symbolTables, strings *texts) (functions []profile.FunctionID, libs []int32) {
	resources, libOf := k.resourceNames(t, strings)
	k.resourceTypes(t, resources)
	funcs := &t.funcs
	names, resource, fileName, source := funcs.col("name"), funcs.col("resource"), funcs.col("fileName"), funcs.col("source")
	isJS, relevant, line, column := funcs.col("isJS"), funcs.col("relevantForJS"), funcs.col("lineNumber"), funcs.col("columnNumber")
	sources := f.shared.sources.col("filename")
	functions = make([]profile.FunctionID, funcs.rows())
	libs = make([]int32, len(functions))
	for row := range functions {
		fn := profile.Function{Name: k.text(names, row, strings), StartLine: line.number(row), Column: column.number(row)}
		libs[row] = absent
		if resource.id(row) != absent {
			if r, ok := k.reference(resource, row, len(resources)); ok {
				fn.Module, libs[row] = resources[r], libOf[r]
			}
		}
		file := fileName.id(row)
		if source.id(row) != absent {
			if src, ok := k.reference(source, row, len(sources.ids)); ok {
				file = sources.id(int(src))
			}
		}
		fn.File = strings.optional(file)
		fn.Kind = kindOf(&fn, isJS.is(row), relevant.is(row))
		functions[row] = k.p.Symbols.Function(fn)
	}
	return functions, libs
}

// resourceNames returns the names of the resources and the library of each.
func (k *linker) resourceNames(t *symbolTables, strings *texts) (names []string, libs []int32) {
	names = make([]string, t.resources.rows())
	libs = make([]int32, len(names))
	column, lib := t.resources.col("name"), t.resources.col("lib")
	for row := range names {
		names[row], libs[row] = k.text(column, row, strings), lib.id(row)
	}
	return names, libs
}

// resourceTypes notes the order of the resources, which are libraries, and which are
// sources of scripts: add-ons (2), hosts (3, 4) and addresses (5).
func (k *linker) resourceTypes(t *symbolTables, names []string) {
	types := t.resources.col("type")
	symbols := k.p.Symbols
	known := make(map[string]bool, len(symbols.Resources))
	for _, name := range symbols.Resources {
		known[name] = true
	}
	for row, name := range names {
		if !known[name] {
			known[name] = true
			symbols.Resources = append(symbols.Resources, name)
		}
		switch typ := types.number(row); typ {
		case 1:
			symbols.Scripts[name] = false
		case 2, 3, 4, 5:
			symbols.Scripts[name] = true
		}
	}
}

// kindOf returns the kind of a function. What the format calls native is only
// known of functions that are in some resource; others may be labels, or functions
// of an importer that has no resources.
func kindOf(fn *profile.Function, isJS, relevantForJS bool) profile.Kind {
	switch {
	case isJS:
		return profile.KindJS
	case relevantForJS:
		return profile.KindJSLabel
	case fn.Module == "":
		return profile.KindUnknown
	case strings.Contains(fn.Name, "::"):
		return profile.KindCPP
	}
	return profile.KindNative
}

// inferCategories gives frames without a column of categories those of their
// stacks, which files up to version 52 may have instead. The last stack of a frame
// decides.
func (t *symbolTables) inferCategories() {
	category, sub := t.frames.col("category"), t.frames.col("subcategory")
	of, ofSub := t.stacks.col("category"), t.stacks.col("subcategory")
	if category.seen || !of.seen || t.frames.rows() == 0 {
		return
	}
	category.pad(t.frames.rows())
	sub.ids = nil
	sub.pad(t.frames.rows())
	for row, frame := range t.stacks.col("frame").ids {
		if frame >= 0 && int(frame) < len(category.ids) {
			category.ids[frame], sub.ids[frame] = of.id(row), ofSub.id(row)
		}
	}
}

// frames interns the frames of a table. Their library is their own or their
// function's.
func (k *linker) frames(f *file, t *symbolTables, functions []profile.FunctionID, libs []int32) []profile.FrameID {
	table := &t.frames
	function, line, column, address := table.col("func"), table.col("line"), table.col("column"), table.col("address")
	inline, category, sub, lib := table.col("inlineDepth"), table.col("category"), table.col("subcategory"), table.col("lib")
	frames := make([]profile.FrameID, table.rows())
	for row := range frames {
		fn, l := profile.FunctionID(0), int32(absent)
		if id, ok := k.reference(function, row, len(functions)); ok {
			fn, l = functions[id], libs[id]
		} else {
			fn = k.unknownFunction()
		}
		fr := profile.Frame{
			Function: fn, Line: line.number(row), Column: column.number(row),
			InlineDepth: uint16(min(inline.number(row), 1<<16-1)), Category: k.category(category.id(row), sub.id(row)),
		}
		if row < len(address.wide) {
			fr.Address = uint64(max(0, address.wide[row]))
		}
		if lib.seen {
			l = lib.id(row)
		}
		if l >= 0 && int(l) < len(f.libs) {
			fr.Module = k.p.Symbols.Module(f.libs[l].module)
		}
		frames[row] = k.p.Symbols.Frame(fr)
	}
	return frames
}

// unknownFunction returns the function of what is not in the file.
func (k *linker) unknownFunction() profile.FunctionID {
	return k.p.Symbols.Function(profile.Function{Name: profile.NoName})
}

// stacks interns the stacks of a table, sampled or not.
func (k *linker) stacks(t *symbolTables, frames []profile.FrameID, strings *texts) (*linked, error) {
	table := &t.stacks
	frame := table.col("frame")
	stacks := make([]profile.StackID, table.rows())
	depth := make([]int32, len(stacks))
	for row := range stacks {
		var fr profile.FrameID
		if id, ok := k.reference(frame, row, len(frames)); ok {
			fr = frames[id]
		} else {
			fr = k.p.Symbols.Frame(profile.Frame{Function: k.unknownFunction()})
		}
		above := profile.NoStack
		parent, err := k.prefix(table, row)
		if err != nil {
			return nil, err
		}
		if parent != absent {
			above, depth[row] = stacks[parent], depth[parent]
		}
		if depth[row]++; int(depth[row]) > k.limits.Depth {
			return nil, &profile.ParseError{Offset: frame.at, Err: profile.TooDeep(k.limits.Depth)}
		}
		stacks[row] = k.p.Symbols.Stack(above, fr)
	}
	return &linked{strings: strings, stacks: stacks}, nil
}

// prefix returns the row of the stack that calls the stack of a row, or absent. It
// comes before it in the table. A stack whose caller is not in the file begins there.
func (k *linker) prefix(t *table, row int) (int32, error) {
	c := t.col("prefixOffset")
	if !c.seen {
		c = t.col("prefix")
	}
	v := c.id(row)
	parent := v
	switch {
	case c.name == "prefix" && v == absent, c.name == "prefixOffset" && v == 0:
		return absent, nil
	case c.name == "prefixOffset":
		parent = int32(row) - v
	}
	if parent < 0 || int(parent) >= t.rows() {
		k.unknown++
		return absent, nil
	}
	if int(parent) >= row {
		return 0, t.errorf(c, row, "is %d: a stack must come behind its prefix", v)
	}
	return parent, nil
}

// thread adds one thread.
func (k *linker) thread(f *file, t *thread, shared *linked, shift int64) error {
	id := profile.ThreadID(0)
	if f.product != product || t.name != noThread || t.tid != "0" {
		id = profile.ThreadID(len(k.p.Threads))
		k.p.Threads = append(k.p.Threads, profile.Thread{Name: t.name, ID: t.tid, Process: processOf(t)})
	}
	l, err := k.threadSymbols(f, t, shared)
	if err != nil {
		return err
	}
	if t.cpu {
		k.cpuThreads++
	}
	if err := k.samples(t, id, l.stacks, shift); err != nil {
		return err
	}
	if err := k.markers(t, l.strings, id, shift); err != nil {
		return err
	}
	*t = thread{} // its columns are not needed any more
	return nil
}

// threadSymbols returns the symbols of a thread: its own, or the shared ones.
func (k *linker) threadSymbols(f *file, t *thread, shared *linked) (*linked, error) {
	own, strings := &t.tables, &f.shared.strings
	if own.strings.seen {
		strings = &own.strings
	}
	switch {
	case own.raw():
		return k.rawSymbols(f, own, strings)
	case own.stacks.col("frame").seen:
		return k.symbols(f, own, strings)
	case shared != nil:
		return &linked{strings: strings, stacks: shared.stacks}, nil
	}
	return &linked{strings: strings}, nil
}

// processOf names the process of a thread: by name and id, or by what there is.
func processOf(t *thread) string {
	switch {
	case t.processName == "":
		return t.pid
	case t.pid == "":
		return t.processName
	}
	return t.processName + " (" + t.pid + ")"
}
