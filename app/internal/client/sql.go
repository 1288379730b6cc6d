package client

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/store"
)

// readSQL reads the document of a user's query; its rows are read from body as they come,
// which the last one closes.
func readSQL(body io.ReadCloser) (*store.SQLAnswer, error) {
	d := json.NewDecoder(body)
	d.UseNumber()
	a := &store.SQLAnswer{}
	token, err := d.Token()
	if err == nil && token != json.Delim('{') {
		err = fmt.Errorf("%v in place of an object", token)
	}
	members := map[json.Token]any{"columns": &a.Columns, "types": &a.Types, "notes": &a.Notes} // before the rows
	for err == nil && token != json.Delim('[') {
		if token, err = d.Token(); err != nil {
			break
		}
		if member, ok := members[token]; ok {
			err = d.Decode(member)
		} else if token != "rows" && token != json.Delim('[') {
			err = fmt.Errorf("%v in place of rows", token)
		}
	}
	if err == nil && len(a.Types) != len(a.Columns) {
		err = fmt.Errorf("%d types of %d columns", len(a.Types), len(a.Columns))
	}
	if err != nil {
		body.Close()
		return nil, fmt.Errorf("the answer of the server: %w", err)
	}
	a.Rows = func(yield func([]any, error) bool) {
		defer body.Close()
		for d.More() {
			var row []any
			if err := d.Decode(&row); err != nil {
				yield(nil, err)
				return
			}
			if len(row) != len(a.Types) {
				yield(nil, fmt.Errorf("%d values in %d columns", len(row), len(a.Types)))
				return
			}
			for i := range row {
				row[i] = cell(row[i], a.Types[i])
			}
			if !yield(row, nil) {
				return
			}
		}
		if _, err := d.Token(); err != nil { // the answer broke off
			yield(nil, err)
		}
	}
	return a, nil
}

// cell returns a value as the engine had it, by the type of its column.
func cell(v any, typ string) any {
	switch v := v.(type) {
	case json.Number:
		switch typ {
		case "FLOAT", "DOUBLE", "DECIMAL":
		default:
			if n, err := v.Int64(); err == nil {
				return n
			}
		}
		x, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return x
	case string:
		switch typ {
		case "FLOAT", "DOUBLE": // NaN, Inf
			if x, err := strconv.ParseFloat(v, 64); err == nil {
				return x
			}
		case "BLOB":
			if b, err := hex.DecodeString(v); err == nil {
				return b
			}
		case "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ":
			if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
				return t
			}
		}
	}
	return v
}
