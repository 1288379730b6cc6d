package threaddump

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// mostTorn is how long a thread's name with line feeds may be.
const mostTorn = 4 << 10

// number reads a line that begins with a digit, if it is the id of a process, a
// date, or the version of the VM below that.
func (t *textReader) number(text []byte) bool {
	digits := stacktext.Digits(text)
	if rest := text[digits:]; len(rest) == 0 || string(rest) == ":" {
		t.pid, t.pidLine = append(t.pid[:0], text[:digits]...), t.in.Number()
		return true
	}
	if at, ok := parseDate(text); ok {
		t.date, t.dateLine, t.version = at, t.in.Number(), ""
		if t.section == threads && t.blank {
			t.leave() // the date of the next dump, or a log has begun
		}
		return true
	}
	if t.dateLine > 0 && t.in.Number() == t.dateLine+1 {
		t.version = stacktext.Clean(text)
		return true
	}
	return false
}

// parseDate reads the whole of `2026-11-20 23:24:18` or
// `2026-11-20T20:04:06.939084599Z`. The first has no time zone; it is taken as
// UTC.
func parseDate(text []byte) (time.Time, bool) {
	layout := time.DateTime
	switch {
	case len(text) < len(layout) || text[4] != '-':
		return time.Time{}, false
	case text[10] == 'T':
		layout = time.RFC3339Nano
	case len(text) != len(layout):
		return time.Time{}, false
	}
	at, err := time.Parse(layout, string(text))
	return at, err == nil && validTime(at)
}

// validTime reports whether a time fits nanoseconds since 1970.
func validTime(at time.Time) bool { return at.Year() > 1700 && at.Year() < 2200 }

// enter begins a dump with what the lines before it said: its date at most near
// lines above, the process above that.
func (t *textReader) enter(near int) {
	at := time.Time{}
	top := t.in.Number()
	if t.dateLine > 0 && top-t.dateLine <= near {
		at, top = t.date, t.dateLine
	}
	t.process = t.process[:0]
	if t.pidLine > 0 && top-t.pidLine <= 2 {
		t.process = append(t.process, t.pid...)
	}
	t.dateLine, t.pidLine = 0, 0
	t.endMember()
	t.begin(at)
	t.found++
	t.section, t.blank, t.cycles = threads, true, 0
	clear(t.seen)
}

// fullDump reads `Full thread dump NAME (VERSION mixed mode, sharing):`.
func (t *textReader) fullDump(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, fullMark)
	if !ok {
		return false
	}
	t.enter(2)
	if i := bytes.LastIndex(rest, []byte(" (")); i > 0 {
		version, _, _ := bytes.Cut(rest[i+2:], []byte(" "))
		t.vm(stacktext.Clean(rest[:i]), stacktext.Clean(bytes.TrimRight(version, "):,")))
	}
	return true
}

var fullMark = []byte("Full thread dump ")

// quoted reads a line that begins with a quote: a thread, or one of a deadlock.
func (t *textReader) quoted(text []byte) {
	t.dropTorn()
	if t.section == cycle {
		t.endMember()
		t.member = append(t.member[:0], bytes.TrimSuffix(text[1:], []byte(`":`))...)
		return
	}
	if t.section == repeated {
		return
	}
	end := nameEnd(text)
	if end < 0 {
		if t.section == threads && t.blank {
			t.torn = append(t.torn, text...)
		}
		return
	}
	t.header(text[1:end], text[end+1:])
}

// dropTorn forgets the beginning of a header of which no end has come.
func (t *textReader) dropTorn() {
	if len(t.torn) > 0 {
		t.notes.Add("a line that begins as a thread is none", "lines that begin as threads are none", t.in.Number()-1)
		t.torn = t.torn[:0]
	}
}

// tornHeader reads a further line of a thread's name that holds line feeds, and
// reports whether it was one.
func (t *textReader) tornHeader(text []byte) bool {
	if len(t.torn) == 0 {
		return false
	}
	t.torn = append(append(t.torn, '\n'), text...)
	whole := t.torn
	t.torn = t.torn[:0]
	switch end := nameEnd(whole); {
	case whole[0] == '#' && t.toFileHeader(whole):
	case end >= 0:
		t.header(whole[1:end], whole[end+1:])
	case len(whole) <= mostTorn:
		t.torn = whole
	default:
		t.torn = whole
		t.dropTorn()
	}
	return true
}

// nameEnd returns the place of the quote that ends the name of a thread's header,
// or -1 if text is none. Names hold quotes, which are not escaped, so it is the
// last one behind which a header goes on.
func nameEnd(text []byte) int {
	for end := len(text); ; {
		end = bytes.LastIndexByte(text[:end], '"')
		if end <= 0 {
			return -1
		}
		rest := text[end+1:]
		if bytes.HasPrefix(rest, infoMark) {
			owner := bytes.LastIndex(text[:end], ownedMark)
			if owner <= 0 {
				return end
			}
			end = owner // whose name and id these were
		} else if slices.ContainsFunc(headerMarks, func(mark []byte) bool { return bytes.HasPrefix(rest, mark) }) {
			return end
		}
	}
}

// infoMark stands before the id in headers of ThreadInfo.toString.
var infoMark = []byte(" Id=")

// headerMarks are what follows the name: the number of a thread, or without one
// the next thing that is known. The last is VisualVM's.
var headerMarks = [][]byte{[]byte(" #"), []byte(" os_prio="), []byte(" daemon "), []byte(" prio="), []byte(" tid="), []byte(" - Thread t@")}

