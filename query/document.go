package query

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/profile"
)

// Rows is a list whose elements are made when they are read, so that a long one need
// not be in memory. The zero value is empty.
type Rows[T any] struct {
	n  int
	at func(i int) T
	// columns writes the list in columns; nil: a column per field.
	columns func(w *objectWriter)
}

// RowsOf returns n rows that at makes.
func RowsOf[T any](n int, at func(i int) T) Rows[T] { return Rows[T]{n: n, at: at} }

// Len is the number of rows.
func (r Rows[T]) Len() int { return r.n }

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

func (r Rows[T]) row(i int) any                    { return r.at(i) }
func (r Rows[T]) inColumns() func(w *objectWriter) { return r.columns }

// list is Rows of any type.
type list interface {
	Len() int
	row(i int) any
	inColumns() func(w *objectWriter)
}

// Form is how a result is written as JSON. The zero value is the document for everyone.
type Form struct {
	// Columns writes rows as an object `columns` with an array per field: the form for
	// programs that read a million rows.
	Columns bool
	// Client adds the fields that only the program itself needs to print a result:
	// those with the tag client.
	Client bool
}

// WriteJSON writes a result as one JSON document and a newline. Package encoding/json decodes
// it into the same type, unless the form has columns, which are for other programs.
func WriteJSON(out io.Writer, result any, form Form) error {
	w := &objectWriter{w: bufio.NewWriterSize(out, 32<<10), form: form}
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	v := reflect.Indirect(reflect.ValueOf(result))
	if m, ok := result.(json.Marshaler); ok || v.Kind() != reflect.Struct {
		if ok {
			w.value(m)
		} else {
			w.value(result)
		}
	} else {
		w.object(func() { w.fields(v, form.Columns) })
	}
	w.text("\n")
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// objectWriter writes JSON member by member; it keeps the first error.
type objectWriter struct {
	w    *bufio.Writer
	form Form
	buf  bytes.Buffer
	enc  *json.Encoder
	n    int // members of the open object
	err  error
}

func (w *objectWriter) text(s string) {
	if w.err == nil {
		_, w.err = w.w.WriteString(s)
	}
}

func (w *objectWriter) value(v any) {
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
func (w *objectWriter) inside(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		w.object(func() { w.fields(v, false) })
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
	for i := range t.NumField() {
		_, client := t.Field(i).Tag.Lookup("client")
		has = has || client
	}
	withClientFields.Store(t, has)
	return has
}

func (w *objectWriter) name(name string) {
	if w.n++; w.n > 1 {
		w.text(",")
	}
	w.text(strconv.Quote(name) + ":")
}

func (w *objectWriter) object(write func()) {
	outer := w.n
	w.n = 0
	w.text("{")
	write()
	w.text("}")
	w.n = outer
}

// array writes a member with n values.
func (w *objectWriter) array(name string, n int, at func(i int) any) {
	w.name(name)
	w.elements(n, at)
}

func (w *objectWriter) elements(n int, at func(i int) any) {
	w.text("[")
	for i := 0; i < n && w.err == nil; i++ {
		if i > 0 {
			w.text(",")
		}
		w.value(at(i))
	}
	w.text("]")
}

// numbers writes a member with n numbers.
func (w *objectWriter) numbers(name string, n int, add func(b []byte, i int) []byte) {
	w.name(name)
	w.text("[")
	var buf [32]byte
	for i := 0; i < n && w.err == nil; i++ {
		b := buf[:0]
		if i > 0 {
			b = append(b, ',')
		}
		_, w.err = w.w.Write(add(b, i))
	}
	w.text("]")
}

// fields writes the members of a struct as encoding/json does, lists one row at a time.
func (w *objectWriter) fields(v reflect.Value, columns bool) {
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
			w.array(name, rows.Len(), rows.row)
		case v.Field(i).Kind() == reflect.Slice && v.Field(i).Type().Elem().Kind() == reflect.Struct:
			if s := v.Field(i); columns && name == "rows" {
				w.columns(sliceRows{s})
			} else {
				w.array(name, s.Len(), func(i int) any { return s.Index(i).Interface() })
			}
		default:
			w.name(name)
			w.value(v.Field(i).Interface())
		}
	}
}

