// Package hprof reads the texts of hprof, the profiler of Java 8 and before: stacks with a
// number, then tables of the CPU samples of each (cpu=samples), of its CPU time (cpu=times)
// or of its allocations (heap=sites).
//
//	JAVA PROFILE 1.0.1, created Wed Apr  3 21:50:56 2019
//	…
//	TRACE 300027: (thread=200001)
//		shop.Price.of(Price.java:12)
//		shop.Main.main(Main.java:Unknown line)
//	CPU SAMPLES BEGIN (total = 126) Wed Apr  3 21:51:12 2019
//	rank   self  accum   count trace method
//	   1 53.17% 53.17%      67 300027 shop.Price.of
//	CPU SAMPLES END
//
// docs/format/jvm.md lists what it does not keep. Heap dumps, binary or text, are not read.
package hprof

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "hprof"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

const (
	head    = "JAVA PROFILE 1.0."
	created = ", created "
)

// Sniff reports whether content that begins with prefix is of this format. The binary
// form of hprof has a zero in place of the date.
func Sniff(prefix []byte) bool {
	line, _, _ := bytes.Cut(prefix[:min(len(prefix), 200)], []byte("\n"))
	return bytes.HasPrefix(line, []byte(head)) && bytes.Contains(line, []byte(created))
}

// kind is a kind of table.
type kind struct {
	begins, ends string
	trace        int // column with the number of the stack, the last one before the name
	values       []value
}

// value is a value type and the column of its values.
type value struct {
	name   string
	column int
}

// kinds are the tables. That of the CPU time counts its calls only: the time is in
// percent of the total, in milliseconds.
var kinds = [...]kind{
	{"CPU SAMPLES BEGIN", "CPU SAMPLES END", 4, []value{{profile.CPUSamples, 3}}},
	{cpuTime, "CPU TIME (ms) END", 4, []value{{profile.CPU, 1}}},
	{"SITES BEGIN", "SITES END", 7, []value{{profile.Live, 3}, {profile.LiveSamples, 4}, {profile.Alloc, 5}, {profile.AllocSamples, 6}}},
}

const cpuTime = "CPU TIME (ms) BEGIN"

// number reads the field of a value: a number, or of the CPU time the percentage with two
// decimals of the total, behind a comma in some languages.
func (f *file) number(field []byte) (int64, bool) {
	percent, ok := bytes.CutSuffix(field, []byte("%"))
	if !ok {
		return stacktext.Uint(field)
	}
	const hundredths = 100 // of a percent
	share, ok := stacktext.Nanos(bytes.Replace(percent, []byte(","), []byte("."), 1), hundredths)
	return f.total / (100 * hundredths) * share, ok && share <= 100*hundredths
}

// trace is a stack with the thread that hprof says it is of.
type trace struct {
	stack  profile.StackID
	thread profile.ThreadID
}

// file is one file.
type file struct {
	*stacktext.Reading
	threads map[int64][]byte // names by number
	traces  map[int64]trace
	tables  [len(kinds)][]*stacktext.Table // of each kind the last one: they count from the start

	open  int64 // number of the stack in work; 0: none
	kind  *kind // of the table in work; nil: none
	table []*stacktext.Table
	sum   int64 // of its first values
	total int64 // what its head says that is
	timed bool  // there is a table of CPU time
}

func read(r *stacktext.Reading) error {
	p := r.Profile
	p.Profiler = "hprof"
	f := file{Reading: r, threads: map[int64][]byte{}, traces: map[int64]trace{}}
	for f.Next() {
		if err := f.line(f.Text()); err != nil {
			return err
		}
	}
	if f.kind != nil {
		p.Warnings = append(p.Warnings, profile.Warning{Line: f.Number(), Offset: -1, Message: "the file ends in a table"})
		f.end()
	}
	for i, tables := range f.tables {
		for k, t := range tables {
			p.Tables = append(p.Tables, t.Samples(profile.NamedType(kinds[i].values[k].name), false, 0))
		}
	}
	if f.timed {
		p.Warnf("the CPU time of each stack is a percentage of the total with two decimals")
	}
	p.CountLost()
	if len(p.Tables) == 0 {
		return &profile.ParseError{Offset: -1, Err: fmt.Errorf("a text of hprof without CPU samples, CPU time and sites: %w", profile.ErrUnsupported),
			Hint: "record with -agentlib:hprof=cpu=samples or, better, with async-profiler or JFR"}
	}
	return nil
}

