package pprof

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// warm is what a Decoder keeps from message to message: the Symbols and, beside
// them, which of its functions a message's strings and numbers mean. Texts are
// numbered so that a function is found by hashing five integers.
type warm struct {
	symbols *profile.Symbols
	textIDs intern.Index    // of texts
	texts   []string        // valid UTF-8; 0 is the empty text
	room    []byte          // for the bytes of further texts, so that each is not an object
	bases   map[int32]int32 // of a path: its last element
	known   intern.Index    // of keys
	keys    []functionKey
	ids     []profile.FunctionID // of keys
	stacks  stackTable           // by the frames of their locations, innermost first
	seed    sequenceHash         // of both the frames and the sequence
	seeds   [2]maphash.Seed      // of texts

	places  stackTable // indices in located, by what the file says of a location
	located []located
	frames  []profile.FrameID // of all of them
}

// located is what a location became: frames, outermost first, and their hash. Programs send the
// same locations in every profile; one costs one look-up, not one for each text, function and
// frame of it.
type located struct {
	first, n int32 // in warm.frames; first is -1 while it is not resolved
	hash     sequenceHash
}

type functionKey struct{ name, systemName, file, module, line int32 }

func (k *functionKey) hash() uint64 {
	h := intern.With(uint64(uint32(k.name)), uint64(uint32(k.systemName))<<32|uint64(uint32(k.file)))
	return intern.With(h, uint64(uint32(k.module))<<32|uint64(uint32(k.line)))
}

