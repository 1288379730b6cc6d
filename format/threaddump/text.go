package threaddump

import (
	"bytes"
	"io"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
)

// section is the part of a text that a line is in.
type section uint8

const (
	outside  section = iota // of a dump: a log, the summary of the heap
	threads                 // of a dump
	cycle                   // who waits for whom in a deadlock
	repeated                // the stacks of the threads in a deadlock once more
)

// textReader reads HotSpot's own dumps and the text of Thread.dump_to_file.
// Indentation means nothing to it: mails and tickets lose it.
type textReader struct {
	*Collector
	in      *stacktext.Lines
	section section
	found   int // dumps

	// What the lines before a dump said, and in which line.
	pid      []byte
	pidLine  int
	date     time.Time
	dateLine int
	version  string // of the VM, below the date

	seen    map[string]struct{} // threads of the dump, of spellings without a line that begins it
	blank   bool                // a blank line has ended the frames of the thread in work
	torn    []byte              // a thread's header up to a line feed in the thread's name
	cycles  int                 // deadlocks of the dump
	member  []byte              // the thread that a deadlock speaks of
	wanted  int32               // the lock of the line before, whose holder may follow, or noLock
	carrier []byte              // name of the thread that carries the virtual thread in work
}

func readText(c *Collector, lines *stacktext.Lines, r io.Reader) error {
	t := &textReader{Collector: c, in: lines, seen: map[string]struct{}{}}
	t.in.Reset(r, c.limits.Line)
	for t.in.Next() {
		if err := t.line(stacktext.TrimLeft(t.in.Text())); err != nil {
			return t.in.At(err)
		}
	}
	if err := t.in.Err(); err != nil {
		return err
	}
	t.endMember()
	t.dropTorn()
	t.end()
	if t.found == 0 {
		return t.in.Malformed("there is no thread dump in it")
	}
	return nil
}

// line reads a line without its indentation.
func (t *textReader) line(text []byte) error {
	if len(text) == 0 {
		t.blank = true
		t.dropTorn()
		return nil
	}
	if rest, ok := bytes.CutPrefix(text, atMark); ok {
		return t.frame(rest)
	}
	switch c := text[0]; {
	case c == '-':
		switch {
		case isServed(text):
			return t.frame(stacktext.TrimLeft(text[1:]))
		case !t.droidProcess(text):
			t.lock(text)
		}
	case c == '|':
		t.droidDetail(text)
	case c == '#' && t.thread.foreign:
		return t.frame(text)
	case c == '"':
		t.quoted(text)
	case c == '#':
		t.numbered(text)
	case c-'0' <= 9 && t.number(text):
	default:
		return t.words(text)
	}
	return nil
}

var atMark = []byte("at ")

// frame reads a frame of the thread in work. Frames elsewhere belong to the
// exceptions of a log, or to the repetitions of a deadlock.
func (t *textReader) frame(text []byte) error {
	if !t.thread.open || t.blank || t.thread.muted {
		return nil
	}
	return t.addFrameLine(text, t.in.Number())
}

// words reads a line that begins with a letter or anything else.
func (t *textReader) words(text []byte) error {
	switch text[0] {
	case 'T':
		if t.threadLine(text) {
			return nil
		}
	case 'D':
		if t.dalvikDump(text) {
			return nil
		}
	case 'F':
		if t.fullDump(text) || t.foundDeadlock(text) {
			return nil
		}
	case 'J':
		switch {
		case bytes.HasPrefix(text, []byte("JNI global ref")):
			t.leave()
			return nil
		case t.section == cycle && bytes.HasPrefix(text, []byte("Java stack information for ")):
			t.endMember()
			t.section = repeated
			return nil
		}
	case 'H':
		if string(text) == "Heap" {
			t.leave()
			return nil
		}
	}
	if t.section == cycle {
		t.deadlockDetail(text)
		return nil
	}
	if !t.tornHeader(text) && t.thread.open {
		return t.detail(text)
	}
	return nil
}

