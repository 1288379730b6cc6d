package traceprof

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
)

// Stream receives one client's snapshots, segments and reports in their order. It is for
// one goroutine and needs no Close.
type Stream struct {
	in    *Intake
	waits []*batch // with data of the stream, not known to be done
	err   error    // of a batch with data of the stream

	// The destination of the last snapshot: most snapshots have the same one.
	task, segment []byte
	part          *Snapshots
	batch         *batch
	stacks        *dictionary
}

// Snapshot is one dump of a thread as it was received.
type Snapshot struct {
	Task, Segment []byte // ids
	Sequence      int32  // number of the dump within the segment
	Time          int64  // ms

	// Stack is the encoded stack: equal bytes are equal stacks. Empty: a dump without
	// frames.
	Stack []byte
	// Frames yields the code signatures of a stack, outermost first. It is called only
	// for an unknown stack, and must not use the Intake. An error drops the snapshot.
	Frames func(stack []byte, yield func(signature []byte) bool) error
}

// Stream returns a new stream.
func (in *Intake) Stream() *Stream { return &Stream{in: in} }

// enter begins a call that adds about size bytes to a batch. It waits for room, until the
// stream fails, the context ends or the Intake is closed. On success the caller holds the
// Intake's lock.
func (s *Stream) enter(ctx context.Context, size int64) error {
	in := s.in
	in.mu.Lock()
	for {
		err := ctx.Err()
		if s.dropDone(); s.err != nil {
			err = s.err
		}
		if err == nil && in.closed {
			err = ErrClosed
		}
		if err != nil {
			in.mu.Unlock()
			return err
		}
		// Data larger than MaxBytes is stored on its own.
		if in.pending == 0 || in.pending+size <= in.opts.MaxBytes {
			return nil
		}
		if in.room == nil {
			in.room = make(chan struct{})
		}
		room := in.room
		in.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
		}
		in.mu.Lock()
	}
}

// dropDone drops the batches that are committed or failed, and records the first error.
func (s *Stream) dropDone() {
	for len(s.waits) > 0 {
		select {
		case <-s.waits[0].done:
			if s.err == nil {
				s.err = s.waits[0].err
			}
			s.waits = s.waits[1:]
		default:
			return
		}
	}
}

// charge records that the stream added size bytes to a batch. The caller holds the
// Intake's lock.
func (s *Stream) charge(b *batch, size int64) {
	if n := len(s.waits); n == 0 || s.waits[n-1] != b {
		s.waits = append(s.waits, b)
	}
	b.bytes += size
	s.in.pending += size
	if b.bytes >= s.in.opts.MaxBytes/2 {
		s.in.writer.Nudge()
	}
}

// Estimated sizes of pending data, without texts and bytes.
const (
	snapshotSize = 16
	segmentSize  = 300
	partSize     = 500 // of the first snapshot of a segment in a batch
)

// Snapshot adds a snapshot and keeps no reference to it. It blocks while MaxBytes are
// pending.
func (s *Stream) Snapshot(ctx context.Context, d *Snapshot) error {
	key := s.in.stacks.key(d.Stack)
	if err := s.enter(ctx, snapshotSize); err != nil {
		return err
	}
	in := s.in
	defer in.mu.Unlock()
	b := in.current()
	if s.batch != b || !bytes.Equal(s.task, d.Task) || !bytes.Equal(s.segment, d.Segment) || s.stacks.retired || s.stacks.full {
		s.task, s.segment = append(s.task[:0], d.Task...), append(s.segment[:0], d.Segment...)
		s.batch, s.stacks = b, in.stacks.of(sanitized(d.Task))
		s.part = nil
	}
	size := int64(snapshotSize)
	path := calltree.NoNode
	if len(d.Stack) > 0 {
		known := false
		if path, known = s.stacks.paths[key]; !known {
			grown, err := int64(0), error(nil)
			if path, grown, err = in.stacks.decode(s.stacks, key, d); err != nil {
				return err
			}
			in.metrics.NewStacks++
			size += grown
		}
	}
	if s.part == nil {
		grown := int64(0)
		s.part, grown = b.part(in.opts.Now(), s.stacks.task, sanitized(d.Segment), Dumps, s.stacks)
		size += grown
	}
	p := s.part
	p.Sequence, p.Time, p.Path = append(p.Sequence, d.Sequence), append(p.Time, clampTime(d.Time)), append(p.Path, path)
	p.Stacks = s.stacks.snapshot()
	b.count++
	s.charge(b, size)
	return nil
}

