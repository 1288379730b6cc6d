package profile

import (
	"cmp"
	"math"
	"strconv"

	"github.com/dendroprof/dendro/internal/words"
)

// ValueType is the meaning of the values of a sample table.
type ValueType struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`            // "nanoseconds", "bytes", "count", "milliseconds", …
	Scale int    `json:"scale,omitempty"` // values are multiplied by 10^Scale; 0 for whole numbers

	// Period is what one sample stands for (10,000,000 nanoseconds at 100 Hz),
	// in PeriodUnit; 0 when unknown.
	Period     int64  `json:"period,omitempty"`
	PeriodUnit string `json:"periodUnit,omitempty"`
	PeriodName string `json:"periodName,omitempty"` // pprof's period type: "cpu", "space"

	// Original is the format's own name of the type (`alloc_space`), written
	// again by writers of that format. Not part of the identity.
	Original string `json:"original,omitempty"`
}

var nanoseconds = map[string]int64{"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9,
	"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

// Nanoseconds returns how many there are in a unit of value types and periods; 0 if it is no time.
func Nanoseconds(unit string) int64 { return nanoseconds[unit] }

// Interval returns the time that one sample of a type that counts them stands for, in
// nanoseconds; 0 if it is unknown.
func (t ValueType) Interval() int64 {
	unit := nanoseconds[t.PeriodUnit]
	if t.Unit != "count" || t.Period <= 0 || unit > 0 && t.Period > math.MaxInt64/unit {
		return 0
	}
	return t.Period * unit
}

// Format returns a value of the type, or a mean or sum of such values, as text for people:
// "1.28 s", "512 MiB", "5,120".
func (t ValueType) Format(value float64) string { return words.Value(value, t.Unit, t.Scale) }

// FormatChange is Format with a sign: "+1.28 s".
func (t ValueType) FormatChange(value float64) string {
	return words.Difference(value, t.Unit, t.Scale)
}

// Key identifies types whose values are measured alike: name, unit, scale, period.
func (t ValueType) Key() string {
	k := t.Name + "/" + t.Unit
	if t.Scale != 0 {
		k += "e-" + strconv.Itoa(t.Scale)
	}
	if t.Period != 0 {
		k += "@" + strconv.FormatInt(t.Period, 10) + t.PeriodUnit
	}
	return k
}

// AddKey identifies types whose values may be added: it is Key, but time and bytes add
// whatever a sample stands for.
func (t ValueType) AddKey() string {
	switch t.Unit {
	case "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes":
		t.Period = 0
	}
	return t.Key()
}

// Plus returns the type of the sum with values of a type with the same AddKey: it has no
// period unless both have the same.
func (t ValueType) Plus(other ValueType) ValueType {
	if t.Period != other.Period || t.PeriodUnit != other.PeriodUnit {
		t.Period, t.PeriodUnit, t.PeriodName = 0, "", ""
	}
	return t
}

// NamedTypes returns the indices of the types that a user means by a name: of the first
// of these that any type has, its name, its key, its original name in the format, its
// name without "-samples".
func NamedTypes(types []*ValueType, name string) (found []int) {
	for _, is := range []func(t *ValueType) bool{
		func(t *ValueType) bool { return t.Name == name },
		func(t *ValueType) bool { return t.Key() == name },
		func(t *ValueType) bool { return t.Original == name },
		func(t *ValueType) bool { return t.Name == name+"-samples" },
	} {
		for i, t := range types {
			if is(t) {
				found = append(found, i)
			}
		}
		if found != nil {
			break
		}
	}
	return found
}

// String returns name and unit, for people.
func (t ValueType) String() string { return t.Name + " (" + t.Unit + ")" }

// Per returns the unit of a value of one operation, "ns/op" of nanoseconds per "op"; what counts is
// named by the type, "alloc-samples/op".
func (t ValueType) Per(operation string) string {
	return cmp.Or(perOperation[t.Unit], t.Name) + "/" + operation
}

var perOperation = map[string]string{"nanoseconds": "ns", "microseconds": "µs", "milliseconds": "ms", "seconds": "s", "bytes": "B"}

// Names of value types that several formats share.
const (
	CPU          = "cpu"
	CPUSamples   = "cpu-samples"
	Runnable     = "runnable" // time in which threads run or want to run
	Unclocked    = "samples"  // whose clock the format does not name
	Wall         = "wall"
	WallSamples  = "wall-samples"
	Alloc        = "alloc"
	AllocSamples = "alloc-samples"
	Live         = "live"
	LiveSamples  = "live-samples"
	Lock         = "lock"
	LockSamples  = "lock-samples"
	Malloc       = "malloc"
	Peak         = "peak" // live when the most was live
	PeakSamples  = "peak-samples"
	Goroutines   = "goroutines"
	Threads      = "threads" // of a thread dump
	Trace        = "trace"
	Base         = "base" // the first column of a differential folded file
	Head         = "head" // the second column of a differential folded file
)

// Pow10 returns 10^scale for the scales that fit an int64 (0 to 18).
func Pow10(scale int) (int64, error) {
	if scale < 0 || scale > 18 {
		return 0, Malformed("scale 10^%d does not fit a 63-bit value", scale)
	}
	v := int64(1)
	for range scale {
		v *= 10
	}
	return v, nil
}

// Momentary reports whether values are amounts at one moment, like the objects on a heap,
// and not the sum of what happened.
func (t ValueType) Momentary() bool {
	switch t.Name {
	case Live, LiveSamples, Goroutines, Threads, Peak, PeakSamples:
		return true
	}
	return false
}

// NamedType returns the value type of a name whose unit goes without saying:
// nanoseconds for cpu, runnable, wall and lock, bytes for alloc, live, malloc and peak,
// milliseconds for trace, and counts for everything else.
func NamedType(name string) ValueType {
	unit := "count"
	switch name {
	case CPU, Runnable, Wall, Lock:
		unit = "nanoseconds"
	case Alloc, Live, Malloc, Peak:
		unit = "bytes"
	case Trace:
		unit = "milliseconds"
	}
	return ValueType{Name: name, Unit: unit}
}
