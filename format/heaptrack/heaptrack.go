// Package heaptrack reads the interpreted recordings of KDE's heaptrack
// (heaptrack.APP.PID.zst; the packing is taken off by package format): every allocation
// and deallocation of a program, with the stack that allocated.
//
//	v 10400 3                      version of heaptrack and of the file, hexadecimal
//	s 4 main                       a string: length, text; 1 is the first
//	i 5559ae6cd160 1 14 15 33      a place: address, module, function, file, line, …
//	t 8 7                          a stack: a place called from a stack
//	a 3e8 a                        a kind of allocation: size, stack; 0 is the first
//	+ 1                            an allocation of that kind, and its end (-)
//
// The format has no specification; version 3 of the file (heaptrack 1.4) was seen, and
// version 2 differs in the strings only. docs/format/native.md lists what it does not
// keep. A place has the functions that are inlined there, innermost first. Memory is
// bounded by the tables, not by the number of allocations.
package heaptrack

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "heaptrack"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

// Sniff reports whether text that begins with prefix is a recording of heaptrack.
func Sniff(prefix []byte) bool {
	first, rest, _ := bytes.Cut(prefix, []byte("\n"))
	fields := bytes.Fields(first)
	if len(fields) != 3 || string(fields[0]) != "v" {
		return false
	}
	_, program := stacktext.Hex(fields[1])
	_, file := stacktext.Hex(fields[2])
	return program && file && (bytes.HasPrefix(rest, []byte("X ")) || bytes.HasPrefix(rest, []byte("x ")))
}

// allocation is a kind of allocation: a size at a stack.
type allocation struct {
	size  int64
	stack profile.StackID

	count, temporary, live int64
	atPeak                 int64 // live at the peak, if it has changed since
	peak                   int64 // number of the peak that atPeak belongs to
}

// reader is the reading of one recording.
type reader struct {
	p       *profile.Profile
	limits  profile.Limits
	numbers []uint64 // of the line in work
	version uint64   // of the file

	strings     []string // the first is empty
	places      [][]profile.FrameID
	stacks      []profile.StackID // of traces; the first is none
	depths      []int
	allocations []allocation

	live, most int64 // bytes
	peak       int64 // number of the peak
	last       int64 // kind of the last line if it was an allocation, otherwise -1
}

func read(in *stacktext.Reading) error {
	p := in.Profile
	p.Profiler = "heaptrack"
	t := &reader{p: p, limits: in.Limits, strings: []string{""}, places: make([][]profile.FrameID, 1),
		stacks: []profile.StackID{profile.NoStack},
		depths: []int{0}, last: -1}
	for in.Next() {
		text := in.Text()
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		if in.Number() == 1 && text[0] != 'v' {
			return in.Malformed("not the first line of a recording")
		}
		rest, _ := bytes.CutPrefix(text[1:], []byte(" "))
		if err := t.line(text[0], rest); err != nil {
			return err
		}
	}
	if t.version == 0 {
		return in.Malformed("it is empty")
	}
	return t.fill()
}

// line reads a line by its letter. Letters that are not listed are the size of the
// process (R), the size of a page (I), suppressions (S) and marks.
func (t *reader) line(letter byte, text []byte) error {
	switch letter {
	case 'X':
		t.p.Comments = append(t.p.Comments[:0], stacktext.Clean(text))
		return nil
	case 's':
		return t.addString(text)
	case 'm', 'x':
		return fmt.Errorf("a raw recording of heaptrack: %w (interpret it first: heaptrack --analyze, or heaptrack_interpret < FILE)", profile.ErrUnsupported)
	case 'v', 'i', 't', 'a', '+', '-', 'c':
	default:
		return nil
	}
	t.numbers = t.numbers[:0]
	for field := range bytes.FieldsSeq(text) {
		n, ok := stacktext.Hex(field)
		if !ok {
			return profile.Malformed("%.40q is not a hexadecimal number", field)
		}
		t.numbers = append(t.numbers, n)
	}
	least := 1
	if bytes.IndexByte([]byte("vita"), letter) >= 0 {
		least = 2
	}
	if len(t.numbers) < least {
		return profile.Malformed("%d numbers behind %c", len(t.numbers), letter)
	}
	switch letter {
	case 'v':
		if t.version != 0 {
			return profile.Malformed("a second recording begins here; split the file")
		}
		t.version = t.numbers[1]
		t.p.ProfilerVersion = fmt.Sprintf("%d.%d.%d", t.numbers[0]>>16, t.numbers[0]>>8&0xff, t.numbers[0]&0xff)
		if t.version < 2 || t.version > 3 {
			return fmt.Errorf("version %d of heaptrack's file: %w (2 and 3 are read; print it with heaptrack_print -F FILE.folded)", t.version, profile.ErrUnsupported)
		}
	case 'i':
		return t.addPlace()
	case 't':
		return t.addTrace()
	case 'a':
		stack, ok := at(t.stacks, t.numbers[1])
		if !ok || t.numbers[0] > math.MaxInt64 {
			return errRange
		}
		t.allocations = append(t.allocations, allocation{size: int64(t.numbers[0]), stack: stack, peak: -1})
	case '+', '-':
		return t.allocate(letter == '+')
	case 'c':
		t.p.Duration = time.Duration(min(t.numbers[0], 1<<40)) * time.Millisecond
	}
	return nil
}

