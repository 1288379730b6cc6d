package transfer

import (
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// Profiles is a list of profiles on its way.
type Profiles []store.Profile

// FunctionNames is a list of functions on its way.
type FunctionNames []profile.Function

// RawNames are examples of names on their way.
type RawNames map[string]string

// Measurements are metrics without a profile on their way.
type Measurements []store.Measurement

// Outcomes are what Put did, on their way.
type Outcomes []store.Outcome

// Source is an original file on its way.
type Source []byte

// Count is a number on its way.
type Count int

// Merged is a merged tree with the profiles it is of, on its way.
type Merged struct {
	Tree     *calltree.Tree
	Profiles []store.Profile
}

// Answer is an answer in one piece: one of the types below, or a pointer to it to
// be read into.
type Answer interface{ code(c *coder) }

func (v *Profiles) code(c *coder)      { list(c, (*[]store.Profile)(v), (*coder).profile) }
func (v *FunctionNames) code(c *coder) { list(c, (*[]profile.Function)(v), (*coder).function) }
func (v *RawNames) code(c *coder)      { textMap(c, (*map[string]string)(v)) }
func (v *Measurements) code(c *coder)  { list(c, (*[]store.Measurement)(v), (*coder).measurement) }
func (v *Outcomes) code(c *coder)      { list(c, (*[]store.Outcome)(v), (*coder).outcome) }
func (v *Source) code(c *coder)        { c.bytes((*[]byte)(v)) }
func (v *Count) code(c *coder)         { number(c, v) }

func (v *Merged) code(c *coder) {
	if c.reading {
		v.Tree = &calltree.Tree{Table: &calltree.Table{}}
	}
	list(c, &v.Profiles, (*coder).profile)
	c.table(v.Tree.Table)
	c.valueType(&v.Tree.Type)
	column(c, &v.Tree.Self)
	if !c.reading || c.err != nil {
		return
	}
	if len(v.Tree.Self) != v.Tree.Table.Len() {
		c.fail("%d values of %d nodes", len(v.Tree.Self), v.Tree.Table.Len())
		return
	}
	v.Tree = calltree.NewTree(v.Tree.Table, v.Tree.Type, v.Tree.Self)
}

// Sums is store.FunctionSums on its way.
type Sums store.FunctionSums

func (v *Sums) code(c *coder) {
	list(c, &v.Profiles, (*coder).profile)
	list(c, &v.Functions, (*coder).function)
	list(c, &v.Rows, func(c *coder, r *store.FunctionSum) {
		number(c, &r.Function)
		number(c, &r.Profiles)
		number(c, &r.Self)
		number(c, &r.Total)
		c.float(&r.SelfShare)
		c.float(&r.TotalShare)
		if r.Function < 0 || int(r.Function) >= len(v.Functions) {
			c.fail("function %d of %d", r.Function, len(v.Functions))
		}
	})
}

// Moments is store.MomentSet on its way.
type Moments store.MomentSet

func (v *Moments) code(c *coder) {
	list(c, &v.Profiles, (*coder).profile)
	texts(c, &v.Benchmarks)
	list(c, &v.Functions, (*coder).function)
	list(c, &v.Rows, func(c *coder, m *store.Moments) {
		number(c, &m.Benchmark)
		number(c, &m.Function)
		number(c, &m.N)
		number(c, &m.NY)
		for _, x := range []*float64{&m.Mean, &m.M2, &m.MeanX, &m.MeanY, &m.M2X, &m.M2Y, &m.CovC} {
			c.float(x)
		}
		if m.Benchmark < 0 || int(m.Benchmark) >= len(v.Benchmarks) || m.Function < 0 || int(m.Function) >= len(v.Functions) {
			c.fail("function %d in benchmark %d", m.Function, m.Benchmark)
		}
	})
}

// WriteAnswer writes an answer in one piece.
func WriteAnswer(w io.Writer, v Answer) error { return writeOne(w, frameHead, v.code) }

// ReadAnswer reads one.
func ReadAnswer(r io.Reader, v Answer) error { return readOne(r, frameHead, v.code) }

// Flusher sends what was written so far; an answer's stream may take its time.
type Flusher func() error

// stream writes the chunks of an answer behind its head.
func stream[T any](w *writer, flush Flusher, rows iter.Seq2[T, error], chunk func(*coder, *T)) error {
	if err := w.w.Flush(); err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	for v, err := range rows {
		if err != nil {
			return w.end(err)
		}
		if err := w.frame(frameChunk, func(c *coder) { chunk(c, &v) }); err != nil {
			return w.end(err)
		}
	}
	return w.end(nil)
}

// chunks reads the chunks of an answer. It closes in when it is done, and can be
// gone through once.
func chunks[T any](m *reader, in io.Closer, chunk func(*coder, *T)) iter.Seq2[T, error] {
	read := false
	return func(yield func(T, error) bool) {
		var zero T
		if read {
			yield(zero, fmt.Errorf("the stream of an answer can be read once"))
			return
		}
		read = true
		defer in.Close()
		for {
			kind, c, err := m.next()
			var v T
			switch {
			case err != nil:
			case kind == frameEnd:
				return
			case kind != frameChunk:
				err = fmt.Errorf("%w: frame of kind %d in a stream", ErrMalformed, kind)
			default:
				chunk(c, &v)
				err = c.finish()
			}
			if err != nil {
				yield(zero, err)
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// WriteFunctions writes a set with its stream.
func WriteFunctions(w io.Writer, flush Flusher, set *store.FunctionSet) error {
	m := newWriter(w)
	err := m.frame(frameHead, func(c *coder) {
		list(c, &set.Profiles, (*coder).profile)
		list(c, &set.Functions, (*coder).function)
	})
	if err != nil {
		return err
	}
	return stream(m, flush, set.Rows, func(c *coder, v *store.FunctionRows) { c.rows(v, len(set.Profiles), len(set.Functions)) })
}

func (c *coder) rows(v *store.FunctionRows, profiles, functions int) {
	c.indexes(&v.Profile, profiles)
	c.indexes(&v.Function, functions)
	column(c, &v.Self)
	if column(c, &v.Total); len(v.Function) != len(v.Profile) || len(v.Self) != len(v.Profile) || len(v.Total) != len(v.Profile) {
		c.fail("columns of %d, %d, %d and %d rows", len(v.Profile), len(v.Function), len(v.Self), len(v.Total))
	}
}

// ReadFunctions reads a set; its stream reads on from r and closes it.
func ReadFunctions(r io.ReadCloser) (*store.FunctionSet, error) {
	m := newReader(r)
	set := &store.FunctionSet{}
	err := m.expect(frameHead, func(c *coder) {
		list(c, &set.Profiles, (*coder).profile)
		list(c, &set.Functions, (*coder).function)
	})
	if err != nil {
		return nil, err
	}
	set.Rows = chunks(m, r, func(c *coder, v *store.FunctionRows) { c.rows(v, len(set.Profiles), len(set.Functions)) })
	return set, nil
}

// WriteTrees writes a set with its stream.
func WriteTrees(w io.Writer, flush Flusher, set *store.TreeSet) error {
	m := newWriter(w)
	table := set.Table
	if table == nil { // nothing was selected
		table = &calltree.Table{}
	}
	err := m.frame(frameHead, func(c *coder) {
		list(c, &set.Profiles, (*coder).profile)
		c.table(table)
	})
	if err != nil {
		return err
	}
	return stream(m, flush, set.Vectors, func(c *coder, v *store.TreeVector) { c.treeVector(v, set) })
}

func (c *coder) treeVector(v *store.TreeVector, set *store.TreeSet) {
	number(c, &v.Profile)
	if v.Profile < 0 || v.Profile >= len(set.Profiles) {
		c.fail("profile %d of %d", v.Profile, len(set.Profiles))
	}
	c.vector(&v.Vector, set.Table.Len())
	list(c, &v.Modes, func(c *coder, m *store.ModeVector) { c.mode(m, set.Table.Len()) })
}

// ReadTrees reads a set; its stream reads on from r and closes it.
func ReadTrees(r io.ReadCloser) (*store.TreeSet, error) {
	m := newReader(r)
	set := &store.TreeSet{Table: &calltree.Table{}}
	err := m.expect(frameHead, func(c *coder) {
		list(c, &set.Profiles, (*coder).profile)
		c.table(set.Table)
	})
	if err != nil {
		return nil, err
	}
	set.Vectors = chunks(m, r, func(c *coder, v *store.TreeVector) { c.treeVector(v, set) })
	return set, nil
}

// WriteSQL writes the answer to a user's query.
func WriteSQL(w io.Writer, flush Flusher, a *store.SQLAnswer) error {
	m := newWriter(w)
	err := m.frame(frameHead, func(c *coder) {
		texts(c, &a.Columns)
		texts(c, &a.Types)
	})
	if err != nil {
		return err
	}
	return stream(m, flush, a.Rows, func(c *coder, v *[]any) { list(c, v, (*coder).cell) })
}

// ReadSQL reads the answer to a user's query; its stream reads on from r and
// closes it.
func ReadSQL(r io.ReadCloser) (*store.SQLAnswer, error) {
	m := newReader(r)
	a := &store.SQLAnswer{}
	err := m.expect(frameHead, func(c *coder) {
		if texts(c, &a.Columns); c.err == nil {
			texts(c, &a.Types)
		}
		if len(a.Types) != len(a.Columns) {
			c.fail("%d types of %d columns", len(a.Types), len(a.Columns))
		}
	})
	if err != nil {
		return nil, err
	}
	a.Rows = chunks(m, r, func(c *coder, v *[]any) {
		if list(c, v, (*coder).cell); c.err == nil && len(*v) != len(a.Columns) {
			c.fail("a row of %d values in %d columns", len(*v), len(a.Columns))
		}
	})
	return a, nil
}

// Kinds of SQL values.
const (
	cellNull byte = iota
	cellBool
	cellInt
	cellFloat
	cellText
	cellBytes
	cellTime
)

// cell codes a value of an SQLAnswer.
func (c *coder) cell(v *any) {
	kind := cellNull
	if !c.reading {
		switch (*v).(type) {
		case nil:
		case bool:
			kind = cellBool
		case int64:
			kind = cellInt
		case float64:
			kind = cellFloat
		case string:
			kind = cellText
		case []byte:
			kind = cellBytes
		case time.Time:
			kind = cellTime
		default:
			c.fail("a value of type %T", *v)
			return
		}
	}
	number(c, &kind)
	switch kind {
	case cellNull:
		*v = nil
	case cellBool:
		cellOf(v, c.bool)
	case cellInt:
		cellOf(v, func(x *int64) { number(c, x) })
	case cellFloat:
		cellOf(v, c.float)
	case cellText:
		cellOf(v, func(x *string) { text(c, x) })
	case cellBytes:
		cellOf(v, c.bytes)
	case cellTime:
		cellOf(v, c.time)
	default:
		c.fail("a value of kind %d", kind)
	}
}

// cellOf codes a value of a known type in v.
func cellOf[T any](v *any, code func(*T)) {
	x, _ := (*v).(T)
	code(&x)
	*v = x
}
