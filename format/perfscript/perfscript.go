// Package perfscript reads the text that `perf script` prints: one record per
// sample, a header line and below it the stack, innermost frame first.
//
//	db writer 14759  2433.389768:    5025125 cpu-clock:
//		    1b84 shop::Ledger::post+0x14 (/srv/shop/mix)
//		   891f5 start_thread+0x305 (/usr/lib/x86_64-linux-gnu/libc.so.6)
//
// The text has no specification but tools/perf/builtin-script.c of the kernel. What perf
// 6.1 prints was seen, with the fields of its default and of subsets chosen by -F;
// docs/format/perf.md has the grammar and what the reader does not keep.
//
// Each event becomes a value type of its own: cycles and instructions do not
// add. Thread, time and processor of a sample are kept; offsets into functions
// are dropped from the names, addresses are not. Inlined frames come from
// `--inline` and from the `a->b` chains that JIT compilers' maps have.
//
// Samples repeat the outermost frames of the sample above, and other frames of
// any sample before. A stack is therefore read from its outermost line inwards:
// as long as lines are those of the stack above it costs a comparison, and then
// one look-up of the line's text. Time is linear in the text; memory is bounded
// by the different lines, the longest stack and a row per sample.
//
// Package perfdata reads perf.data.
package perfscript

import (
	"io"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "perfscript"

// Decoder reads texts one after the other. It keeps what it learned about the
// lines of frames for the next text into the same Symbols. It belongs to one
// goroutine; the profiles that it returns do not refer to it.
type Decoder struct {
	symbols *profile.Symbols
	in      stacktext.Lines
	frames  stacktext.Frames
	chains  [][]profile.FrameID // outermost first; chain k is known to frames as -k-1
}

// NewDecoder returns a Decoder that knows nothing yet.
func NewDecoder() *Decoder { return &Decoder{} }

// Decode reads the whole of r into a new profile over s; with s nil it gets
// Symbols of its own. Lines that fit nowhere are left out with a warning; if they are more
// than the samples, the first is an error with its number around profile.ErrMalformed.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	p := profile.New(s)
	p.Format, p.Profiler, p.ReturnAddresses = Name, "perf", true
	if d.symbols != p.Symbols {
		d.symbols, d.chains = p.Symbols, nil
	}
	d.frames.Use(p.Symbols)
	l = l.WithDefaults()
	d.in.Reset(r, l.Line)
	run := newRun(d, p, l)
	if err := run.read(); err != nil {
		return nil, err
	}
	run.finish()
	return p.Checked()
}
