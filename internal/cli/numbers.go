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
	f := float64(v) / math.Pow10(scale)
	switch unit {
	case "nanoseconds":
		return steps(f, 1000, "ns", "µs", "ms", "s")
	case "microseconds":
		return steps(f, 1000, "µs", "ms", "s")
	case "milliseconds":
		return steps(f, 1000, "ms", "s")
	case "bytes":
		return steps(f, 1024, "B", "KiB", "MiB", "GiB", "TiB")
	case "count":
		unit = "samples"
	}
	if scale == 0 {
		return grouped(v) + " " + unit
	}
	return decimal(v, scale) + " " + unit
}

func steps(v, by float64, units ...string) string {
	i := 0
	for ; math.Abs(v) >= by && i+1 < len(units); i++ {
		v /= by
	}
	if i == 0 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.*f %s", max(0, 2-int(math.Log10(math.Max(1, math.Abs(v))))), v, units[i])
}
