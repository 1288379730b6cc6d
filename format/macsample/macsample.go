// Package macsample reads the reports of sample(1) of macOS (also Activity Monitor's
// "Sample Process" and spindump's older ones): one tree of calls with counts per thread.
//
//	Call graph:
//	    2669 Thread_82610   DispatchQueue_1: com.apple.main-thread  (serial)
//	    + 2669 start  (in libdyld.dylib) + 1  [0x7fff8a8825ad]
//	    +   2669 main  (in shop) + 23  [0x10ab96f10]  main.m:12
//	    +     ! 1400 price  (in shop) + 8  [0x10ab96f80]
//
// The format has no specification; report version 7 (macOS 10.7 to 15) was seen.
// docs/format/perf.md lists what it does not keep. A count includes what the
// function calls; what the lines below it leave of it is its own. A line's depth is the
// column of its count, of which every level adds two.
//
// Time is linear in the text; memory is bounded by what is different in it and the
// depth.
package macsample

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "macsample"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

// Sniff reports whether text that begins with prefix is a report of sample.
func Sniff(prefix []byte) bool {
	return bytes.Contains(prefix, []byte("Analysis of sampling ")) && head.Match(prefix)
}

var head = regexp.MustCompile(`(?m)^\s*Analysis of sampling .* every ([0-9]+) (milli|micro)seconds?\b`)

// reader is the reading of one report.
type reader struct {
	*stacktext.Reading
	table *stacktext.Table
	typ   profile.ValueType
	short int // lines with a smaller count than those below them

	process []byte
	thread  profile.ThreadID
	open    []node // the line in work and those it is below of; the first is the thread
}

// node is one line of the tree.
type node struct {
	column   int
	stack    profile.StackID
	total    int64
	children int64
}

func read(r *stacktext.Reading) error {
	p := r.Profile
	p.Profiler = "sample"
	t := &reader{Reading: r, table: stacktext.NewTable(r.Limits), typ: profile.ValueType{Name: profile.WallSamples, Unit: "count"}}
	graph, seen := false, false
	for t.Next() {
		text := t.Text()
		switch {
		case bytes.HasPrefix(bytes.TrimSpace(text), []byte("Call graph:")):
			graph, seen = true, true
		case !graph:
			t.header(text)
		case len(bytes.TrimSpace(text)) == 0:
			graph = false
		default:
			if err := t.line(text); err != nil {
				return err
			}
		}
	}
	if err := t.closeTo(-1); err != nil {
		return err
	}
	if !seen {
		return t.Malformed("no call graph is in it")
	}
	p.Tables = []profile.Samples{t.table.Samples(t.typ, false, 0)}
	p.WarnCount(t.short, "%d lines have a smaller count than the lines below them")
	return nil
}

// header reads a line before the call graph.
func (t *reader) header(text []byte) {
	if m := head.FindSubmatch(text); m != nil {
		unit := time.Millisecond
		if string(m[2]) == "micro" {
			unit = time.Microsecond
		}
		if n, ok := stacktext.Uint(m[1]); ok && n < int64(time.Hour/unit) {
			t.Profile.Interval = time.Duration(n) * unit
			t.typ.Period, t.typ.PeriodUnit = int64(t.Profile.Interval), "nanoseconds"
		}
		return
	}
	key, value, _ := bytes.Cut(bytes.TrimSpace(text), []byte(":"))
	value = bytes.TrimSpace(value)
	switch string(key) {
	case "Process":
		t.process = append(t.process[:0], value...)
	case "Date/Time":
		if at, err := time.Parse("2006-01-02 15:04:05.999 -0700", string(value)); err == nil {
			t.Profile.Start = at.UTC()
		}
	}
}

// line reads a line of the call graph: marks of the tree, a count, a function.
func (t *reader) line(text []byte) error {
	column := 0
	for column < len(text) && bytes.IndexByte([]byte(" +!:|"), text[column]) >= 0 {
		column++
	}
	n := stacktext.Digits(text[column:])
	count, ok := stacktext.Uint(text[column : column+n])
	rest := text[column+n:]
	if !ok || len(rest) < 2 || rest[0] != ' ' {
		return profile.Malformed("not a count and a function")
	}
	if err := t.closeTo(column); err != nil {
		return err
	}
	at := node{column: column, stack: profile.NoStack, total: count}
	if k := len(t.open); k == 0 {
		t.beginThread(rest[1:])
	} else {
		if k > t.Limits.Depth {
			return profile.TooDeep(t.Limits.Depth)
		}
		up := &t.open[k-1]
		if count > math.MaxInt64-up.children {
			return stacktext.ErrSum
		}
		up.children += count
		at.stack = t.Profile.Symbols.Stack(up.stack, t.frame(rest[1:]))
	}
	t.open = append(t.open, at)
	return nil
}

// closeTo ends the lines that are not left of a column.
func (t *reader) closeTo(column int) error {
	for len(t.open) > 0 {
		n := t.open[len(t.open)-1]
		if n.column < column {
			return nil
		}
		t.open = t.open[:len(t.open)-1]
		self := n.total - n.children
		if self < 0 {
			t.short++
		} else if self > 0 && !t.table.Add(stacktext.Row{Stack: n.stack, Value: self, Thread: t.thread}) {
			return stacktext.ErrSum
		}
	}
	return nil
}

// beginThread reads `Thread_82610: name   DispatchQueue_1: com.apple.main-thread  (serial)`.
func (t *reader) beginThread(text []byte) {
	id, name, _ := bytes.Cut(text, []byte(" "))
	id, name = bytes.TrimPrefix(bytes.TrimSuffix(id, []byte(":")), []byte("Thread_")), bytes.TrimSpace(name)
	t.thread = t.Thread(t.process, name, id)
}

// frame returns the frame of a line behind its count.
func (t *reader) frame(text []byte) profile.FrameID {
	id, ok := t.Known.Find(text)
	if !ok {
		fn, fr := parseFrame(stacktext.Clean(text))
		fr.Function = t.Profile.Symbols.Function(fn)
		id = t.Profile.Symbols.Frame(fr)
		t.Known.Add(text, id)
	}
	return id
}

// place is what stands behind a function. Of several addresses the first is taken.
var place = regexp.MustCompile(`^(.*?)  \(in ([^)]*)\)(?: \+ [0-9,.]+|  load address 0x[0-9a-f]+ \+ 0x[0-9a-f,.x]+)?  \[(0x[0-9a-f]+)[^\]]*\](?:  (.*))?$`)

// parseFrame reads `main  (in shop) + 23  [0x10ab96f10]  main.m:12`.
func parseFrame(text string) (fn profile.Function, fr profile.Frame) {
	fn.Name, fn.Kind = text, profile.KindNative
	if m := place.FindStringSubmatch(text); m != nil {
		fn.Name, fn.Module = m[1], m[2]
		fr.Address, _ = stacktext.Hex([]byte(m[3]))
		if i := strings.LastIndexByte(m[4], ':'); i > 0 {
			if line, err := strconv.ParseInt(m[4][i+1:], 10, 32); err == nil && line > 0 {
				fn.File, fr.Line = m[4][:i], int32(line)
			}
		}
	}
	if fn.Name == "???" {
		fn.Name, fn.Kind = fmt.Sprintf("%#x", fr.Address), profile.KindUnknown
	}
	if strings.Contains(fn.Name, "::") || strings.HasPrefix(fn.Name, "-[") || strings.HasPrefix(fn.Name, "+[") {
		fn.Kind = profile.KindCPP
	}
	return fn, fr
}
