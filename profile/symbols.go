package profile

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/internal/prefixtree"
)

// PrefixTree is an append-only tree of prefixes: node n stands for the sequence of
// Parent[n] followed by Item[n]. Parents have lower numbers than their children; the
// parent of a root is -1. Read the columns, do not write them.
type PrefixTree = prefixtree.Tree

// Symbols holds the functions, frames and stacks of one or many profiles.
// Entries are interned: equal content has one id. Nothing is ever removed.
//
// Read the tables freely; add through the methods. A Symbols that is being
// filled belongs to one goroutine.
type Symbols struct {
	Functions []Function
	Frames    []Frame
	Modules   []Module // index 0 is the zero Module: none
	// Scripts reports of a Function.Module whether it is a source of scripts (a web
	// page, an add-on) or a library, if the format has that.
	Scripts map[string]bool
	// Resources lists the modules in the order of the format's own table, if it has
	// one.
	Resources []string

	// Categories are in the order of the file that named them first; index 0 is
	// the zero Category: as the caller's.
	Categories []Category

	// Stacks is the prefix tree over frames: Parent is a StackID or NoStack,
	// Item a FrameID.
	Stacks PrefixTree

	room struct{ functions, frames, stacks int } // lengths that the tables may reach; 0: any
	more func() int                              // further room for stacks; nil: none
	full bool                                    // something found no room

	functions  intern.Index // of Functions, by all but their Kind
	frames     intern.Index // of Frames
	modules    map[Module]ModuleID
	categories map[Category]CategoryID

	hashing     sync.Mutex  // Hash fills the hashes, though it only reads the profile
	frameHashes []StackHash // of the content of each frame; a prefix of Frames
	hashes      []StackHash // of the content of each stack; a prefix of Stacks
}

// NoName is the name of functions whose name is not known: perf's spelling, which other
// tools took over.
const NoName = "[unknown]"

// Function is one function of a program.
type Function struct {
	Name       string // as shown: qualified, demangled
	SystemName string // as the linker knows it; empty when equal to Name
	Module     string // library, binary, package bundle; empty when unknown
	File       string
	StartLine  int32
	Column     int32
	Language   string

	// Kind is an attribute, not identity: the first one known stays.
	Kind Kind
}

// Package returns the beginning of a function's name that names its package in Go, or else its class or namespace, with
// the separator behind it; empty if the name has none.
func (f *Function) Package() string {
	name := WithoutClone(f.Name)
	if (f.Kind == KindJS || f.Kind == KindJSLabel || f.Kind == KindLabel) && strings.Contains(name, "/") {
		return "" // load/< is a function of load, a label may be an address
	}
	isGo := f.Kind == KindGo || f.Kind == KindGoRuntime || strings.Contains(name, "(*")
	end, depth, dotted, scoped := 0, 0, false, false
	for i := range len(name) {
		switch c := name[i]; {
		case strings.IndexByte("(<[{", c) >= 0: // arguments have packages of their own
			depth++
		case strings.IndexByte(")>]}", c) >= 0:
			depth = max(0, depth-1) // operator-> opens none
		case depth > 0:
		case c == '/':
			end, dotted, scoped = i+1, false, false
		case strings.HasPrefix(name[i:], "::"):
			end, scoped = i+2, true
		case c == '.' && !scoped && !(isGo && dotted): // closures and methods of Go have dots too
			end, dotted = i+1, true
		}
	}
	return name[:end]
}

// IsSharedLibrary reports whether the path or file name of a module is that of a shared library: libz.so.1.2, ntdll.dll.
func IsSharedLibrary(path string) bool {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	return strings.Contains(name+".", ".so.") || strings.HasSuffix(name, ".dll") || strings.HasSuffix(name, ".dylib")
}

// WithoutClone returns a name without what GCC adds to that of a clone: "f.isra.0.cold" is a clone of f.
func WithoutClone(name string) string {
	rest := name
	for {
		at := strings.LastIndexByte(rest, '.')
		if at < 0 {
			return name
		}
		last := rest[at+1:]
		rest = rest[:at]
		switch {
		case last == "cold" || last == "constprop" || last == "isra" || last == "lto_priv" || last == "part":
			name = rest
		case strings.Trim(last, "0123456789") != "":
			return name
		}
	}
}

// hash returns the hash of what a function is known by: all but its Kind.
func (f *Function) hash() uint64 {
	h := intern.String(f.Name)
	for _, text := range [...]string{f.SystemName, f.Module, f.File, f.Language} {
		if text != "" {
			h = intern.With(h, intern.String(text))
		}
	}
	return intern.With(h, uint64(uint32(f.StartLine))<<32|uint64(uint32(f.Column)))
}

