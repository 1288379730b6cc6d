// Package folded reads and writes folded stacks, also called collapsed stacks:
// one stack a line, frames separated by semicolons, outermost first, and behind
// the last blank the number of samples.
//
//	java/lang/Thread.run_[j];shop/demo/Ledger.run_[i];shop/demo/Ledger.work_[j] 159
//
// The text has no specification. The reader takes what Brendan Gregg's FlameGraph
// scripts, inferno, async-profiler 2.9 to 4.6 with its converters and py-spy 0.4 write;
// docs/format/folded.md has the grammar, the conventions and what the reader does not
// keep. Conventions live in the spelling of frames: a compile mode (`_[j]`), a line
// (`C.m:20`), a Python place (`f (shop.py:8)`), and a first frame that names the thread.
// They are taken off when a frame is read and put back when it is written. Names keep
// their spelling: the package does not convert slashes to dots and does not touch names
// that change from run to run (package normalize); compression, archives and UTF-16 are
// package format's.
//
// Nearly all text that is read repeats what was read before: a line repeats the
// beginning of the line above it, a run repeats the stacks of the runs before.
// A Decoder lives off that. In sorted text it compares each line with the line
// above and continues behind the last shared frame; in other text it looks up
// the hash of the whole stack. What neither knows goes frame by frame, with one
// table lookup and one step in the tree of stacks for each. Time is linear in
// the text, memory is bounded by the tree and the longest line.
//
// With profile.Limits.Sums callers are entered without their compile mode and line: in
// text of a JVM, whose modes change from run to run, the tree has half as many stacks.
package folded

import (
	"io"
	"math/rand/v2"

	"github.com/dendroprof/dendro/profile"
)

// formatName is the name of the format, as in Profile.Format.
const formatName = "folded"

// strategy says how the stack of a line is found. All give the same result.
type strategy uint8

const (
	choose   strategy = iota // by the first lines of each file
	byPrefix                 // continue behind what the line shares with the line above
	byHash                   // look up the whole stack
	byFrames                 // neither: each line frame by frame; for comparison in tests
)

// Decoder reads folded text. It keeps what it learned about the spelling of
// frames and stacks for the next file into the same Symbols; with other Symbols
// it starts afresh. Use NewDecoder. A Decoder belongs to one goroutine at a
// time, and while it decodes so do the Symbols.
type Decoder struct {
	symbols *profile.Symbols
	sums    bool // Limits.Sums of what the caches are made of
	frames  frameCache
	stacks  stackCache
	hashes  []profile.StackHash // of frames by FrameID, if sums

	// Scratch memory, reused from file to file.
	buf      []byte
	aboveBuf []byte
	marksBuf []mark
	columns  [2]profile.Samples

	strategy strategy // choose, but for tests
}

// NewDecoder returns a Decoder that knows nothing yet.
func NewDecoder() *Decoder {
	return &Decoder{
		frames: frameCache{most: maxCached},
		// The seed differs from process to process, so that nobody can prepare
		// stacks that collide.
		stacks: stackCache{seed: rand.Uint64(), most: maxCached},
	}
}

// Decode reads the whole of r into a new profile over s. With s nil the profile
// gets Symbols of its own.
//
// Text that breaks the grammar is an error (*profile.ParseError with line and
// offset around profile.ErrMalformed or profile.ErrTooLarge); nothing is left
// out silently. After an error the Decoder may be used again; s may then hold
// frames and stacks that no profile uses.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	p := profile.New(s)
	p.Format = formatName
	if d.symbols != p.Symbols || d.sums != l.Sums {
		d.symbols, d.sums = p.Symbols, l.Sums
		d.frames.clear()
		d.stacks.clear()
		d.columns, d.hashes = [2]profile.Samples{}, nil
	}
	run := newRun(d, r, p, l.WithDefaults())
	defer run.giveBack()
	if err := run.read(); err != nil {
		return nil, err
	}
	run.finish()
	p.CountLost()
	return p.Checked()
}
