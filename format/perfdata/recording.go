package perfdata

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/dendroprof/dendro/format/internal/perf"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
)

// recording is what the records say.
type recording struct {
	*stacktext.Recorder
	limits profile.Limits
	events []*event
	byID   map[uint64]*event
	sample uint64 // fields of the samples of the first event: ids are at the same place in all

	processes map[uint32]*process
	comms     map[uint32]string // names of threads
	buildIDs  map[string]string // by path

	stacks *stacktext.LateStacks[place]
	lost   uint64
	dwarf  bool // stacks were copied, to be unwound later
}

// event is what was counted. The attribute is that of perf_event_open.
type event struct {
	*perf.Event
	typ, config    uint64
	sample, format uint64 // fields of a sample, and of the values that were read with it
	period         uint64 // of all samples, which do not have it themselves; or 0
	timed          bool   // all records have their time
}

// process is a program in a process: exec begins another.
type process struct {
	id     uint32
	parent *process // whose mappings it has inherited
	maps   []mapping
}

type mapping struct {
	start, limit, offset uint64
	path, buildID        string
}

// place is an address in a process; in the kernel without one.
type place struct {
	process *process
	address uint64
}

// The kernel's process, as mappings name it.
const kernel = math.MaxUint32

func newRecording(p *profile.Profile, l profile.Limits) recording {
	return recording{
		Recorder: stacktext.NewRecorder(p), limits: l, byID: map[uint64]*event{},
		processes: map[uint32]*process{}, comms: map[uint32]string{}, buildIDs: map[string]string{}, stacks: stacktext.NewLateStacks[place](l),
	}
}

// Fields of a sample, in the order in which they are written.
const (
	hasIP        = 1 << 0
	hasTID       = 1 << 1
	hasTime      = 1 << 2
	hasAddress   = 1 << 3
	hasRead      = 1 << 4
	hasCallchain = 1 << 5
	hasID        = 1 << 6
	hasCPU       = 1 << 7
	hasPeriod    = 1 << 8
	hasStreamID  = 1 << 9
	hasStack     = 1 << 13
	identified   = 1 << 16 // the id comes first
)

// Flags of events: of those whose records all have time and thread, like samples, and of
// those whose period varies to reach a frequency.
const (
	sampleIDAll = 1 << 18
	byFrequency = 1 << 10
)

const maxEvents = 1000

func (r *recording) addEvent(attr, ids []byte) error {
	if len(attr) < leastAttr || len(r.events) == maxEvents {
		return profile.Malformed("an attribute of %d bytes, or more than %d events", len(attr), maxEvents)
	}
	e := &event{typ: uint64(le.Uint32(attr)), config: le.Uint64(attr[8:]), sample: le.Uint64(attr[24:]), format: le.Uint64(attr[32:])}
	e.Event = perf.NewEvent(eventName(e.typ, e.config), r.limits)
	e.HasPeriod, e.HasTime = e.sample&hasPeriod != 0, e.sample&hasTime != 0
	flags := le.Uint64(attr[40:])
	e.timed = e.HasTime && flags&sampleIDAll != 0
	if period := le.Uint64(attr[16:]); !e.HasPeriod && flags&byFrequency == 0 && period <= math.MaxInt64 {
		e.period, e.HasPeriod = period, period > 0
	}
	if len(r.events) == 0 {
		r.sample = e.sample
	}
	r.events = append(r.events, e)
	for ; len(ids) >= 8; ids = ids[8:] {
		r.byID[le.Uint64(ids)] = e
	}
	return nil
}

// eventName names the events of the kernel that a recording may leave unnamed.
func eventName(typ, config uint64) string {
	names := map[uint64][]string{
		0: {"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
			"stalled-cycles-backend", "ref-cycles"},
		1: {"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults", "alignment-faults",
			"emulation-faults", "dummy"},
	}[typ]
	if config < uint64(len(names)) {
		return names[config]
	}
	return fmt.Sprintf("event-%d-%#x", typ, config)
}