// same reports whether two functions are one, though their Kind may differ.
func (f *Function) same(g *Function) bool {
	return f.Name == g.Name && f.SystemName == g.SystemName && f.Module == g.Module && f.File == g.File &&
		f.StartLine == g.StartLine && f.Column == g.Column && f.Language == g.Language
}

// Frame is one spot in a function. Every field is part of its identity.
type Frame struct {
	Function    FunctionID
	Line        int32  // 0 when unknown
	Column      int32  // 0 when unknown
	Address     uint64 // of the instruction; 0 when unknown
	Module      ModuleID
	InlineDepth uint16 // 0: a real call; n: inlined n calls deep at this address
	Type        FrameType
	Category    CategoryID
}

func (f *Frame) hash() uint64 {
	h := intern.With(uint64(uint32(f.Function)), uint64(uint32(f.Line))<<32|uint64(uint32(f.Column)))
	h = intern.With(h, f.Address)
	h = intern.With(h, uint64(uint32(f.Module))<<32|uint64(f.InlineDepth)<<16|uint64(f.Type))
	return intern.With(h, uint64(uint32(f.Category)))
}

// Module is a mapped binary or library, pprof's mapping, Firefox's lib.
type Module struct {
	Path                 string
	BuildID              string
	Start, Limit, Offset uint64

	HasFunctions, HasFilenames, HasLineNumbers, HasInlineFrames bool
}

// Category says what a frame was doing (JavaScript, Layout, Idle): a group with
// a colour, divided once more. Subcategory is empty for the group itself.
type Category struct {
	Name, Color, Subcategory string
}

// NewSymbols returns empty tables.
func NewSymbols() *Symbols {
	return &Symbols{
		Modules:    make([]Module, 1),
		modules:    map[Module]ModuleID{{}: 0},
		Categories: make([]Category, 1),
		categories: map[Category]CategoryID{{}: 0},
		Scripts:    map[string]bool{},
	}
}

// Grow makes room for further functions and frames, and for as many stacks as frames.
func (s *Symbols) Grow(functions, frames int) {
	s.Stacks.Grow(frames)
	s.Functions, s.Frames = slices.Grow(s.Functions, functions), slices.Grow(s.Frames, frames)
	s.functions.Grow(functions)
	s.frames.Grow(frames)
}

// Snapshot returns the functions, frames, modules and stacks of now, to be read by others while s
// grows. Nothing may be added to it. The Kind of its functions may not be read: s fills it in.
func (s *Symbols) Snapshot() *Symbols {
	return &Symbols{Functions: slices.Clip(s.Functions), Frames: slices.Clip(s.Frames), Modules: slices.Clip(s.Modules),
		Stacks: PrefixTree{Parent: slices.Clip(s.Stacks.Parent), Item: slices.Clip(s.Stacks.Item)}}
}

// Limit gives the tables of functions and frames room for n further entries each, and that
// of stacks, unless that is 0, for so many. What finds no room becomes another entry, and
// Full reports it: the profile that was being read is of no use then.
func (s *Symbols) Limit(n, stacks int) {
	s.room.functions, s.room.frames, s.full = len(s.Functions)+n, len(s.Frames)+n, false
	s.more = nil
	if s.room.stacks = 0; stacks > 0 {
		s.room.stacks = s.Stacks.Len() + stacks
	}
}

// LimitStacks lets the table of stacks have n entries, 1 at least, and asks more before it gets
// further ones: for how many there is room, 0 for none. Limit ends that.
func (s *Symbols) LimitStacks(n int, more func() int) {
	s.room.stacks, s.more = max(n, 1), more
}

// Full reports whether something has found no room since Limit.
func (s *Symbols) Full() bool { return s.full }

// Function interns f. A Kind is filled in when the function had none before.
func (s *Symbols) Function(f Function) FunctionID {
	h := f.hash()
	known, ok := s.functions.Find(h, func(id int32) bool { return s.Functions[id].same(&f) })
	if ok {
		if fn := &s.Functions[known]; fn.Kind == KindUnknown {
			fn.Kind = f.Kind
		}
		return FunctionID(known)
	}
	if s.room.functions != 0 && len(s.Functions) >= s.room.functions {
		s.full = true
		return 0
	}
	if f.Name == LostName {
		f.Kind = KindLabel
	}
	id := FunctionID(len(s.Functions))
	s.Functions = append(s.Functions, f)
	s.functions.Add(h, int32(id))
	return id
}

