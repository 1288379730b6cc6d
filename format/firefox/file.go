package firefox

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// file is what is kept of a file until all of it is read. The processes inside a
// raw profile are files of their own.
type file struct {
	scanner *jsonscan.Scanner

	version   int64 // preprocessedProfileVersion; 0 for a raw profile
	gecko     int64 // version of a raw profile
	versionAt int64
	raw       bool // a table with a schema was seen
	start     int64
	startSet  bool
	duration  int64
	interval  int64
	product   string
	imported  string // from which format or by which program
	misc      string
	timeUnit  string

	categories   []category
	stringFields map[fieldKey]bool // the fields of markers that hold ids of strings

	libs      []lib
	shared    symbolTables
	threads   []*thread
	processes []*file
	counters  int

	interned interned
	clocks   *clocks
}

// clocks are the clocks of a file and of the processes in it.
type clocks struct{ start, events jsonscan.Clock }

// fieldKey is a field of the markers of one type.
type fieldKey struct{ kind, field string }

// category is one entry of meta.categories.
type category struct {
	name, color   string
	subcategories []string
}

// lib is a mapped library. Addresses are of a raw profile only.
type lib struct {
	module     profile.Module
	name       string
	start, end uint64
}

// symbolTables are the tables that a stack refers to, shared or of one thread.
type symbolTables struct {
	strings                                   texts
	funcs, frames, stacks, resources, sources table
}

// times is a column of times, all of one clock.
func (f *file) times(name string) column {
	return column{name: name, kind: timeColumn, clock: &f.clocks.events}
}

func (f *file) newSamples(name string) table {
	return newTable(name, ids("stack"), f.times("time"), deltas("timeDeltas"), values("weight"), wide("memoryAddress"))
}

// seen reports whether any of the tables was in the file.
func (t *symbolTables) seen() bool {
	return t.strings.seen || t.stacks.rows() > 0 || t.frames.rows() > 0 || t.funcs.rows() > 0
}

// read reads the table of a key, if it is one. Tables are made when they are read, since a file may have many
// threads without any.
func (t *symbolTables) read(s *jsonscan.Scanner, key string) {
	switch key {
	case "stringArray", "stringTable":
		t.strings.read(s)
	case "funcTable":
		t.funcs = newTable("funcTable", ids("name"), ids("isJS"), ids("relevantForJS"), ids("resource"),
			ids("fileName"), ids("source"), ids("lineNumber"), ids("columnNumber"))
		t.funcs.read(s, nil)
	case "frameTable":
		t.frames = newTable("frameTable", ids("func"), ids("line"), ids("column"), wide("address"), ids("inlineDepth"),
			ids("category"), ids("subcategory"), ids("lib"), ids("location"), ids("relevantForJS"))
		t.frames.read(s, nil)
	case "stackTable":
		t.stacks = newTable("stackTable", ids("frame"), ids("prefix"), ids("prefixOffset"), ids("category"), ids("subcategory"))
		t.stacks.read(s, nil)
	case "resourceTable":
		t.resources = newTable("resourceTable", ids("name"), ids("lib"), ids("type"))
		t.resources.read(s, nil)
	case "sources":
		t.sources = newTable("sources", ids("filename"))
		t.sources.read(s, nil)
	}
}

// threadBytes is the minimum number of bytes of memory of a thread.
const threadBytes = 1024

// thread is one entry of threads.
type thread struct {
	name, processName, pid, tid string

	tables                          symbolTables // of files before version 60
	samples, nativeAllocs, jsAllocs table
	weightType                      string // of samples
	markers                         table
	cpu                             bool // samples have CPU use
}

// maxProcesses bounds how deep processes nest in a raw profile: one level occurs.
const maxProcesses = 4

// isRaw reports whether the file is a raw profile.
func (f *file) isRaw() bool {
	raw := f.raw
	for _, sub := range f.processes {
		raw = raw || sub.raw
	}
	return f.version == 0 && raw
}

// read reads a file, or the process of a raw one that is level deep.
func (f *file) read(level int) {
	s := f.scanner
	if f.interned == nil {
		f.interned = interned{}
	}
	for key := range s.Object() {
		switch string(key) {
		case "meta":
			f.readMeta()
		case "libs":
			f.readLibs()
		case "shared":
			for key := range s.Object() {
				f.shared.read(s, string(key))
			}
		case "sources": // of a raw profile; the locations of its frames name the scripts
			s.Skip()
		case "threads":
			for range s.Array() {
				if s.Kind() != jsonscan.Object {
					s.Skip() // processes inside processes were strings once
					continue
				}
				t := &thread{}
				s.Take(threadBytes)
				f.readThread(t)
				f.threads = append(f.threads, t)
			}
		case "processes":
			f.readProcesses(level)
		case "counters":
			for range s.Array() {
				f.counters++
			}
		}
	}
}

