package protobuf

import (
	"math"
	"strings"
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

// TestStructure wants the bytes outside of strings, at their places.
func TestStructure(t *testing.T) {
	const text = `{"a{\"}":[1,"\\"]}`
	got := []byte(strings.Repeat(" ", len(text)))
	for i, c := range Structure([]byte(text)) {
		got[i] = c
	}
	if want := `{       :[1,    ]}`; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}
