package profile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"strings"
)

// The four ways in which input is not a profile. A reader wraps exactly one of
// them, so that callers can branch with errors.Is.
var (
	// ErrUnrecognized: no reader knows this content; a directory walk skips it.
	ErrUnrecognized = errors.New("not a profile of a known format")
	// ErrMalformed: the format is known and the content breaks its rules.
	ErrMalformed = errors.New("malformed")
	// ErrUnsupported: the format is known, this version or kind of it is not read.
	ErrUnsupported = errors.New("unsupported")
	// ErrTooLarge: a limit was reached; the message names the option that raises it.
	ErrTooLarge = errors.New("too large")
)

// ParseError is an error with a place in the input.
type ParseError struct {
	Source string // file name, or an archive's name and the member's: "a.zip: x.pb"
	Line   int    // 1-based; 0 when the format has no lines
	Offset int64  // bytes from the start of the decompressed content; -1 unknown
	Err    error
	Hint   string // what the user can do; may be empty
}

// Error returns the place, the error and the hint.
func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString(e.Source)
	switch {
	case e.Line > 0 && e.Source == "":
		fmt.Fprintf(&b, "line %d", e.Line)
	case e.Line > 0:
		fmt.Fprintf(&b, ":%d", e.Line)
	case e.Offset >= 0 && e.Source == "":
		fmt.Fprintf(&b, "byte %d", e.Offset)
	case e.Offset >= 0:
		fmt.Fprintf(&b, ": byte %d", e.Offset)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns Err, so that callers can branch on what went wrong.
func (e *ParseError) Unwrap() error { return e.Err }

// Limits bounds what a reader takes from one input. The zero value of a field
// means its default.
type Limits struct {
	Depth    int   // frames of one stack; default 65,536; option --max-depth
	Frames   int   // different frames of one file; default 2,097,152; option --max-frames
	Line     int   // bytes of one line of text; default 16 MiB; option --max-line
	Inflated int64 // bytes of one file after decompression; default 16 GiB; option --max-size
	Message  int64 // bytes of a format that must be held in memory whole (pprof); default 1 GiB; option --max-message

	// Memory is the maximum live heap of the process while reading, in bytes;
	// default none; option --max-memory.
	Memory int64
	// Sums: the user of the profile needs only sums per call path, thread, labels, state
	// and type of the innermost frame. Readers may drop the times and addresses of tables
	// of SumRows rows and more, and all but the functions of frames that are not
	// innermost; the table then has Samples.Content.
	Sums bool

	// Room, if not nil, counts bytes of memory that a reader takes for what its input has besides
	// functions, frames, stacks and samples. Its error ends the reading.
	Room interface{ Take(bytes int64) error }
}

// Take counts bytes of memory before they are taken.
func (l Limits) Take(bytes int64) error {
	if l.Room == nil {
		return nil
	}
	return l.Room.Take(bytes)
}

// Decoder reads profiles of one format. Decode reads r to its end and adds functions,
// frames and stacks to s; nil means Symbols of its own. A decoder may keep what it
// learned about s for the next call. Errors with a place are of type *ParseError,
// without Source. After an error s may hold entries that no profile uses.
type Decoder interface {
	Decode(r io.Reader, s *Symbols, l Limits) (*Profile, error)
}

// Default limits.
const (
	DefaultDepth    = 65_536
	DefaultFrames   = 2 << 20
	DefaultLine     = 16 << 20
	DefaultInflated = 16 << 30
	DefaultMessage  = 1 << 30
)

// WithDefaults returns l with its zero fields replaced by the defaults.
func (l Limits) WithDefaults() Limits {
	l.Depth = cmp.Or(l.Depth, DefaultDepth)
	l.Frames = cmp.Or(l.Frames, DefaultFrames)
	l.Line = cmp.Or(l.Line, DefaultLine)
	l.Inflated = cmp.Or(l.Inflated, DefaultInflated)
	l.Message = cmp.Or(l.Message, DefaultMessage)
	return l
}

// CheckMemory returns an ErrTooLarge if the heap is larger than l.Memory after a
// garbage collection. It costs microseconds far below the limit; readers call it
// once per megabyte or so.
func (l Limits) CheckMemory() error {
	if l.Memory == 0 || heap() <= l.Memory {
		return nil
	}
	// Below three quarters the next collection is far enough away.
	if runtime.GC(); heap() <= l.Memory/4*3 {
		return nil
	}
	return TooLarge("the profile needs more bytes of memory", l.Memory, "--max-memory")
}

// heap returns the size of the objects on the heap, with garbage.
func heap() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// TooLarge returns an ErrTooLarge that names the limit and the option that
// raises it: "stack deeper than 65536: too large (raise it with --max-depth)".
func TooLarge(what string, limit int64, option string) error {
	return fmt.Errorf("%s than %d: %w (raise it with %s)", what, limit, ErrTooLarge, option)
}

// TooDeep returns the ErrTooLarge of a stack of more frames than the limit.
func TooDeep(limit int) error { return TooLarge("stack deeper", int64(limit), "--max-depth") }

// OutOfRoom returns the ErrTooLarge of a content whose entries take more than so many times its size.
func OutOfRoom(times int) error {
	return fmt.Errorf("takes more than %d times its size in memory: %w", times, ErrTooLarge)
}

// Malformed returns an ErrMalformed that says what is wrong.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