func (f *file) readProcesses(level int) {
	s := f.scanner
	for range s.Array() {
		if s.Kind() != jsonscan.Object {
			s.Skip()
			continue
		}
		if level == maxProcesses {
			s.Errorf("processes more than %d deep inside each other", maxProcesses)
			return
		}
		sub := &file{scanner: s, interned: f.interned, clocks: f.clocks}
		if sub.read(level + 1); len(sub.threads)+len(sub.processes) > 0 {
			f.processes = append(f.processes, sub)
		}
	}
}

func (f *file) readMeta() {
	s := f.scanner
	for key := range s.Object() {
		switch string(key) {
		case "preprocessedProfileVersion":
			f.version = s.Int()
			f.versionAt = s.Offset()
		case "version":
			f.gecko = s.Fixed(0)
		case "startTime":
			f.start, f.startSet = f.clocks.start.Read(s, 6), true
		case "profilingStartTime":
			f.duration -= s.Fixed(6)
		case "profilingEndTime":
			f.duration += s.Fixed(6)
		case "interval":
			f.interval = s.Fixed(6)
		case "product":
			f.product = s.Scalar()
		case "importedFrom":
			f.imported = s.Scalar()
		case "misc":
			f.misc = s.Scalar()
		case "sampleUnits":
			for key := range s.Object() {
				if string(key) == "time" {
					f.timeUnit = s.Scalar()
				}
			}
		case "categories":
			f.readCategories()
		case "markerSchema":
			f.readMarkerSchema()
		}
	}
}

func (f *file) readCategories() {
	s := f.scanner
	for range s.Array() {
		var c category
		for key := range s.Object() {
			switch string(key) {
			case "name":
				c.name = s.Text()
			case "color":
				c.color = s.Text()
			case "subcategories":
				for range s.Array() {
					c.subcategories = append(c.subcategories, s.Text())
				}
			}
		}
		s.Take(jsonscan.EntryBytes)
		f.categories = append(f.categories, c)
	}
}

// readMarkerSchema notes which fields of markers hold ids of strings.
func (f *file) readMarkerSchema() {
	s := f.scanner
	if f.stringFields == nil {
		f.stringFields = map[fieldKey]bool{}
	}
	for range s.Array() {
		var name string
		var fields []string
		for key := range s.Object() {
			switch string(key) {
			case "name":
				name = s.Text()
			case "fields", "data":
				for range s.Array() {
					var field, format string
					for key := range s.Object() {
						switch string(key) {
						case "key":
							field = s.Scalar()
						case "format":
							format = s.Scalar()
						}
					}
					if format == "unique-string" || strings.HasSuffix(format, "flow-id") {
						fields = append(fields, field)
					}
				}
			}
		}
		for _, field := range fields {
			f.stringFields[fieldKey{name, field}] = true
		}
	}
}

func (f *file) readLibs() {
	s := f.scanner
	for range s.Array() {
		var l lib
		for key := range s.Object() {
			switch string(key) {
			case "name":
				l.name = s.Text()
			case "path":
				l.module.Path = s.Text()
			case "breakpadId":
				l.module.BuildID = s.Text()
			case "start":
				l.start, _ = strconv.ParseUint(s.Scalar(), 10, 64)
			case "end":
				l.end, _ = strconv.ParseUint(s.Scalar(), 10, 64)
			}
		}
		l.module.Path = cmp.Or(l.module.Path, l.name)
		s.Take(jsonscan.EntryBytes)
		f.libs = append(f.libs, l)
	}
}

func (f *file) readThread(t *thread) {
	s := f.scanner
	for key := range s.Object() {
		switch string(key) {
		case "name":
			t.name = s.Scalar()
		case "processName":
			t.processName = s.Scalar()
		case "pid":
			t.pid = s.Scalar()
		case "tid":
			t.tid = s.Scalar()
		case "samples":
			t.samples = f.newSamples("samples")
			t.samples.read(s, func(key string) {
				switch key {
				case "weightType":
					t.weightType = s.Scalar()
				case "threadCPUDelta":
					t.cpu = s.Kind() == jsonscan.Array
				}
			})
		case "nativeAllocations":
			t.nativeAllocs = f.newSamples("nativeAllocations")
			t.nativeAllocs.read(s, nil)
		case "jsAllocations":
			t.jsAllocs = f.newSamples("jsAllocations")
			t.jsAllocs.read(s, nil)
		case "markers":
			t.markers = newTable("markers", ids("name"), f.times("startTime"), f.times("endTime"), ids("phase"), ids("category"),
				payloads(f.interned))
			t.markers.read(s, nil)
		default:
			t.tables.read(s, string(key))
		}
	}
	f.raw = f.raw || t.tables.raw()
}

// raw reports whether the tables are of a raw profile.
func (t *symbolTables) raw() bool { return t.stacks.schema != nil || t.frames.schema != nil }
