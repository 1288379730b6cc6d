package callgrind

import (
	"math"
	"strings"

	"github.com/dendroprof/dendro/format/internal/callgraph"
	"github.com/dendroprof/dendro/profile"
)

// fill makes a sample table of each event.
func (f *file) fill(l profile.Limits) error {
	calls := 0
	threads := make([]profile.ThreadID, len(f.graphs))
	for i, g := range f.graphs {
		calls += g.graph.Pairs()
		if g.id != "" {
			threads[i] = profile.ThreadID(len(f.p.Threads))
			f.p.Threads = append(f.p.Threads, profile.Thread{ID: g.id})
		}
	}
	for event, name := range f.events {
		t := profile.Samples{}
		var factor int64
		t.Type, factor = f.dialect.valueType(name)
		sum := uint64(0)
		for i, g := range f.graphs {
			from := t.Len()
			g.graph.Samples(&t, event, event, l.Depth)
			for n := from; n < t.Len(); n++ {
				if uint64(t.Value[n]) > uint64(math.MaxInt64/factor) {
					return f.in.Malformed("the costs of %s exceed 63 bits", name)
				}
				t.Value[n] *= factor
				if sum += uint64(t.Value[n]); sum > math.MaxInt64 {
					return f.in.Malformed("the costs of %s add up to more than 63 bits", name)
				}
				if len(f.p.Threads) > 1 {
					t.Thread = append(t.Thread, threads[i])
				}
			}
		}
		f.p.Tables = append(f.p.Tables, t)
	}
	callgraph.Warn(f.p, calls)
	return nil
}

// unknown is what callgrind calls files and functions that it cannot name.
const unknown = "???"

// node returns the function of that identity in the thread in work.
func (f *file) node(k nodeKey) int32 {
	id, ok := f.graph.ids[k]
	if !ok {
		id = f.graph.graph.Node(f.frame(&k), 0)
		f.graph.ids[k] = id
	}
	return id
}

// frame returns the frame of a function without a line.
func (f *file) frame(k *nodeKey) profile.Frame {
	fn := profile.Function{Name: k.name, File: k.file, Kind: profile.KindNative}
	if fn.Name == "" || fn.Name == unknown {
		fn.Name = profile.NoName
	}
	if fn.File == unknown {
		fn.File = ""
	}
	switch {
	case f.dialect.kind != profile.KindUnknown:
		fn.Kind = f.dialect.kind
	case strings.Contains(fn.Name, "::"):
		fn.Kind = profile.KindCPP
	}
	if f.dialect.name != nil {
		f.dialect.name(&fn)
	}
	var fr profile.Frame
	if k.object != unknown {
		fn.Module = k.object[strings.LastIndexByte(k.object, '/')+1:]
		if strings.Contains(k.object, "/") {
			fr.Module = f.p.Symbols.Module(profile.Module{Path: k.object})
		}
	}
	fr.Function = f.p.Symbols.Function(fn)
	return fr
}

// unitEvents is the unit of events that do not say theirs (Ir, D1mr).
const unitEvents = "events"

// units are the units of time and memory that tools write behind an event, in the units of
// a profile. pprof's kB are of 1,024 bytes.
var units = map[string]struct {
	unit   string
	factor int64
}{
	"10ns": {"nanoseconds", 10}, "ns": {"nanoseconds", 1}, "µs": {"nanoseconds", 1e3}, "us": {"nanoseconds", 1e3},
	"ms": {"nanoseconds", 1e6}, "s": {"nanoseconds", 1e9}, "min": {"nanoseconds", 60e9}, "hrs": {"nanoseconds", 3600e9},
	"B": {"bytes", 1}, "kB": {"bytes", 1 << 10}, "MB": {"bytes", 1 << 20}, "GB": {"bytes", 1 << 30}, "TB": {"bytes", 1 << 40},
}

// times are the names of events that are units of time.
var times = map[string]int64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6}

// pprofNames are the names of pprof's types, which it writes with their unit.
var pprofNames = map[string]string{
	"samples": profile.CPUSamples, "alloc_space": profile.Alloc, "alloc_objects": profile.AllocSamples,
	"inuse_space": profile.Live, "inuse_objects": profile.LiveSamples, "delay": profile.Lock, "contentions": profile.LockSamples,
}

// valueType returns the type of an event and what its counts are multiplied by.
// An event without a unit is counted, but `cpu_(nanoseconds)` and pprof's `cpu(ms)` say
// their unit, and Xdebug's times are converted.
func (d *dialect) valueType(event string) (profile.ValueType, int64) {
	if m, ok := d.events[event]; ok {
		return profile.ValueType{Name: m.name, Unit: m.unit, Original: event}, m.factor
	}
	if factor, ok := times[strings.ToLower(event)]; ok {
		return profile.ValueType{Name: profile.Wall, Unit: "nanoseconds", Original: event}, factor
	}
	name, unit, ok := strings.Cut(strings.TrimSuffix(event, ")"), "(")
	name, underscored := strings.CutSuffix(name, "_")
	if ok = ok && name != "" && unit != "" && strings.HasSuffix(event, ")"); !ok {
		name, unit = event, unitEvents
		if strings.HasSuffix(event, "samples") {
			unit = "count"
		}
	}
	factor := int64(1)
	if u, known := units[unit]; known && ok {
		unit, factor = u.unit, u.factor
	}
	switch known, isPprof := pprofNames[name]; {
	case name == "Time" && ok:
		name = profile.Wall
	case ok && !underscored && isPprof:
		name = known
	}
	return profile.ValueType{Name: name, Unit: unit, Original: event}, factor
}
