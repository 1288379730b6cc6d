package perfscript

import (
	"math"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// maxEvents bounds the value types of a text; perf itself records a few dozen.
const maxEvents = 1000

// events are the events of a text in the order of their first samples.
type events struct {
	limits profile.Limits
	list   []*event
	byText map[string]*event
	last   *event
}

// event is one event, as the header lines spell it, with or without periods.
type event struct {
	text      string
	hasPeriod bool
	table     *stacktext.Table
	hasTime   bool
	period    uint64 // of all samples, if it is the same
	varies    bool
}

// find returns the event of that spelling, nil if there are too many.
func (e *events) find(text []byte, hasPeriod bool) *event {
	if l := e.last; l != nil && l.hasPeriod == hasPeriod && l.text == string(text) {
		return l
	}
	key := string(text)
	if hasPeriod {
		key += " "
	}
	ev, ok := e.byText[key]
	if !ok {
		if len(e.list) == maxEvents {
			return nil
		}
		ev = &event{text: string(text), hasPeriod: hasPeriod, table: stacktext.NewTable(e.limits)}
		e.list = append(e.list, ev)
		e.byText[key] = ev
	}
	e.last = ev
	return ev
}

func (e *event) add(row stacktext.Row, h *header) bool {
	if e.table.Len() == 0 {
		e.period = h.period
	}
	e.varies = e.varies || h.period != e.period
	e.hasTime = e.hasTime || h.hasTime
	return e.table.Add(row)
}

// fill makes the tables of the profile. Times count from the first sample.
func (e *events) fill(p *profile.Profile) {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, ev := range e.list {
		first, last = min(first, ev.table.First), max(last, ev.table.Last)
	}
	if first < last {
		p.Duration = time.Duration(last - first)
	}
	names := map[string]bool{}
	for _, ev := range e.list {
		typ := ev.valueType()
		if names[typ.Name] {
			typ.Name = ev.text // cycles:u beside cycles
			for names[typ.Name] {
				typ.Name += "-samples"
			}
		}
		names[typ.Name] = true
		if typ.PeriodUnit == "nanoseconds" && p.Interval == 0 {
			p.Interval = time.Duration(typ.Period)
		}
		p.Tables = append(p.Tables, ev.table.Samples(typ, ev.hasTime, first))
	}
}

func (e *event) valueType() profile.ValueType {
	period := e.period
	if e.varies {
		period = 0
	}
	return ValueType(e.text, e.hasPeriod, period)
}

// ValueType returns what an event counts: cpu time for the software clocks,
// otherwise what it is called, in counts. Without a period a sample is just one
// sample, which does not add to counted events. Period is that of all samples, 0 if it
// is not the same.
func ValueType(event string, hasPeriod bool, period uint64) profile.ValueType {
	name := withoutModifiers(event)
	clock := name == "cpu-clock" || name == "task-clock"
	t := profile.ValueType{Name: name, Unit: "count", Original: stacktext.Clean([]byte(event))}
	switch {
	case name == "":
		t.Name = profile.CPUSamples
	case clock && hasPeriod:
		t.Name, t.Unit = profile.CPU, "nanoseconds"
		if period != 0 {
			t.Period, t.PeriodUnit = int64(period), "nanoseconds"
		}
	case clock:
		t.Name = profile.CPUSamples
	case !hasPeriod:
		t.Name += "-samples"
	}
	t.Name = stacktext.Clean([]byte(t.Name))
	return t
}

// withoutModifiers returns the name of an event: cycles of `cycles:ppp`,
// cpu_core/cycles of `cpu_core/cycles/u`. The group of a trace point stays.
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
