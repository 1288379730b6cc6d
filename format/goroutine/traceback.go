package goroutine

import (
	"bytes"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// elided is the function that stands for frames that a traceback leaves out, so
// that those around it do not seem to call each other.
const elided = "[frames elided]"

// goroutinesType is the type of the table of a profile that counts goroutines,
// in either form: the same as that of the binary profile.
func goroutinesType() profile.ValueType { return countType("goroutine") }

// unavailable ends the line that stands for the frames of a goroutine that runs.
var unavailable = []byte("; stack unavailable")

// traceback is the goroutine in work.
type traceback struct {
	open     bool
	id       []byte
	state    []byte
	call     []byte // a function whose place comes in the next line
	creation bool   // call is the function that created the goroutine
}

// tracebacks reads goroutines, of which the line in work is the first's header.
func (t *reader) tracebacks() error {
	table := stacktext.NewTable(t.Limits)
	var g traceback
	for more := true; more; more = t.Next() {
		text := t.Text()
		if id, status, ok := header(text); ok {
			t.endTraceback(&g, table)
			t.beginTraceback(&g, id, status)
			continue
		}
		if len(text) == 0 {
			t.endTraceback(&g, table)
			continue
		}
		if g.open {
			if err := t.tracebackLine(&g, text); err != nil {
				return err
			}
		}
	}
	t.endTraceback(&g, table)
	t.Profile.Dumps = true
	t.Profile.Tables = []profile.Samples{table.Samples(goroutinesType(), false, 0)}
	return nil
}

// header splits the first line of a goroutine:
//
//	goroutine 24 [sync.Mutex.Lock, 5 minutes, locked to thread]:
//	goroutine 1 gp=0xc000002380 m=0 mp=0x56a0e0 [running]:
func header(text []byte) (id, status []byte, ok bool) {
	text, ok = bytes.CutPrefix(text, []byte("goroutine "))
	n := stacktext.Digits(text)
	if !ok || n == 0 || !bytes.HasSuffix(text, []byte("]:")) {
		return nil, nil, false
	}
	open := bytes.Index(text[n:], []byte(" ["))
	if open < 0 {
		return nil, nil, false
	}
	return text[:n], text[n+open+2 : len(text)-2], true
}

func (t *reader) beginTraceback(g *traceback, id, status []byte) {
	t.Frames = t.Frames[:0]
	t.labels = t.labels[:0]
	*g = traceback{open: true, id: append(g.id[:0], id...), state: g.state[:0], call: g.call[:0]}
	if i := bytes.Index(status, []byte(" labels:{")); i >= 0 {
		t.addLabels(status[i+len(" labels:"):])
		status = status[:i]
	}
	for i, part := range bytes.Split(status, []byte(", ")) {
		count, unit, _ := bytes.Cut(part, []byte(" "))
		minutes, isNumber := stacktext.Uint(count)
		switch {
		case i == 0:
			g.state = append(g.state, bytes.TrimSuffix(part, []byte(" (scan)"))...)
		case isNumber && string(unit) == "minutes":
			t.labels = append(t.labels, profile.Label{Key: "wait", Num: minutes, Unit: "minutes"})
		case string(part) == "locked to thread":
			t.labels = append(t.labels, profile.Label{Key: "locked to thread", Text: "true"})
		default:
			t.labels = append(t.labels, t.Label("status", part))
		}
	}
}

// addLabels adds the labels of `{"k": "v", "k": "v"}`, strings as Go quotes them.
// From the first that is not one on, they are left out with a note.
func (t *reader) addLabels(text []byte) {
	rest := string(text)
	for sep := "{"; ; sep = "," {
		var key, value string
		if len(rest) < 2 || rest[:1] != sep {
			break
		}
		ok := true
		if key, rest, ok = cutQuoted(rest[1:]); !ok || rest == "" || rest[0] != ':' {
			break
		}
		if value, rest, ok = cutQuoted(rest[1:]); !ok {
			break
		}
		t.labels = append(t.labels, t.Label(stacktext.Clean([]byte(key)), []byte(value)))
	}
	if rest != "}" && rest != "{}" {
		t.Notes.Add("labels are not understood", "sets of labels are not understood", t.Number())
	}
}

// cutQuoted takes a quoted string off the front of text, behind blanks.
func cutQuoted(text string) (value, rest string, ok bool) {
	for text != "" && text[0] == ' ' {
		text = text[1:]
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", text, false
	}
	value, err = strconv.Unquote(quoted)
	return value, text[len(quoted):], err == nil
}

// tracebackLine reads a line of a goroutine: a call, its place, who created the
// goroutine, or that frames were left out.
func (t *reader) tracebackLine(g *traceback, text []byte) error {
	switch {
	case bytes.HasSuffix(text, unavailable), text[0] == '[':
		// It runs on another thread. Or: [originating from goroutine 1]:
	case text[0] == '\t' || text[0] == ' ':
		return t.callPlace(g, bytes.TrimLeft(text, " \t"))
	case bytes.HasPrefix(text, []byte("created by ")):
		creator, _, _ := bytes.Cut(text[len("created by "):], []byte(" in goroutine "))
		t.labels = append(t.labels, t.Label("created by", creator))
		g.call, g.creation = append(g.call[:0], creator...), true
	case bytes.HasPrefix(text, []byte("...")) && bytes.HasSuffix(text, []byte("frames elided...")):
		return t.addFrame([]byte(elided), nil, profile.FrameUnknown)
	case isCall(text):
		if len(g.call) > 0 {
			t.notUnderstood()
		}
		g.call, g.creation = append(g.call[:0], text...), false
	default:
		t.notUnderstood()
	}
	return nil
}

func (t *reader) notUnderstood() {
	t.Notes.Add("a line in the middle of a goroutine is not understood", "lines in the middle of goroutines are not understood", t.Number())
}

// isCall reports whether text is a function with arguments: `main.f(0x1, …)`. The
// text in parentheses holds none.
func isCall(text []byte) bool {
	return len(text) > 2 && text[len(text)-1] == ')' && bytes.LastIndexByte(text, '(') > 0
}

// callPlace reads the place of the call in work, `shop/main.go:54 +0x13`, and
// what more the runtime says of it.
func (t *reader) callPlace(g *traceback, place []byte) error {
	if len(g.call) == 0 {
		t.notUnderstood()
		return nil
	}
	call := g.call
	g.call = g.call[:0]
	if g.creation {
		return nil
	}
	for _, mark := range [][]byte{[]byte(" +0x"), []byte(" fp=0x")} {
		place, _, _ = bytes.Cut(place, mark)
	}
	open := bytes.LastIndexByte(call, '(')
	mode := profile.FrameUnknown
	if string(call[open:]) == "(...)" {
		mode = profile.FrameInlined
	}
	function := call[:open]
	switch string(function) { // as profiles have it
	case "panic":
		function = []byte("runtime.gopanic")
	case "runtime.goexit":
		return nil
	}
	return t.addFrame(function, place, mode)
}

// endTraceback adds the goroutine in work.
func (t *reader) endTraceback(g *traceback, table *stacktext.Table) {
	if !g.open {
		return
	}
	g.open = false
	if len(g.call) > 0 && !g.creation {
		t.notUnderstood()
	}
	t.key = append(append(t.key[:0], "goroutine "...), g.id...)
	table.Add(stacktext.Row{
		Stack: t.Stack(t.Frames), Value: 1,
		Thread: t.Thread(nil, t.key, g.id), State: t.State(g.state), Labels: t.Labels(t.labels),
	})
}
