package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
)

// document writes one JSON object member by member, so that what is in it need
// not be in memory at once. An error ends the answer when the document is closed.
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

// value writes a value.
func (d *document) value(v any) {
	d.buf.Reset()
	if err := d.enc.Encode(v); err != nil && d.err == nil {
		d.err = err
	}
	if d.err == nil {
		_, d.err = d.w.Write(bytes.TrimSuffix(d.buf.Bytes(), []byte("\n")))
	}
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
	d.value(v)
}

// stream writes a member that is a list of values as they come.
func (d *document) stream(name string, values iter.Seq[any]) {
	d.name(name)
	d.w.WriteByte('[')
	n := 0
	for v := range values {
		if n++; n > 1 {
			d.w.WriteByte(',')
		}
		if d.value(v); d.err != nil {
			break // close says why
		}
	}
	d.w.WriteByte(']')
}

// close ends the document, and with it the answer.
func (d *document) close() {
	abortOn(d.err) // before more is sent
	d.w.WriteString("}\n")
	abortOn(d.w.Flush())
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, v any) error { return writeStatus(w, http.StatusOK, v) }

// writeStatus answers with a value and a status.
func writeStatus(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may have disconnected; the log has that
	return nil
}
