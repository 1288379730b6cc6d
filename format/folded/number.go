package folded

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/profile"
)

// maxDecimals is the number of digits kept behind the decimal point.
const maxDecimals = 9

var (
	errNotNumber = errors.New("not a number")
	errOverflow  = errors.New("does not fit 63 bits")
)

// number is a count: value times 10^-decimals, with as few decimals as it
// takes, so that 12.50 and 12.5 are the same.
type number struct {
	value    int64
	decimals int
	rounded  bool // there were more than maxDecimals digits behind the point
}

// parseNumber reads an optional minus, digits, and optionally a point with
// digits on at least one of its sides. There are no exponents: a frame may end
// in ` 1e5`, and no profiler writes one. Digits beyond maxDecimals are rounded,
// halves away from zero.
func parseNumber(field []byte) (number, error) {
	digits, negative := bytes.CutPrefix(field, []byte("-"))
	whole, fraction, _ := bytes.Cut(digits, []byte("."))
	if len(whole)+len(fraction) == 0 || !areDigits(whole) || !areDigits(fraction) {
		return number{}, errNotNumber
	}
	fraction = bytes.TrimRight(fraction, "0")
	n := number{decimals: min(len(fraction), maxDecimals), rounded: len(fraction) > maxDecimals}
	part, _ := strconv.ParseInt("0"+string(fraction[:n.decimals]), 10, 64)
	if n.rounded && fraction[maxDecimals] >= '5' {
		part++
	}
	for ; n.decimals > 0 && part%10 == 0; n.decimals-- {
		part /= 10 // down to 1 if 0.9999999999 was rounded up
	}
	value, err := strconv.ParseInt("0"+string(whole), 10, 64)
	if unit, _ := profile.Pow10(n.decimals); err == nil && value <= (math.MaxInt64-part)/unit {
		n.value = value*unit + part
		if negative {
			n.value = -n.value
		}
		return n, nil
	}
	return number{}, errOverflow
}

// areDigits reports whether a text has no characters but digits.
func areDigits(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return !isDigit(c) })
}

// times returns v·10^decimals, or false when that does not fit.
func times(v int64, decimals int) (int64, bool) {
	for range decimals {
		hi, lo := bits.Mul64(magnitude(v), 10)
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		v *= 10
	}
	return v, true
}

// magnitude returns the absolute value of v, also that of the smallest int64.
func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
