package perfscript

import (
	"bytes"

	"github.com/dendroprof/dendro/format/internal/perf"
	"github.com/dendroprof/dendro/format/internal/stacktext"
)

// header is the head line of a record:
//
//	comm pid/tid [cpu] seconds.micros: period event:modifiers: rest
//
// -F leaves out any of them; the order is always this. The texts lie in the line.
type header struct {
	front     []byte // comm, pid, tid and processor
	hasThread bool   // front ends in a pid
	hasTime   bool
	time      int64 // nanoseconds since the machine started
	hasPeriod bool
	period    uint64
	event     []byte
	rest      []byte // a frame, or what a trace point says

	who who
	of  *perf.Event
}

// strong reports whether a line is a header beyond doubt.
func (h *header) strong() bool { return h.hasTime || len(h.event) > 0 }

// isComment reports whether a line is one of the comments of `perf script --header`.
// They may end in a colon as an event does; h is the line read as a header. A process
// may be called `#1`, but perf puts blanks in front of so short a name.
func isComment(line []byte, h *header) bool {
	return line[0] == '#' && (len(line) == 1 || line[1] == ' ' || !h.strong() || !h.usual())
}

// parseHeader takes a line apart as far as it goes. Names of processes may hold
// anything, so it goes by the time, or without one by the event. simpleperf has tabs
// where perf has blanks.
func parseHeader(line []byte) (h header) {
	if bytes.IndexByte(line, '\t') >= 0 {
		line = bytes.ReplaceAll(line, []byte("\t"), []byte(" "))
	}
	rest := line
	if at, end, ok := findTime(line); ok {
		h.time, h.hasTime = stacktext.Nanos(line[at:end], 1e9)
		h.front, rest = bytes.TrimSpace(line[:at]), line[end+1:]
		h.period, h.hasPeriod, h.event, h.rest = parseEvent(rest)
		h.hasThread = true
		return h
	}
	end := eventEnd(rest)
	if end < 0 {
		h.front = bytes.TrimSpace(line)
		_, pid, tid, cpu := parseFront(h.front)
		h.hasThread = len(pid)+len(tid)+len(cpu) > 0
		return h
	}
	front := rest[:end]
	at := bytes.LastIndexByte(front, ' ') + 1
	h.event, h.rest = front[at:], bytes.TrimSpace(rest[end+1:])
	h.front = bytes.TrimSpace(front[:at])
	// Of two numbers in front of the event the second is the period.
	before, last := cutLast(h.front)
	_, pid := cutLast(before)
	if n, ok := stacktext.Uint(last); ok && (len(before) == 0 || isPid(pid) || isCPU(pid)) {
		h.period, h.hasPeriod = uint64(n), true
		h.front = before
	}
	return h
}

// findTime finds `seconds.fraction:` in a header: the first behind a number or a
// processor, or else the first.
func findTime(line []byte) (at, end int, ok bool) {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], ':')
		if i < 0 {
			return at, end, ok
		}
		i += from
		from = i + 1
		start, isTime := timeBefore(line, i)
		if !isTime || i+1 < len(line) && line[i+1] != ' ' {
			continue
		}
		if !ok {
			at, end, ok = start, i, true
		}
		if _, last := cutLast(bytes.TrimSpace(line[:start])); isPid(last) || isCPU(last) {
			return start, i, true
		}
	}
}

// timeBefore finds a number with a fraction that ends at i and begins a word.
func timeBefore(line []byte, i int) (start int, ok bool) {
	point := false
	for start = i; start > 0 && line[start-1] != ' '; start-- {
		switch c := line[start-1]; {
		case c == '.' && !point && start < i:
			point = true
		case c < '0' || c > '9':
			return 0, false
		}
	}
	return start, point && line[start] != '.'
}

// parseEvent takes apart what is behind the time.
func parseEvent(text []byte) (period uint64, hasPeriod bool, event, rest []byte) {
	text = bytes.TrimSpace(text)
	if n := stacktext.Digits(text); n > 0 && (n == len(text) || text[n] == ' ') {
		// Behind a time a lone number in front of an event is the period; in
		// front of a name it is an address.
		after := bytes.TrimSpace(text[n:])
		if end := eventEnd(after); end > 0 || len(after) == 0 {
			if v, ok := stacktext.Uint(text[:n]); ok {
				period, hasPeriod = uint64(v), true
			} else {
				period, hasPeriod = 1<<63, true
			}
			text = after
		}
	}
	if end := eventEnd(text); end > 0 && bytes.IndexByte(text[:end], ' ') < 0 {
		return period, hasPeriod, text[:end], bytes.TrimSpace(text[end+1:])
	}
	return period, hasPeriod, nil, text
}

// eventEnd returns the place of the first colon that ends a word, or -1.
func eventEnd(text []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], ':')
		if i < 0 {
			return -1
		}
		i += from
		if i > 0 && text[i-1] != ' ' && (i+1 == len(text) || text[i+1] == ' ') {
			return i
		}
		from = i + 1
	}
}

// parseFront parses the fields before the time of a line.
func parseFront(front []byte) (name, pid, tid, cpu []byte) {
	before, last := cutLast(front)
	if isCPU(last) {
		cpu, front = bytes.Trim(last, "[]"), before
		before, last = cutLast(front)
	}
	if !isPid(last) {
		return front, nil, nil, cpu
	}
	pid, tid, both := bytes.Cut(last, []byte("/"))
	if !both {
		pid, tid = nil, pid // perf prints the thread's id unless told otherwise
	}
	return before, pid, tid, cpu
}

// cutLast splits off the last word.
func cutLast(text []byte) (before, last []byte) {
	i := bytes.LastIndexByte(text, ' ') + 1
	return bytes.TrimSpace(text[:i]), text[i:]
}

// isPid reports whether a word is `tid` or `pid/tid`; unknown ones are -1.
func isPid(word []byte) bool {
	pid, tid, both := bytes.Cut(word, []byte("/"))
	return isNumber(pid) && (!both || isNumber(tid))
}

func isNumber(word []byte) bool {
	word = bytes.TrimPrefix(word, []byte("-"))
	return len(word) > 0 && stacktext.Digits(word) == len(word)
}

// isCPU reports whether a word is `[003]`.
func isCPU(word []byte) bool {
	n := len(word)
	return n > 2 && word[0] == '[' && word[n-1] == ']' && stacktext.Digits(word[1:]) == n-2
}

func startsBlank(line []byte) bool { return line[0] == ' ' || line[0] == '\t' }

// frameShaped reports whether a line begins with an address as perf prints it.
func frameShaped(line []byte) bool {
	from := indent(line)
	n := from
	for n < len(line) && (line[n]-'0' <= 9 || line[n]-'a' <= 'f'-'a') {
		n++
	}
	return n > from && n <= from+16 && (n == len(line) || line[n] == ' ' || line[n] == '\t')
}

// bareFrame reports whether a line is a frame that lost its indentation, as in files
// that went through an editor: `ffffffff8103d0ca native_write_msr_safe ([kernel])`.
func bareFrame(line []byte) bool {
	return line[len(line)-1] == ')' && frameShaped(line) && bytes.Contains(line, []byte(" ("))
}

// indent returns how many blanks a line begins with.
func indent(line []byte) int {
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}
