package cli

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/internal/words"
)

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

// amount formats a value with its unit: 1.28 s, 3.40 MiB, 5,120 samples.
func amount(v int64, unit string, scale int) string {
	if text, ok := words.Amount(float64(v)/math.Pow10(scale), unit); ok {
		return text
	}
	if unit = words.Clean(unit); unit == "count" {
		unit = "samples"
	}
	return words.Count(decimal(v, scale)) + " " + unit
}
