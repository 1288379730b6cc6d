package pprof

import (
	"math"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// tables is what one pass over a message finds: the entries that samples and
// locations refer to by id, in the order of the file. Entries may come in any
// order and behind the samples that use them, so nothing is looked up before
// the pass is over. The slices are used again for the next message.
type tables struct {
	types     []typeRef
	strings   []span
	mappings  []mapping
	locations []location
	lines     []line // of all locations
	functions []function
	comments  []textRef
	head      header

	mappingIDs, locationIDs, functionIDs ids
	unknown                              int32 // the location of what is in none

	samples     int // how many
	firstSample int // where the first one is
	samplesEnd  int // where the last one ends
	maxLines    int // of one location

	take  func(bytes int64) error // counts memory
	taken int64                   // bytes that were counted
}

// count counts the memory of the tables so far.
func (t *tables) count() error {
	n := 16*len(t.strings) + 112*len(t.mappings) + 40*(len(t.locations)+len(t.lines)) + 56*len(t.functions) + 32*len(t.types) +
		16*len(t.comments)
	now := 2 * int64(n) // slices have room, and each entry has an index
	err := t.take(max(0, now-t.taken))
	t.taken = max(t.taken, now)
	return err
}

// header is the fields that occur once.
type header struct {
	dropFrames, keepFrames, defaultType, docURL textRef
	periodType                                  typeRef
	period, time, duration                      int64
}

// textRef is an index in the string table and the place of the reference.
type textRef struct {
	index uint64
	at    int
}

type typeRef struct{ name, unit textRef }

// span is the place of a string's bytes.
type span struct{ lo, hi int }

type mapping struct {
	id, start, limit, offset uint64
	file, buildID            textRef
	flags                    uint8 // bits 0 to 3: has functions, filenames, line numbers, inline frames
	at                       int

	linked linkedMapping
}

type location struct {
	id, mapping, address uint64
	lines, linesEnd      int32 // in tables.lines, innermost first
	at                   int
}

type line struct {
	function     uint64 // the id; after link the index
	line, column int32
	at           int
}

type function struct {
	id                     uint64
	name, systemName, file uint64
	startLine              int32
	at                     int

	// The Function of Symbols that it became, together with its module, last.
	linked       profile.FunctionID
	linkedModule int32 // text, or -1
}

func (t *tables) reset() {
	*t = tables{
		types: t.types[:0], strings: t.strings[:0], mappings: t.mappings[:0], locations: t.locations[:0],
		lines: t.lines[:0], functions: t.functions[:0], comments: t.comments[:0],
		mappingIDs: t.mappingIDs, locationIDs: t.locationIDs, functionIDs: t.functionIDs,
		firstSample: -1, take: t.take,
	}
}

// grow makes room for the entries of a small message; see warm.grow.
func (t *tables) grow(msg []byte) {
	const small = 1 << 20
	if cap(t.strings) > 0 || len(msg) > small {
		return
	}
	var n [fieldString + 1]int // of each field
	for pos := 0; pos < len(msg); {
		f, err := nextField(msg, pos)
		if err != nil {
			break // reported later
		}
		if pos = f.Hi; f.Num <= fieldString {
			n[f.Num]++
		}
	}
	t.strings = make([]span, 0, n[fieldString])
	// With one more each, for references to what does not exist.
	t.locations, t.lines = make([]location, 0, n[fieldLocation]+1), make([]line, 0, n[fieldLocation]+n[fieldLocation]/2+1)
	t.functions = make([]function, 0, n[fieldFunction]+1)
}

// nextField reads the field of the profile at pos.
func nextField(msg []byte, pos int) (f wire.Field, err error) {
	if tag := msg[pos]; tag&0x87 == wire.Bytes {
		f.Num, f.Type, f.At = int(tag>>3), wire.Bytes, pos
		f.Lo, f.Hi, err = wire.Payload(msg, pos+1, len(msg))
		return f, err
	}
	return profileShape.Next(msg, pos, len(msg))
}

// counted is after how many bytes, or entries of one field, memory is counted.
const counted = 1 << 16

// read is the pass.
func (t *tables) read(msg []byte, warn *findings) error {
	t.reset()
	t.grow(msg)
	for pos, next := 0, counted; pos < len(msg); {
		f, err := nextField(msg, pos)
		if err == nil && pos >= next {
			next = pos + counted
			err = t.count()
		}
		if err != nil {
			return protobuf.Place(err)
		}
		switch pos = f.Hi; f.Num {
		case fieldSample:
			if t.firstSample < 0 {
				t.firstSample = f.At
			}
			t.samples++
			t.samplesEnd = f.Hi
		case fieldString:
			t.strings = append(t.strings, span{f.Lo, f.Hi})
		case fieldLocation:
			err = t.readLocation(msg, f, warn)
		case fieldFunction:
			err = t.readFunction(msg, f, warn)
		case fieldMapping:
			err = t.readMapping(msg, f)
		default:
			err = t.readHead(msg, f)
		}
		if err != nil {
			return protobuf.Place(err)
		}
	}
	return nil
}

func (t *tables) readHead(msg []byte, f wire.Field) (err error) {
	h := &t.head
	if profileShape.Known(f.Num) && profileShape[f.Num]>>f.Type&1 == 0 {
		return protobuf.Malformed(f.At, "field %d has wire type %d", f.Num, f.Type)
	}
	switch f.Num {
	case fieldSampleType:
		var ref typeRef
		ref, err = readType(msg, f)
		t.types = append(t.types, ref)
	case fieldPeriodType:
		h.periodType, err = readType(msg, f)
	case fieldPeriod:
		h.period = int64(f.Value)
	case fieldTime:
		if h.time != 0 && f.Value != 0 {
			return protobuf.Malformed(f.At, "a second time: are these several profiles in one file?")
		}
		h.time = int64(f.Value)
	case fieldDuration:
		h.duration = int64(f.Value)
	case fieldDropFrames:
		h.dropFrames = textRef{f.Value, f.At}
	case fieldKeepFrames:
		h.keepFrames = textRef{f.Value, f.At}
	case fieldDefaultType:
		h.defaultType = textRef{f.Value, f.At}
	case fieldDocURL:
		h.docURL = textRef{f.Value, f.At}
	case fieldComment:
		return t.readComments(msg, f)
	}
	return err
}

func (t *tables) readComments(msg []byte, f wire.Field) error {
	if f.Type == wire.Varint {
		t.comments = append(t.comments, textRef{f.Value, f.At})
		return nil
	}
	for pos := f.Lo; pos < f.Hi; {
		at := pos
		index, next, err := wire.Uvarint(msg, pos, f.Hi)
		if err == nil && len(t.comments)%counted == counted-1 {
			err = t.count()
		}
		if err != nil {
			return err
		}
		t.comments = append(t.comments, textRef{index, at})
		pos = next
	}
	return nil
}

func readType(msg []byte, f wire.Field) (typeRef, error) {
	v, err := valueTypeShape.Ints(msg, f.Lo, f.Hi)
	return typeRef{name: textRef{v[1], f.At}, unit: textRef{v[2], f.At}}, err
}

func (t *tables) readMapping(msg []byte, f wire.Field) error {
	v, err := mappingShape.Ints(msg, f.Lo, f.Hi)
	m := mapping{
		id: v[1], start: v[2], limit: v[3], offset: v[4],
		file: textRef{v[5], f.At}, buildID: textRef{v[6], f.At}, at: f.At,
	}
	for i, has := range v[7:11] {
		if has != 0 {
			m.flags |= 1 << i
		}
	}
	t.mappings = append(t.mappings, m)
	return err
}

func (t *tables) readLocation(msg []byte, f wire.Field, warn *findings) error {
	l := location{at: f.At, lines: int32(len(t.lines))}
	var v wire.Numbers
	for pos := f.Lo; ; {
		var err error
		if pos, err = locationShape.Read(msg, pos, f.Hi, &v); err != nil {
			return err
		}
		if pos == f.Hi {
			break
		}
		g, err := locationShape.Next(msg, pos, f.Hi)
		if err != nil {
			return err
		}
		if g.Num == 4 {
			ln, err := lineShape.Ints(msg, g.Lo, g.Hi)
			if err == nil && len(t.lines)%counted == counted-1 {
				err = t.count()
			}
			if err != nil {
				return err
			}
			t.lines = append(t.lines, line{function: ln[1], line: warn.number(ln[2]), column: warn.number(ln[3]), at: g.At})
		}
		v.Set(g)
		pos = g.Hi
	}
	l.id, l.mapping, l.address = v[1], v[2], v[3]
	l.linesEnd = int32(len(t.lines))
	t.maxLines = max(t.maxLines, int(l.linesEnd-l.lines))
	t.locations = append(t.locations, l)
	return nil
}

func (t *tables) readFunction(msg []byte, f wire.Field, warn *findings) error {
	v, err := functionShape.Ints(msg, f.Lo, f.Hi)
	t.functions = append(t.functions, function{
		id: v[1], name: v[2], systemName: v[3], file: v[4], startLine: warn.number(v[5]),
		at: f.At, linkedModule: -1,
	})
	return err
}

// maxTypes bounds the sample types; the most that a profiler writes is 20 or so.
const maxTypes = 1000

// link checks everything that refers to something else, now that all is there.
func (t *tables) link(warn *findings) error {
	switch {
	case len(t.types) == 0:
		return protobuf.Malformed(0, "no sample type")
	case len(t.types) > maxTypes:
		return protobuf.Malformed(t.types[maxTypes].name.at, "more than %d sample types", maxTypes)
	case len(t.strings) == 0:
		return protobuf.Malformed(0, "no string table")
	case t.strings[0].lo != t.strings[0].hi:
		return protobuf.Malformed(t.strings[0].lo, "the first string is not empty")
	}
	err := t.mappingIDs.build("mapping", len(t.mappings), func(i int) (uint64, int) { return t.mappings[i].id, t.mappings[i].at })
	if err == nil {
		err = t.functionIDs.build("function", len(t.functions), func(i int) (uint64, int) { return t.functions[i].id, t.functions[i].at })
	}
	if err == nil {
		err = t.locationIDs.build("location", len(t.locations), func(i int) (uint64, int) { return t.locations[i].id, t.locations[i].at })
	}
	if err != nil {
		return err
	}
	for i := range t.functions {
		fn := &t.functions[i]
		for _, index := range []uint64{fn.name, fn.systemName, fn.file} {
			if err := t.checkText(textRef{index, fn.at}); err != nil {
				return err
			}
		}
	}
	for i := range t.lines {
		fn, ok := t.functionIDs.find(t.lines[i].function)
		if !ok {
			warn.functions++
			fn = int32(len(t.functions)) // the unknown one, see below
		}
		t.lines[i].function = uint64(fn)
	}
	for i := range t.locations {
		l := &t.locations[i]
		if _, ok := t.mappingIDs.find(l.mapping); !ok && l.mapping != 0 {
			warn.mappings++
			l.mapping = 0
		}
	}
	// The last function and location stand for those that do not exist.
	t.unknown = int32(len(t.locations))
	t.lines = append(t.lines, line{function: uint64(len(t.functions))})
	t.functions = append(t.functions, function{linkedModule: -1})
	t.locations = append(t.locations, location{lines: int32(len(t.lines) - 1), linesEnd: int32(len(t.lines))})
	return nil
}

func (t *tables) checkText(ref textRef) error {
	if ref.index >= uint64(len(t.strings)) {
		return protobuf.Malformed(ref.at, "string %d of %d", int64(ref.index), len(t.strings))
	}
	return nil
}

// ids finds entries by their ids. Nearly all writers count from 1 in the order
// of the table, the others nearly so.
type ids struct {
	n      uint64
	inRow  bool             // id i+1 is entry i
	dense  []int32          // entry plus one by id, when ids are not much larger than n
	sparse map[uint64]int32 // entry by id, otherwise
}

// build fills the index with n entries; entry returns id and place of one.
func (t *ids) build(kind string, n int, entry func(i int) (uint64, int)) error {
	t.n, t.inRow, t.dense, t.sparse = uint64(n), true, t.dense[:0], nil
	var largest uint64
	for i := range n {
		id, at := entry(i)
		if id == 0 {
			return protobuf.Malformed(at, "a %s with id 0", kind)
		}
		t.inRow = t.inRow && id == uint64(i+1)
		largest = max(largest, id)
	}
	if t.inRow {
		return nil
	}
	if largest <= 4*t.n+64 {
		if cap(t.dense) <= int(largest) {
			t.dense = make([]int32, largest+1)
		}
		t.dense = t.dense[:largest+1]
		clear(t.dense)
	} else {
		t.sparse = make(map[uint64]int32, n)
	}
	for i := range n {
		id, at := entry(i)
		if _, ok := t.find(id); ok {
			return protobuf.Malformed(at, "a second %s with id %d", kind, id)
		}
		if t.sparse != nil {
			t.sparse[id] = int32(i)
		} else {
			t.dense[id] = int32(i + 1)
		}
	}
	return nil
}

// find returns the entry with an id.
func (t *ids) find(id uint64) (int32, bool) {
	switch {
	case t.inRow:
		return int32(id - 1), id-1 < t.n
	case t.sparse != nil:
		i, ok := t.sparse[id]
		return i, ok
	case id < uint64(len(t.dense)):
		i := t.dense[id] - 1
		return i, i >= 0
	}
	return 0, false
}

// findings counts what was mended; each kind becomes one warning.
type findings struct {
	numbers   int // line and column numbers that are no int32
	mappings  int // references to mappings that do not exist
	functions int // to functions
	locations int // to locations
}

// number returns a line or column number, or 0 for one that cannot be.
func (w *findings) number(n uint64) int32 {
	if n <= math.MaxInt32 {
		return int32(n)
	}
	w.numbers++
	return 0
}

func (w *findings) report(p *profile.Profile) {
	p.WarnCount(w.numbers, "%d line or column numbers are negative or too large and were left out")
	p.WarnCount(w.mappings, "%d locations are in a mapping that the profile does not have")
	p.WarnCount(w.functions+w.locations, "%d references to functions and locations that the profile does not have; they count as %s", profile.NoName)
}
