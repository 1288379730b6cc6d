package csv

import (
	"testing"
	"time"
)

func TestAppendCSV(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, ""}, {"", `""`}, {`say "hi", \`, `"say ""hi"", \"`}, {"two\nlines", "\"two\nlines\""}, {int64(-7), "-7"}, {0.1, "0.1"},
		{true, "true"},
		{time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600)), "2026-01-02T02:04:05.000006Z"},
		{[]string{"a;b", ""}, "\"a;b\x1f\""}, {[]int64{1, -2}, "1\x1f-2"}, {[]float64{1.5, 2}, "1.5\x1f2"},
		{[]bool{true, false}, "true\x1ffalse"},
		{[]byte{0, 127, 128, 255}, "0\x1f127\x1f-128\x1f-1"}, {[]int64{}, ""}, {[]string{}, ""},
	} {
		got, err := appendCSV([]byte("x,"), c.value)
		if err != nil || string(got) != "x,"+c.want {
			t.Errorf("%#v: %q, %v, want %q", c.value, got, err, c.want)
		}
	}
	for _, bad := range []any{[]string{"a\x1fb"}, 7, struct{}{}} {
		if got, err := appendCSV(nil, bad); err == nil {
			t.Errorf("%#v: %q", bad, got)
		}
	}
}
