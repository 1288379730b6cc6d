// Package values reads arguments of the GraphQL schema and writes answers, which may be
// long, while they are sent.
//
// A Value writes the selected fields of a part of an answer; a table of a tree writes them
// from columns, row by row, so that an answer of a million nodes takes a buffer and not
// memory for itself. A Value cannot fail: its data is computed before the first byte is sent.
// An Operation says which fields a selection has.
package values

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// InputError is the error for an argument of the wrong type.
type InputError struct{ Reason string }

// Error returns the reason.
func (e *InputError) Error() string { return e.Reason }

// ReadInt reads an Int of 32 bits, a number or digits in a text, or returns an
// *InputError.
func ReadInt(v any) (int64, error) {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 {
		return int64(f), nil
	}
	n, ok := integer(v)
	if !ok || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, &InputError{fmt.Sprintf("%v is not a whole number of 32 bits", v)}
	}
	return n, nil
}

// ReadLong reads a Long, a number or digits in a text, or returns an *InputError.
func ReadLong(v any) (int64, error) {
	n, ok := integer(v)
	if !ok {
		return 0, &InputError{fmt.Sprintf("%v is not a whole number of 64 bits", v)}
	}
	return n, nil
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}
