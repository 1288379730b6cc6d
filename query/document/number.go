package document

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/internal/words"
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

// Fraction returns v ÷ 10^scale of a value that is no whole number.
func Fraction(v float64, scale int) Number {
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

// UnmarshalJSON reads a number: a whole number of decimal digits exactly, another one as
// the nearest fraction, and null as no number.
func (n *Number) UnmarshalJSON(data []byte) error {
	whole, decimals, _ := strings.Cut(string(data), ".")
	v, err := strconv.ParseInt(whole+decimals, 10, 64)
	if exact := decimals == "" || -1<<53 < v && v < 1<<53; err == nil && exact && (v != 0 || whole[0] != '-') {
		*n = Whole(v, len(decimals))
		return nil
	}
	*n = Number{Divided: true, Float: math.NaN()}
	if string(data) == "null" {
		return nil
	}
	return json.Unmarshal(data, &n.Float)
}

// AppendText appends the number in units, exactly.
func (n Number) AppendText(b []byte) ([]byte, error) { return n.append(b), nil }

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

// Amount returns the number with its unit: 1.28 s, 3.40 MiB, 5,120 samples.
func (n Number) Amount(unit string) string {
	if text, ok := words.Amount(n.Value(), unit); ok {
		return text
	}
	if unit = words.Clean(unit); unit == "count" {
		unit = "samples"
	}
	count := words.Count(n.String())
	if count == "1" && len(unit) > 3 { // words, not symbols such as "us"
		unit = strings.TrimSuffix(unit, "s")
	}
	return count + " " + unit
}

// Times returns the number multiplied, as a fraction.
func (n Number) Times(factor int64) Number { return Fraction(n.Value()*float64(factor), 0) }

// Of returns the number as a share of another; 0 of nothing.
func (n Number) Of(whole Number) float64 {
	switch {
	case whole.Value() == 0:
		return 0
	case n.Divided || whole.Divided:
		return n.Value() / whole.Value()
	}
	// Both as whole numbers of the smaller unit: exact, whatever zeros a document omitted.
	scale := max(n.Scale, whole.Scale)
	return float64(n.Int) * math.Pow10(scale-n.Scale) / (float64(whole.Int) * math.Pow10(scale-whole.Scale))
}
