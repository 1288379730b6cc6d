// Package words is how names, numbers and units are written for people: the same in
// every document and every command.
//
// Names come from programs that nobody checked and are made harmless (Clean). Numbers
// are written in a step of their unit that reads well: metrics as package testrun
// names units (Metric, Interval), stored values as package profile does (Value,
// Difference), shares in per cent. It knows no table and no markup; how a cell or a
// page is laid out is its writer's business. What programs read is not written here.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Clean makes a name harmless wherever text is shown: control and invisible
// formatting characters are written as Go writes them.
func Clean(s string) string {
	bad := func(r rune) bool {
		return r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
	}
	if !strings.ContainsFunc(s, bad) {
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

// CleanAll cleans every name of a list.
func CleanAll(names []string) []string {
	out := make([]string, len(names))
	for i := range names {
		out[i] = Clean(names[i])
	}
	return out
}

// First returns the first n of a list, which it shares; 0: all.
func First[T any](list []T, n int) []T {
	if n > 0 && len(list) > n {
		return list[:n]
	}
	return list
}

// Plural returns the word for n things, of which one is called so.
func Plural(n int, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}

// Commit cuts a commit to what people read.
func Commit(commit string) string { return commit[:min(10, len(commit))] }

// Percent writes a share: 0.023 is "2.3 %".
func Percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// SignedPercent writes a difference of shares: 0.023 is "+2.3 %".
func SignedPercent(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }

// Metric writes a value in a unit of package testrun: 6.6e6 ns/op is "6.6 ms/op".
func Metric(v float64, unit string) string {
	scale, unit := step(math.Abs(v), unit)
	return fmt.Sprintf("%.3g %s", v/scale, unit)
}

// Interval writes a change of a metric between its bounds: "+1.94 ms/op (1.49 … 2.39)".
func Interval(v, low, high float64, unit string) string {
	scale, unit := step(math.Abs(v), unit)
	return fmt.Sprintf("%+.3g %s (%.3g … %.3g)", v/scale, unit, low/scale, high/scale)
}

// step returns the step of a metric's unit in which a value reads well: what to
// divide by, and its name. Units that are not times stay.
func step(v float64, unit string) (scale float64, name string) {
	what, per, isRate := strings.Cut(unit, "/")
	seconds, ok := testrun.Seconds(what)
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
		if v*seconds >= s.seconds || s.name == "ns" {
			return s.seconds / seconds, s.name + per
		}
	}
	return 1, Clean(unit)
}

// Amount writes a time or a size, in a unit of value types, in the step of it that
// fits: "1.28 s", "3.40 MiB". It returns false for other units.
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
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.*f %s", max(0, 2-int(math.Log10(math.Max(1, math.Abs(v))))), v, units[i])
}

// Value writes a stored value, which need not be whole.
func Value(v float64, t profile.ValueType) string {
	v /= math.Pow10(t.Scale)
	if text, ok := Amount(v, t.Unit); ok {
		return text
	}
	text := fmt.Sprintf("%.4g", v)
	if math.Abs(v) >= 1000 {
		text = fmt.Sprintf("%.0f", v)
	}
	if t.Unit == "count" {
		return text
	}
	return text + " " + Clean(t.Unit)
}

// Difference writes a change of a stored value with its sign.
func Difference(v float64, t profile.ValueType) string {
	if v < 0 {
		return "-" + Value(-v, t)
	}
	return "+" + Value(v, t)
}
