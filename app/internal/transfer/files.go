package transfer

import (
	"io"

	"github.com/dendroprof/dendro/store"
)

// WriteFiles writes the arguments of Put, with the part of every forest that the files use.
func WriteFiles(w io.Writer, files []*store.File, opts store.PutOptions) error {
	m := newWriter(w)
	var fs forests
	err := m.frame(frameHead, func(c *coder) { c.putOptions(&opts) })
	for _, f := range files {
		if err == nil {
			err = m.frame(frameFile, func(c *coder) { c.file(f, &fs) })
		}
	}
	return m.end(err)
}

// ReadFiles reads the arguments of Put.
func ReadFiles(r io.Reader) (files []*store.File, opts store.PutOptions, err error) {
	m := newReader(r)
	if err := m.expect(frameHead, func(c *coder) { c.putOptions(&opts) }); err != nil {
		return nil, opts, err
	}
	var fs forests
	for {
		kind, c, err := m.next()
		switch {
		case err != nil:
			return nil, opts, err
		case kind == frameEnd:
			return files, opts, nil
		case kind == frameFile:
			f := &store.File{}
			c.file(f, &fs)
			files = append(files, f)
		default:
			c.fail("frame of kind %d among files", kind)
		}
		if c.err != nil {
			return nil, opts, c.err
		}
	}
}

// WriteOutcomes writes what Put made of files.
func WriteOutcomes(w io.Writer, list []store.Outcome) error {
	m := newWriter(w)
	return m.end(m.frame(frameHead, func(c *coder) { code(c, &list) }))
}

// ReadOutcomes reads what Put made of files.
func ReadOutcomes(r io.Reader) (list []store.Outcome, err error) {
	m := newReader(r)
	if err := m.expect(frameHead, func(c *coder) { code(c, &list) }); err != nil {
		return nil, err
	}
	return list, m.expect(frameEnd, func(*coder) {})
}

func (c *coder) putOptions(v *store.PutOptions) {
	if code(c, v); v.Conflict < store.Refuse || v.Conflict > store.Add {
		c.fail("conflict %d", v.Conflict)
	}
}

func (c *coder) file(v *store.File, fs *forests) {
	code(c, &v.Name)
	code(c, &v.Benchmark)
	code(c, &v.Run)
	code(c, &v.Metrics)
	code(c, &v.Source)
	list(c, &v.Records, func(r **store.Record) {
		if c.reading {
			*r = &store.Record{}
		}
		c.part(func() { c.record(*r, fs) })
	})
}

func (c *coder) record(v *store.Record, fs *forests) {
	code(c, &v.Type)
	code(c, &v.Default)
	code(c, &v.Profiler)
	code(c, &v.ProfilerVersion)
	code(c, &v.Duration)
	code(c, &v.Samples)
	code(c, &v.Hash)
	code(c, &v.Parts)
	f := fs.next(c, v.Forest)
	f.vector(c, &v.Self)
	list(c, &v.Modes, func(m *store.ModeVector) {
		c.part(func() {
			code(c, &m.Mode)
			f.vector(c, &m.Vector)
		})
	})
	f.rawNames(c, &v.RawNames)
	if c.reading {
		v.Forest = &f.Forest
	}
}
