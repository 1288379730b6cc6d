package otlp

import (
	"bufio"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// dictionary collects what samples refer to. Every table begins with an empty
// entry, which means none.
type dictionary struct {
	symbols *profile.Symbols

	strings    interner
	attributes interner // of messages
	links      interner
	mappings   interner
	functions  interner
	locations  interner // of messages
	stacks     interner

	stackIDs    map[profile.StackID]uint64
	locationIDs map[string]uint64 // by the ids of the frames
	functionIDs map[profile.FunctionID]uint64
	path        []profile.FrameID
	key, msg    []byte
}

// interner numbers different messages in the order of their first appearance.
type interner struct {
	ids  map[string]uint64
	list []string
}

func newInterner() interner { return interner{map[string]uint64{"": 0}, []string{""}} }

func (t *interner) id(msg []byte) uint64 {
	id, ok := t.ids[string(msg)]
	if !ok {
		id = t.add(string(msg))
	}
	return id
}

func (t *interner) add(msg string) uint64 {
	id := uint64(len(t.list))
	t.list = append(t.list, msg)
	t.ids[msg] = id
	return id
}

func newDictionary(s *profile.Symbols) *dictionary {
	return &dictionary{
		symbols: s,
		strings: newInterner(), attributes: newInterner(), links: newInterner(), mappings: newInterner(),
		functions: newInterner(), locations: newInterner(), stacks: newInterner(),
		stackIDs:    map[profile.StackID]uint64{profile.NoStack: 0},
		locationIDs: map[string]uint64{},
		functionIDs: map[profile.FunctionID]uint64{},
	}
}

func (d *dictionary) string(text string) uint64 { return d.strings.id([]byte(valid([]byte(text)))) }

// attribute returns the index of a KeyValueAndUnit.
func (d *dictionary) attribute(key string, value []byte, unit string) uint64 {
	b := wire.AppendInt(d.msg[:0], 1, d.string(key))
	b = wire.AppendBytes(b, 2, value)
	b = wire.AppendInt(b, 3, d.string(unit))
	d.msg = b
	return d.attributes.id(b)
}

func (d *dictionary) link(trace, span []byte) int32 {
	var b []byte
	if trace != nil {
		b = wire.AppendBytes(b, 1, trace)
	}
	if span != nil {
		b = wire.AppendBytes(b, 2, span)
	}
	return int32(d.links.id(b))
}

// stack returns the index of a stack.
func (d *dictionary) stack(st profile.StackID) uint64 {
	id, ok := d.stackIDs[st]
	if ok {
		return id
	}
	d.path = d.symbols.Path(st, d.path[:0])
	path := d.path
	var locations []uint64
	for len(path) > 0 {
		n := d.inlinedInto(path)
		locations = append(locations, d.location(path[:n]))
		path = path[n:]
	}
	var packed []byte
	for _, l := range slices.Backward(locations) {
		packed = binary.AppendUvarint(packed, l)
	}
	id = d.stacks.id(wire.AppendBytes(nil, 1, packed))
	d.stackIDs[st] = id
	return id
}

// inlinedInto returns how many frames of a path, outermost first, are one
// location: the first and what was inlined into it.
func (d *dictionary) inlinedInto(path []profile.FrameID) int {
	n := 1
	first := &d.symbols.Frames[path[0]]
	for ; n < len(path) && first.InlineDepth == 0; n++ {
		fr := &d.symbols.Frames[path[n]]
		if int(fr.InlineDepth) != n || fr.Type != profile.FrameInlined || fr.Address != first.Address || fr.Module != first.Module {
			break
		}
	}
	return n
}

// location returns the index of the location of frames, outermost first.
func (d *dictionary) location(frames []profile.FrameID) uint64 {
	d.key = d.key[:0]
	for _, fr := range frames {
		d.key = binary.AppendUvarint(d.key, uint64(fr))
	}
	if id, ok := d.locationIDs[string(d.key)]; ok {
		return id
	}
	key := string(d.key)
	first := &d.symbols.Frames[frames[0]]
	fn := &d.symbols.Functions[first.Function]
	b := wire.AppendInt(nil, 1, d.mapping(first, fn))
	b = wire.AppendInt(b, 2, first.Address)
	for _, id := range slices.Backward(frames) {
		fr := &d.symbols.Frames[id]
		line := wire.AppendInt(nil, 1, d.function(fr.Function))
		line = wire.AppendInt(line, 2, uint64(fr.Line))
		line = wire.AppendInt(line, 3, uint64(fr.Column))
		b = wire.AppendBytes(b, 3, line)
	}
	if packed := d.frameType(first, fn); len(packed) > 0 {
		b = wire.AppendBytes(b, 4, packed)
	}
	id := d.locations.add(string(b))
	d.locationIDs[key] = id
	return id
}

// frameType returns the attributes of a location: the kind of its functions, and
// the mode of the frame unless the kind says it.
func (d *dictionary) frameType(fr *profile.Frame, fn *profile.Function) (packed []byte) {
	if text := frameTypeOf(fn.Kind); text != "" {
		packed = binary.AppendUvarint(packed, d.attribute(keyFrameType, textValue(text), ""))
	}
	implied := profile.FrameUnknown
	if fn.Kind == profile.KindKernel || kernelModule(d.mappingName(fr, fn)) {
		implied = profile.FrameKernel
	}
	if fr.Type != implied {
		mode := fr.Type.String()
		if mode == "" {
			mode = noMode
		}
		packed = binary.AppendUvarint(packed, d.attribute(keyMode, textValue(mode), ""))
	}
	return packed
}

func (d *dictionary) mappingName(fr *profile.Frame, fn *profile.Function) string {
	if fr.Module != 0 {
		path := d.symbols.Modules[fr.Module].Path
		return path[strings.LastIndexAny(path, `/\`)+1:]
	}
	return fn.Module
}

// mapping returns the index of the mapping of a frame: its module, or else one
// that says nothing but the name of its function's.
func (d *dictionary) mapping(fr *profile.Frame, fn *profile.Function) uint64 {
	m := profile.Module{Path: fn.Module}
	if fr.Module != 0 {
		m = d.symbols.Modules[fr.Module]
	}
	b := wire.AppendInt(nil, 1, m.Start)
	b = wire.AppendInt(b, 2, m.Limit)
	b = wire.AppendInt(b, 3, m.Offset)
	b = wire.AppendInt(b, 4, d.string(m.Path))
	if m.BuildID != "" {
		b = wire.AppendBytes(b, 5, binary.AppendUvarint(nil, d.attribute(keyBuildID+".gnu", textValue(m.BuildID), "")))
	}
	return d.mappings.id(b)
}

func (d *dictionary) function(id profile.FunctionID) uint64 {
	index, ok := d.functionIDs[id]
	if !ok {
		fn := &d.symbols.Functions[id]
		b := wire.AppendInt(nil, 1, d.string(fn.Name))
		b = wire.AppendInt(b, 2, d.string(fn.SystemName))
		b = wire.AppendInt(b, 3, d.string(fn.File))
		b = wire.AppendInt(b, 4, uint64(fn.StartLine))
		index = d.functions.id(b)
		d.functionIDs[id] = index
	}
	return index
}

// write writes the dictionary as field 2 of the outermost message.
func (d *dictionary) write(out *bufio.Writer) {
	tables := []*interner{&d.mappings, &d.locations, &d.functions, &d.links, &d.strings, &d.attributes, &d.stacks}
	size := 0
	for num, t := range tables {
		for _, msg := range t.list {
			d.msg = wire.AppendHead(d.msg[:0], num+1, len(msg))
			size += len(d.msg) + len(msg)
		}
	}
	out.Write(wire.AppendHead(nil, 2, size))
	for num, t := range tables {
		for _, msg := range t.list {
			out.Write(wire.AppendHead(d.msg[:0], num+1, len(msg)))
			out.WriteString(msg)
		}
	}
}
