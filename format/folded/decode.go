package folded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// run is the reading of one file.
type run struct {
	*Decoder
	p      *profile.Profile
	limits profile.Limits
	in     window

	by   strategy
	pair bool // two numbers a line: base and head
	line int  // number of the line in work; 1 is the first

	// What the line in work shares with the one above. above is the stack of
	// that line as text, marks are its frames, thread ends at threadTo.
	above    []byte
	marks    []mark
	next     profile.StackID     // the stack that probably comes next, see walk
	contents []profile.StackHash // of the stacks up to and with each mark, if limits.Sums
	content  profile.StackHash   // of the stack of the line in work, if limits.Sums
	threadTo int
	thread   profile.ThreadID

	threads    map[string]profile.ThreadID // by text
	threadText string                      // text of thread

	scale   int       // decimals of all counts so far
	counts  [2]int64  // of the line in work
	sums    [2]uint64 // of the magnitudes of each table
	rounded profile.Warning
	nRound  int
	bare    int // lines without a stack
}

// mark is one frame of the line above.
type mark struct {
	end    int // of its text
	frame  profile.FrameID
	caller profile.FrameID // the frame as a caller: with Limits.Sums only its function
	stack  profile.StackID // up to and with caller; NoStack: not asked for yet
}

func newRun(d *Decoder, r io.Reader, p *profile.Profile, l profile.Limits) *run {
	if d.buf == nil {
		d.buf = make([]byte, windowSize)
	}
	l.Line = min(l.Line, math.MaxInt-len("\r\n")) // sizes are computed with it
	return &run{
		Decoder:  d,
		p:        p,
		limits:   l,
		in:       window{r: r, buf: d.buf},
		by:       d.strategy,
		marks:    d.marksBuf[:0],
		threadTo: noThread,
	}
}

// giveBack leaves the scratch memory for the next file, unless a giant line has
// made it giant.
func (r *run) giveBack() {
	d := r.Decoder
	d.marksBuf = r.marks
	d.buf = r.in.buf
	if len(d.buf) > keptSize {
		d.buf = nil
	}
	if cap(d.marksBuf) > keptSize/16 {
		d.marksBuf = nil
	}
	if cap(d.aboveBuf) > keptSize {
		d.aboveBuf = nil
	}
	for i := range d.columns {
		c := &d.columns[i]
		if *c = (profile.Samples{Stack: c.Stack[:0], Value: c.Value[:0], Content: c.Content[:0]}); cap(c.Stack) > maxCached {
			*c = profile.Samples{}
		}
	}
}

// finish fills in what is known at the end only.
func (r *run) finish() {
	for i := range r.p.Tables {
		c := &r.columns[i]
		c.Type = r.p.Tables[i].Type
		c.Type.Scale = r.scale
		t := *c
		if !t.Bounded() {
			t.Stack, t.Value, t.Thread, t.Content = slices.Clone(t.Stack), slices.Clone(t.Value), slices.Clone(t.Thread), slices.Clone(t.Content)
		}
		c.Thread = nil
		r.p.Tables[i] = t
	}
	if r.nRound > 0 {
		r.rounded.Message = fmt.Sprintf("%d counts have more than %d decimals and were rounded; this is the first", r.nRound, maxDecimals)
		r.p.Warnings = append(r.p.Warnings, r.rounded)
	}
	if r.bare > 0 {
		r.p.Warnf("lines with a count and no stack count as %s: %d", profile.LostName, r.bare)
	}
	if r.p.Tables[0].Len() == 0 && (!r.pair || r.p.Tables[1].Len() == 0) {
		r.p.Warnf("the file holds no samples")
	}
}

// read reads the whole input.
func (r *run) read() error {
	for planned := false; ; {
		if err := r.in.fill(); err != nil {
			return fmt.Errorf("reading folded text: %w", err)
		}
		text := r.in.unread()
		if !planned && (r.in.eof || bytes.IndexByte(text, '\n') >= 0) {
			r.plan(text)
			planned = true
		}
		n := 0
		if planned {
			var err error
			if n, err = r.lines(text); err != nil || r.in.eof {
				return err
			}
		}
		r.keepAbove()
		r.in.from += n
		if n == 0 {
			if len(text) >= r.limits.Line+len("\r\n") {
				r.line++
				return r.tooLong(0)
			}
			r.in.grow(r.limits.Line)
		}
	}
}

