package find

import (
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// TestAmountOfUnits: a time that people write is that of every unit of time, and of counted samples with a period.
func TestAmountOfUnits(t *testing.T) {
	for _, c := range []struct {
		text string
		of   profile.ValueType
		want int64 // -1: an error
	}{
		{"2s", profile.ValueType{Unit: "nanoseconds"}, 2e9},
		{"2s", profile.ValueType{Unit: "ns"}, 2e9},
		{"2s", profile.ValueType{Unit: "microseconds"}, 2e6},
		{"2s", profile.ValueType{Unit: "milliseconds", Scale: 1}, 20_000},
		{"90s", profile.ValueType{Unit: "seconds", Scale: 3}, 90_000},
		{"1ms", profile.ValueType{Unit: "seconds"}, 1},
		{"2s", profile.ValueType{Unit: "count", Period: 10, PeriodUnit: "milliseconds"}, 200},
		{"2s", profile.ValueType{Unit: "count"}, -1},
		{"1KiB", profile.ValueType{Unit: "bytes"}, 1024},
		{"1KiB", profile.ValueType{Unit: "count", Period: 512, PeriodUnit: "bytes"}, 2},
		{"1KiB", profile.ValueType{Unit: "seconds"}, -1},
		{"7", profile.ValueType{Unit: "seconds", Scale: 1}, 70},
	} {
		var a Amount
		if err := a.UnmarshalText([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		got, err := a.in([]store.Profile{{Type: c.of}})
		if (err != nil) != (c.want < 0) || err == nil && got[0] != c.want {
			t.Errorf("%s in %+v: %v, %v, want %d", c.text, c.of, got, err, c.want)
		}
	}
}
