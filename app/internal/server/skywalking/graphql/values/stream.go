package values

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Value writes the selected fields of a part of an answer. It may be called several times.
type Value func(w *Writer, selected ast.SelectionSet)

// UnmarshalGQLContext always fails: a Value is never an argument. Generated code needs it.
func (v *Value) UnmarshalGQLContext(context.Context, any) error {
	return errors.New("an answer is no argument")
}

// MarshalGQLContext leaves a gap for the value of a field. The context is from NewAnswer.
func (v Value) MarshalGQLContext(ctx context.Context, w io.Writer) error {
	a, ok := ctx.Value(answerKey{}).(*Answer)
	buf, plain := w.(*bytes.Buffer)
	if !ok || !plain {
		return errors.New("this answer can only be sent in one piece")
	}
	a.gaps = append(a.gaps, gap{at: buf.Len(), value: v, selected: graphql.GetFieldContext(ctx).Field.Selections})
	return nil
}

type answerKey struct{}

// Answer is an answer with gaps. It is not for concurrent use.
type Answer struct {
	op   *graphql.OperationContext
	gaps []gap
}

// gap is a place in an answer that a value fills.
type gap struct {
	at       int
	value    Value
	selected ast.SelectionSet
}

// NewAnswer returns an answer to the operation of the context, and the context for
// executing it.
func NewAnswer(ctx context.Context) (context.Context, *Answer) {
	a := &Answer{op: graphql.GetOperationContext(ctx)}
	return context.WithValue(ctx, answerKey{}, a), a
}

// Write writes data, the answer of the generated code, and fills the gaps. It stops when w
// fails or the context ends.
func (a *Answer) Write(ctx context.Context, w io.Writer, data []byte) error {
	out := &Writer{ctx: ctx, to: w, op: a.op}
	done := 0
	for _, g := range a.gaps {
		out.buf = append(out.buf, data[done:g.at]...)
		done = g.at
		g.value(out, g.selected)
	}
	out.buf = append(out.buf, data[done:]...)
	out.flush()
	return out.err
}

// pending is the size of the buffer in bytes.
const pending = 64 << 10

// Writer buffers and sends JSON. After an error it drops everything.
type Writer struct {
	ctx context.Context
	to  io.Writer
	op  *graphql.OperationContext
	buf []byte
	err error
}

// full sends the buffer if it is full, and reports whether to continue.
func (w *Writer) full() bool {
	if len(w.buf) >= pending {
		w.flush()
	}
	return w.err == nil
}

func (w *Writer) flush() {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil {
		_, w.err = w.to.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

// fields returns the selected fields of an object, with fragments resolved.
func (w *Writer) fields(typ string, selected ast.SelectionSet) []graphql.CollectedField {
	return graphql.CollectFields(w.op, selected, []string{typ})
}

// Object is an object of a type, with its fields by name.
func Object(typ string, fields map[string]Value) Value {
	return func(w *Writer, selected ast.SelectionSet) {
		separator := byte('{')
		for _, f := range w.fields(typ, selected) {
			w.buf = append(w.buf, separator)
			w.buf = append(append(w.buf, Quote(f.Alias)...), ':')
			separator = ','
			if f.Name == typename {
				w.buf = append(w.buf, Quote(typ)...)
			} else {
				fields[f.Name](w, f.Selections)
			}
		}
		if separator == '{' {
			w.buf = append(w.buf, '{')
		}
		w.buf = append(w.buf, '}')
	}
}

// typename is the field that every object has.
const typename = "__typename"

// List is a list of values.
func List(list []Value) Value {
	return func(w *Writer, selected ast.SelectionSet) {
		w.buf = append(w.buf, '[')
		for i, v := range list {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			if v(w, selected); !w.full() {
				return
			}
		}
		w.buf = append(w.buf, ']')
	}
}

// Text is a text, and null if it is empty.
func Text(s string) Value {
	return func(w *Writer, _ ast.SelectionSet) {
		if s == "" {
			w.buf = append(w.buf, "null"...)
		} else {
			w.buf = append(w.buf, Quote(s)...)
		}
	}
}

// Null is null.
func Null(w *Writer, _ ast.SelectionSet) { w.buf = append(w.buf, "null"...) }

// Column appends one field of the object in a row to an answer.
type Column func(buf []byte, row int) []byte

// Table is a list of objects with scalar fields: rows of columns, which are named by their
// fields.
func Table(typ string, rows int, columns map[string]Column) Value {
	return func(w *Writer, selected ast.SelectionSet) {
		type piece struct {
			before []byte // `,"alias":`
			column Column
		}
		pieces := []piece{}
		for _, f := range w.fields(typ, selected) {
			p := piece{append(append([]byte{','}, Quote(f.Alias)...), ':'), columns[f.Name]}
			if f.Name == typename {
				p.column = func(buf []byte, _ int) []byte { return append(buf, Quote(typ)...) }
			}
			pieces = append(pieces, p)
		}
		if len(pieces) > 0 {
			pieces[0].before[0] = '{'
		}
		w.buf = append(w.buf, '[')
		for row := range rows {
			if row > 0 {
				w.buf = append(w.buf, ',')
			}
			for i := range pieces {
				w.buf = append(w.buf, pieces[i].before...)
				w.buf = pieces[i].column(w.buf, row)
			}
			if len(pieces) == 0 {
				w.buf = append(w.buf, '{')
			}
			w.buf = append(w.buf, '}')
			if !w.full() {
				return
			}
		}
		w.buf = append(w.buf, ']')
	}
}

// Numbers is a column of numbers.
func Numbers[T int32 | int64](list []T) Column {
	return func(buf []byte, row int) []byte { return strconv.AppendInt(buf, int64(list[row]), 10) }
}

// IDs is a column of ids, which are digits in a text.
func IDs(number func(row int) int64) Column {
	return func(buf []byte, row int) []byte {
		return append(strconv.AppendInt(append(buf, '"'), number(row), 10), '"')
	}
}

// Texts are texts that columns refer to by number, each encoded once. It is not for
// concurrent use.
type Texts struct {
	text   func(i int32) string
	quoted [][]byte
}

// NewTexts returns the texts numbered from 0 up to n.
func NewTexts(n int, text func(i int32) string) *Texts {
	return &Texts{text, make([][]byte, n)}
}

// Column is a column of texts by their numbers.
func (t *Texts) Column(numbers []int32) Column {
	return func(buf []byte, row int) []byte {
		i := numbers[row]
		if t.quoted[i] == nil {
			t.quoted[i] = Quote(t.text(i))
		}
		return append(buf, t.quoted[i]...)
	}
}

// Quote returns a text as JSON.
func Quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return []byte(`""`) // a text always has a form
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
