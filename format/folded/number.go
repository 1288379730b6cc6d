package folded

import (
	"errors"
	"math"
	"math/bits"
	"strconv"
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
// in ` 1e5`, and no profiler writes one.
func parseNumber(field []byte) (number, error) {
	whole, negative := field, false
	if len(field) > 0 && field[0] == '-' {
		whole, negative = field[1:], true
	}
	var fraction []byte
	digits := 0
	for i, c := range whole {
		if c == '.' && fraction == nil {
			whole, fraction = whole[:i], whole[i+1:]
			break
		}
	}
	for _, part := range [...][]byte{whole, fraction} {
		for _, c := range part {
			if c < '0' || c > '9' {
				return number{}, errNotNumber
			}
			digits++
		}
	}
	if digits == 0 {
		return number{}, errNotNumber
	}
	n, err := join(whole, fraction)
	if negative {
		n.value = -n.value
	}
	return n, err
}

// join makes a number of the digits before and behind the point. Digits beyond
// maxDecimals are rounded, halves away from zero.
func join(whole, fraction []byte) (number, error) {
	for len(fraction) > 0 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	n := number{decimals: min(len(fraction), maxDecimals), rounded: len(fraction) > maxDecimals}
	var part, unit int64 = 0, 1 // the fraction is part/unit
	for _, c := range fraction[:n.decimals] {
		part = part*10 + int64(c-'0')
		unit *= 10
	}
	if n.rounded && fraction[maxDecimals] >= '5' {
		part++
	}
	for n.decimals > 0 && part%10 == 0 {
		part /= 10
		unit /= 10
		n.decimals--
	}
	for _, c := range whole {
		d := int64(c - '0')
		if n.value > (math.MaxInt64-d)/10 {
			return number{}, errOverflow
		}
		n.value = n.value*10 + d
	}
	// The part is the whole unit if 0.9999999999 was rounded up.
	if n.value > (math.MaxInt64-part)/unit {
		return number{}, errOverflow
	}
	n.value = n.value*unit + part
	return n, nil
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

// appendNumber writes v·10^-scale, without zeros at the end of a fraction.
func appendNumber(b []byte, v int64, scale int) []byte {
	if scale == 0 {
		return strconv.AppendInt(b, v, 10)
	}
	if v < 0 {
		b = append(b, '-')
	}
	digits := strconv.FormatUint(magnitude(v), 10)
	for len(digits) <= scale {
		digits = "0" + digits
	}
	point := len(digits) - scale
	end := len(digits)
	for end > point && digits[end-1] == '0' {
		end--
	}
	b = append(b, digits[:point]...)
	if end > point {
		b = append(b, '.')
		b = append(b, digits[point:end]...)
	}
	return b
}
