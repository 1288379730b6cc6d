package threaddump

import (
	"bytes"

	"github.com/dendroprof/dendro/format/internal/stacktext"
)

// Lines about locks, without the dash. Behind each is the address in angles, and
// behind that mostly the class.
var (
	lockedMark = []byte("locked ")
	waitMarks  = [][]byte{
		[]byte("waiting to lock "), []byte("waiting on "), []byte("parking to wait for "),
		[]byte("waiting to re-lock in wait() "), []byte("blocked on "),
	}
)

// lock reads a line about a lock of the thread in work:
//
//   - waiting to lock <0x000000069ec1f888> (a java.lang.Object)
//   - locked <java.lang.Object@7b673a86>
//
// and the elements of the list of ownable synchronizers, which have no verb.
func (t *textReader) lock(text []byte) {
	if !t.thread.open || t.thread.muted {
		return
	}
	text = bytes.TrimLeft(text[1:], " ")
	address, class, ok := lockedObject(text)
	if !ok {
		if address, ok = infoLock(text); !ok {
			return
		}
	}
	if text[0] == '<' || len(address) == len(text) || bytes.HasPrefix(text, lockedMark) {
		t.addHold(address, class)
		return
	}
	for _, mark := range waitMarks {
		if bytes.HasPrefix(text, mark) {
			t.addWait(address, class)
			return
		}
	}
}

// lockedObject returns what is in angles in a line about a lock, and the class
// behind it. Ok is false if there is no object, or none that is known: in angles
// may be why not, in words.
func lockedObject(text []byte) (address, class []byte, ok bool) {
	from := bytes.IndexByte(text, '<')
	if from < 0 {
		return nil, nil, false
	}
	to := bytes.IndexByte(text[from:], '>')
	if to < 2 {
		return nil, nil, false
	}
	address, class = text[from+1:from+to], text[from+to+1:]
	if bytes.IndexByte(address, ' ') >= 0 {
		return nil, nil, false
	}
	class, ok = bytes.CutPrefix(class, []byte(" (a "))
	if !ok {
		return address, nil, true
	}
	class, _, _ = bytes.Cut(class, []byte(")"))
	return address, class, true
}

// foundDeadlock reads the first and the last line of the deadlocks.
func (t *textReader) foundDeadlock(text []byte) bool {
	switch {
	case !bytes.HasPrefix(text, []byte("Found ")) || !bytes.Contains(text, []byte("deadlock")):
		return false
	case t.found == 0:
		return true
	case text[len(text)-1] == ':':
		t.leave()
		t.endMember()
		t.section, t.wanted = cycle, noLock
		t.cycles++
	default: // Found 1 deadlock.
		t.endMember()
		t.section = outside
	}
	return true
}

// deadlockDetail reads what a thread of a deadlock waits for, and who holds it. Without
// jstack -l nothing else says who holds a synchronizer:
//
//	waiting to lock monitor 0x00007f08f0001340 (object 0x000000069ec1f8b8, a java.lang.Object),
//	waiting for ownable synchronizer 0x000000069ec1f9a0, (a java.util.concurrent.locks.ReentrantLock$NonfairSync),
//	which is held by "reserve-2"
func (t *textReader) deadlockDetail(text []byte) {
	if rest, ok := bytes.CutPrefix(text, []byte(`which is held by "`)); ok && t.wanted != noLock {
		t.dump.named[t.wanted] = stacktext.Clean(rest[:max(0, bytes.LastIndexByte(rest, '"'))])
		t.wanted = noLock
		return
	}
	t.wanted = noLock
	if len(t.member) == 0 {
		return
	}
	for _, mark := range [][]byte{[]byte("(object "), []byte("ownable synchronizer ")} {
		if _, rest, ok := bytes.Cut(text, mark); ok {
			address, _, _ := bytes.Cut(rest, []byte(","))
			t.wanted = t.dump.lock(address)
			t.addMember(t.wanted)
			return
		}
	}
}

// addMember notes the thread that the deadlock in work speaks of.
func (t *textReader) addMember(lock int32) {
	t.dump.dead[deadlocked{stacktext.Clean(t.member), lock}] = t.cycles
	t.member = t.member[:0]
}

// endMember notes that thread if the dump did not say what it waits for.
func (t *textReader) endMember() {
	if len(t.member) > 0 {
		t.addMember(noLock)
	}
}
