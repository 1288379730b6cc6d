// Package perfdata reads perf.data, the recordings of Linux perf, as files and as the
// stream that `perf record -o -` writes.
//
// The layout is that of tools/perf/Documentation/perf.data-file-format.txt and of the
// kernel's perf_event.h. Recordings of perf 6.1 were seen; docs/format/perf.md says
// what it does not keep. Samples are those of `perf script` of the same file, frame by
// frame, without the names: the file has none. Package symbolize finds them.
//
//	header ─▶ events (attributes, ids) ─▶ records: mmap, comm, fork, sample … ─▶ features
//
// The features, which name events and know build ids, come last in a file; so addresses
// are kept in a tree of their own until then. Memory is bounded by the different stacks,
// mappings and threads and a row per sample.
package perfdata

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "perfdata"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

var magic = []byte("PERFILE2")

// Sniff reports whether content that begins with prefix is a recording of a little-endian
// machine.
func Sniff(prefix []byte) bool { return len(prefix) >= 16 && string(prefix[:8]) == string(magic) }

var le = binary.LittleEndian

// Sizes of the head of a file, of the head of a stream, and of an attribute in its first
// version.
const (
	fileHead   = 104
	streamHead = 16
	leastAttr  = 64
)

// section is a part of the file.
type section struct{ offset, size uint64 }

func sectionAt(b []byte, at int) section { return section{le.Uint64(b[at:]), le.Uint64(b[at+8:])} }

// reader is the reading of one recording.
type reader struct {
	p      *profile.Profile
	limits profile.Limits
	in     *bufio.Reader
	offset int64
	record []byte // the record in work
	queue  queue

	recording
}

func read(t *stacktext.Reading) error {
	p, l := t.Profile, t.Limits
	p.Profiler, p.ReturnAddresses = "perf", true
	r := &reader{p: p, limits: l, in: bufio.NewReaderSize(t.In, 64<<10), recording: newRecording(p, l)}
	err := r.read()
	var pe *profile.ParseError
	if err != nil && !errors.As(err, &pe) {
		for _, kind := range []error{profile.ErrMalformed, profile.ErrTooLarge, profile.ErrUnsupported} {
			if errors.Is(err, kind) {
				return &profile.ParseError{Offset: r.offset, Err: err}
			}
		}
	}
	return err
}

// take reads the next n bytes.
func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(r.limits.Message) {
		return nil, profile.TooLarge("part of a recording longer", r.limits.Message, "--max-message")
	}
	// A damaged size must not cost memory that the file does not have.
	for b := make([]byte, 0, min(n, 64<<10)); ; {
		k := min(n-uint64(len(b)), 1<<20)
		if k == 0 {
			return b, nil
		}
		from := len(b)
		b = append(b, make([]byte, k)...)
		got, err := io.ReadFull(r.in, b[from:])
		r.offset += int64(got)
		if err != nil {
			return nil, short(err)
		}
	}
}

func short(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return profile.Malformed("%w", io.ErrUnexpectedEOF)
	}
	return err
}

func (r *reader) skip(n uint64) error {
	for n > 0 {
		k, err := r.in.Discard(int(min(n, 1<<30)))
		r.offset += int64(k)
		if err != nil {
			return short(err)
		}
		n -= uint64(k)
	}
	return nil
}

func (r *reader) read() error {
	head, err := r.take(streamHead)
	if err != nil {
		return err
	}
	size := le.Uint64(head[8:])
	switch {
	case string(head[:8]) != string(magic):
		return profile.Malformed("not the head of a perf.data file")
	case size == streamHead:
		if err := r.records(1<<63, true); err != nil {
			return err
		}
	case size >= fileHead && size < 1<<16:
		rest, err := r.take(size - streamHead)
		if err != nil {
			return err
		}
		if err := r.file(append(head, rest...)); err != nil {
			return err
		}
	default:
		return profile.Malformed("a head of %d bytes", size)
	}
	return r.finish()
}

