// Package profile models what a profiler sampled: functions, frames, stacks,
// and one table of samples per value type.
//
// The words, from the inside out:
//
//   - A function is what a call tree shows. Within one profile its identity is
//     (name, system name, module, file, start line, column, language).
//   - A frame is one spot in a function: line, address, compile mode.
//   - A stack is a node of a prefix tree over frames: a parent stack and one
//     frame. Parents have lower ids than their children.
//   - A sample points at one stack, or at none, with a value and, where the
//     format has them, time, thread, labels, state and address.
//   - A value type is the meaning of the values: `cpu` in nanoseconds, `alloc`
//     in bytes. Values are int64 in the type's unit; there are no floats.
//
// Functions, frames and stacks live in Symbols, which only grow and may be
// shared by many profiles: a reader that decodes a thousand similar files into
// one Symbols finds nearly every stack of the next file already there. A
// Profile therefore uses a part of its Symbols, never necessarily all.
//
// The package does not read files (package format), does not know names that
// change from run to run (normalize), does not build call trees (calltree) and
// does not know what was measured (testrun).
package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// NoStack is the stack of a sample that has none: a gap, in which nothing ran. It keeps
// its place in time and is counted nowhere; a sample whose stack was lost has the stack
// Symbols.Lost. NoStack is also the parent of an outermost frame.
const NoStack StackID = -1

// Ids of the tables. Each table has its own type so that they cannot be mixed.
type (
	// FunctionID indexes Symbols.Functions.
	FunctionID int32
	// FrameID indexes Symbols.Frames.
	FrameID int32
	// StackID is a node of Symbols.Stacks, or NoStack.
	StackID int32
	// ModuleID indexes Symbols.Modules; 0 is no module.
	ModuleID int32
	// ThreadID indexes Profile.Threads; 0 is no thread.
	ThreadID int32
	// LabelsID indexes Profile.LabelSets; 0 is no labels.
	LabelsID int32
	// StateID indexes Profile.States; 0 is no state.
	StateID int32
	// CategoryID indexes Symbols.Categories; 0 is "as the caller's".
	CategoryID int16
)

// Profile is one decoded file, or one of several recordings in a file.
//
// Invariants, verified by Check:
//
//	P1  every id of a sample table is inside its table;
//	P2  the columns of a sample table that are not nil are equally long;
//	P3  the sum of the absolute values of a table fits an int64, so that no sum
//	    over any part of it can overflow;
//	P4  Threads, LabelSets and States hold their zero value at index 0.
//
// A Profile is not safe for concurrent use while a reader fills it; afterwards
// it may be read by any number of goroutines as long as its Symbols rest.
type Profile struct {
	Symbols *Symbols

	// Tables has one sample table per value type, in the order of the file.
	Tables []Samples
	// Default is the index in Tables of the type that the format calls default.
	Default int

	Threads   []Thread
	LabelSets [][]Label
	States    []string
	Markers   []Marker // in order of Start

	Format          string    // short name of the format read: "folded", "pprof"
	Profiler        string    // name of the recording program, if known
	ProfilerVersion string    // its version
	Start           time.Time // zero when unknown
	Duration        time.Duration
	Interval        time.Duration // configured, between two samples of a thread; 0 if unknown
	Comments        []string

	// PeriodType and PeriodUnit are what the period of the file counts (pprof), also where
	// that belongs to none of the value types.
	PeriodType, PeriodUnit string

	// ReturnAddresses: the addresses of callers are where they go on after the call, and
	// not the call itself.
	ReturnAddresses bool

	// Dumps: the samples of one time are all threads of the process at that moment, as a
	// thread dump shows them. EachDump takes several apart.
	Dumps bool

	// DropFrames and KeepFrames are pprof's regular expressions; kept so that
	// what is read is written again. They are not applied.
	DropFrames, KeepFrames string

	// Warnings are findings that did not stop the reader.
	Warnings []Warning
}

// New returns an empty profile over s. If s is nil it gets Symbols of its own.
func New(s *Symbols) *Profile {
	if s == nil {
		s = NewSymbols()
	}
	return &Profile{
		Symbols:   s,
		Threads:   make([]Thread, 1),
		LabelSets: make([][]Label, 1),
		States:    make([]string, 1),
	}
}