var errRange = profile.Malformed("a number of the line is outside its table")

func at[T any](list []T, i uint64) (v T, ok bool) {
	if i >= uint64(len(list)) {
		return v, false
	}
	return list[i], true
}

// addString reads `4 main`, or before version 3 `main`.
func (t *reader) addString(text []byte) error {
	if t.version >= 3 {
		_, rest, ok := bytes.Cut(text, []byte(" "))
		if !ok {
			return profile.Malformed("a string without its length")
		}
		text = rest
	}
	t.strings = append(t.strings, stacktext.Clean(text))
	return nil
}

// addPlace reads `5559ae6cd160 1 14 15 33`: address, module, and function, file, line of
// each function that is inlined there, innermost first. The last is the function itself;
// it may lack file and line.
func (t *reader) addPlace() error {
	address := t.numbers[0]
	path, ok := at(t.strings, t.numbers[1])
	if !ok {
		return errRange
	}
	s := t.p.Symbols
	module := s.Module(profile.Module{Path: path})
	calls := t.numbers[2:]
	n := max(1, (len(calls)+2)/3)
	frames := make([]profile.FrameID, n) // outermost first
	for i := range n {
		fn := profile.Function{Module: path[strings.LastIndexByte(path, '/')+1:], Kind: profile.KindNative}
		f := profile.Frame{Address: address, Module: module, InlineDepth: uint16(min(n-1-i, math.MaxUint16))}
		call := calls[min(3*i, len(calls)):]
		if len(call) > 0 {
			if fn.Name, ok = at(t.strings, call[0]); !ok {
				return errRange
			}
		}
		if len(call) > 2 {
			if fn.File, ok = at(t.strings, call[1]); !ok || call[2] > math.MaxInt32 {
				return errRange
			}
			f.Line = int32(call[2])
		}
		if fn.Name == "" {
			fn.Name, fn.Kind = fmt.Sprintf("%#x", address), profile.KindUnknown
		}
		if strings.Contains(fn.Name, "::") {
			fn.Kind = profile.KindCPP
		}
		if f.InlineDepth > 0 {
			f.Type = profile.FrameInlined
		}
		f.Function = s.Function(fn)
		frames[n-1-i] = s.Frame(f)
	}
	t.places = append(t.places, frames)
	return nil
}

// addTrace reads `8 7`: a place and the trace that it was called from.
func (t *reader) addTrace() error {
	frames, ok := at(t.places, t.numbers[0])
	stack, found := at(t.stacks, t.numbers[1])
	if !ok || !found {
		return errRange
	}
	depth := t.depths[t.numbers[1]] + len(frames)
	if depth > t.limits.Depth {
		return profile.TooDeep(t.limits.Depth)
	}
	for _, f := range frames {
		stack = t.p.Symbols.Stack(stack, f)
	}
	t.stacks, t.depths = append(t.stacks, stack), append(t.depths, depth)
	return nil
}

// allocate counts an allocation or its end. A kind that changes keeps what was live of it
// at the peak, so that a peak costs nothing until then.
func (t *reader) allocate(begin bool) error {
	if t.numbers[0] >= uint64(len(t.allocations)) {
		return errRange
	}
	kind := int64(t.numbers[0])
	a := &t.allocations[kind]
	if a.peak != t.peak {
		a.atPeak, a.peak = a.live, t.peak
	}
	if !begin {
		if a.live--; a.live < 0 {
			return profile.Malformed("more ends than allocations of kind %x", kind)
		}
		if t.last == kind {
			a.temporary++
		}
		t.live -= a.size
		t.last = -1
		return nil
	}
	if a.size > math.MaxInt64-t.live {
		return stacktext.ErrSum
	}
	a.count++
	a.live++
	t.last = kind
	if t.live += a.size; t.live > t.most {
		t.most = t.live
		t.peak++
	}
	return nil
}

// fill makes the tables.
func (t *reader) fill() error {
	types := []profile.ValueType{
		profile.NamedType(profile.Alloc), profile.NamedType(profile.AllocSamples), {Name: "temporary", Unit: "count"},
		profile.NamedType(profile.Peak), profile.NamedType(profile.PeakSamples), profile.NamedType(profile.Live),
		profile.NamedType(profile.LiveSamples),
	}
	tables := make([]*stacktext.Table, len(types))
	for i := range tables {
		tables[i] = stacktext.NewTable(t.limits)
	}
	for i := range t.allocations {
		a := &t.allocations[i]
		if a.peak != t.peak {
			a.atPeak = a.live
		}
		stack := a.stack
		if stack == profile.NoStack {
			stack = t.p.Symbols.Lost()
		}
		if a.size > 0 && a.count > math.MaxInt64/a.size {
			return stacktext.ErrSum
		}
		for i, v := range []int64{a.count * a.size, a.count, a.temporary, a.atPeak * a.size, a.atPeak, a.live * a.size, a.live} {
			if v > 0 && !tables[i].Add(stacktext.Row{Stack: stack, Value: v}) {
				return stacktext.ErrSum
			}
		}
	}
	for i, typ := range types {
		t.p.Tables = append(t.p.Tables, tables[i].Samples(typ, false, 0))
	}
	return nil
}
