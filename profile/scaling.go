package profile

import (
	"fmt"
	"math"
)

// Scaling brings the scaled values of a table back to whole numbers of a unit,
// for formats that have no fractions.
type Scaling struct {
	Unit             string
	multiply, divide int64 // one of them is 1
}

// Apply returns the value in Unit, rounded half away from zero.
func (s Scaling) Apply(v int64) int64 {
	if v *= s.multiply; s.divide == 1 {
		return v
	}
	q, r := v/s.divide, v%s.divide
	switch {
	case r >= s.divide-s.divide/2:
		q++
	case -r >= s.divide-s.divide/2:
		q--
	}
	return q
}

// secondExponents are the units of time as negative powers of ten of a second.
var secondExponents = []struct {
	unit     string
	exponent int
}{{"seconds", 0}, {"milliseconds", 3}, {"microseconds", 6}, {"nanoseconds", 9}}

// Unscale chooses a unit in which the values of a table are whole numbers: the
// type's own, or a smaller unit of time. Where there is none, values are rounded.
// It fails when the values do not fit the smaller unit.
func (s *Samples) Unscale() (Scaling, error) {
	to := Scaling{s.Type.Unit, 1, 1}
	if s.Type.Scale == 0 {
		return to, nil
	}
	var err error
	for _, from := range secondExponents {
		if from.unit != s.Type.Unit {
			continue
		}
		for _, unit := range secondExponents {
			if need := from.exponent + s.Type.Scale; unit.exponent >= need {
				to.Unit = unit.unit
				if to.multiply, err = Pow10(unit.exponent - need); err == nil {
					err = s.checkProduct(to.multiply)
				}
				return to, err
			}
		}
	}
	to.divide, err = Pow10(s.Type.Scale)
	return to, err
}

// checkProduct checks that the sum of the values times factor fits an int64.
func (s *Samples) checkProduct(factor int64) error {
	left := math.MaxInt64 / factor
	for _, v := range s.Value {
		if v < 0 {
			v = -v
		}
		if left -= v; left < 0 {
			return fmt.Errorf("value type %s: the sum of the values times %d exceeds 63 bits", s.Type.Name, factor)
		}
	}
	return nil
}
