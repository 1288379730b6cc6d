package jfr

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// stack returns the stack of a number. 0 and a number that the chunk does not
// have are no stack; the latter is counted.
func (ch *chunk) stack(id uint64) profile.StackID {
	v := ch.pools[poolStack].get(id)
	if v == nil {
		if id != 0 {
			ch.found.lostStacks++
		}
		return profile.NoStack
	}
	if n, ok := entry(*v); ok {
		return profile.StackID(n)
	}
	st := ch.readStack(int(*v - 1))
	*v = resolved(int32(st))
	return st
}

// readStack reads the stack trace at a place.
func (ch *chunk) readStack(at int) profile.StackID {
	c := cursor{b: ch.b, i: at}
	var r record
	ch.meta.constants[poolStack].run(&c, &r)
	if r[slotTruncated] != 0 {
		ch.found.cutStacks++
	}
	if r[slotFrames] == 0 || r[slotFrames] >= uint64(len(ch.b)) {
		return profile.NoStack
	}
	c.i = int(r[slotFrames])
	n := c.varint()
	if n > uint64(ch.limits.Depth) {
		ch.stop(at, profile.TooDeep(ch.limits.Depth))
		return profile.NoStack
	}
	if !ch.spend(int(n), at) {
		return profile.NoStack
	}
	ch.leaf = ch.leaf[:0]
	for ; n > 0 && !c.bad; n-- {
		ch.meta.frame.run(&c, &r)
		ch.leaf = append(ch.leaf, ch.frame(r[slotMethod], int32(r[slotLine]), r[slotType]))
	}
	st := profile.NoStack
	for _, f := range slices.Backward(ch.leaf) {
		st = ch.p.Symbols.Stack(st, f)
	}
	return st
}

// frame returns the frame of a method at a line.
func (ch *chunk) frame(method uint64, line int32, frameType uint64) profile.FrameID {
	mode := ch.frameType(frameType)
	native := mode == profile.FrameCPP || mode == profile.FrameKernel || mode == profile.FrameNative && ch.async()
	if line = max(line, 0); native {
		line = 0 // async-profiler has the offset in the code there, if anything
	}
	return ch.names.frame(ch.method(method, native, mode), line, mode)
}

// frameTypes are the descriptions of compile modes.
var frameTypes = map[string]profile.FrameType{
	"Interpreted":  profile.FrameInterpreted,
	"JIT compiled": profile.FrameJIT,
	"Inlined":      profile.FrameInlined,
	"Native":       profile.FrameNative,
	"C++":          profile.FrameCPP,
	"Kernel":       profile.FrameKernel,
	"C1 compiled":  profile.FrameC1,
}

func (ch *chunk) frameType(id uint64) profile.FrameType {
	v := ch.pools[poolFrameType].get(id)
	if v == nil {
		return profile.FrameUnknown
	}
	if n, ok := entry(*v); ok {
		return profile.FrameType(n)
	}
	r := ch.constant(poolFrameType, v)
	t := frameTypes[string(ch.text(nil, r[slotName]))]
	*v = resolved(int32(t))
	return t
}

// method returns the function of a method. In native code its class is the
// library, which is not part of the name.
func (ch *chunk) method(id uint64, native bool, mode profile.FrameType) profile.FunctionID {
	known := &ch.functions
	if native {
		known = &ch.natives
	}
	if v := known.get(id); v != nil {
		return profile.FunctionID(*v - 1)
	}
	var class, name textID
	if at := ch.pools[poolMethod].get(id); at != nil {
		r := ch.constant(poolMethod, at)
		class, name = ch.className(r[slotClass]), ch.symbol(r[slotName])
	} else {
		ch.found.lostMethods++
	}
	fn := ch.names.function(class, name, native, mode)
	known.put(id, int64(fn)+1)
	return fn
}

// textID is a text of names.texts; 0 is the empty one.
type textID int32

// names finds the functions and frames of Symbols by what a recording says of
// them. Texts are numbered once, so that nothing is compared twice.
type names struct {
	symbols   *profile.Symbols
	texts     []string
	textIDs   map[string]textID
	functions idTable // by kind, class and name
	frames    idTable // by function, line and mode
}

// over makes n the index of s.
func (n *names) over(s *profile.Symbols) {
	if n.symbols != s {
		*n = names{symbols: s, texts: []string{""}, textIDs: map[string]textID{"": 0}}
	}
}