// sliceRows is a slice of structs as a list.
type sliceRows struct{ v reflect.Value }

func (s sliceRows) Len() int                         { return s.v.Len() }
func (s sliceRows) row(i int) any                    { return s.v.Index(i).Interface() }
func (s sliceRows) inColumns() func(w *objectWriter) { return nil }

// columns writes a list as an object of arrays, by default one per field of a row.
func (w *objectWriter) columns(rows list) {
	w.name("columns")
	w.object(func() {
		if write := rows.inColumns(); write != nil {
			write(w)
			return
		}
		if rows.Len() == 0 {
			return
		}
		for _, c := range columnsOf(reflect.TypeOf(rows.row(0)), nil) {
			w.array(c.name, rows.Len(), func(i int) any { return reflect.ValueOf(rows.row(i)).FieldByIndex(c.index).Interface() })
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

// Function describes a function in a result in columns.
type Function struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int32  `json:"line,omitempty"` // where it begins
	Column   int32  `json:"column,omitempty"`
	Module   string `json:"module"`
	Language string `json:"language"`
	Kind     string `json:"kind"`
	Own      bool   `json:"own,omitempty"`      // code that the user can change, see package own
	BaseName string `json:"baseName,omitempty"` // of a function that a diff found renamed: its name on the base side
}

func describe(f *profile.Function) Function {
	return Function{Function: f.Name, File: f.File, Line: f.StartLine, Column: f.Column, Module: f.Module, Language: f.Language, Kind: f.Kind.String()}
}

// functionTable numbers the functions that columns refer to, in the order of the
// profile: it decides between rows of equal value.
type functionTable struct {
	all  []profile.Function
	used []int32 // of all
	at   []int32 // of each of all that is used: its number
	own  []bool  // of each of all, or nil: unknown

	renamed map[string]string // base names by name, of a diff
}

// tableOf returns the functions of n rows.
func tableOf(all []profile.Function, n int, of func(i int) int32) *functionTable {
	f := &functionTable{all: all, at: make([]int32, len(all))}
	for i := range n {
		f.at[of(i)] = 1
	}
	for fn := range f.at {
		if f.at[fn] != 0 {
			f.at[fn] = int32(len(f.used))
			f.used = append(f.used, int32(fn))
		}
	}
	return f
}

func (f *functionTable) number(fn int32) int64 { return int64(f.at[fn]) }

// write writes the functions.
func (f *functionTable) write(w *objectWriter) {
	w.array("functions", len(f.used), func(i int) any {
		d := describe(&f.all[f.used[i]])
		d.Own = f.own != nil && f.own[f.used[i]]
		d.BaseName = f.renamed[d.Function]
		return d
	})
}

// Category describes a category in a result in columns.
type Category struct {
	Name  string `json:"name"`
	Color string `json:"color"` // as the file names it: "yellow"
}

// writeCategories writes the categories of call nodes, without subcategories. Without
// categories it writes nothing.
func writeCategories(w *objectWriter, list []profile.Category, n int, of func(i int) profile.CategoryID) {
	if len(list) <= 1 || n > 0 && of(0) < 0 {
		return
	}
	number, groups := make([]int64, len(list)), []Category{}
	for i, c := range list {
		group := Category{c.Name, c.Color}
		at := slices.Index(groups, group)
		if at < 0 {
			at = len(groups)
			groups = append(groups, group)
		}
		number[i] = int64(at)
	}
	w.numbers("category", n, func(b []byte, i int) []byte { return Whole(number[of(i)], 0).append(b) })
	w.array("categories", len(groups), func(i int) any { return groups[i] })
}

// filled returns a list that JSON writes as one even if it is empty.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// counted writes "1 run", "2 runs".
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