// keepAbove moves the text of the line above out of the window, which is about
// to move on.
func (r *run) keepAbove() {
	if len(r.above) > 0 {
		r.aboveBuf = append(r.aboveBuf[:0], r.above...)
		r.above = r.aboveBuf
	}
}

// lines reads the complete lines of a window, at the end of the input also one
// without a line feed, and returns how much text they are.
func (r *run) lines(text []byte) (int, error) {
	for pos := 0; pos < len(text); {
		rest := text[pos:]
		shared := 0
		if r.by == byPrefix {
			// What the line shares with a part of the line above holds no line
			// feed and need not be searched for one.
			shared = commonPrefix(rest, r.above)
		}
		end := bytes.IndexByte(rest[shared:], '\n') + shared
		if end < shared {
			if !r.in.eof {
				return pos, nil
			}
			end = len(rest)
		}
		r.line++
		if end > r.limits.Line && (end > r.limits.Line+1 || rest[end-1] != '\r') {
			return pos, r.tooLong(pos)
		}
		if err := r.oneLine(rest[:end], shared); err != nil {
			return pos, r.place(err, pos, end == len(rest))
		}
		pos += end + 1
	}
	return len(text), nil
}

// oneLine reads one line, of which the first bytes, shared in number, are those
// of the line above.
func (r *run) oneLine(line []byte, shared int) error {
	odd := len(line) == 0 || startsOddly(line[0])
	if odd && saysNothing(line) {
		return nil
	}
	text, bad := r.count(line)
	if bad != nil {
		return bad
	}
	if odd {
		// If anything goes, shared is 0: no stack above begins with it.
		text = trimStart(text)
	}
	if len(text) == 0 {
		return r.addBare(line)
	}
	stack, err := r.stack(text, min(shared, len(text)))
	if err != nil {
		return err
	}
	if stack == profile.NoStack && r.thread == 0 {
		return &lineError{what: "no frame before the count"}
	}
	return r.add(stack)
}

// addBare adds a line with a blank and a count, as py-spy writes a sample without frames.
// Semicolons would be a stack of functions without a name.
func (r *run) addBare(line []byte) error {
	if bytes.IndexByte(line, ';') >= 0 {
		return &lineError{what: "no frame before the count"}
	}
	r.bare++
	r.above, r.marks, r.threadTo, r.content = nil, r.marks[:0], noThread, profile.StackHash{}
	r.setThread(nil)
	return r.add(profile.NoStack)
}

// startsOddly reports whether a line that begins with c may be blank, a comment,
// or have something in front of its stack.
func startsOddly(c byte) bool { return isBlank(c) || c == ';' || c == '#' }

// trimStart takes off what may stand in front of a stack and is no frame.
func trimStart(text []byte) []byte {
	for len(text) > 0 && (isBlank(text[0]) || text[0] == ';') {
		text = text[1:]
	}
	return text
}

// saysNothing reports whether a line is blank or a comment. A line that begins
// with `#` and does not end in a number is a comment: no sample is lost with
// it. One that begins with `# ` and has no semicolon is a comment also when it
// ends in a number, as in `# samples: 4711`.
func saysNothing(line []byte) bool {
	body := trimStart(line)
	if len(body) == 0 {
		return bytes.IndexByte(line, ';') < 0
	}
	if body[0] != '#' {
		return false
	}
	if len(body) == 1 || isBlank(body[1]) && bytes.IndexByte(line, ';') < 0 {
		return true
	}
	_, _, err := lastNumber(body)
	return err != nil && err.noCount
}

// stack returns the stack of a text of at least one character.
func (r *run) stack(text []byte, shared int) (profile.StackID, error) {
	to := noThread
	if c := text[0]; c == '[' || c == 't' || c == 'p' {
		to = threadEnd(text)
	}
	if to != r.threadTo || shared < to {
		r.marks = r.marks[:0]
		r.threadTo = to
		r.setThread(text[:max(to, 0)])
	}
	switch r.by {
	case byPrefix:
		r.above = text
		return r.resume(text, shared)
	case byHash:
		return r.lookUp(text)
	}
	r.marks = r.marks[:0]
	return r.walk(text, r.threadTo+1)
}

