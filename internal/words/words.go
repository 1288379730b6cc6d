// Package words formats names, numbers and units for people. Every document and every
// command uses it, so that a number looks the same everywhere:
//
//	12.3%  +26.5%  0.53%      Percent, SignedPercent
//	570,000,000               Count
//	1.28 s  512 MiB           Amount, Value, Difference
//	1.94 ms/op                Metric, Interval
//	1,541 ms  5 min           Millis, Instant
//
// What users write as dates and ages is read here too (ParseDate, ParseInstant).
//
// Names come from programs that nobody checked; Clean makes them safe to print.
// Tables and markup are the caller's, and machine-readable output does not use this
// package.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/column"
)

// Clean makes a name safe to print: it writes control characters and invisible
// formatting characters as Go escapes.
func Clean(s string) string {
	bad := func(r rune) bool {
		return r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
	}
	if printable(s) || !strings.ContainsFunc(s, bad) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if bad(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// printable reports whether a text has only printable characters of ASCII, as most names.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// CleanAll returns the names cleaned.
func CleanAll(names []string) []string {
	return column.Of(names, Clean)
}

// First returns the first n elements of list, or all for n 0. The result shares list.
func First[T any](list []T, n int) []T {
	if n > 0 && len(list) > n {
		return list[:n]
	}
	return list
}

// Filled returns a list that JSON writes as one even if it is empty.
func Filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Shorten replaces the middle of a name that is wider than width by an ellipsis. Two thirds
// of what is left are its end, where functions have their method. A width of 0 or less
// has no limit.
func Shorten(name string, width int) string {
	runes := []rune(name)
	if width <= 0 || len(runes) <= width {
		return name
	}
	head := (width - 1) / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

// Plural returns the noun for n things, given its singular: "run", "runs"; or one of two forms: "is", "are".
func Plural(n int, one string, many ...string) string {
	if n == 1 {
		return one
	}
	return append(many, one+"s")[0]
}

// Counted formats a number of things, given the singular of their noun: "1 run", "5,120 runs".
func Counted(n int, one string) string { return Count(n) + " " + Plural(n, one) }

// Commit shortens a commit hash to ten characters.
func Commit(commit string) string { return commit[:min(10, len(commit))] }

// Percent formats a share: "12.3%", and below one per cent "0.53%".
func Percent(share float64) string {
	switch p := math.Abs(100 * share); {
	case p == 0:
		return "0%"
	case p < 1:
		return fmt.Sprintf("%.2f%%", 100*share)
	default:
		return fmt.Sprintf("%.1f%%", 100*share)
	}
}

// ParseShare parses a share from 0 to 1: 5%, 5 % or 0.05.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%.60q is not a share (5%% or 0.05)", text)
	}
	return v, nil
}

// SignedPercent formats a change, of a share or relative to a value: "+26.5%".
func SignedPercent(change float64) string { return signed(change, Percent) }

// signed formats v and puts a plus before what grew.
func signed(v float64, format func(v float64) string) string {
	if v > 0 {
		return "+" + format(v)
	}
	return format(v)
}

// Count formats a number and puts commas between its thousands: "570,000,000".
// Decimals stay.
func Count(n any) string {
	number := fmt.Sprint(n)
	sign := number[:len(number)-len(strings.TrimLeft(number, "+-"))]
	whole, fraction, hasFraction := strings.Cut(number[len(sign):], ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if hasFraction {
		whole += "." + fraction
	}
	return sign + whole
}

// Number formats a number with three significant digits, whole ones completely:
// "1.28", "12.8", "1,285", "3". Numbers below 0.001 have an exponent that is a multiple of
// three: "18.6e-6".
func Number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsInf(v, 0) || math.IsNaN(v):
		return fmt.Sprint(v)
	case a >= 100 || math.Abs(v-math.Round(v)) <= 1e-12*a: // 2.0000000000000004 of a division is 2
		return Count(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.0009995:
		return strconv.FormatFloat(v, 'g', 3, 64)
	default:
		digits, text, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
		power, _ := strconv.Atoi(text)
		third := power - (power%3+3)%3
		mantissa, _ := strconv.ParseFloat(digits, 64)
		return strconv.FormatFloat(mantissa*math.Pow10(power-third), 'g', 3, 64) + "e" + strconv.Itoa(third)
	}
}

// Metric formats a value in a unit of package testrun: 6.6e6 ns/op is "6.60 ms/op".
func Metric(v float64, unit string) string {
	scale, unit := step(math.Abs(v), unit)
	return Number(v/scale) + " " + unit
}

// SignedMetric formats a change of a metric: "+1.94 ms/op".
func SignedMetric(v float64, unit string) string {
	return signed(v, func(v float64) string { return Metric(v, unit) })
}

// Interval formats a change of a metric and its bounds: "+1.94 ms/op (1.49 … 2.39)".
func Interval(v, low, high float64, unit string) string {
	scale, unit := step(math.Abs(v), unit)
	return fmt.Sprintf("%s %s (%s … %s)", signed(v/scale, Number), unit, Number(low/scale), Number(high/scale))
}

// step returns the unit in which a metric reads well and the divisor that leads to
// it. Units other than times and the bytes of value types stay.
func step(v float64, unit string) (scale float64, name string) {
	if unit == "bytes" {
		scale = 1
		for _, name = range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
			if v < 1024*scale {
				break
			}
			scale *= 1024
		}
		return min(scale, 1<<40), name
	}
	what, per, isRate := strings.Cut(unit, "/")
	factor, ok := seconds(what)
	if !ok {
		return 1, Clean(unit)
	}
	if isRate {
		per = "/" + Clean(per)
	}
	for _, s := range []struct {
		seconds float64
		name    string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}} {
		if v*factor >= s.seconds || s.name == "ns" {
			return s.seconds / factor, s.name + per
		}
	}
	return 1, Clean(unit)
}

