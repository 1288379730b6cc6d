package jsonscan

import (
	"errors"
	"math"
	"math/bits"
)

// Ints reads an array of whole numbers and appends it to dst. null becomes absent,
// false and true become 0 and 1. A number that does not fit T is an error. It is
// the fast way to read a long column.
func Ints[T int32 | int64](s *Scanner, dst []T, absent T) []T {
	if !s.BeginArray() {
		return dst
	}
	for s.More() {
		// Most columns are short numbers in a row, told apart by nothing but
		// commas: these are read without a call for each.
		dst = appendPlain(s, dst)
		if !s.pending {
			continue
		}
		switch s.Kind() {
		case Null:
			s.Skip()
			dst = append(dst, absent)
		case Bool:
			v := T(0)
			if s.Bool() {
				v = 1
			}
			dst = append(dst, v)
		default:
			v := s.Int()
			if int64(T(v)) != v {
				s.fail(s.at, errOverflow)
				return dst
			}
			dst = append(dst, T(v))
		}
	}
	return dst
}

// longest is how many bytes of the window a plain number may take with its comma:
// a sign and digits that fit 31 bits.
const longest = 12

// appendPlain reads elements as long as they are plain numbers of up to 9 digits
// followed by a comma and leaves the first other one, which is then pending.
func appendPlain[T int32 | int64](s *Scanner, dst []T) []T {
	for {
		if s.end-s.pos < longest {
			if s.need(windowSize / 2); s.end-s.pos < longest {
				return dst
			}
		}
		buf, p, last := s.buf, s.pos, s.end-longest
		for p <= last {
			for buf[p] <= ' ' && p < last {
				p++
			}
			q := p
			negative := buf[q] == '-'
			if negative {
				q++
			}
			first := buf[q]
			v := T(0)
			c := first - '0'
			n := 0
			for ; c <= 9 && n < 9; n++ {
				v = v*10 + T(c)
				q++
				c = buf[q] - '0'
			}
			if n == 0 || buf[q] != ',' || first == '0' && n > 1 {
				s.pos = p
				return dst
			}
			if negative {
				v = -v
			}
			dst = append(dst, v)
			p = q + 1
		}
		s.pos = p
	}
}

// Fixeds reads an array of numbers in the manner of Fixed and appends it to dst.
func Fixeds(s *Scanner, dst []int64, decimals int) []int64 {
	return fixeds(s, dst, decimals, nil)
}

// Times reads an array of times of a clock and appends it to dst.
func Times(s *Scanner, dst []int64, decimals int, clock *Clock) []int64 {
	return fixeds(s, dst, decimals, clock)
}

func fixeds(s *Scanner, dst []int64, decimals int, clock *Clock) []int64 {
	if !s.BeginArray() {
		return dst
	}
	for s.More() {
		for s.end-s.pos > longestPlain && (clock == nil || clock.used) {
			n, length := plain(s.buf[s.pos : s.pos+longestPlain+1])
			if length == 0 || s.buf[s.pos+length] != ',' {
				break
			}
			v, _, err := n.times10(decimals)
			if err != nil {
				break // the slow way makes an error of it
			}
			dst = append(dst, v)
			s.pos += length + 1
		}
		if clock == nil {
			dst = append(dst, s.Fixed(decimals))
		} else {
			dst = append(dst, clock.Read(s, decimals))
		}
	}
	return dst
}

// Decimals is a column of numbers with a common scale: each is Values[i] ·
// 10^-Scale. The zero value is empty. The scale grows with the decimals of what is
// added; the sum of all magnitudes stays below 2^63.
type Decimals struct {
	Values []int64
	Scale  int

	sum uint64 // of the magnitudes of Values
}

var errSum = errors.New("the sum of the values with all their decimals exceeds 63 bits")

// Add appends a number. It fails, and appends nothing, when the sum of all
// magnitudes would not fit.
func (d *Decimals) Add(n Decimal) error {
	for n.Decimals > d.Scale {
		if hi, lo := bits.Mul64(d.sum, 10); hi != 0 || lo > math.MaxInt64 {
			return errSum
		}
		d.rescale()
	}
	v := magnitude(n.Digits)
	for range d.Scale - n.Decimals {
		hi, lo := bits.Mul64(v, 10)
		if hi != 0 {
			return errSum
		}
		v = lo
	}
	sum, carry := bits.Add64(d.sum, v, 0)
	if carry != 0 || sum > math.MaxInt64 {
		return errSum
	}
	d.sum = sum
	if n.Digits < 0 {
		d.Values = append(d.Values, -int64(v))
	} else {
		d.Values = append(d.Values, int64(v))
	}
	return nil
}

// rescale gives all values one more decimal; the sum was checked.
func (d *Decimals) rescale() {
	for i := range d.Values {
		d.Values[i] *= 10
	}
	d.sum *= 10
	d.Scale++
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// Read reads an array of numbers and adds them.
func (d *Decimals) Read(s *Scanner) {
	if !s.BeginArray() {
		return
	}
	for s.More() {
		if err := d.Add(s.Decimal()); err != nil {
			s.Errorf("%v", err)
		}
	}
}
