package query

import (
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
)

// TestRates holds the units of rates: cores of CPU time, of a gauge none.
func TestRates(t *testing.T) {
	of := func(name, unit string) continuous.Type {
		return continuous.Type{Name: "p", SampleType: name, SampleUnit: unit}
	}
	p := continuous.Point{Value: 30e9, Covered: 15 * time.Second}
	for _, x := range []struct {
		typ  continuous.Type
		unit string
		rate float64
	}{{of("cpu", "nanoseconds"), "cores", 2}, {of("delay", "nanoseconds"), "s/s", 2}, {of("alloc_space", "bytes"), "bytes/s", 2e9},
		{of("inuse_space", "bytes"), "", 2e9}} {
		if unit, rate := rateUnit(x.typ), rateOf(x.typ, p); unit != x.unit || rate != x.rate {
			t.Errorf("%s: %g %s, not %g %s", x.typ.SampleType, rate, unit, x.rate, x.unit)
		}
	}
}

// TestFindType: a short name is the sample type if there is one of it, and a message about several
// lists those that it may mean.
func TestFindType(t *testing.T) {
	var node []continuous.Series
	for _, id := range []string{"wall:samples:count:wall:nanoseconds", "wall:wall:nanoseconds:wall:nanoseconds",
		"wall:cpu:nanoseconds:wall:nanoseconds",
		"memory:inuse_space:bytes:inuse_space:bytes", "memory:inuse_objects:count:inuse_space:bytes"} {
		typ, err := continuous.ParseType(id)
		if err != nil {
			t.Fatal(err)
		}
		node = append(node, continuous.Series{Type: typ})
	}
	samples, err := continuous.ParseType("process_cpu:samples:count:cpu:nanoseconds")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		more []continuous.Series
		text string
		want string // the type, or a part of the error
	}{
		{nil, "wall", "wall:wall:nanoseconds:wall:nanoseconds"},
		{nil, "", "wall:cpu:nanoseconds:wall:nanoseconds"},
		{nil, "samples", "wall:samples:count:wall:nanoseconds"},
		{nil, "wall:cpu", "wall:cpu:nanoseconds:wall:nanoseconds"},
		{nil, "memory", "give one --type of memory:inuse_space:bytes:inuse_space:bytes, memory:inuse_objects:count:inuse_space:bytes"},
		{[]continuous.Series{{Type: samples}}, "samples", "give one --type of wall:samples:count:wall:nanoseconds, process_cpu:samples:count:cpu:nanoseconds"},
		{nil, "lock", "--type lock: the pushed profiles have wall:samples"},
	} {
		got, _, err := FindType(append(node[:len(node):len(node)], c.more...), c.text)
		if err == nil && got.String() != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %s, %v, want %s", c.text, got, err, c.want)
		}
	}
}
