// Package document writes results of queries as JSON documents, of one schema for all
// surfaces (docs/schema/json.md). A result is plain data with JSON tags; its long list is
// Rows, which are made while they are written, so that a million of them are never in
// memory. A Number is a value of a profile, written exactly.
//
//	result ──Write(out, result, form)──▶ {"profiles": 1, …, "rows": […]}
//
// Programs that read large trees get columns in place of rows: an array per field, or what
// Rows.Columns writes. The package knows no query.
package document

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Rows is a list whose elements are made when they are read, so that a long one need
// not be in memory. The zero value is empty.
type Rows[T any] struct {
	n  int
	at func(i int) T
	// Columns writes the list in columns; nil: a column per field.
	Columns func(w *Writer)
}

// RowsOf returns n rows that at makes.
func RowsOf[T any](n int, at func(i int) T) Rows[T] { return Rows[T]{n: n, at: at} }

// Len is the number of rows.
func (r Rows[T]) Len() int { return r.n }

// At makes a row.
func (r Rows[T]) At(i int) T { return r.at(i) }

// All yields the rows in order.
func (r Rows[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range r.n {
			if !yield(r.at(i)) {
				return
			}
		}
	}
}

// MarshalJSON writes the rows as an array, for results that are parts of other documents.
func (r Rows[T]) MarshalJSON() ([]byte, error) { return json.Marshal(slices.AppendSeq([]T{}, r.All())) }

// UnmarshalJSON reads rows, which are then in memory.
func (r *Rows[T]) UnmarshalJSON(data []byte) error {
	var list []T
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*r = RowsOf(len(list), func(i int) T { return list[i] })
	return nil
}

func (r Rows[T]) row(i int) any              { return r.at(i) }
func (r Rows[T]) inColumns() func(w *Writer) { return r.Columns }

// list is Rows of any type.
type list interface {
	Len() int
	row(i int) any
	inColumns() func(w *Writer)
}

// Form is how a result is written as JSON. The zero value is the document for everyone.
type Form struct {
	// Columns writes rows as an object `columns` with an array per field: the form for
	// programs that read a million rows.
	Columns bool
	// Compact leaves out the columns that follow from the others and packs the numbers of the
	// rest, for programs that derive the former while they read, as the web page: a million
	// rows are read in milliseconds.
	Compact bool
	// Client adds the fields that only the program itself needs to print a result:
	// those with the tag client.
	Client bool
}

// Write writes a result as one JSON document and a newline. Package encoding/json decodes
// it into the same type, unless the form has columns, which are for other programs.
func Write(out io.Writer, result any, form Form) error {
	w := &Writer{w: bufio.NewWriterSize(out, 32<<10), form: form}
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	v := reflect.Indirect(reflect.ValueOf(result))
	if _, ok := result.(json.Marshaler); ok || v.Kind() != reflect.Struct {
		w.value(result)
	} else {
		w.Object(func() { w.fields(v, form.Columns) })
	}
	w.text("\n")
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// Bytes returns a result as Write writes it, without the newline.
func Bytes(result any, form Form) (json.RawMessage, error) {
	var b bytes.Buffer
	err := Write(&b, result, form)
	return bytes.TrimSpace(b.Bytes()), err
}

// Writer writes JSON member by member; it keeps the first error, which Write returns.
type Writer struct {
	w    *bufio.Writer
	form Form
	buf  bytes.Buffer
	enc  *json.Encoder
	n    int // members of the open object
	err  error
}

func (w *Writer) text(s string) {
	if w.err == nil {
		_, w.err = w.w.WriteString(s)
	}
}

func (w *Writer) value(v any) {
	if x := reflect.ValueOf(v); v != nil && hasClientFields(x.Type()) {
		w.inside(x)
		return
	}
	w.buf.Reset()
	if err := w.enc.Encode(v); err != nil && w.err == nil {
		w.err = err
	}
	if w.err == nil {
		_, w.err = w.w.Write(bytes.TrimSuffix(w.buf.Bytes(), []byte("\n")))
	}
}

// inside writes a value that contains client fields.
func (w *Writer) inside(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		w.Object(func() { w.fields(v, false) })
	case reflect.Slice:
		w.elements(v.Len(), func(i int) any { return v.Index(i).Interface() })
	case reflect.Pointer:
		if v.IsNil() {
			w.text("null")
			return
		}
		w.inside(v.Elem())
	}
}

// withClientFields remembers by type whether it contains client fields.
var withClientFields sync.Map

// hasClientFields reports whether a struct has fields with the tag client, or a list or a
// pointer leads to one that has.
func hasClientFields(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return hasClientFields(t.Elem())
	case reflect.Struct:
	default:
		return false
	}
	if known, ok := withClientFields.Load(t); ok {
		return known.(bool)
	}
	has := false
	for field := range t.Fields() {
		_, client := field.Tag.Lookup("client")
		has = has || client
	}
	withClientFields.Store(t, has)
	return has
}

// Name begins a member.
func (w *Writer) Name(name string) {
	if w.n++; w.n > 1 {
		w.text(",")
	}
	w.text(strconv.Quote(name) + ":")
}

// Object writes an object, whose members write writes.
func (w *Writer) Object(write func()) {
	outer := w.n
	w.n = 0
	w.text("{")
	write()
	w.text("}")
	w.n = outer
}

