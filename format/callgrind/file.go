package callgrind

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/callgraph"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// file is the reading of one file into graphs, one for each thread.
type file struct {
	in     *stacktext.Lines
	p      *profile.Profile
	names  [3]map[int]string // by number: objects, files, functions
	graphs []*thread
	graph  *thread // of the part in work

	dialect   dialect  // known with the first event
	events    []string // of the file
	columns   []int    // of the part in work: event of each column
	positions int      // columns of positions: instruction, line
	linePos   int      // which of them is the line, or -1
	last      [2]int64 // positions of the line above

	// Where the line in work is.
	object, file, ownFile    string
	function                 int32
	calledObject, calledFile string
	called                   int32
	hasObject, hasFile       bool // for the next call
	isCall, isJump           bool // what the next line of costs is

	costs   []int64 // of the line in work
	byEvent []int64 // the same in the order of events
}

// thread is the call graph of a thread.
type thread struct {
	id    string
	graph *callgraph.Graph
	ids   map[nodeKey]int32
}

// nodeKey is the identity of a function in the file.
type nodeKey struct{ object, file, name string }

// Kinds of names that are numbered apart.
const (
	objects = iota
	files
	functions
)

// maxEvents bounds the columns; callgrind has fifteen at most.
const maxEvents = 64

func newFile(in *stacktext.Lines, p *profile.Profile) *file {
	f := &file{in: in, p: p, positions: 1, function: callgraph.None, called: callgraph.None}
	for i := range f.names {
		f.names[i] = map[int]string{}
	}
	f.thread("")
	return f
}

func (f *file) read() error {
	for f.in.Next() {
		line := bytes.TrimSpace(f.in.Text())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if err := f.line(line); err != nil {
			return err
		}
	}
	if f.isCall {
		return f.in.Malformed("the file ends behind a call")
	}
	if len(f.events) == 0 {
		return f.in.Malformed("no line says which events are counted")
	}
	return nil
}

// line reads one line: of costs, of a position, or of the head.
func (f *file) line(line []byte) error {
	switch c := line[0]; {
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '*':
		return f.costLine(line)
	}
	key, value, isPosition := bytes.Cut(line, []byte("="))
	if i := bytes.IndexByte(key, ':'); !isPosition || i >= 0 {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return f.in.Malformed("neither costs nor a position: %.60q", line)
		}
		return f.headLine(string(key), stacktext.Clean(bytes.TrimSpace(value)))
	}
	return f.positionLine(string(bytes.TrimSpace(key)), bytes.TrimSpace(value))
}

// headLine reads a line of the head of a file or part.
func (f *file) headLine(key, value string) error {
	switch key {
	case "version":
		if value != "1" {
			return f.in.At(fmt.Errorf("version %s of callgrind's format: %w", value, profile.ErrUnsupported))
		}
	case "creator":
		f.p.Profiler, f.p.ProfilerVersion = splitCreator(value)
	case "cmd":
		if len(f.p.Comments) == 0 {
			f.p.Comments = append(f.p.Comments, value)
		}
	case "thread":
		f.thread(value)
	case "part":
		f.last = [2]int64{}
	case "positions":
		f.positions, f.linePos = 0, -1
		for _, w := range strings.Fields(value) {
			if w == "line" {
				f.linePos = f.positions
			}
			f.positions++
		}
		if f.positions == 0 || f.positions > 2 {
			return f.in.Malformed("positions %q", value)
		}
	case "events":
		f.columns = f.columns[:0]
		for _, name := range strings.Fields(value) {
			i := slices.Index(f.events, name)
			if len(f.events) == 0 {
				f.dialect = dialectOf(f.p.Profiler, name)
			}
			if i < 0 {
				i = len(f.events)
				f.events = append(f.events, name)
			}
			if slices.Contains(f.columns, i) {
				return f.in.Malformed("event %q twice", name)
			}
			f.columns = append(f.columns, i)
		}
		if len(f.columns) == 0 || len(f.events) > maxEvents {
			return f.in.Malformed("%d events", len(f.events))
		}
	}
	return nil // desc, pid, summary, totals, event, target and what comes after version 1
}

// splitCreator splits `callgrind-3.19.0` and `xdebug 3.1.0 (PHP 8.1.2)`.
func splitCreator(text string) (name, version string) {
	i := strings.IndexAny(text, "- ")
	if i < 0 {
		return text, ""
	}
	version, _, _ = strings.Cut(text[i+1:], " ")
	return text[:i], version
}

// thread makes the graph of a thread the one in work.
func (f *file) thread(id string) {
	for _, g := range f.graphs {
		if g.id == id {
			f.graph = g
			return
		}
	}
	f.graph = &thread{id: id, graph: callgraph.New(f.p.Symbols), ids: map[nodeKey]int32{}}
	f.graphs = append(f.graphs, f.graph)
	f.function, f.called = callgraph.None, callgraph.None
}

