package jfr

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/format/threaddump"
	"github.com/dendroprof/dendro/profile"
)

// recording is one file being read.
type recording struct {
	*Decoder
	p      *profile.Profile
	limits profile.Limits

	series       [seriesCount]series
	nativeEvents []nativeEvent // malloc and free, until they are matched
	facts        *profile.Interner
	contexts     map[int64]profile.LabelsID // of Contexts that samples have
	made         settings                   // of the first chunk
	last         settings                   // in force at the end of the chunk before
	start        int64                      // of the first chunk, in nanoseconds since 1970
	end          int64                      // of the last chunk
	chunks       int
	found        findings
	dumps        *threaddump.Collector // nil: there are none
}

func newRecording(d *Decoder, p *profile.Profile, l profile.Limits) *recording {
	return &recording{
		Decoder: d, p: p, limits: l,
		facts: profile.NewInterner(p), contexts: map[int64]profile.LabelsID{},
	}
}

// context returns the labels of a context.
func (r *recording) context(id int64) profile.LabelsID {
	labels := r.Contexts[id]
	if len(labels) == 0 {
		return 0
	}
	n, ok := r.contexts[id]
	if !ok {
		n = r.facts.Labels(labels)
		r.contexts[id] = n
	}
	return n
}

// readChunks reads all chunks. Those that cannot be read are warnings as long as
// another one can.
func (r *recording) readChunks(in *input) error {
	var first error
	for {
		if err := in.fill(headerSize); err != nil {
			return err
		}
		if len(in.buf) == 0 && in.off > 0 {
			break
		}
		size, damage, err := r.readChunk(in)
		if err != nil {
			return err
		}
		if damage != nil {
			if first == nil {
				first = &profile.ParseError{Offset: in.off, Err: damage}
			}
			r.found.warn(in.off, "%d bytes are not read: %v", size, damage)
		}
		if size == 0 {
			break
		}
		in.drop(size)
	}
	if r.chunks == 0 {
		return first
	}
	return nil
}

// readChunk reads the chunk at the beginning of in. It returns how many bytes
// that were, and why they could not be read.
func (r *recording) readChunk(in *input) (size int, damage, err error) {
	if !bytes.HasPrefix(in.buf, []byte(magic)) {
		size, err = in.fillToMagic(1)
		return size, profile.Malformed("no chunk begins here"), err
	}
	if len(in.buf) < headerSize {
		return len(in.buf), profile.Malformed("the file ends in the header of a chunk"), nil
	}
	h := parseHeader(in.buf)
	if damage = h.check(); damage != nil {
		size, err = in.fillToMagic(len(magic)) // its size may be as wrong
		return size, damage, err
	}
	complete := h.size >= headerSize
	if complete {
		err = in.fill(h.size)
		if size = int(h.size); len(in.buf) < size {
			size, complete = len(in.buf), false
			r.found.warn(in.off+int64(size), "the file ends in a chunk, %d bytes early", h.size-int64(size))
		}
	} else {
		size, err = in.fillToMagic(headerSize)
		r.found.warn(in.off, "the chunk was not finished; it is read as far as it goes")
	}
	if err != nil {
		return 0, nil, err
	}
	return r.decodeChunk(h, in, size, complete)
}

func (r *recording) decodeChunk(h header, in *input, size int, complete bool) (int, error, error) {
	if r.chunks == 0 {
		r.p.Start = time.Unix(0, h.startNanos).UTC()
		r.start, r.end = h.startNanos, h.startNanos
	}
	r.pools.clear()
	ch := &chunk{
		recording: r, header: h, b: in.buf[:size], at: in.off, base: h.startNanos - r.start, work: leastWork + workPerByte*size,
	}
	for i := range r.series {
		ch.from[i] = r.series[i].Len()
	}
	damage := ch.read(complete)
	if ch.err != nil {
		return 0, nil, ch.err
	}
	if damage == nil {
		r.chunks++
		r.end = max(r.end, h.startNanos+max(h.durationNanos, 0))
	}
	return size, damage, nil
}

// unknown returns the error of a recording that has events, of which none is of a type
// that is read. It was written by a program that calls them otherwise.
func (r *recording) unknown() error {
	if r.found.otherEvents == 0 || len(r.meta.events) > 0 {
		return nil
	}
	name := "without a name"
	if c := r.meta.classes[r.found.otherEvent]; c != nil {
		name = c.name
	}
	return &profile.ParseError{
		Offset: -1, Err: fmt.Errorf("a recording of %d events, none of a known type (the last is %.100q): %w", r.found.otherEvents, name, profile.ErrUnsupported),
		Hint: "Dendro reads the events of JDK 9 and later and of async-profiler",
	}
}

// finish makes the profile of what was read.
func (r *recording) finish() {
	p := r.p
	p.Duration = time.Duration(r.end - r.start)
	p.Profiler, p.ProfilerVersion = r.made.profiler, r.made.version
	r.matchFrees()
	r.finishDumps()
	r.makeTables()
	slices.SortStableFunc(p.Markers, func(a, b profile.Marker) int { return cmp.Compare(a.Start, b.Start) })
	r.found.report(p)
}

// finishDumps adds the threads of thread dumps. What they say of processor time
// is left out: the recording's own samples are of the same time.
func (r *recording) finishDumps() {
	if r.dumps == nil {
		return
	}
	r.dumps.Finish()
	r.p.Tables = slices.DeleteFunc(r.p.Tables, func(t profile.Samples) bool { return t.Type.Name == profile.CPU })
}

// findings are what was mended or left out, counted.
type findings struct {
	warnings []profile.Warning
	more     int // that have no place in warnings

	lostStacks, cutStacks, lostMethods, badEvents      int
	failedSamples, lostSamples, unknownFrees, badDumps int
	twiceAllocated, twiceCPU                           int

	otherEvents int    // that are not read
	otherEvent  uint64 // class of the last of them
}

// maxWarnings is how many warnings with a place there are.
const maxWarnings = 8

func (f *findings) warn(offset int64, format string, args ...any) {
	if len(f.warnings) == maxWarnings {
		f.more++
		return
	}
	f.warnings = append(f.warnings, profile.Warning{
		Offset: offset, Message: fmt.Sprintf("byte %d: ", offset) + fmt.Sprintf(format, args...),
	})
}

// report adds the findings to the warnings of p.
func (f *findings) report(p *profile.Profile) {
	p.Warnings = append(p.Warnings, f.warnings...)
	p.WarnCount(f.more, "%d more warnings of this kind")
	p.WarnCount(f.badEvents, "%d events are damaged and left out")
	p.WarnCount(f.lostStacks, "%d samples have a stack trace that is not in the file")
	p.WarnCount(f.lostMethods, "%d methods are not in the file; their frames are called "+profile.NoName)
	p.WarnCount(f.cutStacks, "%d stack traces were cut at the depth that the recorder was set to")
	p.WarnCount(f.failedSamples, "%d CPU time samples failed and have no stack")
	p.WarnCount(f.lostSamples, "%d CPU time samples were lost while recording")
	p.WarnCount(f.unknownFrees, "%d calls of free are of memory whose allocation is not in the file; they are left out")
	p.WarnCount(f.twiceAllocated, "%d samples of allocations are left out: other events of the recording are of the same allocations")
	p.WarnCount(f.twiceCPU, "%d samples of Datadog's profiler are left out: CPU time samples of the JDK are of the same time")
	p.WarnCount(f.badDumps, "%d thread dumps in the recording cannot be read")
}
