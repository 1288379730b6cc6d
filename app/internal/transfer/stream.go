package transfer

import (
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// Flusher sends what was written so far: the next part of a stream may take long.
type Flusher func() error

// stream writes the parts of a result after its head.
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

// chunks reads the parts of a result, once, and closes in at the end.
func chunks[T any](m *reader, in io.Closer, chunk func(*coder, *T)) iter.Seq2[T, error] {
	read := false
	return func(yield func(T, error) bool) {
		var zero T
		if read {
			yield(zero, fmt.Errorf("a stream can be read once"))
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
		code(c, &set.Profiles)
		code(c, &set.Functions)
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
		code(c, &set.Profiles)
		code(c, &set.Functions)
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
		code(c, &set.Profiles)
		c.table(table)
	})
	if err != nil {
		return err
	}
	return stream(m, flush, set.Vectors, func(c *coder, v *store.TreeVector) { c.treeVector(v, set) })
}

func (c *coder) treeVector(v *store.TreeVector, set *store.TreeSet) {
	code(c, &v.Profile)
	if v.Profile < 0 || v.Profile >= len(set.Profiles) {
		c.fail("profile %d of %d", v.Profile, len(set.Profiles))
	}
	c.vector(&v.Vector, set.Table.Len())
	c.modes(&v.Modes, set.Table.Len())
}

// ReadTrees reads a set; its stream reads on from r and closes it.
func ReadTrees(r io.ReadCloser) (*store.TreeSet, error) {
	m := newReader(r)
	set := &store.TreeSet{Table: &calltree.Table{}}
	err := m.expect(frameHead, func(c *coder) {
		code(c, &set.Profiles)
		c.table(set.Table)
	})
	if err != nil {
		return nil, err
	}
	set.Vectors = chunks(m, r, func(c *coder, v *store.TreeVector) { c.treeVector(v, set) })
	return set, nil
}

// WriteSQL writes the result of a user's query.
func WriteSQL(w io.Writer, flush Flusher, a *store.SQLAnswer) error {
	m := newWriter(w)
	err := m.frame(frameHead, func(c *coder) {
		code(c, &a.Columns)
		code(c, &a.Types)
	})
	if err != nil {
		return err
	}
	return stream(m, flush, a.Rows, code[[]any])
}

// ReadSQL reads the result of a user's query; its stream reads on from r and
// closes it.
func ReadSQL(r io.ReadCloser) (*store.SQLAnswer, error) {
	m := newReader(r)
	a := &store.SQLAnswer{}
	err := m.expect(frameHead, func(c *coder) {
		code(c, &a.Columns)
		if code(c, &a.Types); len(a.Types) != len(a.Columns) {
			c.fail("%d types of %d columns", len(a.Types), len(a.Columns))
		}
	})
	if err != nil {
		return nil, err
	}
	a.Rows = chunks(m, r, func(c *coder, v *[]any) {
		if code(c, v); c.err == nil && len(*v) != len(a.Columns) {
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
	code(c, &kind)
	switch kind {
	case cellNull:
		*v = nil
	case cellBool:
		cellOf[bool](c, v)
	case cellInt:
		cellOf[int64](c, v)
	case cellFloat:
		cellOf[float64](c, v)
	case cellText:
		cellOf[string](c, v)
	case cellBytes:
		cellOf[[]byte](c, v)
	case cellTime:
		cellOf[time.Time](c, v)
	default:
		c.fail("a value of kind %d", kind)
	}
}

// cellOf codes a value of a known type in v.
func cellOf[T any](c *coder, v *any) {
	x, _ := (*v).(T)
	code(c, &x)
	*v = x
}
