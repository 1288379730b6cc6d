package threaddump

import (
	"bytes"
	"regexp"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// The spellings of this file have no line that begins a dump, or one of their own:
//
//	"stock-2" prio=5 Id=13 BLOCKED on java.lang.Object@4617c264 owned by "stock-1" Id=12     ThreadInfo.toString
//	Thread 26679: (state = BLOCKED)                                                        jstack -F
//	Thread 2 (Thread 0x7f2d62e836c0 (LWP 26657) "pricing"):                                gdb, gstack
//	DALVIK THREADS (17):                                                                   Android
//
// A thread that was seen before begins the next dump.

// foreignThread begins a thread of one of these spellings, of the given id.
func (t *textReader) foreignThread(id []byte) *thread {
	t.close()
	if _, again := t.seen[string(id)]; again || t.section != threads {
		t.enter(2)
	}
	t.seen[string(id)] = struct{}{}
	t.blank = false
	h := t.open()
	h.id = append(h.id, id...)
	return h
}

// threadLine reads a line that begins with `Thread `, and reports whether it was one of
// jstack -F or gdb.
func (t *textReader) threadLine(text []byte) bool {
	id, name, state, ok := splitThreadLine(text)
	if !ok {
		return false
	}
	h := t.foreignThread(id)
	h.name = append(h.name, name...)
	h.state = append(h.state, state...)
	if h.foreign = state == nil; h.foreign {
		t.vm("gdb", "")
	}
	return true
}

// splitThreadLine takes a line apart that begins a thread of jstack -F, which has a state,
// or gdb, which has none.
func splitThreadLine(text []byte) (id, name, state []byte, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte("Thread "))
	n := stacktext.Digits(rest)
	if !ok || n == 0 {
		return nil, nil, nil, false
	}
	id, rest = rest[:n], rest[n:]
	if state, ok = bytes.CutPrefix(rest, []byte(": (state = ")); ok {
		return id, nil, bytes.TrimRight(state, ")"), true
	}
	rest, ok = bytes.CutPrefix(rest, []byte(" ("))
	if !ok || !bytes.HasSuffix(rest, []byte("):")) {
		return nil, nil, nil, false
	}
	for _, mark := range []string{"LWP ", "process "} {
		if _, of, found := bytes.Cut(rest, []byte(mark)); found {
			id = of[:stacktext.Digits(of)]
		}
	}
	if from, to := bytes.IndexByte(rest, '"'), bytes.LastIndexByte(rest, '"'); from < to {
		name = rest[from+1 : to]
	}
	return id, name, nil, len(id) > 0
}

// infoHeader reads what ThreadInfo.toString has behind the name and the id: the state,
// the lock that the thread waits for and who holds it.
func (t *textReader) infoHeader(h *thread, words []byte) {
	state, rest, _ := bytes.Cut(words, []byte(" "))
	h.state = append(h.state[:0], state...)
	if lock, ok := bytes.CutPrefix(rest, []byte("on ")); ok {
		lock, owner, owned := bytes.Cut(lock, ownedMark)
		lock, _, _ = bytes.Cut(lock, []byte(" "))
		t.addWait(lock, nil)
		if end := bytes.LastIndexByte(owner, '"'); owned && end >= 0 {
			t.label(profile.LabelOwner, owner[:end])
			h.owned = true
		}
	}
}

var ownedMark = []byte(` owned by "`)

// infoLock returns the lock in a line of ThreadInfo.toString: `locked java.lang.Object@4617c264`.
func infoLock(text []byte) ([]byte, bool) {
	lock := text[bytes.LastIndexByte(text, ' ')+1:]
	at := bytes.IndexByte(lock, '@')
	return lock, at > 0 && at < len(lock)-1 && lock[len(lock)-1] != ')'
}

// droidProcess reads `----- pid 4711 at 2026-11-20 23:24:18 -----` and what ends a process.
func (t *textReader) droidProcess(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("----- "))
	if !ok {
		return false
	}
	fields := bytes.Fields(rest)
	switch {
	case len(fields) > 4 && string(fields[0]) == "pid":
		t.leave()
		t.pid, t.pidLine = append(t.pid[:0], fields[1]...), t.in.Number()
		at := append(append(append([]byte{}, fields[3]...), ' '), fields[4]...)
		for _, layout := range []string{time.DateTime, "2006-01-02 15:04:05.999999999-0700"} {
			if date, err := time.Parse(layout, string(at)); err == nil && validTime(date) {
				t.date, t.dateLine = date, t.in.Number()
			}
		}
		return true
	case len(fields) > 1 && string(fields[0]) == "end":
		t.leave()
		return true
	}
	return false
}

// dalvikDump begins the threads of an Android process. Its date is up to 60 lines above.
func (t *textReader) dalvikDump(text []byte) bool {
	if !bytes.HasPrefix(text, dalvikMark) {
		return false
	}
	const near = 60
	t.pidLine += min(t.in.Number(), near)
	t.enter(near)
	t.vm("Android runtime", "")
	return true
}

var dalvikMark = []byte("DALVIK THREADS")

// droidDetail reads `| sysTid=4711 nice=-10 …` and `| state=S schedstat=( 12 3 4 ) …`.
func (t *textReader) droidDetail(text []byte) {
	h := &t.thread
	if !h.open {
		return
	}
	h.foreign = true
	if _, rest, ok := bytes.Cut(text, []byte("sysTid=")); ok {
		h.id = append(h.id[:0], rest[:stacktext.Digits(rest)]...)
	}
	if _, rest, ok := bytes.Cut(text, []byte("schedstat=( ")); ok {
		if ns, ok := stacktext.Uint(rest[:stacktext.Digits(rest)]); ok {
			h.cpu = ns
		}
	}
}

