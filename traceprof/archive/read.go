package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// Fields of ThreadSnapshot.
const (
	fieldTask = iota + 1
	fieldSegment
	fieldTime
	fieldSequence
	fieldStack
)

var (
	snapshotShape = wire.Shape{fieldTask: wire.AsBytes, fieldSegment: wire.AsBytes, fieldTime: wire.AsVarint, fieldSequence: wire.AsVarint,
		fieldStack: wire.AsBytes}
	stackShape = wire.Shape{1: wire.AsBytes}
)

// Sizes of buffers in bytes.
const (
	maxBasic   = 64 << 20
	maxMessage = 64 << 20
)

// Read reads an archive. Errors wrap those of package profile: ErrUnrecognized if the
// input is not an archive at all.
func Read(r io.Reader, limits profile.Limits) (*Archive, error) {
	limits = limits.WithDefaults()
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: not the archive of a profiled trace: %w", profile.ErrUnrecognized, err)
	}
	bounded := &io.LimitedReader{R: z, N: limits.Inflated}
	var about *basic
	var rows *rows
	for t := tar.NewReader(bounded); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			switch path.Base(h.Name) {
			case basicName:
				about, err = readBasic(t)
			case snapshotName:
				rows, err = readRows(t, limits.Depth)
			}
		}
		if err != nil {
			return nil, explain(err, bounded, limits)
		}
	}
	if about == nil || rows == nil {
		return nil, fmt.Errorf("%w: not the archive of a profiled trace: it has no %s or no %s", profile.ErrUnrecognized, basicName, snapshotName)
	}
	a := about.archive()
	rows.assign(a, about)
	return a, nil
}

// explain wraps an error of package profile around a read error.
func explain(err error, bounded *io.LimitedReader, limits profile.Limits) error {
	for _, known := range []error{profile.ErrMalformed, profile.ErrTooLarge} {
		if errors.Is(err, known) && bounded.N > 0 {
			return err
		}
	}
	if bounded.N <= 0 {
		return fmt.Errorf("%w: more than %d bytes after decompression; --max-size raises the limit", profile.ErrTooLarge, limits.Inflated)
	}
	return fmt.Errorf("%w: %w", profile.ErrMalformed, err)
}

func readBasic(r io.Reader) (*basic, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBasic+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBasic {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", basicName, profile.ErrTooLarge, maxBasic)
	}
	return decodeBasic(text)
}

// rows are snapshots in the order of the file.
type rows struct {
	stacks   calltree.Forest
	segment  []string // empty: unknown
	sequence []int32
	time     []int64
	path     []int32
}

func readRows(in io.Reader, depth int) (*rows, error) {
	r := bufio.NewReader(in)
	var all rows
	var message bytes.Buffer
	for {
		n, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return &all, nil
		}
		if err == nil && n > maxMessage {
			err = fmt.Errorf("%w: it has %d bytes", profile.ErrTooLarge, n)
		}
		if err == nil {
			message.Reset()
			_, err = io.CopyN(&message, r, int64(n)) // grows with what is there, not with what is announced
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			err = all.read(message.Bytes(), depth)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: snapshot %d: %w", snapshotName, len(all.sequence), err)
		}
	}
}

// read decodes one ThreadSnapshot.
func (all *rows) read(msg []byte, depth int) error {
	var v wire.Numbers
	segment, leaf := "", calltree.NoNode
	for pos := 0; pos < len(msg); {
		f, err := snapshotShape.Next(msg, pos, len(msg))
		if err != nil {
			return err
		}
		switch f.Num {
		case fieldSegment:
			segment = text(msg[f.Lo:f.Hi])
		case fieldStack:
			if leaf, err = all.stack(msg, f.Lo, f.Hi, depth); err != nil {
				return err
			}
		default:
			v.Set(f)
		}
		pos = f.Hi
	}
	all.segment = append(all.segment, segment)
	all.sequence = append(all.sequence, int32(v[fieldSequence]))
	all.time = append(all.time, int64(v[fieldTime]))
	all.path = append(all.path, leaf)
	return nil
}

// stack interns a ThreadStack.
func (all *rows) stack(msg []byte, pos, end, depth int) (int32, error) {
	leaf, frames := calltree.NoNode, 0
	for pos < end {
		f, err := stackShape.Next(msg, pos, end)
		if err != nil {
			return 0, err
		}
		if f.Num == 1 {
			if frames++; frames > depth {
				return 0, fmt.Errorf("%w: a stack of more than %d frames; --max-depth raises the limit", profile.ErrTooLarge, depth)
			}
			leaf = all.stacks.Path(leaf, all.stacks.Function(profile.Function{Name: text(msg[f.Lo:f.Hi])}))
		}
		pos = f.Hi
	}
	return leaf, nil
}

func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// assign assigns the snapshots to segments. Snapshots without a segment are in the order
// of the segments. Such a snapshot belongs to the segment of the one before it if its time
// and number are within that segment and the number is new, otherwise to the next segment
// for which this holds, and if there is none to the segment of the one before it.
func (all *rows) assign(a *Archive, about *basic) {
	at := map[string]int{}
	for i := range a.Segments {
		at[a.Segments[i].ID] = i
	}
	type place struct {
		segment  int
		sequence int32
	}
	seen := map[place]bool{}
	fits := func(i, row int) bool {
		s := &about.Segments[i]
		return all.time[row] >= s.Start && all.time[row] <= s.End && all.sequence[row] >= s.First && all.sequence[row] <= s.Last &&
			!seen[place{i, all.sequence[row]}]
	}
	current := 0
	for row, id := range all.segment {
		i, known := at[id]
		switch {
		case id != "" && !known:
			i = len(a.Segments)
			at[id] = i
			a.Segments = append(a.Segments, Segment{Segment: traceprof.Segment{ID: id, Trace: a.Trace}})
		case id == "":
			for next := current; next < len(about.Segments); next++ {
				if fits(next, row) {
					current = next
					break
				}
			}
			if i = current; i >= len(a.Segments) {
				a.Segments = append(a.Segments, Segment{Segment: traceprof.Segment{ID: a.Trace, Trace: a.Trace}})
			}
		}
		seen[place{i, all.sequence[row]}] = true
		s := &a.Segments[i].Snapshots
		s.Sequence, s.Time, s.Path = append(s.Sequence, all.sequence[row]), append(s.Time, all.time[row]), append(s.Path, all.path[row])
	}
	for i := range a.Segments {
		s := &a.Segments[i].Snapshots
		s.Task, s.Segment, s.Stacks = a.Task, a.Segments[i].ID, &all.stacks
		s.Dedupe()
	}
}
