package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"encoding/json"
)

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// share returns part ÷ whole, 0 of nothing.
func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// scaled returns a stored value as the number it stands for: v ÷ 10^scale.
func scaled(v int64, scale int) any {
	if scale == 0 {
		return v
	}
	return json.Number(decimal(v, scale))
}

// decimal writes v ÷ 10^scale exactly.
func decimal(v int64, scale int) string {
	s := strconv.FormatInt(v, 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for len(s) <= scale {
		s = "0" + s
	}
	whole, frac := s[:len(s)-scale], strings.TrimRight(s[len(s)-scale:], "0")
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}

// amount writes a value with a unit that people read: 1.28 s, 3.4 MiB, 5 120 samples.
func amount(v int64, unit string, scale int) string {
	if text, ok := measured(float64(v)/math.Pow10(scale), unit); ok {
		return text
	}
	if unit == "count" {
		unit = "samples"
	}
	if scale == 0 {
		return grouped(v) + " " + unit
	}
	return decimal(v, scale) + " " + unit
}

// measured writes a time or a size in the step of its unit that fits; false for
// other units.
func measured(v float64, unit string) (string, bool) {
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
