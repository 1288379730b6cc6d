package reports

import (
	"bytes"
	"regexp"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Hot threads of Elasticsearch have, for each node, the busiest threads with their time in
// an interval, and the stacks of ten snapshots of each:
//
//	   20.1% (100.5ms out of 500ms) cpu usage by thread 'elasticsearch[node-1][search][T#1]'
//	     2/10 snapshots sharing following 15 elements
//	       java.base@17/java.lang.Thread.run(Thread.java:832)
//	     unique snapshot

var (
	hotHead   = regexp.MustCompile(`^ *Hot threads at ([^,]+), interval=`)
	hotThread = regexp.MustCompile(`^ *[\d.]+% (?:\[.*\] )?\(([\d.]+)(nanos|micros|ms|s|m)? out of [^)]*\) (\w+) usage by thread '(.*)'`)
	hotShared = regexp.MustCompile(`^ *(\d+)/(\d+) snapshots sharing following`)
	hotUnique = []byte("unique snapshot")
)

func sniffHotThreads(prefix []byte) bool {
	return bytes.Contains(prefix, []byte("Hot threads at ")) && regexp.MustCompile(`(?m)`+hotHead.String()).Match(prefix)
}

type hotReport struct {
	*report
	types map[string]*table
	node  []byte

	table  *table
	time   int64
	thread profile.ThreadID
	given  int64 // of time, to its stacks
	total  int64 // snapshots
	n      int64 // snapshots of the stack in work
}

func readHotThreads(r *report) error {
	h := &hotReport{report: r, types: map[string]*table{}, total: 10}
	for r.Next() {
		if err := h.line(r.Text()); err != nil {
			return err
		}
	}
	if err := h.endThread(); err != nil {
		return err
	}
	if len(r.tables) == 0 {
		r.table(profile.NamedType(profile.CPU))
	}
	return nil
}

func (h *hotReport) line(line []byte) error {
	if m := hotThread.FindSubmatch(line); m != nil {
		return h.begin(string(m[1]), string(m[2]), string(m[3]), m[4])
	}
	if m := hotShared.FindSubmatch(line); m != nil {
		err := h.endStack()
		h.n, _ = stacktext.Uint(m[1])
		h.total, _ = stacktext.Uint(m[2])
		h.total = max(h.total, 1)
		return err
	}
	text := bytes.TrimSpace(line)
	switch {
	case bytes.Equal(text, hotUnique):
		err := h.endStack()
		h.n = 1
		return err
	case bytes.HasPrefix(text, []byte("::: {")):
		err := h.endThread()
		node, _, _ := bytes.Cut(text[len("::: {"):], []byte("}"))
		h.node = bytes.Clone(node)
		return err
	case h.n == 0 || len(text) == 0:
		if m := hotHead.FindSubmatch(line); m != nil && h.Profile.Start.IsZero() {
			h.Profile.Start, _ = time.Parse(time.RFC3339Nano, string(m[1]))
		}
		return nil
	}
	frame, ok := h.Known.Java(text, stacktext.ParseJavaFrame)
	if !ok {
		h.Notes.Add("a line in the middle of a thread is not understood", "lines in the middle of threads are not understood", h.Number())
		return nil
	}
	return h.Push(frame)
}

// begin begins a thread.
func (h *hotReport) begin(amount, unit, of string, thread []byte) error {
	if err := h.endThread(); err != nil {
		return err
	}
	nanos := map[string]float64{"nanos": 1, "micros": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}[unit]
	var ok bool
	if h.time, ok = decimal([]byte(amount), nanos); !ok {
		return h.Malformed("not a time: %.40q", amount)
	}
	if h.table = h.types[of]; h.table == nil {
		typ := profile.ValueType{Name: of, Unit: "nanoseconds"}
		if of == "mem" {
			typ = profile.NamedType(profile.Alloc)
		}
		h.table = h.report.table(typ)
		h.types[of] = h.table
	}
	h.thread = h.Thread(h.node, thread, nil)
	return nil
}

func (h *hotReport) endStack() error {
	n := min(h.n, h.total)
	h.n = 0
	if n == 0 || h.table == nil {
		return nil
	}
	share := min(h.time/h.total*n, h.time-h.given)
	h.given += share
	stack := h.Stack(h.Frames)
	h.Frames = h.Frames[:0]
	return h.add(h.table, stacktext.Row{Stack: stack, Value: share, Thread: h.thread})
}

// endThread gives what no snapshot has to no stack.
func (h *hotReport) endThread() error {
	if err := h.endStack(); err != nil || h.table == nil {
		return err
	}
	rest := h.time - h.given
	at := h.table
	h.table, h.time, h.given = nil, 0, 0
	return h.add(at, stacktext.Row{Stack: profile.NoStack, Value: rest, Thread: h.thread})
}