// file reads the rest of a file: everything up to the records, the records, the features.
func (r *reader) file(head []byte) error {
	attrSize := le.Uint64(head[16:])
	attrs, data := sectionAt(head, 24), sectionAt(head, 40)
	size := uint64(len(head))
	if data.offset < size {
		return profile.Malformed("records at byte %d of the head", data.offset)
	}
	rest, err := r.take(data.offset - size)
	if err != nil {
		return err
	}
	front := append(head, rest...)
	if attrSize < leastAttr+16 || attrs.offset > uint64(len(front)) || attrs.size > uint64(len(front))-attrs.offset {
		return profile.Malformed("attributes of %d bytes at byte %d, behind the records", attrs.size, attrs.offset)
	}
	for b := front[attrs.offset:][:attrs.size]; uint64(len(b)) >= attrSize; b = b[attrSize:] {
		ids := sectionAt(b, int(attrSize)-16)
		if ids.offset > uint64(len(front)) || ids.size > uint64(len(front))-ids.offset {
			return profile.Malformed("ids of %d bytes at byte %d, behind the records", ids.size, ids.offset)
		}
		if err := r.addEvent(b[:attrSize-16], front[ids.offset:][:ids.size]); err != nil {
			return err
		}
	}
	if err := r.records(data.size, false); err != nil {
		return err
	}
	return r.features(head[72:fileHead])
}

// records reads n bytes of records, or all that there are.
func (r *reader) records(n uint64, stream bool) error {
	for n >= 8 {
		head, err := r.in.Peek(8)
		if stream && len(head) == 0 && err == io.EOF {
			return r.release(math.MaxUint64)
		}
		if err != nil {
			return short(err)
		}
		typ, misc, size := le.Uint32(head), le.Uint16(head[4:]), uint64(le.Uint16(head[6:]))
		if size < 8 || size > n {
			return profile.Malformed("a record of %d bytes", size)
		}
		if cap(r.record) < int(size) {
			r.record = make([]byte, 1<<16)
		}
		b := r.record[:size]
		if _, err := io.ReadFull(r.in, b); err != nil {
			return short(err)
		}
		more, err := r.next(typ, misc, b[8:])
		if err != nil {
			return err
		}
		if more > n-size {
			return profile.Malformed("%d bytes behind a record", more)
		}
		r.offset += int64(size)
		if err := r.skip(more); err != nil {
			return err
		}
		n -= size + more
	}
	if err := r.release(math.MaxUint64); err != nil {
		return err
	}
	return r.skip(n)
}

// next takes the next record of the file, and returns how many bytes follow it that are no
// records.
func (r *reader) next(typ uint32, misc uint16, body []byte) (more uint64, err error) {
	switch {
	case typ == recordRoundEnd:
		err = r.release(r.queue.before)
		r.queue.before = r.queue.newest
		return 0, err
	case !r.hold(typ, misc, body):
		return r.handle(typ, misc, body)
	case r.queue.size > mostHeld:
		return 0, r.release(math.MaxUint64)
	}
	return 0, nil
}

// Numbers of features: bits of the head, and types in a stream.
const (
	featureBuildID   = 2
	featureVersion   = 5
	featureCmdline   = 11
	featureEventDesc = 12
)

// features reads the sections behind the records. Their table comes first; one bit of the
// head stands for each.
func (r *reader) features(bits []byte) error {
	var sections []section
	var numbers []int
	for i := range 8 * len(bits) {
		if bits[i/8]>>(i%8)&1 == 1 {
			numbers = append(numbers, i)
		}
	}
	table, err := r.take(uint64(16 * len(numbers)))
	if err != nil {
		// perf writes it when the recording ends.
		r.p.Warnf("the recording was not ended: names of events and build ids are missing")
		return nil
	}
	for i := range numbers {
		sections = append(sections, sectionAt(table, 16*i))
	}
	for i, s := range sections {
		switch numbers[i] {
		case featureBuildID, featureVersion, featureCmdline, featureEventDesc:
		default:
			continue
		}
		if s.offset < uint64(r.offset) {
			continue // out of order: perf does not write that
		}
		if err := r.skip(s.offset - uint64(r.offset)); err != nil {
			return err
		}
		b, err := r.take(s.size)
		if err != nil {
			return err
		}
		r.feature(numbers[i], b)
	}
	_, err = io.Copy(io.Discard, r.in)
	return err
}
