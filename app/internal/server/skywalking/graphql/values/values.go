// Package values reads and writes those values of the GraphQL schema that generated code
// cannot: integers of 32 bits, and long answers, which are written while they are sent.
//
// Generated code builds the whole answer in memory, an object and a goroutine for
// each element of a list. A Value leaves a gap in that answer instead. When the answer is
// sent, the Value fills the gap: it writes the selected fields from columns:
//
//	{"data":{"a":"…","trees":            ,"b":"…"}}
//	                         └ Value ┘
//
// A Value cannot fail: its data is computed before the first byte is sent.
package values

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// InputError is the error for an argument of the wrong type.
type InputError struct{ Reason string }

// Error returns the reason.
func (e *InputError) Error() string { return e.Reason }

// MarshalInt writes an Int.
func MarshalInt(i int) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { io.WriteString(w, strconv.Itoa(i)) })
}

// UnmarshalInt reads an Int of 32 bits, a number or digits in a text, or returns an
// *InputError.
func UnmarshalInt(v any) (int, error) {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 {
		return int(f), nil
	}
	n, err := graphql.UnmarshalInt64(v)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, &InputError{fmt.Sprintf("%v is not a whole number of 32 bits", v)}
	}
	return int(n), nil
}

// MarshalLong writes a Long.
func MarshalLong(n int64) graphql.Marshaler { return graphql.MarshalInt64(n) }

// UnmarshalLong reads a Long, a number or digits in a text, or returns an
// *InputError.
func UnmarshalLong(v any) (int64, error) {
	n, err := graphql.UnmarshalInt64(v)
	if err != nil {
		return 0, &InputError{fmt.Sprintf("%v is not a whole number of 64 bits", v)}
	}
	return n, nil
}
