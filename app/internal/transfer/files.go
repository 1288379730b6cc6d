package transfer

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// WriteFiles writes the arguments of Put, with the part of every forest that the files
// use.
func WriteFiles(w io.Writer, files []*store.File, opts store.PutOptions) error {
	m := newWriter(w)
	forests := packForests(files)
	err := m.frame(frameHead, func(c *coder) { c.putOptions(&opts) })
	for _, f := range forests.list {
		if err == nil {
			err = m.frame(frameForest, f.code)
		}
	}
	for _, f := range files {
		if err == nil {
			err = m.frame(frameFile, func(c *coder) { c.file(f, forests) })
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
	forests := &forests{}
	for {
		kind, c, err := m.next()
		switch {
		case err != nil:
			return nil, opts, err
		case kind == frameEnd:
			return files, opts, nil
		case kind == frameForest:
			f := &forest{packed: &calltree.Forest{}}
			f.code(c)
			forests.list = append(forests.list, f)
		case kind == frameFile:
			f := &store.File{}
			c.file(f, forests)
			files = append(files, f)
		default:
			c.fail("frame of kind %d among files", kind)
		}
		if err := c.finish(); err != nil {
			return nil, opts, err
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

// forests are the parts of forests that files use, in the order of their frames.
type forests struct {
	list []*forest
	of   map[*calltree.Forest]int // by origin
}

// forest is the used part of a forest. The writer marks the paths to send; the reader
// builds a new forest.
type forest struct {
	from   *calltree.Forest
	used   []bool  // of each path of from
	paths  []int32 // of each path of from: its number in the message
	funcs  []int32 // of each function of from: likewise, plus one
	packed *calltree.Forest
}

// packForests gathers what the files use of each forest.
func packForests(files []*store.File) *forests {
	fs := &forests{of: map[*calltree.Forest]int{}}
	for _, file := range files {
		for _, r := range file.Records {
			if r.Forest == nil {
				continue
			}
			i, ok := fs.of[r.Forest.Origin()]
			if !ok {
				i = len(fs.list)
				fs.of[r.Forest.Origin()] = i
				fs.list = append(fs.list, &forest{from: r.Forest})
			}
			fs.list[i].use(r)
		}
	}
	for _, f := range fs.list {
		f.pack()
	}
	return fs
}

// use notes the paths of a record.
func (f *forest) use(r *store.Record) {
	if r.Forest.Paths.Len() >= f.from.Paths.Len() && len(r.Forest.Functions) >= len(f.from.Functions) {
		f.from = r.Forest // the largest snapshot has all
	}
	f.used = append(f.used, make([]bool, max(0, f.from.Paths.Len()-len(f.used)))...)
	f.funcs = append(f.funcs, make([]int32, max(0, len(f.from.Functions)-len(f.funcs)))...)
	mark := func(v calltree.Vector) {
		for _, p := range v.Nodes {
			for ; p != calltree.NoNode && !f.used[p]; p = f.from.Paths.Parent[p] {
				f.used[p] = true
			}
		}
	}
	mark(r.Self)
	for i := range r.Modes {
		mark(r.Modes[i].Vector)
	}
	for fn := range r.RawNames {
		f.funcs[fn] = 1
	}
}

// pack builds the forest to send: used paths in their order, so that ascending ids stay
// ascending.
func (f *forest) pack() {
	f.packed = &calltree.Forest{}
	f.paths = make([]int32, len(f.used))
	for fn := range f.funcs {
		if f.funcs[fn] != 0 {
			f.funcs[fn] = f.packed.Function(f.from.Functions[fn]) + 1
		}
	}
	for p, used := range f.used {
		if !used {
			continue
		}
		fn := f.from.Paths.Item[p]
		if f.funcs[fn] == 0 {
			f.funcs[fn] = f.packed.Function(f.from.Functions[fn]) + 1
		}
		parent := f.from.Paths.Parent[p]
		if parent != calltree.NoNode {
			parent = f.paths[parent]
		}
		f.paths[p] = f.packed.Path(parent, f.funcs[fn]-1)
	}
}

// code codes a packed forest: for each path how far back its parent is (0: a
// root), and its function.
func (f *forest) code(c *coder) {
	code(c, &f.packed.Functions)
	parents, funcs := f.packed.Paths.Parent, f.packed.Paths.Item
	back := make([]int32, len(parents))
	for p, parent := range parents {
		if parent != calltree.NoNode {
			back[p] = int32(p) - parent
		}
	}
	column(c, &back)
	c.funcs(&funcs, len(f.packed.Functions))
	if c.reading && c.err == nil {
		f.load(c, back, funcs)
	}
}

// load makes the forest that was read.
func (f *forest) load(c *coder, back, funcs []int32) {
	functions := f.packed.Functions
	f.packed = &calltree.Forest{}
	for i := range functions {
		if int(f.packed.Function(functions[i])) != i {
			c.fail("function %q occurs twice", functions[i].Name)
			return
		}
	}
	if len(back) != len(funcs) {
		c.fail("%d parents of %d paths", len(back), len(funcs))
		return
	}
	for p, b := range back {
		parent := int32(p) - b
		if b == 0 {
			parent = calltree.NoNode
		}
		if b < 0 || int(b) > p {
			c.fail("path %d has its parent %d before it", p, b)
			return
		}
		if int(f.packed.Path(parent, funcs[p])) != p {
			c.fail("path %d occurs twice", p)
			return
		}
	}
}

// number returns the number of a record's forest in the message, plus one.
func (fs *forests) number(f *calltree.Forest) int {
	if f == nil {
		return 0
	}
	return fs.of[f.Origin()] + 1
}

func (c *coder) file(v *store.File, fs *forests) {
	code(c, &v.Name)
	code(c, &v.Benchmark)
	code(c, &v.Run)
	code(c, &v.Metrics)
	code(c, &v.Source)
	n := c.count(len(v.Records))
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			v.Records = append(v.Records, &store.Record{})
		}
		c.record(v.Records[i], fs)
	}
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
	at := fs.number(v.Forest)
	code(c, &at)
	if at < 0 || at > len(fs.list) {
		c.fail("forest %d of %d", at, len(fs.list))
	}
	if c.err != nil {
		return
	}
	f := &forest{packed: &calltree.Forest{}}
	if at > 0 {
		f = fs.list[at-1]
	}
	if c.reading && at > 0 {
		v.Forest = f.packed
	}
	n := f.packed.Paths.Len()
	self, modes := f.translated(c, v.Self), slices.Clone(v.Modes)
	for i := range modes {
		modes[i].Vector = f.translated(c, modes[i].Vector)
	}
	c.vector(&self, n)
	c.modes(&modes, n)
	raw := f.rawNames(c, v.RawNames)
	if c.reading && c.err == nil {
		v.Self, v.Modes, v.RawNames = self, modes, raw
		if err := ascending(v); err != nil {
			c.fail("%v", err)
		}
	}
}

// translated returns a vector over the forest of the message.
func (f *forest) translated(c *coder, v calltree.Vector) calltree.Vector {
	if c.reading {
		return v
	}
	w := calltree.Vector{Nodes: make([]int32, len(v.Nodes)), Self: v.Self}
	for i, p := range v.Nodes {
		w.Nodes[i] = f.paths[p]
	}
	return w
}

// rawNames codes examples of names.
func (f *forest) rawNames(c *coder, v map[int32]string) map[int32]string {
	var ids []int32
	for _, fn := range slices.Sorted(maps.Keys(v)) {
		ids = append(ids, f.funcs[fn]-1)
	}
	names := make([]string, 0, len(v))
	for _, fn := range slices.Sorted(maps.Keys(v)) {
		names = append(names, v[fn])
	}
	c.funcs(&ids, len(f.packed.Functions))
	code(c, &names)
	if !c.reading || c.err != nil || len(ids) == 0 {
		return nil
	}
	if len(ids) != len(names) {
		c.fail("%d examples of %d names", len(names), len(ids))
		return nil
	}
	raw := make(map[int32]string, len(ids))
	for i, fn := range ids {
		raw[fn] = names[i]
	}
	return raw
}

// ascending verifies what engines rely on: nodes ascend and no value is zero.
func ascending(r *store.Record) error {
	check := func(v calltree.Vector) error {
		for i, n := range v.Nodes {
			if i > 0 && n <= v.Nodes[i-1] {
				return errors.New("the paths of a vector do not ascend")
			}
			if v.Self[i] == 0 {
				return fmt.Errorf("path %d has no value", n)
			}
		}
		return nil
	}
	errs := []error{check(r.Self)}
	for i := range r.Modes {
		errs = append(errs, check(r.Modes[i].Vector))
	}
	return errors.Join(errs...)
}