// resume drops the marks of frames that the text does not share with the line
// above and reads on behind the last one that it does.
func (r *run) resume(text []byte, shared int) (profile.StackID, error) {
	n := len(r.marks)
	for n > 0 {
		// The frame is shared if all its text is and it ends here, too. A mark
		// is at a semicolon of the line above or at its end.
		if end := r.marks[n-1].end; end <= shared && (end == len(text) || text[end] == ';') {
			break
		}
		n--
	}
	r.marks = r.marks[:n]
	if n == 0 {
		return r.walk(text, r.threadTo+1)
	}
	return r.walk(text, r.marks[n-1].end+1)
}

// lookUp finds the whole stack, or walks it once.
func (r *run) lookUp(text []byte) (profile.StackID, error) {
	if r.threadTo >= len(text) {
		r.content = profile.StackHash{}
		return profile.NoStack, nil
	}
	hash := r.stacks.hash(text[r.threadTo+1:])
	if known := r.stacks.find(hash); known != nil {
		if int(known.depth)-1 > r.limits.Depth {
			return 0, r.tooDeep()
		}
		r.content = known.content
		return known.stack, nil
	}
	r.marks = r.marks[:0]
	stack, err := r.walk(text, r.threadTo+1)
	if err == nil {
		r.stacks.add(stackSlot{hash, stack, int32(len(r.marks) + 1), r.content})
	}
	return stack, err
}

// walk goes from the last mark along the frames of text[pos:], leaves a mark at each and
// returns the stack of all marks. Pieces without text are no frames.
func (r *run) walk(text []byte, pos int) (profile.StackID, error) {
	tree := &r.p.Symbols.Stacks
	caller := profile.NoStack
	if pos < len(text) {
		caller = r.caller()
	}
	for pos < len(text) {
		if len(r.marks) >= r.limits.Depth {
			if len(trimStart(text[pos:])) > 0 {
				return 0, r.tooDeep()
			}
			break
		}
		// Stacks have numbers in the order in which some earlier text had them,
		// so the next one is likely to be the successor of the last. To see
		// that takes no search for the end of the frame and no table.
		var at int32
		n := 0
		if next := r.next; int(next) < len(tree.Parent) && tree.Parent[next] == int32(caller) {
			at, n = r.frames.match(profile.FrameID(tree.Item[next]), text[pos:])
		}
		if n == 0 {
			n = pieceEnd(text, pos) - pos
			if n == 0 {
				pos++
				continue
			}
			at = r.spelling(text[pos : pos+n])
		}
		pos += n
		if s := &r.frames.spelled[at]; s.frame != noFrame {
			m := mark{end: pos, frame: s.frame, caller: s.caller, stack: profile.NoStack}
			if r.limits.Sums {
				var content profile.StackHash
				if n := len(r.marks); n > 0 {
					content = r.contents[n-1]
				}
				r.contents = append(r.contents[:len(r.marks)], content.Call(r.frameHash(s.frame)))
			}
			if pos < len(text) {
				caller = r.child(caller, s.caller)
				m.stack = caller
			}
			r.marks = append(r.marks, m)
		}
		pos++
	}
	return r.leaf(), nil
}

// child returns the stack that calls a frame from a caller.
func (r *run) child(caller profile.StackID, frame profile.FrameID) profile.StackID {
	tree := &r.p.Symbols.Stacks
	known := len(tree.Parent)
	n := r.next
	if int(n) >= known || tree.Parent[n] != int32(caller) || tree.Item[n] != int32(frame) {
		n = r.p.Symbols.Stack(caller, frame)
	}
	if int(n) < known {
		r.next = n + 1
	}
	return n
}

// callerOfLast returns the stack that calls the frame of the last mark.
func (r *run) callerOfLast() profile.StackID {
	if n := len(r.marks); n > 1 {
		return r.marks[n-2].stack // known since the last mark was left
	}
	return profile.NoStack
}

