package transfer

import (
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

// WriteSampled writes tasks and segments, and snapshots as they come.
func WriteSampled(w io.Writer, flush Flusher, s *Sampled) error {
	m := newWriter(w)
	err := m.frame(frameHead, func(c *coder) {
		code(c, &s.Tasks)
		code(c, &s.Segments)
	})
	if err != nil {
		return err
	}
	var fs forests
	return stream(m, flush, s.Snapshots, fs.snapshots)
}

// ReadSampled reads tasks and segments; the snapshots are read from r as they come, which
// closes it.
func ReadSampled(r io.ReadCloser) (*Sampled, error) {
	m := newReader(r)
	s := &Sampled{}
	err := m.expect(frameHead, func(c *coder) {
		code(c, &s.Tasks)
		code(c, &s.Segments)
	})
	if err != nil {
		return nil, err
	}
	var fs forests
	s.Snapshots = chunks(m, r, fs.snapshots)
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