// text returns the number of a text, which is made valid UTF-8.
func (n *names) text(b []byte) textID {
	id, ok := n.textIDs[string(b)]
	if !ok {
		id = textID(len(n.texts))
		n.texts = append(n.texts, clean(string(b)))
		n.textIDs[string(b)] = id
	}
	return id
}

// What tells the functions of one class and name apart in names.functions.
const (
	keyJava = iota
	keyNative
	keyKernel
	keyClass
)

// functionKey packs a kind, a class and a name into one number.
func functionKey(kind uint64, class, name textID) uint64 {
	return kind<<62 | uint64(class)<<31 | uint64(name)
}

// function returns the function of a method.
func (n *names) function(class, name textID, native bool, mode profile.FrameType) profile.FunctionID {
	kind := uint64(keyJava)
	switch {
	case mode == profile.FrameKernel:
		kind = keyKernel
	case native:
		kind = keyNative
	}
	key := functionKey(kind, class, name)
	if v := n.functions.get(key); v != nil {
		return profile.FunctionID(*v - 1)
	}
	f := profile.Function{Name: n.texts[name], Kind: profile.KindJava}
	library := n.texts[class]
	switch {
	case kind != keyJava:
		f.Module, f.Kind = library, nativeKind(f.Name, mode)
		f.Name = cmp.Or(f.Name, library)
	case library != "":
		f.Name = library + "." + f.Name
	}
	if f.Name == "" {
		f.Name, f.Kind = profile.NoName, profile.KindUnknown
	}
	id := n.symbols.Function(f)
	n.functions.put(key, int64(id)+1)
	return id
}

// class returns the function that stands for a class at the leaf of a stack.
func (n *names) class(name textID) profile.FunctionID {
	key := functionKey(keyClass, name, 0)
	if v := n.functions.get(key); v != nil {
		return profile.FunctionID(*v - 1)
	}
	id := n.symbols.Function(profile.Function{Name: typeName(n.texts[name]), Kind: profile.KindClass})
	n.functions.put(key, int64(id)+1)
	return id
}

// Frames are looked up by one number: function, line and mode side by side.
const (
	modeBits = 4
	lineBits = 25
)

// frame returns the frame of a function at a line.
func (n *names) frame(fn profile.FunctionID, line int32, mode profile.FrameType) profile.FrameID {
	if line >= 1<<lineBits {
		return n.symbols.Frame(profile.Frame{Function: fn, Line: line, Type: mode})
	}
	key := (uint64(fn)<<lineBits|uint64(line))<<modeBits | uint64(mode)
	if v := n.frames.get(key); v != nil {
		return profile.FrameID(*v - 1)
	}
	id := n.symbols.Frame(profile.Frame{Function: fn, Line: line, Type: mode})
	n.frames.put(key, int64(id)+1)
	return id
}

// clean mends a name that is not UTF-8.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// nativeKind tells what native code is written in, by its name.
func nativeKind(name string, mode profile.FrameType) profile.Kind {
	switch {
	case mode == profile.FrameKernel:
		return profile.KindKernel
	case mode == profile.FrameCPP, strings.Contains(name, "::"):
		return profile.KindCPP
	case strings.HasSuffix(name, " stub"), strings.HasPrefix(name, "I2C/C2I adapters"):
		return profile.KindStub
	case name == "" || name[0] == '[':
		return profile.KindUnknown
	}
	return profile.KindNative
}

// primitives are the element types of arrays in class names.
var primitives = map[byte]string{
	'B': "byte", 'C': "char", 'D': "double", 'F': "float", 'I': "int", 'J': "long", 'S': "short", 'Z': "boolean",
}

// typeName spells a class as Java source does, from the spelling of class files:
// "[Ljava/lang/String;" is "java.lang.String[]".
func typeName(class string) string {
	base := strings.TrimLeft(class, "[")
	dims := len(class) - len(base)
	switch {
	case dims == 0:
	case len(base) == 1 && primitives[base[0]] != "":
		base = primitives[base[0]]
	case strings.HasPrefix(base, "L"):
		base = strings.TrimSuffix(base[1:], ";")
	}
	if base = strings.ReplaceAll(base, "/", "."); base == "" {
		base = profile.NoName
	}
	return base + strings.Repeat("[]", dims)
}