// caller returns the stack of the marks as one that calls a further frame.
func (r *run) caller() profile.StackID {
	n := len(r.marks)
	if n == 0 {
		return profile.NoStack
	}
	m := &r.marks[n-1]
	if m.stack == profile.NoStack {
		m.stack = r.child(r.callerOfLast(), m.caller)
	}
	return m.stack
}

// leaf returns the stack of the marks, the last of which is the innermost frame.
func (r *run) leaf() profile.StackID {
	n := len(r.marks)
	if n == 0 {
		r.content = profile.StackHash{}
		return profile.NoStack
	}
	m := &r.marks[n-1]
	if r.limits.Sums {
		r.content = r.contents[n-1]
	}
	if m.frame == m.caller {
		return r.caller()
	}
	return r.child(r.callerOfLast(), m.frame)
}

// spelling returns the number of the spelling of a piece of at least one character.
func (r *run) spelling(piece []byte) int32 {
	hash := intern.Bytes(piece)
	at, ok := r.frames.find(hash, piece)
	if !ok {
		return r.frames.add(hash, r.newSpelling(string(piece)))
	}
	if s := &r.frames.spelled[at]; s.frame != noFrame {
		r.frames.last[s.caller] = at + 1
	}
	return at
}

// newSpelling interns the frame of a piece that was never seen in this spelling.
func (r *run) newSpelling(spelled string) spelling {
	text := clean(spelled)
	if text == "" {
		return spelling{text: spelled, frame: noFrame}
	}
	s, sym := parseFrame(text), r.p.Symbols
	fn := sym.Function(s.function)
	frame := sym.Frame(profile.Frame{Function: fn, Line: s.line, Type: s.mode})
	sp := spelling{text: spelled, frame: frame, caller: frame}
	if r.limits.Sums {
		sp.caller = sym.Frame(profile.Frame{Function: fn})
	}
	return sp
}

// frameHash returns the hash of a frame.
func (r *run) frameHash(frame profile.FrameID) profile.StackHash {
	for i := len(r.hashes); i <= int(frame); i++ {
		r.hashes = append(r.hashes, r.p.Symbols.FrameHash(profile.FrameID(i)))
	}
	return r.hashes[frame]
}

// setThread makes the thread of a thread frame the one in work; empty is none.
func (r *run) setThread(text []byte) {
	if len(text) == 0 {
		r.thread, r.threadText = 0, ""
		return
	}
	if r.threadText == string(text) {
		return
	}
	id, ok := r.threads[string(text)]
	if !ok {
		id = r.newThread(string(text))
	}
	r.thread = id
	r.threadText = r.p.Threads[id].Frame
}

// newThread adds a thread; two spellings of one frame are one thread.
func (r *run) newThread(spelled string) profile.ThreadID {
	if r.threads == nil {
		r.threads = map[string]profile.ThreadID{}
	}
	frame := clean(spelled)
	id, ok := r.threads[frame]
	if !ok {
		id = profile.ThreadID(len(r.p.Threads))
		r.p.Threads = append(r.p.Threads, parseThread(frame))
		r.threads[frame] = id
	}
	r.threads[spelled] = id
	return id
}

// commonPrefix returns how many bytes a and b have in common at their start.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	// The runtime compares blocks with vector instructions, but does not say
	// where they differ.
	const block = 256
	i := 0
	for i+block <= n && string(a[i:i+block]) == string(b[i:i+block]) {
		i += block
	}
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// add appends the samples of the line in work.
func (r *run) add(stack profile.StackID) error {
	for i := range r.p.Tables {
		v := r.counts[i]
		if v == 0 {
			continue // says nothing and is not stored
		}
		if r.sums[i] += magnitude(v); r.sums[i] > math.MaxInt64 {
			return &lineError{what: "the sum of the counts up to here", err: errOverflow}
		}
		c := &r.columns[i]
		c.Append(stack, v, 0, profile.Tags{Thread: r.thread})
		if r.limits.Sums {
			c.Content = append(c.Content, r.content)
		}
		c.Bound(r.limits)
	}
	return nil
}