// header begins a thread with what its first line says behind the name:
//
//	#22 [11738] daemon prio=5 os_prio=0 cpu=0.08ms elapsed=4.76s tid=0x… nid=11738 waiting for monitor entry  [0x…]
//
// Fields that are not asked for (addresses, allocated bytes) are passed over.
func (t *textReader) header(name, rest []byte) {
	h, info := t.beginThread(rest)
	if h == nil {
		return
	}
	h.name = append(h.name, name...)
	var number, words []byte // number of the thread in the VM; words at the end
	for len(rest) > 0 {
		var field []byte
		if rest[0] == ' ' {
			rest = rest[1:]
			continue
		}
		all := rest
		field, rest, _ = bytes.Cut(rest, []byte(" "))
		switch {
		case field[0] == '#' && len(field) > 1:
			number = field
		case field[0] == '[' && len(words) == 0 && stacktext.Digits(field[1:]) == len(field)-2:
			h.id = append(h.id[:0], field[1:len(field)-1]...)
		case string(field) == "daemon":
			t.label("daemon", yes)
		case bytes.HasPrefix(field, []byte("prio=")):
			if n, ok := stacktext.Uint(field[5:]); ok {
				h.labels = append(h.labels, profile.Label{Key: "priority", Num: n})
			}
		case bytes.HasPrefix(field, []byte("cpu=")):
			if ns, ok := stacktext.Nanos(bytes.TrimSuffix(field[4:], []byte("ms")), 1e6); ok {
				h.cpu = ns
			}
		case bytes.HasPrefix(field, []byte("nid=")):
			if id, ok := nativeID(field[4:]); ok {
				h.id = strconv.AppendUint(h.id[:0], id, 10)
			}
		case bytes.HasPrefix(field, []byte("t@")):
			h.id = append(h.id[:0], field[2:]...)
		case bytes.IndexByte(field, '=') > 0 || string(field) == "-" || string(field) == "Thread":
		default:
			words, rest = all, nil
		}
	}
	if len(h.id) == 0 {
		h.id = append(h.id, number...)
	}
	if info {
		t.infoHeader(h, words)
		return
	}
	// The threads of the VM have no state of Java; theirs are the words.
	if i := bytes.LastIndexByte(words, '['); i >= 0 && len(bytes.Trim(words[i:], "[]0123456789abcdefx. ")) == 0 {
		words = words[:i] // the stack's address; of JDK 6 on HP-UX a range without 0x
	}
	h.state = append(h.state, bytes.TrimRight(words, " ")...)
}

// beginThread begins the thread of a header, if it is in a dump, and reports whether it is
// one of ThreadInfo.toString.
func (t *textReader) beginThread(rest []byte) (h *thread, info bool) {
	if !bytes.HasPrefix(rest, headerMarks[0]) { // nearly all are HotSpot's own
		if _, id, ok := bytes.Cut(rest, infoMark); ok {
			return t.foreignThread(append([]byte{'#'}, id[:stacktext.Digits(id)]...)), true
		}
	}
	switch {
	case t.section == threads:
	case t.found == 0 && bytes.Contains(rest, []byte(" nid=")):
		t.enter(2) // somebody has cut the first line off
	default:
		return nil, false
	}
	t.blank = false
	return t.open(), false
}

// nativeID reads the operating system's number of a thread, which is hexadecimal
// behind 0x up to JDK 20 and decimal from then on.
func nativeID(text []byte) (uint64, bool) {
	if bytes.HasPrefix(text, []byte("0x")) {
		return stacktext.Hex(text)
	}
	n, ok := stacktext.Uint(text)
	return uint64(n), ok
}

// numbered reads a line that begins with `#`: a thread of Thread.dump_to_file, or
// its beginning.
func (t *textReader) numbered(text []byte) {
	t.dropTorn()
	if !t.toFileHeader(text) && t.blank && len(text) <= mostTorn && bytes.HasPrefix(text[1+stacktext.Digits(text[1:]):], []byte(` "`)) {
		t.torn = append(t.torn, text...)
	}
}

// toFileHeader reads the header of a thread of Thread.dump_to_file, and reports
// whether text is one:
//
//	#27 "name" virtual TIMED_WAITING 2026-11-20T20:04:06.989451901Z
//
// The dump's own date is above it, before a line with the version of the VM.
func (t *textReader) toFileHeader(text []byte) bool {
	number := text[:1+stacktext.Digits(text[1:])]
	end := bytes.LastIndexByte(text, '"')
	if len(number) == 1 || !bytes.HasPrefix(text[len(number):], []byte(` "`)) || end < len(number)+2 {
		return false
	}
	if near := 4; t.found == 0 || t.dateLine > 0 && t.in.Number()-t.dateLine <= near {
		t.enter(near)
		t.vm("JDK", t.version)
	}
	if t.section != threads {
		return true
	}
	t.blank = false
	h := t.open()
	h.name = append(h.name, text[len(number)+2:end]...)
	h.id = append(h.id, number...)
	virtual := false
	for field := range bytes.FieldsSeq(text[end+1:]) {
		switch {
		case string(field) == "virtual":
			virtual = true
			t.label("virtual", yes)
		case field[0] >= 'A' && field[0] <= 'Z':
			h.state = append(h.state[:0], field...)
		}
	}
	if virtual && len(h.name) == 0 {
		h.name = appendVirtual(h.name, number[1:])
	}
	return true
}
