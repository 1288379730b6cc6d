// Package memray reads the tables that `memray transform csv` writes of a recording of
// memray, the memory profiler of Python: what was allocated, by stack, thread and allocator.
//
//	allocator,num_allocations,size,tid,thread_name,stack_trace
//	MALLOC,2,3000,1,0x1,load;/srv/shop/cart.py;12|main;/srv/shop/app.py;4
//
// Columns are found by their names. Frames are innermost first. The table is of the moment when the most was allocated, by
// memray's default, so the value types are `peak` and `peak-samples`; the allocator is a
// label. The recording itself (.bin) is recognised and refused. Time is linear in the text.
package memray

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "memray"

// names are the columns that are read, in the order in which memray writes them.
var names = [...]string{"allocator", "num_allocations", "size", "tid", "thread_name", "stack_trace"}

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

// Sniff reports whether text that begins with prefix is such a table.
func Sniff(prefix []byte) bool {
	line, _, _ := bytes.Cut(prefix, []byte("\n"))
	_, ok := columnsOf(split(string(line)))
	return ok
}

// table finds the columns of a head: each of names, and any others.
type table struct {
	places [len(names)]int
	width  int
}

func columnsOf(head []string) (t table, ok bool) {
	t.width = len(head)
	for i, name := range names {
		if t.places[i] = slices.Index(head, name); t.places[i] < 0 {
			return t, false
		}
	}
	return t, true
}

// split returns the cells of a line, nil if it is none of a table.
func split(line string) []string {
	line = strings.TrimSuffix(line, "\r")
	if !strings.Contains(line, `"`) {
		return strings.Split(line, ",")
	}
	cells, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil {
		return nil
	}
	return cells
}

func read(t *stacktext.Reading) error {
	p := t.Profile
	p.Profiler = Name
	sizes, counts := stacktext.NewTable(t.Limits), stacktext.NewTable(t.Limits)
	t.Next()
	head, ok := columnsOf(split(string(t.Text())))
	if !ok {
		return t.Malformed("not the columns %s", strings.Join(names[:], ","))
	}
	for t.Next() {
		if len(t.Text()) == 0 {
			continue
		}
		row := split(string(t.Text()))
		if len(row) != head.width {
			return t.Malformed("not the %d cells of the head", head.width)
		}
		var cells [len(names)]string
		for i, at := range head.places {
			cells[i] = row[at]
		}
		count, ok := stacktext.Uint([]byte(cells[1]))
		size, ok2 := stacktext.Uint([]byte(cells[2]))
		if !ok || !ok2 {
			return t.Malformed("%.40q allocations of %.40q bytes", cells[1], cells[2])
		}
		t.Frames = t.Frames[:0]
		if cells[5] != "" {
			for text := range strings.SplitSeq(cells[5], "|") {
				if err := t.Push(frame(p.Symbols, text)); err != nil {
					return err
				}
			}
		}
		sample := stacktext.Row{Stack: t.Stack(t.Frames), Value: size,
			Thread: t.Thread(nil, []byte(cells[4]), []byte(cells[3])), Labels: t.Labels([]profile.Label{t.Label("allocator", []byte(cells[0]))})}
		err := t.Sample(sizes, sample)
		sample.Value = count
		if err = cmp.Or(err, t.Sample(counts, sample)); err != nil {
			return err
		}
	}
	p.Tables = []profile.Samples{sizes.Samples(profile.NamedType(profile.Peak), false, 0),
		counts.Samples(profile.NamedType(profile.PeakSamples), false, 0)}
	p.CountLost()
	return nil
}

// frame returns the frame of `function;file;line`.
func frame(s *profile.Symbols, text string) profile.FrameID {
	fn, line := profile.Function{Name: text, Kind: profile.KindPython}, int32(0)
	if i := strings.LastIndexByte(text, ';'); i >= 0 {
		if n, err := strconv.ParseInt(text[i+1:], 10, 32); err == nil && n > 0 && n <= math.MaxInt32 {
			line = int32(n)
		}
		fn.Name = text[:i]
		if j := strings.LastIndexByte(fn.Name, ';'); j >= 0 {
			fn.Name, fn.File = fn.Name[:j], fn.Name[j+1:]
		}
	}
	fn.Name = cmp.Or(fn.Name, profile.NoName)
	return s.Frame(profile.Frame{Function: s.Function(fn), Line: line})
}