// leave ends the threads of the dump. Its deadlocks may follow.
func (t *textReader) leave() {
	t.close()
	t.section = outside
}

// detail reads a line about the thread in work that is neither frame nor lock.
func (t *textReader) detail(text []byte) error {
	switch {
	case t.thread.foreign:
		if native, ok := bytes.CutPrefix(text, []byte("native: ")); ok && len(native) > 0 && native[0] == '#' {
			return t.frame(native)
		}
	case bytes.HasPrefix(text, stateMark):
		t.state(text[len(stateMark):])
	case bytes.HasPrefix(text, carryingMark):
		t.thread.state = append(t.thread.state[:0], "CARRYING"...)
		t.label("carries", appendVirtual(nil, text[len(carryingMark):]))
	case bytes.HasPrefix(text, mountedMark):
		t.mounted(text[len(mountedMark):])
	case string(text) == "Locked ownable synchronizers:", string(text) == "No compile task",
		bytes.HasPrefix(text, []byte("Compiling:")), bytes.HasPrefix(text, []byte("Number of locked synchronizers")),
		bytes.HasPrefix(text, []byte("JavaThread state:")),
		bytes.HasPrefix(text, []byte("Thread: 0x")):
	case string(text) == "...":
		t.notes.Add("a stack is cut after 8 frames, as ThreadInfo.toString does", "stacks are cut after 8 frames, as ThreadInfo.toString does",
			t.in.Number())
	case t.blank:
	case t.toFile() && bytes.IndexByte(text, '(') > 0 && text[len(text)-1] == ')':
		return t.frame(text) // JDK 21 writes no `at`
	case bytes.Contains(text, []byte("Exception")) || bytes.Contains(text, []byte("Error")):
		// What follows are the frames of the exception, most likely.
		t.thread.muted = true
		t.notes.Add("an exception was logged in the middle of a thread, whose frames behind it are left out",
			"exceptions were logged in the middle of threads, whose frames behind them are left out", t.in.Number())
	default:
		t.notes.Add("a line in the middle of a thread is not understood", "lines in the middle of threads are not understood", t.in.Number())
	}
	return nil
}

// toFile reports whether the dump in work is the text of Thread.dump_to_file,
// whose threads have nothing but a number for an id.
func (t *textReader) toFile() bool { return len(t.thread.id) > 0 && t.thread.id[0] == '#' }

var (
	stateMark    = []byte("java.lang.Thread.State: ")
	carryingMark = []byte("Carrying virtual thread #")
	mountedMark  = []byte("Mounted virtual thread #")
)

// state reads `TIMED_WAITING (sleeping)`.
func (t *textReader) state(text []byte) {
	word, detail, _ := bytes.Cut(text, []byte(" "))
	t.thread.state = append(t.thread.state[:0], word...)
	if n := len(detail); n > 2 && detail[0] == '(' && detail[n-1] == ')' {
		t.label("wait", detail[1:n-1])
	}
}

// mounted ends the frames of a carrier and begins those of the virtual thread
// that it runs. The processor time of the carrier was used on the latter's stack.
func (t *textReader) mounted(number []byte) {
	t.carrier = append(t.carrier[:0], t.thread.name...)
	cpu := t.thread.cpu
	t.thread.cpu = noCPU
	v := t.open()
	v.cpu, v.cpuOf = cpu, t.dump.rows[len(t.dump.rows)-1].Thread
	v.name = appendVirtual(v.name, number)
	v.id = append(append(v.id, '#'), number...)
	v.state = append(v.state, "MOUNTED"...)
	t.label("virtual", yes)
	t.label("carrier", t.carrier)
}

// appendVirtual appends the name of a virtual thread that has none.
func appendVirtual(name, number []byte) []byte {
	return append(append(name, "virtual thread #"...), number...)
}