// positionLine reads a line that says where the costs below it are.
func (f *file) positionLine(key string, value []byte) (err error) {
	switch key {
	case "ob":
		f.object, err = f.name(objects, value)
	case "fl":
		f.file, err = f.name(files, value)
		f.ownFile = f.file
	case "fi", "fe":
		f.file, err = f.name(files, value)
	case "fn":
		var name string
		name, err = f.name(functions, value)
		f.ownFile = f.file
		f.function = f.node(nodeKey{f.object, f.file, name})
	case "cob":
		f.hasObject = true
		f.calledObject, err = f.name(objects, value)
	case "cfi", "cfl":
		f.hasFile = true
		f.calledFile, err = f.name(files, value)
	case "cfn":
		var name string
		name, err = f.name(functions, value)
		k := nodeKey{f.object, f.file, name}
		if f.hasObject {
			k.object = f.calledObject
		}
		if f.hasFile {
			k.file = f.calledFile
		}
		f.called = f.node(k)
		f.hasObject, f.hasFile = false, false
	case "calls":
		if f.called == callgraph.None || f.function == callgraph.None {
			return f.in.Malformed("a call without a function that calls and one that is called")
		}
		f.isCall = true
	case "jump", "jcnd":
		f.isJump = true
	case "jfi", "jfn", "job", "rcalls":
		if key != "rcalls" {
			_, err = f.name(map[string]int{"jfi": files, "jfn": functions, "job": objects}[key], value)
		}
	default:
		return f.in.Malformed("an unknown position %q", stacktext.Clean([]byte(key)))
	}
	return err
}

// name returns a name: in full, `(number) name` to be remembered, or `(number)`.
func (f *file) name(kind int, text []byte) (string, error) {
	if len(text) > 2 && text[0] == '(' {
		if end := bytes.IndexByte(text, ')'); end > 1 && stacktext.Digits(text[1:end]) == end-1 {
			n, err := strconv.Atoi(string(text[1:end]))
			if err != nil {
				return "", f.in.Malformed("a name's number %.60q", text)
			}
			if end+1 == len(text) {
				name, ok := f.names[kind][n]
				if !ok {
					return "", f.in.Malformed("name (%d) was not given before", n)
				}
				return name, nil
			}
			name := stacktext.Clean(bytes.TrimSpace(text[end+1:]))
			f.names[kind][n] = name
			return name, nil
		}
	}
	return stacktext.Clean(text), nil
}

// costLine reads positions and costs.
func (f *file) costLine(line []byte) error {
	if len(f.columns) == 0 {
		return f.in.Malformed("costs in front of the line that says which events are counted")
	}
	for i := range f.positions {
		word, rest := cutWord(line)
		if err := f.position(i, word); err != nil {
			return err
		}
		line = rest
	}
	if f.isJump {
		f.isJump = false
		return nil
	}
	if f.function == callgraph.None {
		return f.in.Malformed("costs in front of the first function")
	}
	f.costs = f.costs[:0]
	for len(line) > 0 {
		word, rest := cutWord(line)
		v, ok := stacktext.Uint(word)
		if !ok || len(f.costs) == len(f.columns) {
			return f.in.Malformed("%d events are counted, not these: %.60q", len(f.columns), line)
		}
		f.costs = append(f.costs, v)
		line = rest
	}
	at := int32(0)
	if f.linePos >= 0 && f.file == f.ownFile {
		if n := f.last[f.linePos]; n > 0 && n <= math.MaxInt32 {
			at = int32(n)
		}
	}
	ok := false
	if f.isCall {
		f.isCall = false
		ok = f.graph.graph.AddCall(f.function, f.called, f.row()...)
	} else {
		ok = f.graph.graph.AddSelf(f.function, at, f.row()...)
	}
	if !ok {
		return f.in.Malformed("the costs add up to more than 63 bits")
	}
	return nil
}

// row returns the costs of the line in work by event.
func (f *file) row() []int64 {
	f.byEvent = slices.Grow(f.byEvent[:0], len(f.events))[:len(f.events)]
	clear(f.byEvent)
	for i, v := range f.costs {
		f.byEvent[f.columns[i]] = v
	}
	return f.byEvent
}

// position reads a position: absolute, relative to that of the line above, or
// the same.
func (f *file) position(i int, word []byte) error {
	if len(word) == 0 {
		return f.in.Malformed("%d positions are missing", f.positions-i)
	}
	if len(word) == 1 && word[0] == '*' {
		return nil
	}
	sign, digits := word[0], word
	if sign == '+' || sign == '-' {
		digits = word[1:]
	}
	v, err := strconv.ParseUint(string(digits), 0, 64)
	if bytes.HasPrefix(digits, []byte("0")) && !bytes.HasPrefix(digits, []byte("0x")) {
		v, err = strconv.ParseUint(string(digits), 10, 64) // no octal numbers
	}
	if err != nil {
		return f.in.Malformed("a position %.60q", word)
	}
	switch sign {
	case '+':
		f.last[i] += int64(v)
	case '-':
		f.last[i] -= int64(v)
	default:
		f.last[i] = int64(v)
	}
	return nil
}

// cutWord splits off the first word.
func cutWord(line []byte) (word, rest []byte) {
	i := 0
	for i < len(line) && line[i] != ' ' && line[i] != '\t' {
		i++
	}
	word = line[:i]
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return word, line[i:]
}
