package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
)

// streamRows is how many rows of an answer are held until they are printed. The
// columns of text are as wide as the rows so far want them.
const streamRows = 1000

// stream prints the rows of an answer while they arrive, in the formats of print,
// and says on stderr when it stops at a limit; 0 is none.
func (t *table) stream(e *env, rows iter.Seq2[[]any, error], format outputFormat, limit int) error {
	put, end := t.piece, func() error { return nil }
	if format == "json" {
		put, end = t.jsonPieces(e.out)
	}
	n := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		if limit > 0 && n == limit {
			fmt.Fprintf(e.err, "dendro: stopped after %d rows (--rows)\n", limit)
			break
		}
		n++
		t.rows = append(t.rows, row)
		if len(t.rows) == streamRows {
			if err := put(e, format); err != nil {
				return err
			}
		}
	}
	if err := put(e, format); err != nil {
		return err
	}
	return end()
}

// piece prints the rows at hand below those that are out.
func (t *table) piece(e *env, format outputFormat) error {
	if t.headed && len(t.rows) == 0 {
		return nil
	}
	err := t.print(e, format)
	t.headed, t.rows = true, t.rows[:0]
	return err
}

// jsonPieces returns functions that print the rows at hand as part of the
// document that print writes, and that end it.
func (t *table) jsonPieces(w io.Writer) (put func(*env, outputFormat) error, end func() error) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	before := `{"rows":[`
	put = func(*env, outputFormat) error {
		for _, row := range t.objects() {
			if _, err := io.WriteString(w, before); err != nil {
				return err
			}
			if err := enc.Encode(finite(row)); err != nil {
				return err
			}
			before = ","
		}
		t.rows = t.rows[:0]
		return nil
	}
	end = func() error {
		if before != "," {
			_, err := io.WriteString(w, before+"]}\n")
			return err
		}
		_, err := io.WriteString(w, "]}\n")
		return err
	}
	return put, end
}

// finite replaces the numbers that JSON does not have by null, in place.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = finite(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = finite(v[k])
		}
	}
	return v
}