// line reads one line.
func (f *file) line(line []byte) error {
	switch {
	case f.Number() == 1:
		_, date, _ := bytes.Cut(line, []byte(created))
		f.Profile.Start, _ = time.Parse(time.ANSIC, string(date)) // of no zone
		return nil
	case f.open != 0 && len(line) > 0 && line[0] == '\t':
		return f.frame(line[1:])
	case f.kind != nil && bytes.HasPrefix(line, []byte(f.kind.ends)):
		f.end()
		return nil
	case f.kind != nil:
		return f.row(line)
	}
	f.endTrace()
	if bytes.HasPrefix(line, []byte("THREAD START (")) {
		if number, ok := stacktext.Uint(between(line, "id = ", ",")); ok {
			f.threads[number] = bytes.Clone(between(line, `name="`, `"`))
		}
		return nil
	}
	// The legend of the agent begins with the names of the records, without a number.
	if rest, ok := bytes.CutPrefix(line, []byte("TRACE ")); ok && stacktext.Digits(rest) > 0 {
		return f.trace(rest)
	}
	for i := range kinds {
		if bytes.HasPrefix(line, []byte(kinds[i].begins)) {
			f.begin(&kinds[i], line)
		}
	}
	return nil
}

// between returns the text behind one and before another, or nil.
func between(line []byte, from, to string) []byte {
	_, rest, _ := bytes.Cut(line, []byte(from))
	text, _, ok := bytes.Cut(rest, []byte(to))
	if !ok {
		return nil
	}
	return text
}

// trace begins a stack: `300027: (thread=200001)`.
func (f *file) trace(line []byte) error {
	number, rest, _ := bytes.Cut(line, []byte(":"))
	id, ok := stacktext.Uint(number)
	if !ok || id == 0 {
		return f.Malformed("a stack without a number: %.60q", line)
	}
	at := trace{stack: profile.NoStack}
	if thread := between(rest, "thread=", ")"); thread != nil {
		n, _ := stacktext.Uint(thread)
		at.thread = f.Thread(nil, f.threads[n], thread)
	}
	f.open, f.traces[id] = id, at
	return nil
}

// frame reads the next frame, going outwards, of the stack in work.
func (f *file) frame(text []byte) error {
	if string(text) == "<empty>" {
		text = []byte("[unknown](Unknown Source)")
	}
	frame, ok := f.Known.Java(text, stacktext.ParseJavaFrame)
	if !ok {
		return f.Malformed("not a frame: %.60q", text)
	}
	return f.Push(frame)
}

func (f *file) endTrace() {
	if f.open != 0 && len(f.Frames) > 0 {
		f.traces[f.open] = trace{f.Stack(f.Frames), f.traces[f.open].thread}
	}
	f.open, f.Frames = 0, f.Frames[:0]
}

// begin begins a table.
func (f *file) begin(k *kind, line []byte) {
	f.kind, f.table, f.sum = k, nil, 0
	f.total, _ = stacktext.Uint(between(line, "(total = ", ")"))
	if k.begins == cpuTime {
		const nanos = 1_000_000 // in a millisecond
		f.total = min(f.total, math.MaxInt64/nanos) * nanos
		f.timed = true
	}
	for range k.values {
		f.table = append(f.table, stacktext.NewTable(f.Limits))
	}
}

// row reads a row of the table in work: numbers, and a name that is known from the stack.
func (f *file) row(line []byte) error {
	fields := bytes.Fields(line)
	if len(fields) == 0 || stacktext.Digits(fields[0]) == 0 {
		return nil // the names of the columns
	}
	if len(fields) <= f.kind.trace {
		return f.Malformed("a row without a stack: %.60q", line)
	}
	id, _ := stacktext.Uint(fields[f.kind.trace])
	at, ok := f.traces[id]
	if !ok {
		return f.Malformed("stack %.20s is not above", fields[f.kind.trace])
	}
	for i, value := range f.kind.values {
		v, ok := f.number(fields[value.column])
		if !ok {
			return f.Malformed("not a number: %.60q", fields[value.column])
		}
		if i == 0 {
			f.sum += v
		}
		if v == 0 {
			continue
		}
		if err := f.Sample(f.table[i], stacktext.Row{Stack: at.stack, Thread: at.thread, Value: v}); err != nil {
			return err
		}
	}
	return nil
}

// end ends a table. Rows of too few samples (cutoff=) are missing; their sum is not.
func (f *file) end() {
	if rest := f.total - f.sum; rest > 0 {
		s := f.Profile.Symbols
		frame := s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: "[below cutoff]"})})
		f.table[0].Add(stacktext.Row{Stack: s.Stack(profile.NoStack, frame), Value: rest})
	}
	for i := range kinds {
		if f.kind == &kinds[i] {
			f.tables[i] = f.table
		}
	}
	f.kind = nil
}