// Types of records.
const (
	recordMmap         = 1
	recordLost         = 2
	recordComm         = 3
	recordFork         = 7
	recordSample       = 9
	recordMmap2        = 10
	recordLostSamples  = 13
	firstOfPerf        = 64 // the program; those before are of the kernel
	recordAttr         = 64
	recordTracingData  = 66
	recordBuildID      = 67
	recordRoundEnd     = 68
	recordAuxtrace     = 71
	recordFeature      = 80
	recordCompressed   = 81
	recordCompressed2  = 83
	commExec           = 1 << 13
	mapHasBuildID      = 1 << 14
	contextMarkers     = math.MaxUint64 - 4094 // and above: no addresses
	contextKernel      = math.MaxUint64 - 127
	contextGuestKernel = math.MaxUint64 - 2175
)

// handle reads a record behind its head, and returns how many bytes follow it that are no
// records.
func (r *recording) handle(typ uint32, misc uint16, b []byte) (more uint64, err error) {
	f := fields{b: b}
	switch typ {
	case recordSample:
		return 0, r.addSample(f)
	case recordMmap, recordMmap2:
		r.addMapping(f, typ, misc)
	case recordComm:
		pid, tid, name := f.u32(), f.u32(), f.text()
		if r.comms[tid] = name; misc&commExec != 0 {
			r.processes[pid] = &process{id: pid}
		}
	case recordFork:
		pid, parent, tid, from := f.u32(), f.u32(), f.u32(), f.u32()
		if pid != parent {
			r.processes[pid] = &process{id: pid, parent: r.process(parent)}
		}
		r.comms[tid] = r.comms[from]
	case recordLost, recordLostSamples:
		if typ == recordLost {
			f.u64()
		}
		r.lost += f.u64()
	case recordAttr:
		size := 0
		if len(b) >= 8 {
			size = int(min(le.Uint32(b[4:]), math.MaxUint16))
		}
		if size < leastAttr || size > len(b) {
			return 0, profile.Malformed("an attribute of %d bytes", size)
		}
		return 0, r.addEvent(b[:size], b[size:])
	case recordFeature:
		number := f.u64()
		r.feature(int(min(number, 1<<10)), f.b)
	case recordBuildID:
		r.buildID(b)
	case recordTracingData:
		return (uint64(f.u32()) + 7) &^ 7, nil
	case recordAuxtrace:
		return f.u64(), nil
	case recordCompressed, recordCompressed2:
		return 0, fmt.Errorf("compressed records: %w (record without -z, or convert it: perf script -i FILE > FILE.perf)", profile.ErrUnsupported)
	}
	return 0, nil
}

// fields reads numbers in order. Behind the end they are 0, and bad is set.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) u64() uint64 {
	if len(f.b) < 8 {
		f.b, f.bad = nil, true
		return 0
	}
	v := le.Uint64(f.b)
	f.b = f.b[8:]
	return v
}

func (f *fields) u32() uint32 {
	if len(f.b) < 4 {
		f.b, f.bad = nil, true
		return 0
	}
	v := le.Uint32(f.b)
	f.b = f.b[4:]
	return v
}

// text reads up to a NUL or the end.
func (f *fields) text() string {
	text, _, _ := bytes.Cut(f.b, []byte{0})
	return stacktext.Clean(text)
}

func (r *recording) process(pid uint32) *process {
	p, ok := r.processes[pid]
	if !ok {
		p = &process{id: pid}
		r.processes[pid] = p
	}
	return p
}

// addMapping reads where a file is mapped. Data is mapped too, and not listed by perf.
func (r *recording) addMapping(f fields, typ uint32, misc uint16) {
	pid := f.u32()
	f.u32() // tid
	m := mapping{start: f.u64()}
	m.limit = m.start + f.u64()
	m.offset = f.u64()
	if typ == recordMmap2 {
		if misc&mapHasBuildID != 0 && len(f.b) >= 24 {
			size := min(int(f.b[0]), 20)
			m.buildID = fmt.Sprintf("%x", f.b[4:4+size])
		}
		f.u64() // device, or build id
		f.u64() // inode
		f.u64() // generation
		f.u64() // protection, flags
	}
	if m.path = f.text(); f.bad || m.limit < m.start {
		return
	}
	if pid == kernel {
		m.path = strings.TrimSuffix(m.path, "_text")
		m.path = strings.TrimSuffix(m.path, "_stext")
	} else if m.path == "//anon" || strings.HasPrefix(m.path, "[heap]") || strings.HasPrefix(m.path, "[stack") ||
		strings.HasPrefix(m.path, "/anon_hugepage") || strings.HasPrefix(m.path, "[anon") || strings.HasPrefix(m.path, "/memfd:") {
		// Code that a compiler has put into memory; its names are in this file, if anywhere.
		m.path, m.offset = fmt.Sprintf("/tmp/perf-%d.map", pid), m.start
	}
	p := r.process(pid)
	p.maps = append(p.maps, m)
}

