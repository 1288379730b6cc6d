package find

import (
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// Amount is a value with a unit, or with none: then it is in the unit of the value type.
// The zero Amount is not set.
type Amount struct {
	Value float64
	Unit  string // nanoseconds, bytes or empty
}

// units are the units that people write, as multiples of those of value types.
var units = map[string]Amount{"": {1, ""}, "ns": {1, "nanoseconds"}, "us": {1e3, "nanoseconds"}, "µs": {1e3, "nanoseconds"},
	"ms": {1e6, "nanoseconds"}, "s": {1e9, "nanoseconds"},
	"min": {60e9, "nanoseconds"}, "h": {3600e9, "nanoseconds"}, "B": {1, "bytes"}, "kB": {1e3, "bytes"}, "MB": {1e6, "bytes"},
	"GB":  {1e9, "bytes"},
	"KiB": {1 << 10, "bytes"}, "MiB": {1 << 20, "bytes"}, "GiB": {1 << 30, "bytes"}}

// UnmarshalText parses 2s, 1.5 MiB or 100.
func (a *Amount) UnmarshalText(text []byte) error {
	at := strings.LastIndexAny(string(text), "0123456789.") + 1
	v, err := strconv.ParseFloat(strings.TrimSpace(string(text[:at])), 64)
	unit, known := units[strings.TrimSpace(string(text[at:]))]
	if err != nil || !known || !(v >= 0) || math.IsInf(v, 0) {
		return param.Errorf("%.60q is not a value (2s, 300ms, 10MiB, or a number)", text)
	}
	*a = Amount{v * unit.Value, unit.Unit}
	return nil
}

// in returns the amount as stored values of each profile. Times are also those of counted
// samples whose period is a time.
func (a Amount) in(profiles []store.Profile) ([]int64, error) {
	least := make([]int64, len(profiles))
	for i := range profiles {
		t := &profiles[i].Type
		v, time := a.Value*math.Pow10(t.Scale), a.Unit == "nanoseconds"
		switch unit := profile.Nanoseconds(t.Unit); {
		case a.Unit == "", a.Unit == t.Unit:
		case time && unit > 0:
			v /= float64(unit)
		case time && t.Interval() > 0:
			v /= float64(t.Interval())
		case t.Unit == "count" && t.PeriodUnit == a.Unit && t.Period > 0:
			v /= float64(t.Period)
		default:
			return nil, param.Errorf("--min-value is in %s, the value type %s is in %s", a.Unit, t.Name, t.Unit)
		}
		least[i] = int64(math.Ceil(min(v, 1<<62)))
	}
	return least, nil
}

// MarshalText returns the amount as UnmarshalText reads it.
func (a Amount) MarshalText() ([]byte, error) {
	unit := map[string]string{"nanoseconds": "ns", "bytes": "B"}[a.Unit]
	return append(strconv.AppendFloat(nil, a.Value, 'f', -1, 64), unit...), nil
}