func newWarm(s *profile.Symbols) *warm {
	w := &warm{symbols: s, bases: map[int32]int32{}, seed: newSequenceHash(),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	w.text(nil)
	return w
}

// grow makes room for what a message has, if it is the first one: growing step by step
// costs as much as reading a small file.
func (w *warm) grow(t *tables) {
	if len(w.texts) > 1 || len(w.symbols.Functions) > 0 {
		return
	}
	w.texts = slices.Grow(w.texts, len(t.strings))
	w.textIDs.Grow(len(t.strings))
	w.keys, w.ids = slices.Grow(w.keys, len(t.functions)), slices.Grow(w.ids, len(t.functions))
	w.known.Grow(len(t.functions))
	w.symbols.Grow(len(t.functions), len(t.lines))
}

// text returns the number of a text. Invalid UTF-8 is replaced by U+FFFD.
func (w *warm) text(b []byte) int32 {
	h := intern.Bytes(b)
	id, ok := w.textIDs.Find(h, func(id int32) bool { return w.texts[id] == string(b) })
	switch {
	case ok:
		return id
	case !utf8.Valid(b):
		return w.text(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	id = int32(len(w.texts))
	w.texts = append(w.texts, w.keep(b))
	w.textIDs.Add(h, id)
	return id
}

// keep returns the bytes as a string. Short ones share memory, which lives as long as
// one of them.
func (w *warm) keep(b []byte) string {
	const block, short = 4 << 10, 256
	if len(b) > short {
		return string(b)
	}
	if cap(w.room)-len(w.room) < len(b) {
		w.room = make([]byte, 0, block)
	}
	at := len(w.room)
	w.room = append(w.room, b...)
	return unsafe.String(unsafe.SliceData(w.room[at:]), len(b))
}

// base returns the number of the last element of a path.
func (w *warm) base(path int32) int32 {
	id, ok := w.bases[path]
	if !ok {
		id = w.text([]byte(moduleName(w.texts[path])))
		w.bases[path] = id
	}
	return id
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// links turns the tables of one message into entries of Symbols, each when it
// is first used.
type links struct {
	*warm
	tables
	msg    []byte
	limits profile.Limits
	found  findings

	textOf     []int32           // text plus one of each string of the file; 0 not yet known
	hashOf     []sequenceHash    // of each string of the file; 0 not yet known
	once       map[uint64]string // strings that are not kept for the next message
	extensions []extension       // of each location
	maxStacks  int               // bound of Symbols.Stacks
	work       int               // what is left to spend
	goSource   int8              // whether the profile has Go functions: 1 yes, -1 no, 0 not yet known
	guess      bool              // whether kinds are guessed by name, as async-profiler's converter needs
}

// extension is the hot part of a location: what it became, and the stack that it
// extended last with the result. Many locations are called from one
// place only.
type extension struct {
	located
	parent, stack profile.StackID
}

// unextended is the parent of an extension without a result.
const unextended = profile.NoStack - 1

func (l *links) reset() {
	l.warm.grow(&l.tables)
	l.textOf = zeroed(l.textOf, len(l.strings))
	l.once = map[uint64]string{}
	l.hashOf = zeroed(l.hashOf, len(l.strings))
	l.extensions = zeroed(l.extensions, len(l.locations))
	for i := range l.extensions {
		l.extensions[i] = extension{located: located{first: -1}, parent: unextended}
	}
	l.maxStacks = min(l.symbols.Stacks.Len()+leastFrames+framesPerByte*len(l.msg), math.MaxInt32-math.MaxUint16)
	l.work = leastFrames + workPerByte*len(l.msg)
	l.goSource, l.guess = 0, false
}

// Bounds of what a message may expand to. A location that many functions were
// inlined into is many frames for each byte that refers to it, and one long name
// may serve many functions; without bounds a small message costs the square of
// its size. Profiles of heavily inlined programs stay below a tenth of them.
const (
	leastFrames   = 1 << 16 // whatever the message's size
	framesPerByte = 2       // new stacks in Symbols
	workPerByte   = 64      // frames looked up and bytes of names hashed
)

// spend accounts for work that is not proportional to the message.
func (l *links) spend(work, at int) error {
	if l.work -= work; l.work >= 0 && l.symbols.Stacks.Len() <= l.maxStacks {
		return nil
	}
	err := fmt.Errorf("inlined calls or long names expand the %d bytes of the profile far too much: %w", len(l.msg), profile.ErrTooLarge)
	return &profile.ParseError{Offset: int64(at), Err: err}
}

// zeroed returns a slice of n zeros in the memory of buf if that is enough.
func zeroed[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	buf = buf[:n]
	clear(buf)
	return buf
}

// name returns the number of the text of a string that was checked before.
func (l *links) name(index uint64) int32 {
	id := l.textOf[index]
	if id == 0 {
		sp := l.strings[index]
		id = l.text(l.msg[sp.lo:sp.hi]) + 1
		l.textOf[index] = id
	}
	return id - 1
}

// string returns a string that need not be known to the next message.
func (l *links) string(ref textRef) (string, error) {
	if err := l.checkText(ref); err != nil {
		return "", err
	}
	s, ok := l.once[ref.index]
	if !ok {
		sp := l.strings[ref.index]
		s = valid(string(l.msg[sp.lo:sp.hi]))
		l.once[ref.index] = s
	}
	return s, nil
}

// linkedMapping is a mapping as Symbols know it.
type linkedMapping struct {
	module profile.ModuleID
	name   int32 // text: Function.Module of its functions
	kernel bool
}

// linkMappings interns the modules. The first mapping is the main binary by
// convention; Symbols get it first so that a writer puts it first again.
func (l *links) linkMappings() error {
	for i := range l.mappings {
		m := &l.mappings[i]
		for _, ref := range []textRef{m.file, m.buildID} {
			if err := l.checkText(ref); err != nil {
				return err
			}
		}
		path, build := l.name(m.file.index), l.name(m.buildID.index)
		mod := profile.Module{
			Path: l.texts[path], BuildID: l.texts[build], Start: m.start, Limit: m.limit, Offset: m.offset,
			HasFunctions: m.flags&1 != 0, HasFilenames: m.flags&2 != 0,
			HasLineNumbers: m.flags&4 != 0, HasInlineFrames: m.flags&8 != 0,
		}
		if err := l.spend(len(mod.Path)+len(mod.BuildID), m.at); err != nil {
			return err
		}
		m.linked.name = l.base(path)
		m.linked.kernel = kernelModule(l.texts[m.linked.name])
		if !nameOnly(&mod) {
			m.linked.module = l.symbols.Module(mod)
		}
		if placeholder(&mod) {
			m.linked.name = 0
		}
	}
	return nil
}

// resolve finds the frames of location i, or interns them.
func (l *links) resolve(x *extension, i int32) error {
	id := l.identity(&l.locations[i])
	slot, at, known := l.places.find(id.a, uint32(id.b))
	if known {
		x.located = l.located[at]
		return nil
	}
	if err := l.intern(x, i); err != nil {
		return err
	}
	slot.set(profile.StackID(len(l.located)))
	l.located = append(l.located, x.located)
	return nil
}

// mappingOf returns the mapping of a location.
func (l *links) mappingOf(loc *location) (m linkedMapping) {
	if loc.mapping != 0 {
		k, _ := l.mappingIDs.find(loc.mapping)
		m = l.mappings[k].linked
	}
	return m
}

// identity hashes what the file says of a location, so that it is known in another file, where
// its numbers are others.
func (l *links) identity(loc *location) sequenceHash {
	h := l.seed
	add := func(x uint64) { h = h.add(l.seed.number(x)) }
	m := l.mappingOf(loc)
	add(uint64(m.module))
	add(uint64(m.name))
	add(loc.address)
	for _, ln := range l.lines[loc.lines:loc.linesEnd] {
		fn := &l.functions[ln.function]
		for _, text := range []uint64{fn.name, fn.systemName, fn.file} {
			h = h.add(l.hash(text))
		}
		add(uint64(uint32(fn.startLine)))
		add(uint64(uint32(ln.line))<<32 | uint64(uint32(ln.column)))
	}
	return h
}

// hash returns the hash of a string that was checked before.
func (l *links) hash(index uint64) sequenceHash {
	h := &l.hashOf[index]
	if *h == (sequenceHash{}) {
		sp := l.strings[index]
		text := l.msg[sp.lo:sp.hi]
		*h = sequenceHash{maphash.Bytes(l.seeds[0], text), maphash.Bytes(l.seeds[1], text)}
	}
	return *h
}

// intern adds the frames of location i.
func (l *links) intern(x *extension, i int32) (err error) {
	loc := &l.locations[i]
	m := l.mappingOf(loc)
	x.first = int32(len(l.frames))
	fr := profile.Frame{Address: loc.address, Module: m.module}
	if m.kernel {
		fr.Type = profile.FrameKernel
	}
	lines := l.lines[loc.lines:loc.linesEnd]
	if len(lines) == 0 {
		var buf [18]byte
		key := functionKey{name: l.text(appendAddress(buf[:0], loc.address)), module: m.name}
		if fr.Function, err = l.internFunction(key, m, loc.at); err != nil {
			return err
		}
		l.frames = append(l.frames, l.symbols.Frame(fr))
	}
	if len(lines) > math.MaxUint16 {
		return protobuf.Malformed(loc.at, "a location with %d lines", len(lines))
	}
	for k := len(lines) - 1; k >= 0; k-- {
		ln := &lines[k]
		if fr.Function, err = l.linkFunction(&l.functions[ln.function], m); err != nil {
			return err
		}
		fr.Line, fr.Column = ln.line, ln.column
		fr.InlineDepth = uint16(len(lines) - 1 - k)
		if fr.InlineDepth > 0 {
			fr.Type = profile.FrameInlined
		}
		l.frames = append(l.frames, l.symbols.Frame(fr))
	}
	x.n = int32(len(l.frames)) - x.first
	x.hash = l.seed
	for _, fr := range l.frames[x.first:] {
		x.hash = x.hash.add(l.seed.number(uint64(fr)))
	}
	return nil
}

// appendAddress appends the name of the function that stands for an address
// without one.
func appendAddress(b []byte, address uint64) []byte {
	return strconv.AppendUint(append(b, "0x"...), address, 16)
}

func (l *links) linkFunction(fn *function, m linkedMapping) (profile.FunctionID, error) {
	if fn.linkedModule == m.name {
		return fn.linked, nil
	}
	k := functionKey{name: l.name(fn.name), systemName: l.name(fn.systemName), file: l.name(fn.file), module: m.name, line: fn.startLine}
	if k.name == 0 {
		if k.name = k.systemName; k.name == 0 {
			k.name = l.text([]byte(profile.NoName))
		}
	}
	if k.systemName == k.name {
		k.systemName = 0
	}
	id, err := l.internFunction(k, m, fn.at)
	fn.linked, fn.linkedModule = id, m.name
	return id, err
}

func (l *links) internFunction(k functionKey, m linkedMapping, at int) (profile.FunctionID, error) {
	h := k.hash()
	if i, ok := l.known.Find(h, func(i int32) bool { return l.keys[i] == k }); ok {
		return l.warm.ids[i], nil
	}
	fn := profile.Function{
		Name: l.texts[k.name], SystemName: l.texts[k.systemName], File: l.texts[k.file],
		Module: l.texts[k.module], StartLine: k.line,
	}
	fn.Kind = kindOf(&fn, m.kernel, l.hasGo, l.guess)
	id := l.symbols.Function(fn)
	l.known.Add(h, int32(len(l.keys)))
	l.keys, l.warm.ids = append(l.keys, k), append(l.warm.ids, id)
	return id, l.spend(len(fn.Name)+len(fn.SystemName)+len(fn.File)+len(fn.Module), at)
}

// hasGo reports whether a function of the profile is from a .go file, so that
// assembly files beside it are Go's as well.
func (l *links) hasGo() bool {
	if l.goSource == 0 {
		l.goSource = -1
		for i := range l.functions {
			sp := l.strings[l.functions[i].file]
			if sp.hi-sp.lo > 3 && string(l.msg[sp.hi-3:sp.hi]) == ".go" {
				l.goSource = 1
				break
			}
		}
	}
	return l.goSource > 0
}
