package history

import (
	"math"

	"github.com/dendroprof/dendro/profile"
)

// OneSample returns the value of one sample according to the type: 1 for counts, the
// period if the type has one in its own unit; false if unknown.
func OneSample(t profile.ValueType) (value float64, known bool) {
	switch {
	case t.Unit == "count" && t.Scale == 0:
		return 1, true
	case t.Period > 0 && (t.PeriodUnit == t.Unit || t.PeriodUnit == ""):
		return float64(t.Period) * math.Pow10(t.Scale), true
	}
	return 0, false
}

// SampleUnit returns the value of one sample of a type: OneSample, else common, the
// greatest common divisor of all values (CommonDivisor), else 1.
func SampleUnit(t profile.ValueType, common int64) float64 {
	if value, known := OneSample(t); known {
		return value
	}
	return float64(max(common, 1))
}

// CommonDivisor returns the greatest common divisor of common and all values; 0 is
// divisible by everything.
func CommonDivisor(common int64, values []int64) int64 {
	for _, v := range values {
		if common == 1 {
			break
		}
		common = gcd(common, v)
	}
	return common
}

func gcd(a, b int64) int64 {
	if b < 0 {
		b = -b
	}
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
