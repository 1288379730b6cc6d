package query

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Number is a value of a profile: a whole number of 10^-Scale units, or a fraction of
// units where something was divided. JSON has it in units, exactly.
type Number struct {
	Int     int64
	Scale   int
	Float   float64 // if Divided
	Divided bool
}

// Whole returns v ÷ 10^scale.
func Whole(v int64, scale int) Number { return Number{Int: v, Scale: scale} }

// fraction returns v ÷ 10^scale of a value that is no whole number.
func fraction(v float64, scale int) Number {
	return Number{Float: v / math.Pow10(scale), Divided: true}
}

// Value returns the number in units.
func (n Number) Value() float64 {
	if n.Divided {
		return n.Float
	}
	return float64(n.Int) / math.Pow10(n.Scale)
}

// String returns the number in units, exactly.
func (n Number) String() string { return string(n.append(nil)) }

// MarshalJSON returns the number in units.
func (n Number) MarshalJSON() ([]byte, error) { return n.append(nil), nil }

// UnmarshalJSON reads a number as a fraction, for Go programs that read results.
func (n *Number) UnmarshalJSON(data []byte) error {
	n.Divided = true
	return json.Unmarshal(data, &n.Float)
}

func (n Number) append(b []byte) []byte {
	switch {
	case n.Divided && (math.IsNaN(n.Float) || math.IsInf(n.Float, 0)):
		return append(b, "null"...)
	case n.Divided:
		text, _ := json.Marshal(n.Float) // of a finite number there is no error
		return append(b, text...)
	case n.Scale == 0:
		return strconv.AppendInt(b, n.Int, 10)
	}
	s := strconv.FormatInt(n.Int, 10)
	if strings.HasPrefix(s, "-") {
		b, s = append(b, '-'), s[1:]
	}
	for len(s) <= n.Scale {
		s = "0" + s
	}
	whole, decimals := s[:len(s)-n.Scale], strings.TrimRight(s[len(s)-n.Scale:], "0")
	if b = append(b, whole...); decimals != "" {
		b = append(append(b, '.'), decimals...)
	}
	return b
}

// share returns part ÷ whole; 0 of nothing.
func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// parseShare parses 5%, 5 % or 0.05 into a fraction.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, usage("%.60q is not a share (5%% or 0.05)", text)
	}
	return v, nil
}