// Samples is the table of one value type: equally long columns, one row per
// sample. Columns that a format does not have stay nil and read as zero.
type Samples struct {
	Type ValueType

	Stack   []StackID
	Value   []int64    // in Type's unit times 10^Scale; negative values are kept
	Time    []int64    // nanoseconds since Profile.Start
	Thread  []ThreadID //
	Labels  []LabelsID //
	State   []StateID  //
	Address []uint64   // of the allocated object; reserved for allocation tables

	// Content has the hash of each row's stack as it is in the file if the reader left
	// out a part of it (Limits.Sums); nil: stacks are complete.
	Content []StackHash

	// Intervals: a row is what ran from Time on, for Value nanoseconds, and no instant.
	Intervals bool

	// Summed is the number of samples that were added to other rows.
	Summed int64

	sumAt    int     // number of rows at which Bound sums again
	sumIndex []int32 // scratch of sum
}

// Len returns the number of rows.
func (s *Samples) Len() int { return len(s.Stack) }

// Tags are the facts of a sample besides its stack, its value and its time.
type Tags struct {
	Thread ThreadID
	Labels LabelsID
	State  StateID
}

// Tags returns those of row i: the zero ids for columns that the table does not have.
func (s *Samples) Tags(i int) Tags {
	var t Tags
	if s.Thread != nil {
		t.Thread = s.Thread[i]
	}
	if s.Labels != nil {
		t.Labels = s.Labels[i]
	}
	if s.State != nil {
		t.State = s.State[i]
	}
	return t
}

// Add appends a sample that has only a stack and a value.
// A table with further columns is filled column by column instead.
func (s *Samples) Add(stack StackID, value int64) {
	s.Stack = append(s.Stack, stack)
	s.Value = append(s.Value, value)
}

// Total returns the sum of the values of all samples that have a stack.
// It cannot overflow on a table that passed Check.
func (s *Samples) Total() int64 {
	var sum int64
	for i, v := range s.Value {
		if s.Stack[i] != NoStack {
			sum += v
		}
	}
	return sum
}

// ByThread returns the rows of each of n threads, in the order of their times.
func (s *Samples) ByThread(n int) [][]int {
	rows := make([][]int, n)
	for i := range s.Stack {
		t := s.Tags(i).Thread
		rows[t] = append(rows[t], i)
	}
	if s.Time != nil {
		for _, r := range rows {
			slices.SortStableFunc(r, func(a, b int) int { return cmp.Compare(s.Time[a], s.Time[b]) })
		}
	}
	return rows
}

// Thread is one thread of the recorded process. A thread frame of a text format
// (`[worker-1 tid=7]`) is lifted into it and is never a function.
type Thread struct {
	Name    string // as recorded, raw
	ID      string // the operating system's or the runtime's id; text, as some formats have text
	Process string // process name or id, if the format has one

	// Frame is the thread frame as a text format spelled it; writers of text
	// put it back. Empty when the format has a thread column.
	Frame string
}

// Label is one key of a sample: either a string or a number with a unit.
type Label struct {
	Key  string
	Text string
	Num  int64
	Unit string // of Num
}

// Marker is a named interval of a thread: a request, a garbage collection, a
// user's own span. Filters of samples by time use them; nothing counts them.
type Marker struct {
	Name       string
	Category   CategoryID
	Start, End int64 // nanoseconds since Profile.Start, half open; equal for an instant
	Thread     ThreadID
	Fields     []Label
}

// Warning is a flaw that a reader found, repaired or skipped.
type Warning struct {
	Line    int // 1-based; 0 when the format has no lines
	Offset  int64
	Message string
}

// String returns the message behind its line.
func (w Warning) String() string {
	if w.Line > 0 {
		return fmt.Sprintf("line %d: %s", w.Line, w.Message)
	}
	return w.Message
}

// Warnf adds a warning without a place.
func (p *Profile) Warnf(format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Message: fmt.Sprintf(format, args...)})
}

