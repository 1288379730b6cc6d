package trees

import (
	"strconv"
)

// MarshalText returns the amount as UnmarshalText reads it.
func (a Amount) MarshalText() ([]byte, error) {
	unit := map[string]string{"nanoseconds": "ns", "bytes": "B"}[a.Unit]
	return append(strconv.AppendFloat(nil, a.Value, 'f', -1, 64), unit...), nil
}
