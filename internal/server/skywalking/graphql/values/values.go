// Package values reads and writes values of the GraphQL schema where generated
// code does not do: whole numbers of 32 bits, and answers so long that they are
// written while they are sent.
//
// Generated code builds the whole answer in memory, an object and a goroutine for
// each element of a list. A Value instead leaves a gap in that answer. When the
// answer is sent, the gap is filled by the Value, which writes what the document
// selects of it, straight from columns:
//
//	{"data":{"a":"…","trees":            ,"b":"…"}}
//	                         └ Value ┘
//
// A Value cannot fail: what it writes is computed before the first byte is sent.
package values

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// InputError says that an argument is not of its type.
type InputError struct{ Reason string }

// Error returns the reason.
func (e *InputError) Error() string { return e.Reason }

// MarshalInt writes an Int.
func MarshalInt(i int) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { io.WriteString(w, strconv.Itoa(i)) })
}

// UnmarshalInt reads an Int, which has 32 bits, or returns an *InputError. Digits
// in a text are an Int too.
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
