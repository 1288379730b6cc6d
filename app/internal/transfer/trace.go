package transfer

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/dendroprof/dendro/traceprof"
)

// Sampled is a part of what was sampled: snapshots with their segments and tasks, as far as
// these are known.
type Sampled struct {
	Tasks     []traceprof.Task
	Segments  []traceprof.Segment
	Snapshots iter.Seq2[traceprof.Snapshots, error] // of Read: can be read once
}

// WriteSampled writes tasks and segments, and snapshots as they come; flush sends what was written
// before the first ones, which may take long.
func WriteSampled(w io.Writer, flush func() error, s *Sampled) error {
	m := newWriter(w)
	if err := m.frame(frameHead, s.head); err != nil {
		return err
	}
	if err := errors.Join(m.w.Flush(), flush()); err != nil {
		return err
	}
	var fs forests
	for v, err := range s.Snapshots {
		if err == nil {
			err = m.frame(frameChunk, func(c *coder) { fs.snapshots(c, &v) })
		}
		if err != nil {
			return m.end(err)
		}
	}
	return m.end(nil)
}

func (s *Sampled) head(c *coder) {
	code(c, &s.Tasks)
	code(c, &s.Segments)
}

// ReadSampled reads tasks and segments; the snapshots are read from r as they come, once, which
// closes it.
func ReadSampled(r io.ReadCloser) (*Sampled, error) {
	m := newReader(r)
	s := &Sampled{}
	if err := m.expect(frameHead, s.head); err != nil {
		return nil, err
	}
	var fs forests
	s.Snapshots = func(yield func(traceprof.Snapshots, error) bool) {
		defer r.Close()
		for {
			var v traceprof.Snapshots
			kind, c, err := m.next()
			switch {
			case err != nil:
			case kind == frameEnd:
				return
			case kind != frameChunk:
				err = fmt.Errorf("%w: frame of kind %d in a stream", ErrMalformed, kind)
			default:
				fs.snapshots(c, &v)
				err = c.err
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
	return s, nil
}

// snapshots codes the snapshots of a segment with what is new in their dictionary of stacks.
func (fs *forests) snapshots(c *coder, v *traceprof.Snapshots) {
	code(c, &v.Task)
	code(c, &v.Segment)
	code(c, &v.Language)
	code(c, &v.Received)
	f := fs.next(c, v.Stacks)
	var path []int32
	if !c.reading {
		path = f.translation.Paths(f.from, v.Path, nil)
	}
	f.added(c)
	column(c, &path)
	column(c, &v.Sequence)
	column(c, &v.Time)
	if v.Language == traceprof.GoProfiles {
		column(c, &v.Count)
		column(c, &v.Nanos)
	}
	if c.reading && c.err == nil {
		v.Path, v.Stacks = path, f.Snapshot()
		if err := v.Check(); err != nil {
			c.fail("%v", err)
		}
	}
}
