package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
)

// of returns what formats the cells that hold a value of a type; others stay empty.
func of[T any](format func(T) string) func(v any) string {
	return func(v any) string {
		if x, ok := v.(T); ok {
			return format(x)
		}
		return ""
	}
}

// What formats the cells of a column.
var (
	Percent       = of(words.Percent)                                        // a share
	SignedPercent = of(words.SignedPercent)                                  // a difference of shares
	Number        = of(words.Number)                                         // a number without a unit
	Decimals      = Format("%.4f")                                           // a place in a picture
	Commit        = of(func(s string) string { return s[:min(12, len(s))] }) // a commit, shortened
	Joined        = of(func(list []string) string { return strings.Join(list, " ") })
	Instant       = of(words.Instant) // a time in ms since 1970
	Millis        = of(words.Millis)  // a length of time in ms
	Date          = of(func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02 15:04:05Z")
	})
)

// Format returns what formats a cell that holds a number; others stay empty.
func Format(format string) func(v any) string {
	return of(func(f float64) string { return fmt.Sprintf(format, f) })
}

// Grouped formats a cell that holds a count, or nil.
func Grouped(v any) string {
	if v == nil {
		return ""
	}
	return words.Count(fmt.Sprint(v))
}