// parseFrame parses a frame of any of the spellings.
func parseFrame(text []byte) (stacktext.JavaFrame, bool) {
	switch {
	case len(text) == 0:
		return stacktext.JavaFrame{}, false
	case text[0] == '#':
		return parseNative(text)
	case bytes.Contains(text, []byte(" @bci=")):
		return parseServed(text)
	}
	return stacktext.ParseJavaFrame(text)
}

// isServed reports whether a line is a frame of jstack -F or jhsdb.
func isServed(text []byte) bool {
	return bytes.HasPrefix(text, []byte("- ")) && bytes.Contains(text, []byte(" @bci="))
}

// parseServed parses a frame of the serviceability agent, `shop.Cart.add(int) @bci=9,
// line=4 (Interpreted frame)`, which has types of arguments where others have the file.
func parseServed(text []byte) (f stacktext.JavaFrame, ok bool) {
	name, rest, _ := bytes.Cut(text, []byte(" @bci="))
	if i := bytes.IndexByte(name, '('); i > 0 {
		name = name[:i]
	}
	f.Function = profile.Function{Name: stacktext.Clean(name), Kind: profile.KindJava}
	if _, line, found := bytes.Cut(rest, []byte("line=")); found {
		f.Line = lineOf(line[:stacktext.Digits(line)])
	}
	switch {
	case bytes.Contains(rest, []byte("(Interpreted")):
		f.Mode = profile.FrameInterpreted
	case bytes.Contains(rest, []byte("(Compiled")):
		f.Mode = profile.FrameJIT
	}
	return f, len(name) > 0
}

// parseNative parses a frame of machine code, of gdb or of Android:
//
//	#1  0x00007f2d62f5ae53 in price (n=5) at shop.c:25
//	#1  price (n=5) at shop.c:25
//	#1  0x00007f2d62f5ae53 in poll () from /lib/libc.so.6
//	#1  pc 00000000000d8b4c  /system/lib64/libc.so (__epoll_pwait+8)
func parseNative(text []byte) (f stacktext.JavaFrame, ok bool) {
	text = bytes.TrimLeft(text[1+stacktext.Digits(text[1:]):], " ")
	f.Function.Kind, f.Mode = profile.KindNative, profile.FrameNative
	if pc, android := bytes.CutPrefix(text, []byte("pc ")); android {
		address, rest, _ := bytes.Cut(bytes.TrimLeft(pc, " "), []byte(" "))
		library, name, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" ("))
		name = bytes.TrimSuffix(name, []byte(")"))
		if i := bytes.LastIndexByte(name, '+'); i > 0 && stacktext.Digits(name[i+1:]) == len(name)-i-1 {
			name = name[:i]
		}
		if len(name) == 0 || bytes.HasPrefix(name, []byte("BuildId")) || bytes.HasPrefix(name, []byte("???")) {
			name = append([]byte("0x"), bytes.TrimLeft(address, "0")...)
		}
		f.Function.Name, f.Function.Module = stacktext.Clean(name), stacktext.Clean(base(library))
		return f, len(address) > 0
	}
	address, rest, ok := bytes.Cut(text, []byte(" in "))
	if !ok || !bytes.HasPrefix(address, []byte("0x")) {
		rest = text
	}
	if i := bytes.LastIndex(rest, []byte(" at ")); i > 0 && rest[i-1] == ')' {
		file := rest[i+len(" at "):]
		if colon := bytes.LastIndexByte(file, ':'); colon > 0 {
			f.Line = lineOf(file[colon+1:])
			file = file[:colon]
		}
		f.Function.File, rest = stacktext.Clean(file), rest[:i]
	} else if i := bytes.LastIndex(rest, []byte(" from ")); i > 0 && rest[i-1] == ')' {
		f.Function.Module, rest = stacktext.Clean(base(rest[i+len(" from "):])), rest[:i]
	}
	f.Function.Name = stacktext.Clean(cutArguments(rest))
	if f.Function.Name == "??" && ok {
		f.Function.Name = stacktext.Clean(address)
	}
	if bytes.Contains(rest, []byte("::")) {
		f.Function.Kind = profile.KindCPP
	}
	return f, f.Function.Name != ""
}

// cutArguments takes the arguments off a call, ` (this=0x0, x=(1))`. Names of C++ hold
// parentheses with types, not with values.
func cutArguments(call []byte) []byte {
	if at := arguments.FindIndex(call); at != nil {
		call = call[:at[0]]
	}
	return bytes.TrimRight(call, " ")
}

var arguments = regexp.MustCompile(` \((\)$|\.\.\.|[A-Za-z_]\w*=)`)

func base(path []byte) []byte { return path[bytes.LastIndexByte(path, '/')+1:] }

func lineOf(text []byte) int32 {
	n, _ := strconv.ParseInt(string(text), 10, 32)
	return int32(max(0, n))
}

// sniffForeign reports whether a line begins a thread or a dump of these spellings.
func sniffForeign(line []byte) bool {
	switch line[0] {
	case 'D':
		return bytes.HasPrefix(line, dalvikMark)
	case 'T':
		_, _, _, ok := splitThreadLine(line)
		return ok
	case '"':
		end := nameEnd(line)
		if end < 0 {
			return false
		}
		_, rest, ok := bytes.Cut(line[end:], []byte(" Id="))
		n := stacktext.Digits(rest)
		return ok && n > 0 && len(rest) > n+1 && rest[n] == ' ' && rest[n+1] >= 'A' && rest[n+1] <= 'Z'
	}
	return false
}
