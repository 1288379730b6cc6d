package transfer

import (
	"io"
	"iter"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
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
	var d dictionaries
	return stream(m, flush, s.Snapshots, d.snapshots)
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
	var d dictionaries
	s.Snapshots = chunks(m, r, d.snapshots)
	return s, nil
}

// dictionaries are the dictionaries of stacks of a message, each as far as it has
// sent: each function and path is sent once, before its first use.
type dictionaries struct {
	list []*dictionary
	of   map[*calltree.Forest]int // written: by origin
}

type dictionary struct {
	funcs, paths map[int32]int32  // written: number here → number in the message
	forest       *calltree.Forest // read: as far as received
}

// snapshots codes the snapshots of a segment with what is new in their dictionary.
func (ds *dictionaries) snapshots(c *coder, v *traceprof.Snapshots) {
	code(c, &v.Task)
	code(c, &v.Segment)
	code(c, &v.Language)
	code(c, &v.Received)
	at := len(ds.list)
	if !c.reading {
		at = ds.written(v.Stacks)
	}
	code(c, &at)
	if c.reading && at == len(ds.list) {
		ds.list = append(ds.list, &dictionary{forest: new(calltree.Forest)})
	}
	if c.err != nil || at < 0 || at >= len(ds.list) {
		c.fail("dictionary %d of %d", at, len(ds.list))
		return
	}
	d := ds.list[at]
	var path []int32
	if c.reading {
		d.read(c)
	} else {
		path = d.write(c, v)
	}
	column(c, &path)
	column(c, &v.Sequence)
	column(c, &v.Time)
	if v.Language == traceprof.GoProfiles {
		column(c, &v.Count)
		column(c, &v.Nanos)
	}
	if c.reading && c.err == nil {
		v.Path, v.Stacks = path, d.forest.Snapshot()
		if err := v.Check(); err != nil {
			c.fail("%v", err)
		}
	}
}

// written returns the number of a dictionary that is written.
func (ds *dictionaries) written(stacks *calltree.Forest) int {
	var origin *calltree.Forest
	if stacks != nil {
		origin = stacks.Origin()
	}
	at, ok := ds.of[origin]
	if !ok {
		if ds.of == nil {
			ds.of = map[*calltree.Forest]int{}
		}
		at = len(ds.list)
		ds.of[origin] = at
		ds.list = append(ds.list, &dictionary{funcs: map[int32]int32{}, paths: map[int32]int32{}})
	}
	return at
}

// write writes the functions and paths of the snapshots that were not sent before, and
// returns their paths as numbers in the message.
func (d *dictionary) write(c *coder, v *traceprof.Snapshots) []int32 {
	var names []string
	var parents, funcs, climbed []int32
	path := make([]int32, len(v.Path))
	for i, p := range v.Path {
		at := calltree.NoNode
		for climbed = climbed[:0]; p != calltree.NoNode; p = v.Stacks.Paths.Parent[p] {
			if known, ok := d.paths[p]; ok {
				at = known
				break
			}
			climbed = append(climbed, p)
		}
		for j := len(climbed) - 1; j >= 0; j-- {
			fn := v.Stacks.Paths.Item[climbed[j]]
			number, ok := d.funcs[fn]
			if !ok {
				number = int32(len(d.funcs))
				d.funcs[fn] = number
				names = append(names, v.Stacks.Functions[fn].Name)
			}
			parents, funcs = append(parents, at), append(funcs, number)
			at = int32(len(d.paths))
			d.paths[climbed[j]] = at
		}
		path[i] = at
	}
	code(c, &names)
	column(c, &parents)
	column(c, &funcs)
	return path
}

// read reads what is new.
func (d *dictionary) read(c *coder) {
	var names []string
	var parents, funcs []int32
	code(c, &names)
	for _, name := range names {
		if n := len(d.forest.Functions); int(d.forest.Function(profile.Function{Name: name})) != n {
			c.fail("function %q occurs twice", name)
			return
		}
	}
	column(c, &parents)
	if c.funcs(&funcs, len(d.forest.Functions)); len(funcs) != len(parents) {
		c.fail("%d functions of %d paths", len(funcs), len(parents))
	}
	if c.err != nil {
		return
	}
	for i, parent := range parents {
		n := d.forest.Paths.Len()
		if parent < calltree.NoNode || int(parent) >= n {
			c.fail("path %d is called by path %d", n, parent)
			return
		}
		if int(d.forest.Path(parent, funcs[i])) != n {
			c.fail("path %d occurs twice", n)
			return
		}
	}
}
