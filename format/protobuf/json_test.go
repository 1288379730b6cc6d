package protobuf

import (
	"math"
	"testing"
)

func TestPlainNumber(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "007": 7, "9223372036854775807": math.MaxInt64,
		"1763762666123456789": 1763762666123456789} {
		if got, ok := plainNumber([]byte(text)); !ok || got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-1", "1e3", "9223372036854775808", "99999999999999999999999", "1 "} {
		if got, ok := plainNumber([]byte(text)); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
}
