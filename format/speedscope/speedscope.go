// Package speedscope reads and writes the file format of speedscope, which py-spy,
// rbspy, dotnet-trace and many others write too.
//
// Specification: https://www.speedscope.app/file-format-schema.json. Each profile
// in a file is a thread; it is sampled (stacks with weights) or evented (frames
// opened and closed at times). Evented profiles become samples: one for each
// stretch of time in which the stack stays the same, and one without a stack where
// nothing is open between two such stretches.
//
// The tree of stacks is kept as numbers of frames until the whole file is read,
// because the frames may come behind the profiles; so memory is in proportion to
// the tree and the samples, and time to the file. What an exporter got wrong
// (closes that do not match, times that go back) is mended and reported.
// docs/format/browsers.md says what the units become and what the reader does not keep.
package speedscope

import (
	"math"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/prefixtree"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "speedscope"

// NewDecoder returns a decoder. Errors have the offset of the value, or of the profile
// in which it is.
func NewDecoder() profile.Decoder { return jsonscan.NewDecoder(Name, read) }

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	f := file{scanner: s, depth: l.Depth}
	f.read()
	if err := s.End(); err != nil {
		return err
	}
	k := linker{file: &f, p: p, limits: l}
	return k.link()
}

// Sniff reports whether content that begins with prefix is of this format. The
// schema and the frames may come late, so the shape of a profile is as good.
func Sniff(prefix []byte) bool {
	o := jsonscan.NewOutline(prefix)
	switch o["profiles[].type"] {
	case "sampled", "evented":
		return true
	}
	return strings.Contains(o["$schema"], "speedscope") || strings.HasPrefix(o["exporter"], "speedscope@") && o.Has("profiles")
}

// file is what is kept of a file until all of it is read.
type file struct {
	scanner *jsonscan.Scanner
	depth   int // limit

	exporter string
	name     string
	frames   []frame
	tree     prefixtree.Tree // of indexes of frames
	profiles []*oneProfile
	repairs  repairs
	clock    jsonscan.Clock

	// The sample before: indexes of frames, and the node up to each.
	last, nodes, scratch []int32
}

// frame is one entry of shared.frames.
type frame struct {
	name, file   string
	line, column int32
}

// oneProfile is one entry of profiles.
type oneProfile struct {
	at               int64 // offset
	kind, name, unit string
	start, end       jsonscan.Decimal

	nodes   []int32 // of tree, one per sample
	weights []jsonscan.Decimal
	times   []int64 // nanoseconds, in place of weights if the unit of time is known before them
	weighed bool
	events  []event  // if the unit is not known before them
	nesting *nesting // of the events otherwise
}

// event opens or closes a frame.
type event struct {
	at    jsonscan.Decimal
	frame int32
	open  bool
}

func (f *file) read() {
	s := f.scanner
	for key := range s.Object() {
		switch string(key) {
		case "exporter":
			f.exporter = s.Scalar()
		case "name":
			f.name = s.Scalar()
		case "shared":
			for key := range s.Object() {
				if string(key) == "frames" {
					f.readFrames()
				}
			}
		case "profiles":
			for range s.Array() {
				p := &oneProfile{}
				f.readProfile(p)
				f.profiles = append(f.profiles, p)
			}
		}
	}
}

func (f *file) readFrames() {
	s := f.scanner
	for range s.Array() {
		var fr frame
		for key := range s.Object() {
			switch string(key) {
			case "name":
				fr.name = s.Scalar()
			case "file":
				fr.file = s.Scalar()
			case "line":
				fr.line = s.Place()
			case "col":
				fr.column = s.Place()
			}
		}
		f.frames = append(f.frames, fr)
	}
}

func (f *file) readProfile(p *oneProfile) {
	s := f.scanner
	for key := range s.Object() {
		if p.at == 0 {
			p.at = s.Offset()
		}
		switch string(key) {
		case "type":
			p.kind = s.Text()
		case "name":
			p.name = s.Scalar()
		case "unit":
			p.unit = s.Text()
		case "startValue":
			p.start = s.Decimal()
		case "endValue":
			p.end = s.Decimal()
		case "samples":
			for range s.Array() {
				p.nodes = append(p.nodes, f.readStack())
			}
		case "weights":
			p.weighed = s.Kind() == jsonscan.Array
			decimals, timed := timeUnit(p.unit)
			for range s.Array() {
				if timed {
					p.times = append(p.times, s.Fixed(decimals))
				} else {
					p.weights = append(p.weights, s.Decimal())
				}
			}
		case "events":
			f.readEvents(p)
		}
	}
}

// readStack reads one sample and returns its node. What it shares with the sample
// before at its outermost end is not looked up again.
func (f *file) readStack() int32 {
	s := f.scanner
	stack := jsonscan.Ints(s, f.scratch[:0], -1)
	f.scratch = f.last
	if len(stack) > f.depth {
		f.scanner.TooDeep(f.depth)
		return prefixtree.Root
	}
	node, same := prefixtree.Root, 0
	for same < len(stack) && same < len(f.last) && stack[same] == f.last[same] {
		node = f.nodes[same]
		same++
	}
	f.nodes = f.nodes[:same]
	for _, i := range stack[same:] {
		if i < 0 || i == math.MaxInt32 {
			s.Errorf("frame %d", i)
			return prefixtree.Root
		}
		node = f.tree.Child(node, i)
		f.nodes = append(f.nodes, node)
	}
	f.last = stack
	return node
}

// readIndex reads the index of a frame.
func (f *file) readIndex() int32 {
	i := f.scanner.Int()
	if i < 0 || i >= 1<<31-1 {
		f.scanner.Errorf("frame %d", i)
		return -1
	}
	return int32(i)
}

// readEvents reads the events of a profile, and follows them if their unit of time is
// known.
func (f *file) readEvents(p *oneProfile) {
	s := f.scanner
	decimals, timed := timeUnit(p.unit)
	if timed && p.kind == "evented" {
		p.nesting = newNesting(f, p, decimals)
	}
	for range s.Array() {
		e := f.readEvent()
		if s.Err() != nil {
			return
		}
		if p.nesting == nil {
			p.events = append(p.events, e)
		} else if err := p.nesting.add(e); err != nil {
			s.Fail(err)
		}
	}
}

func (f *file) readEvent() (e event) {
	s := f.scanner
	for key := range s.Object() {
		switch string(key) {
		case "type":
			switch kind := s.Text(); kind {
			case "O":
				e.open = true
			case "C":
				e.open = false
			default:
				s.Errorf("an event of type %.20q", kind)
			}
		case "frame":
			e.frame = f.readIndex()
		case "at":
			e.at = s.Decimal()
		}
	}
	return e
}
