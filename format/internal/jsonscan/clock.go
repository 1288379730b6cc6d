package jsonscan

import (
	"cmp"
	"math"
	"math/bits"
	"time"
)

// Clock reads points in time in nanoseconds, of any epoch: since 1970, since the start of
// the machine, since the year 1. Times count from 0 as long as they fit 63 bits. If the
// first one does not, it is where the clock begins. 0 is no time.
type Clock struct {
	origin int64 // in the unit of the file; 0: times fit
	used   bool  // a time was read that counts from 0
}

// Far reports whether the clock begins at its first time, which is no date then.
func (c *Clock) Far() bool { return c.origin != 0 }

// Read reads a time whose unit has that many decimals in nanoseconds.
func (c *Clock) Read(s *Scanner, decimals int) int64 {
	n, ok := s.parts()
	if !ok {
		return 0
	}
	v, err := c.nanos(n, decimals)
	if err != nil {
		s.fail(s.at, err)
	}
	return v
}

// Nanos returns a time that was read as a Decimal.
func (c *Clock) Nanos(d Decimal, decimals int) (int64, error) {
	return c.nanos(parts{magnitude(d.Digits), -d.Decimals, d.Digits < 0}, decimals)
}

func (c *Clock) nanos(n parts, decimals int) (int64, error) {
	if n.mantissa == 0 {
		return 0, nil
	}
	if c.origin == 0 {
		v, _, err := n.times10(decimals)
		if err == nil || c.used {
			c.used = true
			return v, err
		}
	}
	whole, rest, err := n.whole()
	if err != nil {
		return 0, err
	}
	c.origin = cmp.Or(c.origin, whole)
	since := whole - c.origin
	if (whole < 0) != (c.origin < 0) && (since < 0) != (whole < 0) {
		return 0, errOverflow
	}
	v, _, err := parts{magnitude(since), 0, since < 0}.times10(decimals)
	if err != nil {
		return 0, err
	}
	part, _, err := rest.times10(decimals)
	if err == nil && part > 0 && v > math.MaxInt64-part || part < 0 && v < math.MinInt64-part {
		err = errOverflow
	}
	return v + part, err
}

// whole returns the whole part of a number, and the rest.
func (n parts) whole() (int64, parts, error) {
	m, rest := n.mantissa, parts{0, n.exponent, n.negative}
	switch e := n.exponent; {
	case e <= -len(pow10):
		m, rest.mantissa = 0, m
	case e < 0:
		m, rest.mantissa = m/pow10[-e], m%pow10[-e]
	case e >= len(pow10):
		return 0, rest, errOverflow
	case e > 0:
		hi, lo := bits.Mul64(m, pow10[e])
		if hi != 0 {
			return 0, rest, errOverflow
		}
		m = lo
	}
	if m > math.MaxInt64 {
		return 0, rest, errOverflow
	}
	if n.negative {
		return -int64(m), rest, nil
	}
	return int64(m), rest, nil
}

// Date reads the date of a recording, as a number since 1970 whose unit has that many
// decimals in nanoseconds: the zero time for 0 and for what is not such a date.
func (s *Scanner) Date(decimals int) time.Time {
	n, ok := s.parts()
	if !ok || n.mantissa == 0 {
		return time.Time{}
	}
	ns, _, err := n.times10(decimals)
	if err != nil || ns < 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
