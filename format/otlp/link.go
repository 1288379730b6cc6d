package otlp

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
)

// linker turns the messages of a content, one after the other, into a profile.
type linker struct {
	p        *profile.Profile
	symbols  *profile.Symbols
	limits   profile.Limits
	tables   []*table
	byKey    map[string]*table
	comments map[string]bool // that the profile has
	begin    int64           // of the first sample, Unix nanoseconds; math.MaxInt64 not known
	end      int64
	notes    notes

	facts *profile.Interner

	maxStacks, work int // bounds, see spend

	m *message // in work
	// Of each entry of its tables, what it became.
	modules   []module
	frames    []part // of each location, in frameIDs
	frameIDs  []profile.FrameID
	stackIDs  []profile.StackID // plus one; 0: not yet known
	whom      map[string]who
	shortWhom map[uint64]who // of those with a shortKey
	bytesWhom map[uint64]who // by the bytes of the attributes, see whoAt
	last      lastWho
	key       []byte

	resource []profile.Label // attributes of the first resource, which describe the profile as long as there is no other
	several  bool            // there is: resources tell samples apart
	each     func(Resource)  // takes the profile of each resource apart; nil: all are one
	common   []profile.Label // then of the resource in work
}

// module is a mapping as Symbols know it.
type module struct {
	id     profile.ModuleID
	name   string // Function.Module of its functions
	kernel bool
}

// who is what the attributes and the link of a sample become.
type who struct {
	thread profile.ThreadID
	labels profile.LabelsID
}

// Bounds of what a content may expand to, see spend.
const (
	leastFrames   = 1 << 16 // whatever the size
	framesPerByte = 2       // new stacks in Symbols
	workPerByte   = 64      // frames and labels looked up
)

func newLinker(p *profile.Profile, l profile.Limits, size int) *linker {
	p.Format = Name
	return &linker{
		p: p, symbols: p.Symbols, limits: l, begin: math.MaxInt64, end: math.MinInt64,
		byKey:     map[string]*table{},
		comments:  map[string]bool{},
		facts:     profile.NewInterner(p),
		maxStacks: min(p.Symbols.Stacks.Len()+leastFrames+framesPerByte*size, math.MaxInt32-math.MaxUint16),
		work:      leastFrames + workPerByte*size,
	}
}

// spend accounts for work that is not proportional to the content: a location
// that many functions were inlined into is many frames for each byte that refers
// to it.
func (k *linker) spend(work, at int) error {
	if k.work -= work; k.work >= 0 && k.symbols.Stacks.Len() <= k.maxStacks {
		return nil
	}
	return &profile.ParseError{Offset: int64(at), Err: fmt.Errorf("inlined calls or attributes expand the message far too much: %w", profile.ErrTooLarge)}
}

// notes counts what was mended or left out; each kind becomes one warning.
type notes struct{ references, payloads, shapes, numbers int }

func (n *notes) report(p *profile.Profile) {
	p.WarnCount(n.references, "%d references to entries that the dictionary does not have were left out")
	p.WarnCount(n.numbers, "%d line or column numbers are negative or too large and were left out")
	p.WarnCount(n.shapes, "%d samples have another number of values than of timestamps; each became one sample of their sum")
	p.WarnCount(n.payloads, "%d profiles come with an original payload in another format, which was not read")
}

// add links one message.
func (k *linker) add(m *message) error {
	k.m = m
	k.frameIDs, k.frames = nil, make([]part, len(m.Tables.Locations))
	k.stackIDs = make([]profile.StackID, len(m.Tables.Stacks))
	for i := range m.Tables.Attributes { // once: many entries may refer to each
		if v := &m.Tables.Attributes[i].Value; !v.isNumber() {
			v.Text, v.Which = m.Tables.textOf(v), valueText
		}
	}
	k.linkMappings()
	for i := range m.Resources {
		r := &m.Resources[i]
		k.whom, k.shortWhom, k.bytesWhom, k.last = map[string]who{}, map[uint64]who{}, map[uint64]who{}, lastWho{}
		link := k.link
		if k.each != nil {
			link = k.apart
		}
		if err := link(r); err != nil {
			return err
		}
	}
	return nil
}

// link adds the profiles of a resource.
func (k *linker) link(r *resource) error {
	if err := k.describe(r); err != nil {
		return err
	}
	for p := range r.profiles {
		if err := k.profile(p); err != nil {
			return err
		}
	}
	return nil
}