// addSample reads a sample.
func (r *recording) addSample(f fields) error {
	e, err := r.eventOf(f.b)
	if err != nil {
		return err
	}
	var ip uint64
	var pid, tid uint32
	period := max(e.period, 1)
	row := stacktext.Row{Time: stacktext.NoTime}
	var labels []profile.Label
	has := func(field uint64) bool { return e.sample&field != 0 }
	if has(identified) {
		f.u64()
	}
	if has(hasIP) {
		ip = f.u64()
	}
	if has(hasTID) {
		pid, tid = f.u32(), f.u32()
	}
	if has(hasTime) {
		row.Time = int64(min(f.u64(), math.MaxInt64))
	}
	for _, field := range []uint64{hasAddress, hasID, hasStreamID} {
		if has(field) {
			f.u64()
		}
	}
	if has(hasCPU) {
		labels = append(labels, profile.Label{Key: "cpu", Num: int64(f.u32())})
		f.u32()
	}
	if has(hasPeriod) {
		if period = f.u64(); period > math.MaxInt64 {
			return errSum
		}
	}
	row.Value = int64(period)
	if has(hasRead) {
		f.readValues(e.format)
	}
	r.dwarf = r.dwarf || has(hasStack)
	if err := r.chain(&f, has(hasCallchain), ip, pid); err != nil {
		return err
	}
	if f.bad {
		return profile.Malformed("a sample that ends within its fields")
	}
	row.Stack, row.Labels = r.stacks.End(), r.Labels(labels)
	if has(hasTID) {
		row.Thread = r.Thread(fmt.Append(nil, pid), []byte(r.comms[tid]), fmt.Append(nil, tid))
	}
	if !e.Add(row, period) {
		return errSum
	}
	return nil
}

var errSum = profile.Malformed("the periods up to here add up to more than 63 bits")

// eventOf returns the event of a sample: by its id, if there are several.
func (r *recording) eventOf(b []byte) (*event, error) {
	if len(r.events) == 0 {
		return nil, profile.Malformed("a sample without an event")
	}
	if len(r.events) == 1 {
		return r.events[0], nil
	}
	at := 0
	if r.sample&identified == 0 {
		for _, field := range []uint64{hasIP, hasTID, hasTime, hasAddress} {
			if r.sample&field != 0 {
				at += 8
			}
		}
	}
	if len(b) < at+8 || r.sample&(identified|hasID) == 0 {
		return nil, profile.Malformed("a sample without an id, of %d events", len(r.events))
	}
	e, ok := r.byID[le.Uint64(b[at:])]
	if !ok {
		return nil, profile.Malformed("a sample of the unknown event %d", le.Uint64(b[at:]))
	}
	return e, nil
}

// readValues reads the counters that were read with a sample.
func (f *fields) readValues(format uint64) {
	const enabled, running, id, group, lost = 1, 2, 4, 8, 16
	n, each := uint64(1), 1
	if format&group != 0 {
		n = f.u64()
	}
	for _, field := range []uint64{id, lost} {
		if format&field != 0 {
			each++
		}
	}
	if format&group == 0 {
		f.u64()
		each--
	}
	for _, field := range []uint64{enabled, running} {
		if format&field != 0 {
			f.u64()
		}
	}
	for ; n > 0 && !f.bad; n-- {
		for range each {
			f.u64()
		}
	}
}

