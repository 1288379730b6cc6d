package gperftools

import (
	"bytes"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// NewHeapDecoder returns a decoder of heap profiles of gperftools.
func NewHeapDecoder() profile.Decoder { return stacktext.NewDecoder(HeapName, readHeap) }

// NewJemallocDecoder returns a decoder of heap profiles of jemalloc.
func NewJemallocDecoder() profile.Decoder { return stacktext.NewDecoder(JemallocName, readHeap) }

// SniffHeap reports whether text that begins with prefix is a heap profile of gperftools.
// Those of Go (`@ heap/524288`) are package goroutine's.
func SniffHeap(prefix []byte) bool {
	line, _, _ := bytes.Cut(prefix, []byte("\n"))
	_, ok := heapHead(line)
	return ok && bytes.HasPrefix(line, heapStart)
}

// SniffJemalloc reports whether text that begins with prefix is a heap profile of jemalloc.
func SniffJemalloc(prefix []byte) bool {
	line, _, _ := bytes.Cut(prefix, []byte("\n"))
	_, ok := heapHead(line)
	return ok && !bytes.HasPrefix(line, heapStart)
}

var heapStart = []byte("heap profile: ")

// heapHead reads the first line, and returns how many bytes one sample stands for:
//
//	heap profile:     52:   154168 [   259:   355184] @ heapprofile
//	heap profile:     52:   154168 [   259:   355184] @ heap_v2/524288
//	heap profile:     52:   154168 [   259:   355184] @ heapz_v2/524288
//	heap_v2/524288
func heapHead(line []byte) (rate int64, ok bool) {
	source := bytes.TrimRight(line, " \r")
	if rest, heap := bytes.CutPrefix(source, heapStart); heap {
		if _, source, ok = bytes.Cut(rest, []byte("] @ ")); !ok {
			return 0, false
		}
		if name, _, _ := bytes.Cut(source, []byte("/")); string(name) == "heapprofile" || string(name) == "growthz" ||
			string(name) == "fragmentationz" {
			return 1, true
		}
	}
	name, number, _ := bytes.Cut(source, []byte("/"))
	if string(name) != "heap_v2" && string(name) != "heapz_v2" {
		return 0, false
	}
	rate, ok = stacktext.Uint(number)
	return max(1, rate), ok
}

// heap is the reading of one heap profile.
type heap struct {
	*addresses
	rate   int64
	tables [4]*stacktext.Table // alloc-samples, alloc, live-samples, live

	open  bool
	stack profile.StackID // of the record in work, of jemalloc
}

func readHeap(in *stacktext.Reading) error {
	p, l := in.Profile, in.Limits
	p.Profiler = "gperftools"
	if p.Format == JemallocName {
		p.Profiler = "jemalloc"
	}
	h := &heap{addresses: newAddresses(p, l)}
	for i := range h.tables {
		h.tables[i] = stacktext.NewTable(l)
	}
	maps := false
	for in.Next() {
		text := bytes.TrimSpace(in.Text())
		switch rate, head := heapHead(text); {
		case h.rate == 0 && !head:
			return in.Malformed("not the first line of a heap profile")
		case h.rate == 0:
			h.rate = rate
		case bytes.Equal(text, []byte("MAPPED_LIBRARIES:")), bytes.HasPrefix(text, []byte("--- Memory map:")):
			maps = true
		case maps:
			h.mapping(text)
		case len(text) > 0:
			if err := h.line(text); err != nil {
				return err
			}
		}
	}
	if h.rate == 0 {
		return in.Malformed("it is empty")
	}
	h.finish()
	return nil
}

// finish makes the tables. Those of all allocations are left out if the recording did not
// count them.
func (h *heap) finish() {
	p := h.p
	for i, t := range []profile.ValueType{
		{Name: profile.AllocSamples, Unit: "count", Original: "alloc_objects"}, {Name: profile.Alloc, Unit: "bytes", Original: "alloc_space"},
		{Name: profile.LiveSamples, Unit: "count", Original: "inuse_objects"}, {Name: profile.Live, Unit: "bytes", Original: "inuse_space"},
	} {
		t.Period, t.PeriodUnit, t.PeriodName = h.rate, "bytes", "space"
		if i >= 2 || h.tables[0].Len() > 0 {
			p.Tables = append(p.Tables, h.tables[i].Samples(t, false, 0))
		}
	}
	p.Default = len(p.Tables) - 1
	h.fill()
}

// line reads a record. gperftools has it on one line, jemalloc has the stack first and
// then the sum of all threads (t*) and each thread:
//
//	50:   150000 [    50:   150000] @ 0x563d6073e3c1 0x563d6073e44a
//
//	@ 0x7ff6f96a2630 0x7ff6f96a2d21
//	  t*: 50: 153599 [0: 0]
//	  t0: 50: 153599 [0: 0]
func (h *heap) line(text []byte) error {
	if text[0] == 't' {
		thread, numbers, ok := bytes.Cut(text, []byte(": "))
		if !ok {
			return errRecord
		}
		if string(thread) != "t*" || !h.open {
			return nil // of one thread, or of the whole profile
		}
		return h.add(numbers)
	}
	numbers, stack, ok := bytes.Cut(text, []byte("@"))
	if !ok {
		return errRecord
	}
	h.Begin()
	for field := range bytes.FieldsSeq(stack) {
		address, ok := stacktext.Hex(field)
		if !ok {
			return profile.Malformed("%.40q is not an address", field)
		}
		if address == 0 {
			continue
		}
		if err := h.Push(address - 1); err != nil { // of the call
			return err
		}
	}
	h.stack, h.open = h.End(), true
	if len(bytes.TrimSpace(numbers)) == 0 {
		return nil
	}
	return h.add(numbers)
}

var errRecord = profile.Malformed("not a record of a heap profile")

// add adds `50: 150000 [50: 150000]`, objects and bytes that are live and of all
// allocations, to the stack in work.
func (h *heap) add(text []byte) error {
	var v [4]int64
	n := 0
	for field := range bytes.FieldsSeq(text) {
		if field = bytes.Trim(field, "[]:"); len(field) == 0 {
			continue
		}
		number, ok := stacktext.Uint(field)
		if !ok || n == len(v) {
			return errRecord
		}
		v[n] = number
		n++
	}
	if n != len(v) {
		return errRecord
	}
	h.open = false
	if h.stack == profile.NoStack {
		if err := h.Push(0); err != nil {
			return err
		}
		h.stack = h.End()
	}
	v[0], v[1] = stacktext.Unsample(v[0], v[1], h.rate)
	v[2], v[3] = stacktext.Unsample(v[2], v[3], h.rate)
	for i, from := range [...]int{2, 3, 0, 1} {
		if err := addTo(h.tables[i], h.stack, v[from]); err != nil {
			return err
		}
	}
	return nil
}