// describe takes over what a resource says of itself. The same resource in each message, as
// an exporter sends it, is one.
func (k *linker) describe(r *resource) error {
	if k.p.Profiler == "" {
		k.p.Profiler, k.p.ProfilerVersion = r.scope()
	}
	own := make([]profile.Label, len(r.Resource.Attributes))
	for i := range own {
		kv := &r.Resource.Attributes[i]
		key := kv.Key
		if kv.KeyAt != 0 {
			key = k.m.Tables.text(kv.KeyAt)
		}
		own[i] = k.label(key, "", &kv.Value)
	}
	switch {
	case k.resource == nil:
		k.resource = own
		for _, l := range own {
			if err := k.comment(l.Key+"=", labelText(l), 0); err != nil {
				return err
			}
		}
		return nil
	case !k.several && slices.Equal(own, k.resource):
		return nil
	case !k.several:
		if err := k.separate(); err != nil {
			return err
		}
	}
	k.several, k.common = true, own
	return nil
}

// separate makes the attributes of the first resource labels of the samples so far, all of
// which are its.
func (k *linker) separate() error {
	for _, l := range k.resource {
		comment := l.Key + "=" + labelText(l)
		delete(k.comments, comment)
		k.p.Comments = slices.DeleteFunc(k.p.Comments, func(c string) bool { return c == comment })
	}
	sets := slices.Clone(k.p.LabelSets)
	work := len(sets) * (1 + size(k.resource))
	for _, set := range sets {
		work += size(set)
	}
	if err := k.spend(work, 0); err != nil || len(k.resource) == 0 {
		return err
	}
	renamed := column.Of(sets, func(set []profile.Label) profile.LabelsID { return k.facts.Labels(slices.Concat(set, k.resource)) })
	for _, t := range k.tables {
		if t.Labels == nil {
			t.Labels = make([]profile.LabelsID, t.Len())
		}
		for row, id := range t.Labels {
			t.Labels[row] = renamed[id]
		}
	}
	return nil
}

// labelText returns the text or the number of a label.
func labelText(l profile.Label) string {
	if l.Text == "" {
		return strconv.FormatInt(l.Num, 10)
	}
	return l.Text
}

func (k *linker) label(key, unit string, v *value) profile.Label {
	if v.isNumber() {
		return profile.Label{Key: key, Num: v.Number, Unit: unit}
	}
	return profile.Label{Key: key, Text: k.m.Tables.textOf(v)}
}

// attribute returns an attribute by its index, or false.
func (k *linker) attribute(i int32) (*attribute, bool) {
	if i <= 0 || int(i) >= len(k.m.Tables.Attributes) {
		if i != 0 {
			k.notes.references++
		}
		return nil, false
	}
	return &k.m.Tables.Attributes[i], true
}

