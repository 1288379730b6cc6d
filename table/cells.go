package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
)

// Percent formats a cell that holds a share; other cells stay empty.
func Percent(v any) string { return ofFloat(v, words.Percent) }

// SignedPercent formats a cell that holds a difference of shares; others stay empty.
func SignedPercent(v any) string { return ofFloat(v, words.SignedPercent) }

// Number formats a cell that holds a number without a unit; others stay empty.
func Number(v any) string { return ofFloat(v, words.Number) }

func ofFloat(v any, format func(float64) string) string {
	f, ok := v.(float64)
	if !ok {
		return ""
	}
	return format(f)
}

// Format returns what formats a cell that holds a number; others stay empty.
func Format(format string) func(v any) string {
	return func(v any) string { return ofFloat(v, func(f float64) string { return fmt.Sprintf(format, f) }) }
}

// Decimals formats a place in a picture.
var Decimals = Format("%.4f")

// Grouped formats a cell that holds a count, or nil.
func Grouped(v any) string {
	if v == nil {
		return ""
	}
	return words.Count(fmt.Sprint(v))
}

// Date formats a cell that holds a time; others stay empty.
func Date(v any) string {
	t, ok := v.(time.Time)
	if !ok || t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// Commit shortens a cell that holds a commit.
func Commit(v any) string {
	s, _ := v.(string)
	return s[:min(12, len(s))]
}

// Joined formats a cell that holds a list of texts.
func Joined(v any) string {
	list, _ := v.([]string)
	return strings.Join(list, " ")
}

// Instant formats a cell that holds a time in ms since 1970.
func Instant(v any) string {
	ms, _ := v.(int64)
	return words.Instant(ms)
}

// Millis formats a cell that holds a length of time in ms; others stay empty.
func Millis(v any) string {
	ms, ok := v.(int64)
	if !ok {
		return ""
	}
	return words.Millis(ms)
}
