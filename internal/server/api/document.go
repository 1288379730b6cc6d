package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// document writes one JSON object member by member, so that what is in it need
// not be in memory at once. Errors are of the connection, and end the answer when
// the document is closed.
type document struct {
	w   *bufio.Writer
	buf bytes.Buffer
	enc *json.Encoder
	n   int // members so far
	err error
}

func newDocument(w http.ResponseWriter) *document {
	w.Header().Set("Content-Type", "application/json")
	d := &document{w: bufio.NewWriterSize(w, 32<<10)}
	d.enc = json.NewEncoder(&d.buf)
	d.enc.SetEscapeHTML(false)
	d.w.WriteByte('{')
	return d
}

// value writes a value and returns the document's error.
func (d *document) value(v any) error {
	d.buf.Reset()
	if err := d.enc.Encode(v); err != nil && d.err == nil {
		d.err = err
	}
	if d.err == nil {
		_, d.err = d.w.Write(bytes.TrimSuffix(d.buf.Bytes(), []byte("\n")))
	}
	return d.err
}

func (d *document) name(name string) {
	if d.n++; d.n > 1 {
		d.w.WriteByte(',')
	}
	d.w.WriteString(strconv.Quote(name) + ":")
}

// member writes a member.
func (d *document) member(name string, v any) {
	d.name(name)
	_ = d.value(v) // close has it
}

// list writes a member that is a list of n values.
func (d *document) list(name string, n int, at func(i int) any) {
	d.name(name)
	d.w.WriteByte('[')
	for i := range n {
		if i > 0 {
			d.w.WriteByte(',')
		}
		if d.value(at(i)) != nil {
			return
		}
	}
	d.w.WriteByte(']')
}

// numbers writes a member that is a list of n whole numbers.
func (d *document) numbers(name string, n int, at func(i int) int64) {
	d.name(name)
	d.w.WriteByte('[')
	var text [24]byte
	for i := range n {
		b := text[:0]
		if i > 0 {
			b = append(b, ',')
		}
		d.w.Write(strconv.AppendInt(b, at(i), 10))
	}
	d.w.WriteByte(']')
}

// object writes a member that is an object.
func (d *document) object(name string, write func()) {
	d.name(name)
	d.w.WriteByte('{')
	outer := d.n
	d.n = 0
	write()
	d.n = outer
	d.w.WriteByte('}')
}

// close ends the document, and with it the answer.
func (d *document) close() {
	d.w.WriteString("}\n")
	if err := d.w.Flush(); d.err == nil {
		d.err = err
	}
	brokenOff(d.err)
}
