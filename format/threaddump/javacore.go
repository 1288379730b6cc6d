package threaddump

import (
	"bytes"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// coreReader reads the javacore of J9. Every line of it begins with a tag that
// says what the line is; tags that it does not know are passed over, which is
// most of the file.
type coreReader struct {
	*Collector
	in    *stacktext.Lines
	found int    // threads
	again bool   // the thread is the current one, which comes once more below
	utc   bool   // the date of the dump is in UTC
	lock  []byte // class of a lock, in dots
	cycle int    // deadlocks of the dump
}

func readJavacore(c *Collector, r *stacktext.Reading) error {
	c.parse = parseSlashed
	t := &coreReader{Collector: c, in: r.Lines}
	for t.in.Next() {
		tag, text, _ := bytes.Cut(t.in.Text(), []byte(" "))
		if len(tag) < 8 {
			continue
		}
		if err := t.tagged(tag, bytes.Trim(text, " \t")); err != nil {
			return err
		}
	}
	t.end()
	if t.found == 0 {
		return t.in.Malformed("there are no threads in it")
	}
	return nil
}

func (t *coreReader) tagged(tag, text []byte) error {
	switch string(tag) {
	case "4XESTACKTRACE":
		return t.stackFrame(text)
	case "5XESTACKTRACE":
		t.entered(text)
	case "3XMTHREADINFO":
		t.threadInfo(text)
	case "3XMTHREADINFO1":
		t.nativeThread(text)
	case "3XMTHREADBLOCK":
		t.blocked(text)
	case "3XMJAVALTHREAD":
		if t.thread.open && bytes.Contains(text, []byte("isDaemon:true")) {
			t.label("daemon", yes)
		}
	case "3XMCPUTIME":
		t.cpuTime(text)
	case "1XMCURTHDINFO":
		t.close()
		t.again = true
	case "1XMTHDINFO":
		t.close()
		t.again = false
	case "0SECTION":
		t.close()
		if bytes.HasPrefix(text, []byte("TITLE ")) {
			t.next()
		}
	case "1TIDATETIMEUTC":
		t.utc = t.date(text)
	case "1TIDATETIME":
		if !t.utc {
			t.date(text)
		}
	case "1CIPROCESSID":
		if rest, ok := bytes.CutPrefix(text, []byte("Process ID: ")); ok {
			t.process = append(t.process[:0], rest[:stacktext.Digits(rest)]...)
		}
	case "1CIJAVAVERSION":
		version, _, _ := bytes.Cut(text, []byte(" (build"))
		t.vm("J9", stacktext.Clean(version))
	case "1LKDEADLOCK":
		t.cycle++
	case "2LKDEADLOCKTHR", "3LKDEADLOCKTHR":
		t.deadlocked(text)
	}
	return nil
}

// next begins the dump of the next file: javacores are put behind each other to
// become samples over time.
func (t *coreReader) next() {
	t.begin(time.Time{})
	t.process = t.process[:0]
	t.again, t.utc, t.cycle = false, false, 0
}

// date reads `Date: 2018/08/30 at 15:36:12:231 (UTC)`. Local time has no zone and
// is taken as UTC.
func (t *coreReader) date(text []byte) bool {
	_, text, ok := bytes.Cut(text, []byte("Date: "))
	if text = bytes.TrimLeft(text, " "); !ok || len(text) < len("2018/08/30 at 15:36:12") {
		return false
	}
	at, err := time.Parse("2006/01/02 at 15:04:05", string(text[:len("2018/08/30 at 15:36:12")]))
	if err != nil || !validTime(at) {
		return false
	}
	if millis, ok := bytes.CutPrefix(text[len("2018/08/30 at 15:36:12"):], []byte(":")); ok {
		if n, ok := stacktext.Uint(millis[:stacktext.Digits(millis)]); ok && n < 1000 {
			at = at.Add(time.Duration(n) * time.Millisecond)
		}
	}
	if t.at.IsZero() {
		t.time = at.UnixNano()
	}
	return true
}

// threadInfo begins a thread:
//
//	"main" J9VMThread:0x…, omrthread_t:0x…, java/lang/Thread:0x…, state:CW, prio=5
//	Anonymous native thread
func (t *coreReader) threadInfo(text []byte) {
	t.close()
	if t.again {
		return
	}
	t.found++
	h := t.open()
	end := bytes.LastIndexByte(text, '"')
	if end <= 0 || text[0] != '"' {
		h.name = append(h.name, text...)
		return
	}
	h.name = append(h.name, text[1:end]...)
	for field := range bytes.SplitSeq(text[end+1:], []byte(",")) {
		field = bytes.TrimLeft(field, " ")
		switch {
		case bytes.HasPrefix(field, []byte("state:")):
			t.state(field[len("state:"):])
		case bytes.HasPrefix(field, []byte("prio=")):
			if n, ok := stacktext.Uint(field[len("prio="):]); ok {
				h.labels = append(h.labels, profile.Label{Key: "priority", Num: n})
			}
		}
	}
}

// state translates a state of J9 into the word that Java has for it.
func (t *coreReader) state(letters []byte) {
	state, ok := coreStates[string(letters)]
	if !ok {
		state = string(letters)
	}
	t.thread.state = append(t.thread.state[:0], state...)
	if string(letters) == "P" {
		t.label("wait", []byte("parking"))
	}
}

var coreStates = map[string]string{
	"R": "RUNNABLE", "CW": "WAITING", "P": "WAITING", "B": "BLOCKED", "MW": "BLOCKED", "S": "SUSPENDED", "Z": "TERMINATED",
}

// nativeThread reads `(native thread ID:0x618F, native priority:0xB, …)`.
func (t *coreReader) nativeThread(text []byte) {
	_, text, ok := bytes.Cut(text, []byte("native thread ID:"))
	if !t.thread.open || !ok {
		return
	}
	digits, _, _ := bytes.Cut(bytes.TrimLeft(text, " "), []byte(","))
	if id, ok := stacktext.Hex(bytes.TrimRight(digits, ")")); ok {
		t.thread.id = strconv.AppendUint(t.thread.id[:0], id, 10)
	}
}

// cpuTime reads `CPU usage total: 0.052410771 secs, …`.
func (t *coreReader) cpuTime(text []byte) {
	rest, ok := bytes.CutPrefix(text, []byte("CPU usage total: "))
	if !t.thread.open || !ok {
		return
	}
	number, _, _ := bytes.Cut(rest, []byte(" "))
	if ns, ok := stacktext.Nanos(number, 1e9); ok {
		t.thread.cpu = ns
	}
}

// blocked reads
//
//	Blocked on: java/lang/Object@0x00000000F0001000 Owned by: "worker-2" (J9VMThread:0x…, java/lang/Thread:0x…)
func (t *coreReader) blocked(text []byte) {
	_, rest, ok := bytes.Cut(text, []byte(" on: "))
	if !t.thread.open || !ok {
		return
	}
	name, rest, _ := bytes.Cut(rest, []byte(" "))
	t.withLock(name, t.addWait)
	if _, owner, ok := bytes.Cut(rest, []byte(`Owned by: "`)); ok {
		if end := bytes.LastIndexByte(owner, '"'); end >= 0 {
			t.label(profile.LabelOwner, owner[:end])
			t.thread.owned = true
		}
	}
}

// entered reads `(entered lock: java/lang/Object@0x00000000F0001000, entry count: 1)`.
func (t *coreReader) entered(text []byte) {
	_, rest, ok := bytes.Cut(text, []byte("entered lock: "))
	if !t.thread.open || !ok {
		return
	}
	name, _, _ := bytes.Cut(rest, []byte(","))
	t.withLock(name, t.addHold)
}

// withLock calls add with the two parts of `java/lang/Object@0x00000000F0001000`.
func (t *coreReader) withLock(name []byte, add func(address, class []byte)) {
	at := bytes.LastIndexByte(name, '@')
	if at < 0 || at == len(name)-1 {
		return
	}
	t.lock = append(t.lock[:0], name[:at]...)
	dots(t.lock)
	add(name[at+1:], t.lock)
}

// deadlocked reads `Thread "worker-1" (0x00000000001A2B00)`. The locks come before
// the threads in the file, and the last thread of a cycle is the first once more.
func (t *coreReader) deadlocked(text []byte) {
	from, to := bytes.IndexByte(text, '"'), bytes.LastIndexByte(text, '"')
	if from >= 0 && to > from && t.cycle > 0 {
		t.dump.dead[deadlocked{stacktext.Clean(text[from+1 : to]), noLock}] = t.cycle
	}
}

// stackFrame reads `at java/lang/Thread.run(Thread.java:795(Compiled Code))`.
func (t *coreReader) stackFrame(text []byte) error {
	text, ok := bytes.CutPrefix(text, atMark)
	if !t.thread.open || !ok {
		return nil
	}
	return t.addFrameLine(text, t.in.Number())
}

// parseSlashed parses a frame of a javacore, which has slashes in its class:
//
//	java/lang/Thread.run(Thread.java:924(Compiled Code))
func parseSlashed(text []byte) (stacktext.JavaFrame, bool) {
	text = bytes.Clone(text)
	dots(text[:max(0, bytes.IndexByte(text, '('))])
	return stacktext.ParseJavaFrame(text)
}

// dots makes dots of the slashes of a class, but for the one before the address
// of a hidden class.
func dots(class []byte) {
	for i, c := range class {
		if c == '/' && i+1 < len(class) && class[i+1]-'0' > 9 {
			class[i] = '.'
		}
	}
}