// Array writes a member with n values.
func (w *Writer) Array(name string, n int, at func(i int) any) {
	w.Name(name)
	w.elements(n, at)
}

func (w *Writer) elements(n int, at func(i int) any) {
	w.text("[")
	for i := 0; i < n && w.err == nil; i++ {
		if i > 0 {
			w.text(",")
		}
		w.value(at(i))
	}
	w.text("]")
}

// Numbers writes a member with n numbers: a list or, in the compact form, a text.
func (w *Writer) Numbers(name string, n int, at func(i int) Number) {
	w.Name(name)
	if w.form.Compact {
		w.pack(n, at)
		return
	}
	w.text("[")
	var buf [32]byte
	for i := 0; i < n && w.err == nil; i++ {
		b := buf[:0]
		if i > 0 {
			b = append(b, ',')
		}
		_, w.err = w.w.Write(at(i).append(b))
	}
	w.text("]")
}

// pack writes n numbers as a text: the least of u1, u2, i4 and f8 that holds all of them
// exactly, a colon, and their bytes, the least significant first, in base 64.
func (w *Writer) pack(n int, at func(i int) Number) {
	value := func(i int) float64 {
		if v := at(i).Value(); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
		return 0
	}
	least, most, whole := 0.0, 0.0, true
	for i := range n {
		v := value(i)
		least, most, whole = min(least, v), max(most, v), whole && v == math.Trunc(v)
	}
	kind, put := "f8", func(b []byte, v float64) []byte { return binary.LittleEndian.AppendUint64(b, math.Float64bits(v)) }
	switch {
	case !whole || least < math.MinInt32 || most > math.MaxInt32:
	case least < 0 || most > math.MaxUint16:
		kind, put = "i4", func(b []byte, v float64) []byte { return binary.LittleEndian.AppendUint32(b, uint32(int32(v))) }
	case most > math.MaxUint8:
		kind, put = "u2", func(b []byte, v float64) []byte { return binary.LittleEndian.AppendUint16(b, uint16(v)) }
	default:
		kind, put = "u1", func(b []byte, v float64) []byte { return append(b, byte(v)) }
	}
	w.text(`"` + kind + ":")
	text, buf := base64.NewEncoder(base64.StdEncoding, w.w), make([]byte, 0, 3<<10)
	for i := 0; i < n && w.err == nil; i++ {
		if buf = put(buf, value(i)); len(buf) == cap(buf) || i == n-1 {
			_, w.err = text.Write(buf)
			buf = buf[:0]
		}
	}
	if err := text.Close(); w.err == nil {
		w.err = err
	}
	w.text(`"`)
}

// Derived writes a member with n numbers that follow from the members around it, unless the
// form is compact.
func (w *Writer) Derived(name string, n int, at func(i int) Number) {
	if !w.form.Compact {
		w.Numbers(name, n, at)
	}
}

// fields writes the members of a struct as encoding/json does, lists one row at a time.
func (w *Writer) fields(v reflect.Value, columns bool) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if field := reflect.Indirect(v.Field(i)); f.Anonymous && name == "" && field.Kind() == reflect.Struct {
			w.fields(field, columns)
			continue
		}
		_, client := f.Tag.Lookup("client")
		if !f.IsExported() || name == "-" || name == "" || client && !w.form.Client {
			continue
		}
		empty := v.Field(i).IsZero() || v.Field(i).Kind() == reflect.Slice && v.Field(i).Len() == 0
		if empty && strings.Contains(options, "omit") {
			continue
		}
		rows, ok := v.Field(i).Interface().(list)
		switch {
		case ok && columns && name == "rows":
			w.columns(rows)
		case ok:
			w.Array(name, rows.Len(), rows.row)
		case v.Field(i).Kind() == reflect.Slice && v.Field(i).Type().Elem().Kind() == reflect.Struct:
			if s := v.Field(i); columns && name == "rows" {
				w.columns(sliceRows{s})
			} else {
				w.Array(name, s.Len(), func(i int) any { return s.Index(i).Interface() })
			}
		default:
			w.Name(name)
			w.value(v.Field(i).Interface())
		}
	}
}

// sliceRows is a slice of structs as a list.
type sliceRows struct{ v reflect.Value }

func (s sliceRows) Len() int                   { return s.v.Len() }
func (s sliceRows) row(i int) any              { return s.v.Index(i).Interface() }
func (s sliceRows) inColumns() func(w *Writer) { return nil }

// columns writes a list as an object of arrays, by default one per field of a row.
func (w *Writer) columns(rows list) {
	w.Name("columns")
	w.Object(func() {
		if write := rows.inColumns(); write != nil {
			write(w)
			return
		}
		if rows.Len() == 0 {
			return
		}
		for _, c := range columnsOf(reflect.TypeOf(rows.row(0)), nil) {
			w.Array(c.name, rows.Len(), func(i int) any { return reflect.ValueOf(rows.row(i)).FieldByIndex(c.index).Interface() })
		}
	})
}

type structColumn struct {
	name  string
	index []int
}

func columnsOf(t reflect.Type, at []int) (list []structColumn) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int{}, at...), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			list = append(list, columnsOf(f.Type, index)...)
		case f.IsExported() && name != "" && name != "-" && f.Tag.Get("client") == "":
			list = append(list, structColumn{name, index})
		}
	}
	return list
}
