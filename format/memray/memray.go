// Package memray reads the tables that `memray transform csv` writes of a recording of
// memray, the memory profiler of Python: what was allocated, by stack, thread and allocator.
//
//	allocator,num_allocations,size,tid,thread_name,stack_trace
//	MALLOC,2,3000,1,0x1,load;/srv/shop/cart.py;12|main;/srv/shop/app.py;4
//
// Frames are innermost first. The table is of the moment when the most was allocated, by
// memray's default, so the value types are `peak` and `peak-samples`; the allocator is a
// label. The recording itself (.bin) is recognised and refused. Time is linear in the text.
package memray

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "memray"

const head = "allocator,num_allocations,size,tid,thread_name,stack_trace"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

// Sniff reports whether text that begins with prefix is such a table.
func Sniff(prefix []byte) bool { return bytes.HasPrefix(prefix, []byte(head)) }

func read(m *stacktext.Memory, r io.Reader, p *profile.Profile, l profile.Limits) error {
	p.Profiler = Name
	in, rec := &m.Lines, stacktext.NewRecorder(p)
	in.Reset(r, l.Line)
	sizes, counts := stacktext.NewTable(l), stacktext.NewTable(l)
	var labels stacktext.LabelSet
	var frames []profile.FrameID
	in.Next() // the head
	for in.Next() {
		if len(in.Text()) == 0 {
			continue
		}
		cells, err := csv.NewReader(bytes.NewReader(in.Text())).Read()
		if err != nil || len(cells) != 6 {
			return in.Malformed("not the six cells %s", head)
		}
		count, ok := stacktext.Uint([]byte(cells[1]))
		size, ok2 := stacktext.Uint([]byte(cells[2]))
		if !ok || !ok2 {
			return in.Malformed("%.40q allocations of %.40q bytes", cells[1], cells[2])
		}
		frames = frames[:0]
		if cells[5] != "" {
			for text := range strings.SplitSeq(cells[5], "|") {
				if frames = append(frames, frame(p.Symbols, text)); len(frames) > l.Depth {
					return in.At(profile.TooDeep(l.Depth))
				}
			}
		}
		labels.Reset()
		labels.Text("allocator", []byte(cells[0]))
		row := stacktext.Row{Stack: rec.Stack(frames), Value: size, Thread: rec.Thread(nil, []byte(cells[4]), []byte(cells[3])), Labels: rec.Labels(&labels)}
		if !sizes.Add(row) {
			return in.At(stacktext.ErrSum)
		}
		if row.Value = count; !counts.Add(row) {
			return in.At(stacktext.ErrSum)
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	p.Tables = []profile.Samples{sizes.Samples(profile.NamedType(profile.Peak), false, 0), counts.Samples(profile.NamedType(profile.PeakSamples), false, 0)}
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
	if fn.Name == "" {
		fn.Name = profile.NoName
	}
	return s.Frame(profile.Frame{Function: s.Function(fn), Line: line})
}
