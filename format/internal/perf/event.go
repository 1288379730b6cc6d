package perf

import (
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Event is what perf counted, with its samples. Samples with periods make another than
// those without.
type Event struct {
	Name      string // as perf spells it: cycles:u
	HasPeriod bool
	HasTime   bool

	table  *stacktext.Table
	period uint64 // of all samples, if it is the same
	varies bool
}

// NewEvent returns an event without samples.
func NewEvent(name string, l profile.Limits) *Event {
	return &Event{Name: name, table: stacktext.NewTable(l)}
}

// Add adds a sample. It returns false, and adds nothing, if the values would no longer
// add up to 63 bits.
func (e *Event) Add(row stacktext.Row, period uint64) bool {
	if e.table.Len() == 0 {
		e.period = period
	}
	e.varies = e.varies || period != e.period
	return e.table.Add(row)
}

// Fill makes the tables of a profile: one per event with samples, or of a single event.
// Times count from the first sample. Events that count the same on the different cores of
// a hybrid CPU are one, unless their values together leave 63 bits.
func Fill(p *profile.Profile, list []*Event) {
	list = joined(list)
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, e := range list {
		first, last = min(first, e.table.First), max(last, e.table.Last)
	}
	if first < last {
		p.Duration = time.Duration(last - first)
	}
	names := map[string]bool{}
	for _, e := range list {
		if e.table.Len() == 0 && len(list) > 1 {
			continue
		}
		typ := e.valueType()
		if names[typ.Name] {
			typ.Name = typ.Original // cycles:u beside cycles
		}
		for names[typ.Name] {
			typ.Name += "-samples"
		}
		names[typ.Name] = true
		if typ.PeriodUnit == "nanoseconds" && p.Interval == 0 {
			p.Interval = time.Duration(typ.Period)
		}
		p.Tables = append(p.Tables, e.table.Samples(typ, e.HasTime, first))
	}
}

// joined returns a list in which events of the same meaning are one: the first of them.
func joined(list []*Event) []*Event {
	type meaning struct {
		name   string
		period bool
	}
	first := map[meaning]*Event{}
	out := make([]*Event, 0, len(list))
	for _, e := range list {
		key := meaning{withoutCores(e.Name), e.HasPeriod}
		f := first[key]
		switch {
		case e.table.Len() == 0 || f == nil || e.HasTime != f.HasTime || !f.table.Join(e.table):
			if e.table.Len() > 0 {
				first[key] = e
			}
			out = append(out, e)
		default:
			f.varies = f.varies || e.varies || e.period != f.period
		}
	}
	return out
}

// hybridCores are the names of performance monitors of CPUs with cores of several kinds.
var hybridCores = regexp.MustCompile(`^(?:cpu_(?:core|atom|lowpower)|armv[789]_cortex_[a-z0-9]+|apple_[a-z]+_pmu)/([^/]+)/(.*)$`)

// withoutCores returns the name of an event without the kind of cores: cycles:u of
// cpu_atom/cycles/u.
func withoutCores(text string) string {
	m := hybridCores.FindStringSubmatch(text)
	switch {
	case m == nil:
		return text
	case m[2] == "":
		return m[1]
	}
	return m[1] + ":" + m[2]
}

// valueType returns what the event counts: cpu time for the software clocks, otherwise
// what it is called, in counts. Without a period a sample is just one sample, which does
// not add to counted events.
func (e *Event) valueType() profile.ValueType {
	name := withoutModifiers(withoutCores(e.Name))
	clock := name == "cpu-clock" || name == "task-clock"
	t := profile.ValueType{Name: name, Unit: "count", Original: stacktext.Clean([]byte(e.Name))}
	switch {
	case name == "":
		t.Name = profile.CPUSamples
	case clock && e.HasPeriod:
		t.Name, t.Unit = profile.CPU, "nanoseconds"
		if !e.varies && e.period != 0 {
			t.Period, t.PeriodUnit = int64(e.period), "nanoseconds"
		}
	case clock:
		t.Name = profile.CPUSamples
	case !e.HasPeriod:
		t.Name += "-samples"
	}
	t.Name = stacktext.Clean([]byte(t.Name))
	return t
}

// withoutModifiers returns the name of an event: cycles of `cycles:ppp`,
// cpu/cycles of `cpu/cycles/u`. The group of a trace point stays.
func withoutModifiers(text string) string {
	if i := strings.LastIndexByte(text, ':'); i > 0 && modifiers(text[i+1:]) {
		text = text[:i]
	}
	if i := strings.LastIndexByte(text, '/'); i > 0 && strings.IndexByte(text[:i], '/') > 0 && modifiers(text[i+1:]) {
		text = text[:i]
	}
	return text
}

// modifiers reports whether text consists of letters that perf lets stand behind
// an event.
func modifiers(text string) bool { return strings.Trim(text, "ukhGHpPSDWeIbR") == "" }
