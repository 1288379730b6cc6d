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
// Samples repeat stacks of samples before: the callers of the innermost frame are
// looked up as one text, and only those that are new line by line, from the
// outermost inwards. Time is linear in the text; memory is bounded by the different
// lines, the texts of callers (up to a number of them) and a row per sample.
//
// Package perfdata reads perf.data.
package perfscript

import (
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "perfscript"

// NewDecoder returns a decoder, which keeps what it learned about the lines of frames for
// the next text into the same Symbols. Lines that fit nowhere are left out with a warning;
// if they are more than the samples, the first is an error with its number around
// profile.ErrMalformed.
func NewDecoder() profile.Decoder {
	known := &chains{}
	return stacktext.NewDecoder(Name, func(t *stacktext.Reading) error {
		p := t.Profile
		p.Profiler, p.ReturnAddresses = "perf", true
		if known.symbols != p.Symbols {
			*known = chains{symbols: p.Symbols}
		}
		return newRun(t, known).read()
	})
}

// chains are frames that one line stands for, outermost first; chain k is known as frame -k-1.
type chains struct {
	symbols *profile.Symbols
	list    [][]profile.FrameID
}
