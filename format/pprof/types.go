package pprof

import (
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// rawType is a sample type as the file has it.
type rawType struct{ name, unit string }

// typeNames returns Dendro's names of the sample types of one profile. A type
// that is not in the list keeps its own name, and so does one whose name an
// earlier type of the profile took, since value types are asked for by name.
func typeNames(types []rawType, period rawType) []string {
	wall := strings.HasPrefix(period.name, profile.Wall)
	for _, t := range types {
		wall = wall || t.name == profile.Wall && profile.Nanoseconds(t.unit) > 0
	}
	names := make([]string, len(types))
	taken := make(map[string]bool, len(types))
	for i, t := range types {
		names[i] = typeName(t, wall)
		if taken[names[i]] {
			names[i] = t.name
		}
		taken[names[i]] = true
	}
	return names
}

// typeName returns the name of one type; wall says that the profile's plain
// samples are of wall time.
func typeName(t rawType, wall bool) string {
	time, count, bytes := profile.Nanoseconds(t.unit) > 0, t.unit == "count", t.unit == "bytes"
	switch {
	case t.name == "cpu" && time:
		return profile.CPU
	case t.name == "cpu" && count: // async-profiler's converter
		return profile.CPUSamples
	case t.name == "wall" && time:
		return profile.Wall
	case t.name == "wall" && count:
		return profile.WallSamples
	case (t.name == "samples" || t.name == "sample") && count:
		if wall {
			return profile.WallSamples
		}
		return profile.CPUSamples
	case t.name == "alloc_space" && bytes:
		return profile.Alloc
	case t.name == "alloc_objects" && count:
		return profile.AllocSamples
	case t.name == "inuse_space" && bytes:
		return profile.Live
	case t.name == "inuse_objects" && count:
		return profile.LiveSamples
	case t.name == "delay" && time:
		return profile.Lock
	case t.name == "contentions" && count:
		return profile.LockSamples
	case t.name == "goroutine" && count:
		return profile.Goroutines
	}
	return t.name
}

// fileNames is the reverse of typeName: what a type is called in a file when it
// does not come from one.
var fileNames = map[string]string{
	profile.CPU:          "cpu",
	profile.CPUSamples:   "samples",
	profile.Wall:         "wall",
	profile.WallSamples:  "wall",
	profile.Alloc:        "alloc_space",
	profile.AllocSamples: "alloc_objects",
	profile.Live:         "inuse_space",
	profile.LiveSamples:  "inuse_objects",
	profile.Lock:         "delay",
	profile.LockSamples:  "contentions",
	profile.Goroutines:   "goroutine",
}

// hasPeriod reports whether the period of a profile belongs to a value type: it
// is in the type's unit (cpu in nanoseconds, inuse_space in bytes), or it is the
// time between two samples and the type counts these. What it does not belong to
// has none: contentions counted beside a delay, objects beside their bytes.
func hasPeriod(t *profile.ValueType, unit string) bool {
	return t.Unit == unit || profile.Nanoseconds(unit) > 0 && (t.Name == profile.CPUSamples || t.Name == profile.WallSamples)
}

// tables makes the empty sample tables of p and says which is the default.
func (d *Decoder) tables(p *profile.Profile) error {
	l := &d.links
	h := &l.head
	raw := make([]rawType, len(l.types)+1)
	for i, t := range append(l.types[:len(l.types):len(l.types)], h.periodType) {
		var err error
		if raw[i].name, err = l.string(t.name); err == nil {
			raw[i].unit, err = l.string(t.unit)
		}
		if err != nil {
			return err
		}
	}
	period := raw[len(l.types)]
	raw = raw[:len(l.types)]
	p.PeriodType, p.PeriodUnit = period.name, period.unit
	preferred, err := l.string(h.defaultType)
	if err != nil {
		return err
	}
	p.Default = len(raw) - 1 // as go tool pprof has it
	used := h.period <= 0
	for i, name := range typeNames(raw, period) {
		t := profile.ValueType{Name: name, Unit: raw[i].unit, Original: raw[i].name}
		if h.period > 0 && hasPeriod(&t, period.unit) {
			t.Period, t.PeriodUnit, t.PeriodName = h.period, period.unit, period.name
			used = true
		}
		p.Tables = append(p.Tables, profile.Samples{Type: t})
	}
	for i := len(raw) - 1; i >= 0; i-- {
		if preferred != "" && raw[i].name == preferred {
			p.Default = i
		}
	}
	if !used {
		p.Warnf("the period of %d %s belongs to none of the sample types", h.period, period.unit)
	}
	return nil
}