// chain reads the stack of a sample, innermost first.
func (r *recording) chain(f *fields, has bool, ip uint64, pid uint32) error {
	r.stacks.Begin()
	p := r.process(pid)
	n := uint64(0)
	if has {
		n = f.u64()
	}
	in := p
	for ; n > 0 && !f.bad; n-- {
		address := f.u64()
		if address >= contextMarkers {
			if in = p; address == contextKernel || address == contextGuestKernel {
				in = nil
			}
			continue
		}
		if err := r.stacks.Push(place{in, address}); err != nil {
			return err
		}
	}
	if r.stacks.Len() == 0 && ip != 0 {
		if ip >= 1<<63 {
			in = nil
		}
		return r.stacks.Push(place{in, ip})
	}
	return nil
}

// feature reads a section about the recording. Damaged ones are left out.
func (r *recording) feature(number int, b []byte) {
	f := fields{b: b}
	text := func() string {
		size := f.u32()
		t := fields{b: f.b[:min(uint64(size), uint64(len(f.b)))]}
		f.b = f.b[len(t.b):]
		return t.text()
	}
	switch number {
	case featureVersion:
		r.Profile.ProfilerVersion = text()
	case featureCmdline:
		var words []string
		for n := f.u32(); n > 0 && len(f.b) > 0; n-- {
			words = append(words, text())
		}
		r.Profile.Comments = []string{strings.Join(words, " ")}
	case featureBuildID:
		for len(f.b) >= 8 {
			size := int(le.Uint16(f.b[6:]))
			if size < 8 || size > len(f.b) {
				return
			}
			r.buildID(f.b[8:size])
			f.b = f.b[size:]
		}
	case featureEventDesc:
		n, size := f.u32(), f.u32()
		for ; n > 0 && uint64(len(f.b)) >= uint64(size)+8; n-- {
			f.b = f.b[size:]
			ids := f.u32()
			name := text()
			for ; ids > 0 && len(f.b) > 0; ids-- {
				if e, ok := r.byID[f.u64()]; ok {
					e.Name = name
				}
			}
		}
	}
}

// buildID reads a process, 24 bytes with a build id, and the path of its file.
func (r *recording) buildID(b []byte) {
	const idSize, head = 20, 4 + 24
	if len(b) <= head {
		return
	}
	size := int(b[4+idSize])
	if size == 0 || size > idSize {
		size = idSize
	}
	f := fields{b: b[head:]}
	r.buildIDs[f.text()] = fmt.Sprintf("%x", b[4:4+size])
}

// finish makes the tables.
func (r *recording) finish() error {
	p := r.Profile
	counted := column.Of(r.events, func(e *event) *perf.Event { return e.Event })
	perf.Fill(p, counted)
	frames := column.Of(r.stacks.Places, r.frame)
	r.stacks.Link(p.Tables, func(parent profile.StackID, i int32) profile.StackID { return p.Symbols.Stack(parent, frames[i]) })
	p.CountLost()
	if r.lost > 0 {
		p.Warnf("perf lost %d events while recording", r.lost)
	}
	if r.dwarf {
		p.Warnf("stacks were recorded with --call-graph dwarf, which only perf unwinds: convert with perf script for stacks of the program")
	}
	return nil
}

// frame returns the frame of a place.
func (r *recording) frame(at place) profile.FrameID {
	s := r.Profile.Symbols
	f := profile.Frame{Address: at.address}
	fn := profile.Function{Name: profile.NoName}
	from := at.process
	if from == nil {
		from = r.process(kernel)
	}
	m := from.find(at.address)
	if m != nil {
		fn.Module = m.path
	}
	fn.Kind, f.Type = perf.KindOf(fn.Name, fn.Module)
	if m != nil && strings.Contains(m.path, "/") {
		fn.Module = perf.Base(m.path)
		if m.buildID == "" {
			m.buildID = r.buildIDs[m.path]
		}
		f.Module = s.Module(profile.Module{Path: m.path, BuildID: m.buildID, Start: m.start, Limit: m.limit, Offset: m.offset})
	}
	f.Function = s.Function(fn)
	return s.Frame(f)
}

// maxAncestors bounds the chain of processes that have forked.
const maxAncestors = 64

// find returns the last mapping that covers an address.
func (p *process) find(address uint64) *mapping {
	for n := 0; p != nil && n < maxAncestors; n++ {
		for i := len(p.maps) - 1; i >= 0; i-- {
			if m := &p.maps[i]; address >= m.start && address < m.limit {
				return m
			}
		}
		p = p.parent
	}
	return nil
}
