package otlp

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/format/protobuf"
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

	stackIDs    map[profile.StackID]int32
	locationIDs map[string]int32 // by the ids of the frames
	functionIDs map[profile.FunctionID]int32
	path        []profile.FrameID
	key, msg    []byte
}

// interner numbers different messages in the order of their first appearance.
type interner struct {
	ids  map[string]int32
	list []string
}

func newInterner() interner { return interner{map[string]int32{"": 0}, []string{""}} }

func (t *interner) id(msg []byte) int32 {
	id, ok := t.ids[string(msg)]
	if !ok {
		id = t.add(string(msg))
	}
	return id
}

func (t *interner) add(msg string) int32 {
	id := int32(len(t.list))
	t.list = append(t.list, msg)
	t.ids[msg] = id
	return id
}

func newDictionary(s *profile.Symbols) *dictionary {
	return &dictionary{
		symbols: s,
		strings: newInterner(), attributes: newInterner(), links: newInterner(), mappings: newInterner(),
		functions: newInterner(), locations: newInterner(), stacks: newInterner(),
		stackIDs:    map[profile.StackID]int32{profile.NoStack: 0},
		locationIDs: map[string]int32{},
		functionIDs: map[profile.FunctionID]int32{},
	}
}

func (d *dictionary) string(text string) int32 { return d.strings.id([]byte(valid([]byte(text)))) }

// attribute returns the index of a KeyValueAndUnit.
func (d *dictionary) attribute(key string, v value, unit string) int32 {
	d.msg = protobuf.Of[attribute]().Append(d.msg[:0], &attribute{d.string(key), v, d.string(unit)})
	return d.attributes.id(d.msg)
}

func (d *dictionary) link(trace, span []byte) int32 {
	return d.links.id(protobuf.Encode(&link{trace, span}))
}

// stack returns the index of a stack.
func (d *dictionary) stack(st profile.StackID) int32 {
	id, ok := d.stackIDs[st]
	if ok {
		return id
	}
	d.path = d.symbols.Path(st, d.path[:0])
	path := d.path
	var locations []int32 // outermost first
	for len(path) > 0 {
		n := d.inlinedInto(path)
		locations = append(locations, d.location(path[:n]))
		path = path[n:]
	}
	slices.Reverse(locations)
	id = d.stacks.id(protobuf.Encode(&stack{locations}))
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
func (d *dictionary) location(frames []profile.FrameID) int32 {
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
	x := location{Mapping: d.mapping(first, fn), Address: first.Address}
	for _, id := range slices.Backward(frames) {
		fr := &d.symbols.Frames[id]
		x.Lines = append(x.Lines, line{d.function(fr.Function), int64(fr.Line), int64(fr.Column)})
	}
	x.Attributes = d.frameType(first, fn)
	id := d.locations.add(string(protobuf.Encode(&x)))
	d.locationIDs[key] = id
	return id
}

// frameType returns the attributes of a location: the kind of its functions, and
// the mode of the frame unless the kind says it.
func (d *dictionary) frameType(fr *profile.Frame, fn *profile.Function) (list []int32) {
	if text := frameTypeOf(fn.Kind); text != "" {
		list = append(list, d.attribute(keyFrameType, textValue(text), ""))
	}
	implied := profile.FrameUnknown
	if fn.Kind == profile.KindKernel || kernelModule(d.mappingName(fr, fn)) {
		implied = profile.FrameKernel
	}
	if fr.Type != implied {
		mode := cmp.Or(fr.Type.String(), noMode)
		list = append(list, d.attribute(keyMode, textValue(mode), ""))
	}
	return list
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
func (d *dictionary) mapping(fr *profile.Frame, fn *profile.Function) int32 {
	m := profile.Module{Path: fn.Module}
	if fr.Module != 0 {
		m = d.symbols.Modules[fr.Module]
	}
	x := mapping{Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: d.string(m.Path)}
	if m.BuildID != "" {
		x.Attributes = []int32{d.attribute(keyBuildID+".gnu", textValue(m.BuildID), "")}
	}
	return d.mappings.id(protobuf.Encode(&x))
}

func (d *dictionary) function(id profile.FunctionID) int32 {
	index, ok := d.functionIDs[id]
	if !ok {
		fn := &d.symbols.Functions[id]
		index = d.functions.id(protobuf.Encode(&function{d.string(fn.Name), d.string(fn.SystemName), d.string(fn.File), int64(fn.StartLine)}))
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
