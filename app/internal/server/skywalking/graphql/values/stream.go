package values

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
)

// Value writes a part of an answer, the value of a field: what the field selects of it. It may
// be called several times.
type Value func(w *Writer, f Field)

// pending is the size of the buffer in bytes.
const pending = 64 << 10

// Writer buffers and sends JSON. After an error it drops everything.
type Writer struct {
	ctx context.Context
	to  io.Writer
	op  *Operation
	buf []byte
	err error
}

// NewWriter returns a Writer of an answer to an operation. It stops when to fails or the
// context ends.
func NewWriter(ctx context.Context, to io.Writer, op *Operation) *Writer {
	return &Writer{ctx: ctx, to: to, op: op}
}

// Append appends JSON as it is.
func (w *Writer) Append(json string) { w.buf = append(w.buf, json...) }

// Close sends the rest, and returns the first error.
func (w *Writer) Close() error {
	w.flush()
	return w.err
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

// Object is an object of a type, with its fields by name.
func Object(typ string, fields map[string]Value) Value {
	return func(w *Writer, of Field) {
		separator := byte('{')
		for _, f := range w.op.Fields(typ, of.Selected) {
			w.buf = append(w.buf, separator)
			w.buf = append(append(w.buf, Quote(f.Alias)...), ':')
			separator = ','
			if f.Name == typename {
				w.buf = append(w.buf, Quote(typ)...)
			} else {
				fields[f.Name](w, f)
			}
		}
		if separator == '{' {
			w.buf = append(w.buf, '{')
		}
		w.buf = append(w.buf, '}')
	}
}

// Members is an object of fields with a value each; of a root, whose fields may have one name
// and several aliases.
func Members(fields []Field, list []Value) Value {
	return func(w *Writer, _ Field) {
		w.buf = append(w.buf, '{')
		for i, f := range fields {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			w.buf = append(AppendQuote(w.buf, f.Alias), ':')
			if list[i](w, f); !w.full() {
				return
			}
		}
		w.buf = append(w.buf, '}')
	}
}

// typename is the field that every object has.
const typename = "__typename"

// Flag reports whether an argument of the field is true.
func (w *Writer) Flag(f Field, argument string) bool {
	b, _ := f.ArgumentMap(w.op.Variables)[argument].(bool)
	return b
}

// List is a list of values.
func List(list []Value) Value {
	return func(w *Writer, of Field) {
		w.buf = append(w.buf, '[')
		for i, v := range list {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			if v(w, of); !w.full() {
				return
			}
		}
		w.buf = append(w.buf, ']')
	}
}

// Text is a text, and null if it is empty.
func Text(s string) Value {
	return func(w *Writer, _ Field) {
		if s == "" {
			w.buf = append(w.buf, "null"...)
		} else {
			w.buf = append(w.buf, Quote(s)...)
		}
	}
}

// Raw is a value that is encoded already.
func Raw(json []byte) Value {
	return func(w *Writer, _ Field) { w.buf = append(w.buf, json...) }
}

// Null is null.
func Null(w *Writer, _ Field) { w.buf = append(w.buf, "null"...) }

// Column appends one field of the object in a row to an answer.
type Column func(buf []byte, row int) []byte

// Table is a list of objects with scalar fields: rows of columns, which are named by their
// fields.
func Table(typ string, rows int, columns map[string]Column) Value {
	return func(w *Writer, of Field) {
		type piece struct {
			before []byte // `,"alias":`
			column Column
		}
		pieces := []piece{}
		for _, f := range w.op.Fields(typ, of.Selected) {
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

// AppendQuote appends a text as JSON.
func AppendQuote(buf []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return append(buf, Quote(s)...)
		}
	}
	return append(append(append(buf, '"'), s...), '"')
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
