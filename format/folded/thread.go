package folded

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// noThread is the threadEnd of a stack without a thread frame.
const noThread = -1

// Marks of thread frames, see threadEnd.
var (
	tidMark     = []byte(" tid=")
	threadMark  = []byte("thread (")
	processMark = []byte("process ")
)

// threadEnd returns the length of the thread frame that a stack begins with, or
// noThread. A thread frame ends at a semicolon or with the text. It is
//
//	[tid=7]  [name tid=7]        async-profiler
//	thread (7): name  thread (7) py-spy --threads
//	process 7:"command"          py-spy --subprocesses; several, outermost first,
//	                             and perhaps a thread behind them
//
// A name may hold semicolons, which no writer escapes. A text that begins with
// `[` and whose first piece does not end in `]` is therefore read up to the
// first piece that ends in ` tid=N]`, and a command up to the piece that ends
// in a quote. Other frames in brackets, such as `[unknown]`, are functions.
func threadEnd(text []byte) int {
	switch {
	case text[0] == '[':
		return bracketEnd(text)
	case bytes.HasPrefix(text, threadMark):
		return pythonThreadEnd(text, 0)
	case bytes.HasPrefix(text, processMark):
		return processesEnd(text)
	}
	return noThread
}

func bracketEnd(text []byte) int {
	end := pieceEnd(text, 0)
	first := trimRight(text[:end])
	if endsInTid(first) {
		return end
	}
	if first[len(first)-1] == ']' || !bytes.Contains(text[end:], tidMark) {
		return noThread
	}
	for end < len(text) {
		end = pieceEnd(text, end+1)
		if endsInTid(trimRight(text[:end])) {
			return end
		}
	}
	return noThread
}

// endsInTid reports whether text is `[tid=N]` or ends in ` tid=N]`.
func endsInTid(text []byte) bool {
	i := len(text) - 1
	if i < 0 || text[i] != ']' {
		return false
	}
	for i > 0 && isDigit(text[i-1]) {
		i--
	}
	head := text[:i]
	return i < len(text)-1 && (bytes.HasSuffix(head, tidMark) || string(head) == "[tid=")
}

// pythonThreadEnd returns the end of the py-spy thread frame at from.
func pythonThreadEnd(text []byte, from int) int {
	if !bytes.HasPrefix(text[from:], threadMark) {
		return noThread
	}
	i := from + len(threadMark)
	id := i
	for i < len(text) && (isDigit(text[i]) || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'f' || text[i]|0x20 == 'x') {
		i++
	}
	if i == id || i == len(text) || text[i] != ')' {
		return noThread
	}
	end := pieceEnd(text, i)
	if rest := text[i+1 : end]; len(trimRight(rest)) > 0 && !bytes.HasPrefix(rest, []byte(": ")) {
		return noThread
	}
	return end
}

// processesEnd returns the end of the py-spy process frames that text begins
// with, and of the thread frame behind them.
func processesEnd(text []byte) int {
	end := noThread
	for end < len(text) {
		next := processEnd(text, end+1)
		if next == noThread {
			break
		}
		end = next
	}
	if end != noThread && end < len(text) {
		if thread := pythonThreadEnd(text, end+1); thread != noThread {
			return thread
		}
	}
	return end
}

// processEnd returns the end of the py-spy process frame at from.
func processEnd(text []byte, from int) int {
	if !bytes.HasPrefix(text[from:], processMark) {
		return noThread
	}
	i := from + len(processMark)
	id := i
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	if i == id || !bytes.HasPrefix(text[i:], []byte(`:"`)) {
		return noThread
	}
	i += len(`:"`)
	for end := i; end < len(text); end++ {
		end = pieceEnd(text, end)
		if command := trimRight(text[i:end]); len(command) > 0 && command[len(command)-1] == '"' {
			return end
		}
	}
	return noThread // the quote is never closed
}

// parseThread reads a thread frame that threadEnd found.
func parseThread(frame string) profile.Thread {
	t := profile.Thread{Frame: frame}
	if frame[0] == '[' {
		name, id, _ := cutLast(strings.TrimSuffix(frame[1:], "]"), "tid=")
		t.Name, t.ID = strings.Trim(name, blanks), id
		return t
	}
	text := []byte(frame)
	from := 0
	for from < len(text) {
		end := processEnd(text, from)
		if end == noThread {
			break
		}
		t.Process = strings.Trim(frame[from+len(processMark):end], blanks)
		from = end + 1
	}
	if from < len(text) {
		id, name, _ := strings.Cut(frame[from+len(threadMark):], ")")
		t.ID, t.Name = id, strings.Trim(strings.TrimPrefix(name, ":"), blanks)
	}
	return t
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// threadText spells a thread as a frame: as it was read, or else the way of
// async-profiler, or of py-spy when the id is not decimal.
func threadText(t profile.Thread) string {
	if t == (profile.Thread{}) {
		return ""
	}
	if text := clean(t.Frame); isWholeThread(text) {
		return text
	}
	text := clean(spellThread(t))
	if !isWholeThread(text) {
		// A semicolon in the name ends the frame early.
		text = strings.ReplaceAll(text, ";", "|")
	}
	return text
}

func isWholeThread(text string) bool {
	return text != "" && threadEnd([]byte(text)) == len(text)
}

// spellThread returns `[name tid=ID]`, or `thread (ID): name` for an id that is
// not decimal. Text has no thread without an id: it becomes 0.
func spellThread(t profile.Thread) string {
	name, id := t.Name, t.ID
	switch {
	case id == "":
		id = "0"
		name = cmp.Or(name, t.Process)
	case strings.Trim(id, "0123456789abcdefABCDEFxX") != "":
		name, id = strings.TrimLeft(name+" "+id, " "), "0"
	case strings.Trim(id, "0123456789") != "":
		return "thread (" + id + "): " + strings.ReplaceAll(name, ";", "|")
	}
	if name == "" {
		return "[tid=" + id + "]"
	}
	return "[" + name + " tid=" + id + "]"
}

// pieceEnd returns the position of the next semicolon at or behind from, or the
// length of text.
func pieceEnd(text []byte, from int) int {
	if i := bytes.IndexByte(text[from:], ';'); i >= 0 {
		return from + i
	}
	return len(text)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// blanks separate a stack from its count and are trimmed from frames. A carriage
// return is one because it stands at the end of lines.
const blanks = " \t\r"

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func trimRight(text []byte) []byte {
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}
