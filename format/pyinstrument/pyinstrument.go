// Package pyinstrument reads the JSON that pyinstrument writes with its option
// `-r json`: one tree of frames with the time spent in each.
//
// The format has no specification and no version; files of pyinstrument 4 and 5
// were seen. A frame has the time of itself and all that it calls. Its own time is
// what its children leave of that; the frames that pyinstrument adds for it
// (`[self]`, `[await]`, `[out-of-context]` and so on) are states of the frame that
// they are in. Times are seconds and become nanoseconds. docs/format/scripting.md
// lists what it does not keep.
//
// Nodes are kept as numbers until the whole file is read, because the fields of a
// frame may come in any order; memory and time are in proportion to the tree.
package pyinstrument

import (
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "pyinstrument"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return jsonscan.NewDecoder(Name, read) }

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	p.Profiler = Name
	f := file{scanner: s, p: p, depth: l.Depth, facts: profile.NewInterner(p), index: map[profile.Function]int32{}}
	f.read()
	if err := s.End(); err != nil {
		return err
	}
	if f.nodes == nil && !f.empty {
		return &profile.ParseError{Offset: -1, Err: profile.Malformed("no root_frame")}
	}
	f.link()
	return nil
}

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	o := jsonscan.NewOutline(prefix)
	return o.Has("root_frame") && o.Has("root_frame.function", "sample_count", "target_description", "cpu_time")
}

// file is one file.
type file struct {
	scanner *jsonscan.Scanner
	p       *profile.Profile
	depth   int // limit
	nodes   []node
	empty   bool // the root is null
	facts   *profile.Interner
	short   int // frames with less time than their children

	functions []profile.Function // of the nodes, each once
	index     map[profile.Function]int32
}

// node is one frame of the tree. Parents come before their children.
type node struct {
	parent   int32           // index; -1 for the root
	function int32           // index; noFunction if it is part of its parent's own time
	state    profile.StateID // which it then is in
	total    int64           // nanoseconds
	children int64           // the totals of the children
}

func (f *file) read() {
	s := f.scanner
	for key := range s.Object() {
		switch string(key) {
		case "start_time":
			f.p.Start = s.Date(9)
		case "duration":
			f.p.Duration = time.Duration(s.Fixed(9))
		case "target_description", "program":
			if text := s.Scalar(); text != "" {
				f.p.Comments = append(f.p.Comments, text)
			}
		case "root_frame":
			f.nodes = nil
			f.empty = s.Kind() == jsonscan.Null // nothing was sampled
			f.readTree()
		}
	}
}

// openFrame is a frame that is being read.
type openFrame struct {
	index    int32
	depth    int // frames from the root to it
	function profile.Function
}

func (f *file) readTree() {
	s := f.scanner
	jsonscan.Tree(s, func(parent *openFrame) openFrame {
		n, o := node{parent: -1}, openFrame{index: int32(len(f.nodes)), depth: 1}
		if parent != nil {
			n.parent, o.depth = parent.index, parent.depth+1
		}
		f.nodes = append(f.nodes, n)
		if o.depth > f.depth {
			s.TooDeep(f.depth)
		}
		return o
	}, f.readField, f.close)
}

func (f *file) readField(o *openFrame, key string) {
	s := f.scanner
	switch key {
	case "function":
		o.function.Name = s.Scalar()
	case "file_path":
		o.function.File = s.Scalar()
	case "line_no":
		if line := s.Fixed(0); line > 0 && line < 1<<31 {
			o.function.StartLine = int32(line)
		}
	case "time":
		f.nodes[o.index].total = s.Fixed(9)
	}
}

// synthetic reports whether a frame is one that pyinstrument adds: [self], [await],
// [out-of-context], [root], [X frames hidden].
func (o *openFrame) synthetic() bool {
	return o.function.File == "" && strings.HasPrefix(o.function.Name, "[") && strings.HasSuffix(o.function.Name, "]")
}

// close finishes a frame that was read to its end.
func (f *file) close(o *openFrame) {
	n := &f.nodes[o.index]
	if n.parent >= 0 {
		sum := &f.nodes[n.parent].children
		if *sum > 1<<62-max(0, n.total) {
			f.scanner.Errorf("the times add up to more than 62 bits of nanoseconds")
			return
		}
		*sum += max(0, n.total)
	}
	if o.synthetic() && n.parent >= 0 {
		n.function, n.state = noFunction, f.state(o.function.Name)
		return
	}
	o.function.Kind = profile.KindPython
	if o.function.File == "<built-in>" {
		o.function.Kind = profile.KindNative
	}
	n.function = intern.Number(f.index, &f.functions, o.function, o.function)
}

const noFunction = -1

// state returns the state that a synthetic frame stands for; none for [self].
func (f *file) state(name string) profile.StateID {
	if name == "[self]" {
		return 0
	}
	return f.facts.State(name)
}

// link makes a sample of the own time of each node.
func (f *file) link() {
	t := profile.Samples{Type: profile.NamedType(profile.Wall)}
	stacks := make([]profile.StackID, len(f.nodes))
	for i, n := range f.nodes {
		stacks[i] = profile.NoStack
		if n.parent >= 0 {
			stacks[i] = stacks[n.parent]
		}
		if n.function != noFunction {
			fn := f.p.Symbols.Function(f.functions[n.function])
			stacks[i] = f.p.Symbols.Stack(stacks[i], f.p.Symbols.Frame(profile.Frame{Function: fn}))
		}
		self := n.total - n.children
		if self < 0 {
			if self < -int64(time.Millisecond) {
				f.short++
			}
			continue // by rounding
		}
		if self > 0 {
			t.Add(stacks[i], self)
			t.State = append(t.State, n.state)
		}
	}
	if len(f.p.States) == 1 {
		t.State = nil
	}
	f.p.Tables = []profile.Samples{t}
	f.p.WarnCount(f.short, "%d frames have less time than their children")
}
