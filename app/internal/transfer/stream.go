package transfer

import (
	"fmt"
	"io"
	"iter"
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
				err = c.err
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