// WarnCount adds a warning of a format that begins with a number, unless that is 0.
func (p *Profile) WarnCount(n int, format string, args ...any) {
	if n > 0 {
		p.Warnf(format, append([]any{n}, args...)...)
	}
}

// Check verifies the invariants of Profile and of its Symbols.
// Readers call it last, so that everything behind them may rely on it.
func (p *Profile) Check() error {
	if len(p.Threads) == 0 || len(p.LabelSets) == 0 || len(p.States) == 0 ||
		p.Threads[0] != (Thread{}) || p.LabelSets[0] != nil || p.States[0] != "" {
		return Malformed("index 0 of threads, labels and states is not empty")
	}
	if len(p.Tables) > 0 && (p.Default < 0 || p.Default >= len(p.Tables)) {
		return Malformed("default value type %d of %d", p.Default, len(p.Tables))
	}
	for i := range p.Tables {
		if err := p.checkTable(&p.Tables[i]); err != nil {
			return fmt.Errorf("value type %s: %w", p.Tables[i].Type.Name, err)
		}
	}
	for i := range p.Markers {
		if t := p.Markers[i].Thread; t < 0 || int(t) >= len(p.Threads) {
			return Malformed("marker %d is on thread %d of %d", i, t, len(p.Threads))
		}
	}
	return nil
}

// Checked returns p if Check passes, else its error as a *ParseError. A start that is no
// date of a recording, since it counts from another year than 1970, is left out.
func (p *Profile) Checked() (*Profile, error) {
	if y := p.Start.Year(); !p.Start.IsZero() && (y < 1900 || y >= 2262) {
		p.Warnf("the recording begins in the year %d; its start was left out", y)
		p.Start = time.Time{}
	}
	if err := p.Check(); err != nil {
		return nil, &ParseError{Offset: -1, Err: err}
	}
	return p, nil
}

func (p *Profile) checkTable(s *Samples) error {
	n := len(s.Stack)
	for _, col := range []struct {
		name   string
		len    int
		absent bool
	}{
		{"value", len(s.Value), false}, {"time", len(s.Time), s.Time == nil}, {"thread", len(s.Thread), s.Thread == nil},
		{"labels", len(s.Labels), s.Labels == nil}, {"state", len(s.State), s.State == nil}, {"address", len(s.Address), s.Address == nil},
		{"content", len(s.Content), s.Content == nil},
	} {
		if col.len != n && !col.absent {
			return Malformed("%d samples but %d in column %s", n, col.len, col.name)
		}
	}
	var sum uint64
	stacks := StackID(p.Symbols.Stacks.Len())
	for i, v := range s.Value {
		if st := s.Stack[i]; st < NoStack || st >= stacks {
			return Malformed("sample %d has stack %d of %d", i, st, stacks)
		}
		if v < 0 {
			v = -v // the smallest int64 stays negative and is far over the limit below
		}
		if sum += uint64(v); sum > math.MaxInt64 {
			return Malformed("the sum of the values exceeds 63 bits at sample %d", i)
		}
	}
	for _, id := range s.Thread {
		if id < 0 || int(id) >= len(p.Threads) {
			return Malformed("thread %d of %d", id, len(p.Threads))
		}
	}
	for _, id := range s.Labels {
		if id < 0 || int(id) >= len(p.LabelSets) {
			return Malformed("label set %d of %d", id, len(p.LabelSets))
		}
	}
	for _, id := range s.State {
		if id < 0 || int(id) >= len(p.States) {
			return Malformed("state %d of %d", id, len(p.States))
		}
	}
	return nil
}

// Table returns the index of the table that NamedTypes finds by a name, or
// of the default type when name is empty. The error lists the names there are.
func (p *Profile) Table(name string) (int, error) {
	if name == "" && len(p.Tables) > 0 {
		return p.Default, nil
	}
	var have []string
	var types []*ValueType
	for i := range p.Tables {
		types, have = append(types, &p.Tables[i].Type), append(have, p.Tables[i].Type.Name)
	}
	if found := NamedTypes(types, name); len(found) > 0 {
		return found[0], nil
	}
	return 0, fmt.Errorf("no value type %q in this profile; it has %q", name, have)
}