// linkMappings interns the modules.
func (k *linker) linkMappings() {
	k.modules = make([]module, max(1, len(k.m.Tables.Mappings)))
	for i := range k.m.Tables.Mappings {
		x := &k.m.Tables.Mappings[i]
		mod := profile.Module{Path: k.m.Tables.text(x.File), Start: x.Start, Limit: x.Limit, Offset: x.Offset}
		for _, a := range x.Attributes {
			if at, ok := k.attribute(a); ok && mod.BuildID == "" && strings.HasPrefix(k.m.Tables.text(at.Key), keyBuildID) {
				mod.BuildID = k.m.Tables.textOf(&at.Value)
			}
		}
		name := mod.Path[strings.LastIndexAny(mod.Path, `/\`)+1:]
		k.modules[i] = module{name: name, kernel: kernelModule(name)}
		if k.work -= len(mod.Path) + len(mod.BuildID); k.work < 0 {
			return // spend fails from now on
		}
		if mod != (profile.Module{Path: name}) {
			k.modules[i].id = k.symbols.Module(mod)
		}
	}
}

// keyBuildID begins the keys by which a mapping tells its build: .gnu, .go,
// .htlhash.
const keyBuildID = "process.executable.build_id"

func kernelModule(name string) bool {
	return strings.HasPrefix(name, "[kernel") || strings.HasPrefix(name, "[guest.kernel") ||
		strings.HasPrefix(name, "vmlinux") || strings.HasSuffix(name, ".ko")
}

// stack returns the stack of an index; 0 is none.
func (k *linker) stack(i int32, at int) (profile.StackID, error) {
	if i <= 0 || int(i) >= len(k.m.Tables.Stacks) {
		if i != 0 {
			return 0, protobuf.Malformed(at, "stack %d of %d", i, len(k.m.Tables.Stacks))
		}
		return profile.NoStack, nil
	}
	if k.stackIDs[i] != 0 {
		return k.stackIDs[i] - 2, nil
	}
	st, depth := profile.NoStack, 0
	locations := k.m.Tables.Stacks[i].Locations
	for n := len(locations) - 1; n >= 0; n-- {
		loc := locations[n]
		if loc < 0 || int(loc) >= len(k.m.Tables.Locations) {
			return 0, protobuf.Malformed(at, "location %d of %d in stack %d", loc, len(k.m.Tables.Locations), i)
		}
		frames := k.location(loc)
		if err := k.spend(len(frames)+1, at); err != nil {
			return 0, err
		}
		if depth += len(frames); depth > k.limits.Depth {
			return 0, &profile.ParseError{Offset: int64(at), Err: profile.TooDeep(k.limits.Depth)}
		}
		for _, fr := range frames {
			st = k.symbols.Stack(st, fr)
		}
	}
	k.stackIDs[i] = st + 2 // NoStack is -1
	return st, nil
}

// location returns the frames of a location, outermost first.
func (k *linker) location(i int32) []profile.FrameID {
	if f := k.frames[i]; f.hi > f.lo {
		return k.frameIDs[f.lo:f.hi]
	}
	loc := &k.m.Tables.Locations[i]
	var mod module
	if loc.Mapping > 0 && int(loc.Mapping) < len(k.modules) {
		mod = k.modules[loc.Mapping]
	} else if loc.Mapping != 0 {
		k.notes.references++
	}
	kind, typ := k.frameType(loc, mod)
	fr := profile.Frame{Address: loc.Address, Module: mod.id, Type: typ}
	from := len(k.frameIDs)
	lines := loc.Lines
	if len(lines) > math.MaxUint16 {
		lines = lines[len(lines)-math.MaxUint16:]
	}
	if len(lines) == 0 {
		fr.Function = k.symbols.Function(profile.Function{Name: "0x" + strconv.FormatUint(loc.Address, 16), Module: mod.name, Kind: kind})
		k.frameIDs = append(k.frameIDs, k.symbols.Frame(fr))
	}
	for n := len(lines) - 1; n >= 0; n-- {
		ln := &lines[n]
		fr.Type = typ
		var suffix profile.FrameType
		if fr.Function, suffix = k.function(ln.Function, mod, kind); suffix != profile.FrameUnknown {
			fr.Type = suffix
		}
		fr.Line, fr.Column = k.number(ln.Line), k.number(ln.Column)
		if fr.InlineDepth = uint16(len(lines) - 1 - n); fr.InlineDepth > 0 {
			fr.Type = profile.FrameInlined
		}
		k.frameIDs = append(k.frameIDs, k.symbols.Frame(fr))
	}
	k.frames[i] = next(from, len(k.frameIDs))
	return k.frameIDs[from:]
}

// function returns a function, and the type that its name gives its frames.
func (k *linker) function(i int32, mod module, kind profile.Kind) (profile.FunctionID, profile.FrameType) {
	fn := profile.Function{Name: profile.NoName, Module: mod.name, Kind: kind}
	if i < 0 || int(i) >= len(k.m.Tables.Functions) {
		k.notes.references++
		return k.symbols.Function(fn), profile.FrameUnknown
	}
	x := &k.m.Tables.Functions[i]
	fn.SystemName, fn.File, fn.StartLine = k.m.Tables.text(x.SystemName), k.m.Tables.text(x.File), k.number(x.StartLine)
	name, suffix := cutSuffix(k.m.Tables.text(x.Name))
	// Many functions may share a long text; each hashes it.
	if k.work -= len(fn.SystemName) + len(fn.File) + len(fn.Module) + len(name); k.work < 0 {
		return 0, profile.FrameUnknown // spend fails from now on
	}
	if name != "" {
		fn.Name = name
	} else if fn.SystemName != "" {
		fn.Name = fn.SystemName
	}
	if fn.SystemName == fn.Name {
		fn.SystemName = ""
	}
	return k.symbols.Function(fn), suffix
}

// cutSuffix splits the suffix off a name by which async-profiler's converter
// tells, at the class that was allocated, in which way.
func cutSuffix(name string) (string, profile.FrameType) {
	n := len(name) - len("_[i]")
	switch {
	case n > 0 && name[n:] == "_[i]":
		return name[:n], profile.FrameInlined
	case n > 0 && name[n:] == "_[k]":
		return name[:n], profile.FrameKernel
	}
	return name, profile.FrameUnknown
}

// number returns a line or column number, or 0 for one that cannot be.
func (k *linker) number(n int64) int32 {
	if n >= 0 && n <= math.MaxInt32 {
		return int32(n)
	}
	k.notes.numbers++
	return 0
}

// frameType returns kind and type of the frames of a location by its attributes,
// or else by its library.
func (k *linker) frameType(loc *location, mod module) (profile.Kind, profile.FrameType) {
	kind, typ, typed := profile.KindUnknown, profile.FrameUnknown, false
	for _, i := range loc.Attributes {
		a, ok := k.attribute(i)
		if !ok {
			continue
		}
		switch k.m.Tables.text(a.Key) {
		case keyFrameType:
			kind = kindOf(k.m.Tables.textOf(&a.Value))
		case keyMode:
			typ, typed = modeOf(k.m.Tables.textOf(&a.Value)), true
		}
	}
	if kind == profile.KindUnknown && mod.kernel {
		kind = profile.KindKernel
	}
	if !typed && kind == profile.KindKernel {
		typ = profile.FrameKernel
	}
	return kind, typ
}
