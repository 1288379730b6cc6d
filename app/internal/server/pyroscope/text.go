package pyroscope

import (
	"bytes"
	"errors"
	"strings"

	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/format/speedscope"
	"github.com/dendroprof/dendro/profile"
)

// textType is what the last part of a program's name says of values without a type.
type textType struct {
	continuous.Type
	name string // of profile.ValueType
	time bool   // values count samples, which sampleRate makes time
}

func newTextType(metric, sampleType, unit, name string) textType {
	return textType{Type: receiver.Type(metric, sampleType, unit, "", ""), name: name}
}

// textTypes are the endings of names, behind the last dot.
var textTypes = map[string]textType{
	"cpu":                        {cpuType, profile.CPU, true},
	"wall":                       {wallType, profile.Wall, true},
	"itimer":                     newTextType("process_cpu", "itimer", "nanoseconds", profile.CPU),
	"inuse_objects":              newTextType("memory", "inuse_objects", "count", profile.LiveSamples),
	"inuse_space":                newTextType("memory", "inuse_space", "bytes", profile.Live),
	"alloc_objects":              newTextType("memory", "alloc_objects", "count", profile.AllocSamples),
	"alloc_space":                newTextType("memory", "alloc_space", "bytes", profile.Alloc),
	"alloc_in_new_tlab_objects":  newTextType("memory", "alloc_in_new_tlab_objects", "count", profile.AllocSamples),
	"alloc_in_new_tlab_bytes":    newTextType("memory", "alloc_in_new_tlab_bytes", "bytes", profile.Alloc),
	"alloc_outside_tlab_objects": newTextType("memory", "alloc_outside_tlab_objects", "count", profile.AllocSamples),
	"alloc_outside_tlab_bytes":   newTextType("memory", "alloc_outside_tlab_bytes", "bytes", profile.Alloc),
	"goroutines":                 newTextType("goroutines", "goroutines", "count", profile.Goroutines),
	"mutex_count":                newTextType("mutex", "contentions", "count", profile.LockSamples),
	"mutex_duration":             newTextType("mutex", "delay", "nanoseconds", profile.Lock),
	"block_count":                newTextType("block", "contentions", "count", profile.LockSamples),
	"block_duration":             newTextType("block", "delay", "nanoseconds", profile.Lock),
	"lock_count":                 newTextType("block", "contentions", "count", profile.LockSamples),
	"lock_duration":              newTextType("block", "delay", "nanoseconds", profile.Lock),
	"live":                       newTextType("memory", "live", "count", profile.LiveSamples),
	"exceptions":                 newTextType("exceptions", "exceptions", "count", "exceptions"),
	"requests":                   newTextType("requests", "requests", "count", "requests"),
	"seconds":                    newTextType("wall", "wall", "seconds", profile.Wall),
	"milliseconds":               newTextType("wall", "wall", "milliseconds", profile.Wall),
	"microseconds":               newTextType("wall", "wall", "microseconds", profile.Wall),
	"nanoseconds":                newTextType("wall", "wall", "nanoseconds", profile.Wall),
	"bytes":                      newTextType("memory", "space", "bytes", profile.Alloc),
}

// splitType takes the type off the name of a program. A name without one, or with an ending
// that is none, is CPU time of the whole name.
func splitType(app string) (string, textType) {
	if at := strings.LastIndexByte(app, '.'); at > 0 {
		if t, ok := textTypes[app[at+1:]]; ok {
			return app[:at], t
		}
	}
	return app, textTypes["cpu"]
}

// text adds a profile of a format without types.
func (in *push) text(w *intake.Worker) error {
	content := in.body
	if in.parts != nil {
		content = in.parts["profile"]
	}
	plain, err := receiver.Plain(content, w.MaxProfile())
	if err != nil || len(plain) == 0 {
		return named("body", err)
	}
	var decoded *profile.Profile
	switch in.format {
	case trie, tree:
		kind := nodes{trie: in.format == trie}
		decoded, err = w.Decode(kind.name(), plain, func() profile.Decoder { return kind })
	case speedscopeFormat:
		decoded, err = w.Decode("speedscope", plain, speedscope.NewDecoder)
	case lines:
		decoded, err = w.Decode("folded", counted(plain), func() profile.Decoder { return folded.NewDecoder() })
	default:
		decoded, err = w.Decode("folded", plain, func() profile.Decoder { return folded.NewDecoder() })
	}
	if err != nil {
		return err
	}
	if decoded.Difference() {
		return errors.New("groups: lines have two values: send one of them")
	}
	app, typ := splitType(in.app)
	scale := int64(1)
	unit := decoded.Tables[decoded.Default].Type.Unit
	switch fromFile := app == in.app || typ.Name == "wall"; { // files of speedscope say their unit, in nanoseconds if it is a time
	case in.format == speedscopeFormat && unit == "nanoseconds" && fromFile:
		typ = newTextType("wall", "wall", unit, profile.Wall)
	case in.format == speedscopeFormat && unit == "bytes" && fromFile:
		typ = textTypes["bytes"]
	case typ.time && unit != "nanoseconds":
		scale = in.sampleNanos()
	}
	in.app = app
	t := &decoded.Tables[decoded.Default].Type
	if t.Name = typ.name; scale > 1 { // what a sample stands for
		t.Period, t.PeriodUnit, t.PeriodName = scale, typ.PeriodUnit, typ.PeriodType
	}
	out := in.profile(decoded, func(i int) (continuous.Type, bool) { return typ.Type, i == decoded.Default })
	out.Scale = func(int) int64 { return scale }
	return w.Add(out)
}

// counted returns lines of stacks with the value 1 behind each.
func counted(content []byte) []byte {
	out := make([]byte, 0, len(content)+2*bytes.Count(content, []byte("\n"))+2)
	for line := range bytes.Lines(content) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			out = append(append(out, line...), " 1\n"...)
		}
	}
	return out
}