// seconds returns the factor that turns a unit of time into seconds; a unit per
// operation ("ns/op") counts as time. False when the unit is not a time.
func seconds(unit string) (float64, bool) {
	u, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(unit)), "/")
	if strings.HasSuffix(strings.ToLower(unit), "/s") {
		return 0, false
	}
	names := strings.Fields(u)
	if len(names) == 0 {
		return 0, false
	}
	switch names[len(names)-1] {
	case "ns", "nanosecond", "nanoseconds":
		return 1e-9, true
	case "us", "µs", "μs", "microsecond", "microseconds":
		return 1e-6, true
	case "ms", "millisecond", "milliseconds":
		return 1e-3, true
	case "s", "sec", "second", "seconds":
		return 1, true
	case "min", "minute", "minutes":
		return 60, true
	case "h", "hour", "hours":
		return 3600, true
	}
	return 0, false
}

// Amount formats a time or a size in a unit of value types: "1.28 s", "3.40 MiB". It
// returns false for other units.
func Amount(v float64, unit string) (string, bool) {
	switch unit {
	case "nanoseconds":
		return steps(v, 1000, "ns", "µs", "ms", "s"), true
	case "microseconds":
		return steps(v, 1000, "µs", "ms", "s"), true
	case "milliseconds":
		return steps(v, 1000, "ms", "s"), true
	case "bytes":
		return steps(v, 1024, "B", "KiB", "MiB", "GiB", "TiB"), true
	}
	return "", false
}

func steps(v, by float64, units ...string) string {
	i := 0
	for ; math.Abs(v) >= by && i+1 < len(units); i++ {
		v /= by
	}
	return Number(v) + " " + units[i]
}

// Value formats a stored value or a mean of stored values, of a value type with this unit and
// scale (powers of ten): "1.28 s", "5,120", "3 lines".
func Value(v float64, unit string, scale int) string {
	v /= math.Pow10(scale)
	if text, ok := Amount(v, unit); ok {
		return text
	}
	if unit == "count" {
		return Number(v)
	}
	return Number(v) + " " + Clean(unit)
}

// Difference formats a change of a stored value: "+1.28 s".
func Difference(v float64, unit string, scale int) string {
	return signed(v, func(v float64) string { return Value(v, unit, scale) })
}

// ShortName returns the name of a function without the directories or packages that
// hold it: pricing.matchRule, SqlJoin$Dao.query.
func ShortName(name string) string {
	end := len(name)
	if at := strings.Index(name, " ("); at > 0 {
		end = at // the file of `(anonymous) (lib/cart.js)`
	} else if at := strings.IndexAny(name, "[("); at > 0 && name[at-1] != '.' {
		end = at // arguments and type parameters have packages too
	}
	if at := strings.LastIndexByte(name[:end], '/'); at >= 0 {
		return name[at+1:]
	}
	rest := name
	for {
		element, after, ok := strings.Cut(rest, ".")
		if !ok || strings.ContainsAny(element, "(<[: ") {
			return name // no class
		}
		if element != "" && element[0] >= 'A' && element[0] <= 'Z' {
			return rest
		}
		rest = after
	}
}