// Frame interns f.
func (s *Symbols) Frame(f Frame) FrameID {
	h := f.hash()
	if known, ok := s.frames.Find(h, func(id int32) bool { return s.Frames[id] == f }); ok {
		return FrameID(known)
	}
	if s.room.frames != 0 && len(s.Frames) >= s.room.frames {
		s.full = true
		return 0
	}
	id := FrameID(len(s.Frames))
	s.Frames = append(s.Frames, f)
	s.frames.Add(h, int32(id))
	return id
}

// Module interns m.
func (s *Symbols) Module(m Module) ModuleID {
	if id, ok := s.modules[m]; ok {
		return id
	}
	id := ModuleID(len(s.Modules))
	s.Modules = append(s.Modules, m)
	s.modules[m] = id
	return id
}

// Category interns c. There is room for 32,767 categories; those beyond are the
// zero Category.
func (s *Symbols) Category(c Category) CategoryID {
	if id, ok := s.categories[c]; ok {
		return id
	}
	if len(s.Categories) > math.MaxInt16 {
		return 0
	}
	id := CategoryID(len(s.Categories))
	s.Categories = append(s.Categories, c)
	s.categories[c] = id
	return id
}

// Stack interns the stack that calls frame from parent (NoStack: outermost).
func (s *Symbols) Stack(parent StackID, frame FrameID) StackID {
	if s.room.stacks != 0 && s.Stacks.Len() >= s.room.stacks {
		return s.stackWithoutRoom(parent, frame)
	}
	return StackID(s.Stacks.Child(int32(parent), int32(frame)))
}

// stackWithoutRoom is Stack when there is no room for others, unless there is more.
func (s *Symbols) stackWithoutRoom(parent StackID, frame FrameID) StackID {
	id, ok := s.Stacks.Find(int32(parent), int32(frame))
	if ok {
		return StackID(id)
	}
	if s.more != nil {
		if n := s.more(); n > 0 {
			s.room.stacks += n
			return StackID(s.Stacks.Child(int32(parent), int32(frame)))
		}
	}
	s.full = true
	return 0
}

// Parent returns the stack without its innermost frame.
func (s *Symbols) Parent(id StackID) StackID { return StackID(s.Stacks.Parent[id]) }

// Leaf returns the innermost frame of a stack.
func (s *Symbols) Leaf(id StackID) FrameID { return FrameID(s.Stacks.Item[id]) }

// Path appends the frames of a stack to buf, outermost first.
func (s *Symbols) Path(id StackID, buf []FrameID) []FrameID {
	from := len(buf)
	for ; id != NoStack; id = s.Parent(id) {
		buf = append(buf, s.Leaf(id))
	}
	for i, j := from, len(buf)-1; i < j; i, j = i+1, j-1 {
		buf[i], buf[j] = buf[j], buf[i]
	}
	return buf
}

// stackHashes returns the hash of every stack. Those of earlier calls are kept, so each
// is computed once.
func (s *Symbols) stackHashes() []StackHash {
	s.hashing.Lock()
	defer s.hashing.Unlock()
	for i := len(s.frameHashes); i < len(s.Frames); i++ {
		s.frameHashes = append(s.frameHashes, s.FrameHash(FrameID(i)))
	}
	for i := len(s.hashes); i < s.Stacks.Len(); i++ {
		var parent StackHash
		if p := s.Stacks.Parent[i]; p >= 0 {
			parent = s.hashes[p]
		}
		s.hashes = append(s.hashes, parent.Call(s.frameHashes[s.Stacks.Item[i]]))
	}
	return s.hashes
}

// FrameHash returns a hash of what a frame says, as StackHash.Call takes it.
func (s *Symbols) FrameHash(id FrameID) StackHash {
	return StackHash(xxh3.Hash128(s.appendFrame(nil, id)))
}

// appendFrame appends everything that a frame says, with lengths, so that no
// two different frames give the same bytes.
func (s *Symbols) appendFrame(buf []byte, id FrameID) []byte {
	f := &s.Frames[id]
	fn := &s.Functions[f.Function]
	for _, text := range []string{fn.Name, fn.SystemName, fn.Module, fn.File, fn.Language, s.Modules[f.Module].Path} {
		buf = binary.AppendUvarint(buf, uint64(len(text)))
		buf = append(buf, text...)
	}
	for _, n := range []int64{int64(fn.StartLine), int64(fn.Column), int64(f.Line), int64(f.Column),
		int64(f.Address), int64(f.InlineDepth), int64(f.Type)} {
		buf = binary.AppendVarint(buf, n)
	}
	return buf
}