// part returns the columns for snapshots of a task and segment over one dictionary, which
// arrive now, in ms, and how many bytes the batch grew by.
func (b *batch) part(now int64, task, segment string, language Language, stacks *dictionary) (p *Snapshots, grown int64) {
	key := partKey{task, segment, language, stacks}
	if p = b.parts[key]; p == nil {
		p = &Snapshots{Task: task, Segment: segment, Language: language, Received: now}
		b.parts[key] = p
		b.order = append(b.order, p)
		grown = partSize + int64(len(segment))
	}
	return p, grown
}

// sanitized copies a text. Bytes that are not UTF-8 become the replacement character.
func sanitized(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// Snapshots adds decoded snapshots, such as those of a Go profile, and keeps no reference
// to them.
func (s *Stream) Snapshots(ctx context.Context, d Snapshots) error {
	if err := d.Check(); err != nil {
		return err
	}
	size := int64(4 * snapshotSize * d.Len())
	if err := s.enter(ctx, size); err != nil {
		return err
	}
	in := s.in
	defer in.mu.Unlock()
	b := in.current()
	stacks := in.stacks.of(strings.ToValidUTF8(d.Task, "\uFFFD"))
	paths, grown := in.stacks.add(stacks, &d)
	p, more := b.part(in.opts.Now(), stacks.task, strings.ToValidUTF8(d.Segment, "\uFFFD"), d.Language, stacks)
	p.Sequence, p.Time, p.Path = append(p.Sequence, d.Sequence...), append(p.Time, d.Time...), append(p.Path, paths...)
	p.Count, p.Nanos = append(p.Count, d.Count...), append(p.Nanos, d.Nanos...)
	p.Stacks = stacks.snapshot()
	b.count += int64(d.Len())
	s.charge(b, size+grown+more)
	return nil
}

// clampTime limits a time to 8,000 years around 1970: differences of other times could
// overflow.
func clampTime(ms int64) int64 { return min(max(ms, -latest), latest) }

// Segment adds a segment, which arrives now. Raw is copied.
func (s *Stream) Segment(ctx context.Context, seg Segment) error {
	size := segmentSize + int64(len(seg.Raw))
	for _, text := range []*string{&seg.ID, &seg.Trace, &seg.Service, &seg.Instance, &seg.Endpoint, &seg.Operation} {
		*text = strings.ToValidUTF8(*text, "\uFFFD")
		size += int64(len(*text))
	}
	if err := s.enter(ctx, size); err != nil {
		return err
	}
	defer s.in.mu.Unlock()
	seg.Start, seg.End = clampTime(seg.Start), clampTime(seg.End)
	seg.SetArrived(s.in.opts.Now())
	seg.Raw = slices.Clone(seg.Raw)
	b := s.in.current()
	b.segments = append(b.segments, seg)
	s.charge(b, size)
	return nil
}

// Instance adds a report of an instance.
func (s *Stream) Instance(ctx context.Context, i Instance) error {
	i.Properties = slices.Clone(i.Properties)
	size := int64(segmentSize)
	texts := []*string{&i.Service, &i.Name, &i.Layer, &i.Language}
	for k := range i.Properties {
		texts = append(texts, &i.Properties[k].Key, &i.Properties[k].Value)
	}
	for _, text := range texts {
		*text = strings.ToValidUTF8(*text, "\uFFFD")
		size += int64(len(*text))
	}
	if err := s.enter(ctx, size); err != nil {
		return err
	}
	defer s.in.mu.Unlock()
	b := s.in.current()
	key := InstanceKey{i.Service, i.Name}
	if have := b.instances[key]; have != nil {
		have.Merge(&i)
	} else {
		b.instances[key] = &i
	}
	s.charge(b, size)
	return nil
}

// Wait returns when all data of the stream is stored, or the error because of which some
// is not. After an error the stream accepts no more data: the caller reports it to the
// client, or starts another stream.
func (s *Stream) Wait(ctx context.Context) error {
	for {
		s.dropDone()
		if s.err != nil || len(s.waits) == 0 {
			return s.err
		}
		b := s.waits[0]
		s.in.mu.Lock()
		b.wanted = true
		s.in.mu.Unlock()
		s.in.writer.Nudge()
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
