package pyroscope

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/jfr"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// jfr adds a recording, alone or in a form with the labels of its contexts.
func (in *push) jfr(w *intake.Worker) error {
	content := in.body
	var contexts map[int64][]profile.Label
	if in.parts != nil {
		var ok bool
		if content, ok = in.parts["jfr"]; !ok {
			return errors.New("multipart/form-data: the form has no part jfr")
		}
		snapshot, err := receiver.Plain(in.parts["labels"], w.MaxProfile())
		if err == nil {
			contexts, err = readContexts(snapshot, w.Expand)
		}
		if err != nil {
			return named("labels", err)
		}
	}
	plain, err := receiver.Plain(content, w.MaxProfile())
	if err != nil || len(plain) == 0 {
		return named("jfr", err)
	}
	var decoded *profile.Profile
	err = w.Read("jfr", int64(len(plain)), func() profile.Decoder { return jfr.NewDecoder() },
		func(d profile.Decoder, s *profile.Symbols, l profile.Limits) (err error) {
			decoder := d.(*jfr.Decoder)
			decoder.Contexts = contexts
			decoded, err = decoder.Decode(bytes.NewReader(plain), s, l)
			decoder.Contexts = nil
			return err
		})
	if err != nil {
		return named("jfr", err)
	}
	types := make([]continuous.Type, len(decoded.Tables))
	scales := make([]int64, len(decoded.Tables))
	for i := range decoded.Tables {
		types[i], scales[i] = in.jfrType(decoded, i)
	}
	out := in.profile(decoded, func(i int) (continuous.Type, bool) { return types[i], types[i].Name != "" })
	out.Scale = func(i int) int64 { return scales[i] }
	return w.Add(out)
}

// jfrNames are the types of tables by the name of their event, and then of the table.
var jfrNames = map[string]map[string]continuous.Type{
	"jdk.ObjectAllocationInNewTLAB": {
		profile.AllocSamples: receiver.Type("memory", "alloc_in_new_tlab_objects", "count", "space", "bytes"),
		profile.Alloc:        receiver.Type("memory", "alloc_in_new_tlab_bytes", "bytes", "space", "bytes"),
	},
	"jdk.ObjectAllocationSample": {
		profile.AllocSamples: receiver.Type("memory", "alloc_sample_objects", "count", "space", "bytes"),
		profile.Alloc:        receiver.Type("memory", "alloc_sample_bytes", "bytes", "space", "bytes"),
	},
	"profiler.LiveObject": {profile.LiveSamples: receiver.Type("memory", "live", "count", "objects", "count")},
	"profiler.Malloc":     {profile.Malloc: receiver.Type("memory", "malloc_bytes", "bytes", "", "")},
	"jdk.JavaMonitorEnter": {
		profile.LockSamples: receiver.Type("mutex", "contentions", "count", "mutex", "count"),
		profile.Lock:        receiver.Type("mutex", "delay", "nanoseconds", "mutex", "count"),
	},
	"profiler.WallClockSample": {profile.Wall: wallType},
	"jdk.CPUTimeSample":        {profile.CPU: cpuType},
}

var (
	cpuType  = receiver.Type("process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds")
	wallType = receiver.Type("wall", "wall", "nanoseconds", "wall", "nanoseconds")
)

// jfrType returns the type of a table, and what its values are multiplied by; the zero Type
// for what Pyroscope does not have. CPU and wall time follow from the interval of the
// recording or, if that is not known, from sampleRate.
func (in *push) jfrType(p *profile.Profile, i int) (continuous.Type, int64) {
	t := &p.Tables[i].Type
	if known, ok := jfrNames[t.Original][t.Name]; ok {
		return known, 1
	}
	timed := func(name string) bool {
		for k := range p.Tables {
			if p.Tables[k].Type.Name == name {
				return true
			}
		}
		return false
	}
	switch {
	case t.Name == profile.CPU:
		return cpuType, 1
	case t.Name == profile.Wall:
		return wallType, 1
	case t.Name == profile.CPUSamples && !timed(profile.CPU):
		return cpuType, in.sampleNanos()
	case t.Name == profile.WallSamples && !timed(profile.Wall):
		return wallType, in.sampleNanos()
	}
	return continuous.Type{}, 1
}

// sampleNanos returns what a sample stands for by sampleRate, in nanoseconds.
func (in *push) sampleNanos() int64 {
	if in.rate == 0 {
		return 1
	}
	return max(1, 1e9/in.rate)
}

// The fields of a LabelsSnapshot: contexts and strings are maps, whose entries have key and
// value; a context has labels, a map of numbers of strings.
var (
	snapshotShape = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes}
	contextEntry  = wire.Shape{1: wire.AsVarint, 2: wire.AsBytes}
	contextShape  = wire.Shape{1: wire.AsBytes}
	labelEntry    = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint}
)

// readContexts reads the labels of contexts. What they expand to is counted.
func readContexts(msg []byte, expand func(bytes int64) error) (map[int64][]profile.Label, error) {
	texts := map[int64]string{}
	var entries [][]byte
	err := each(&snapshotShape, msg, func(field int, entry []byte) error {
		if err := expand(fieldBytes + int64(len(entry))); err != nil {
			return err
		}
		if field == 1 {
			entries = append(entries, entry)
			return nil
		}
		key, text, err := keyed(entry)
		texts[key] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	contexts := make(map[int64][]profile.Label, len(entries))
	for _, entry := range entries {
		id, context, err := keyed(entry)
		if err != nil {
			return nil, err
		}
		var labels []profile.Label
		err = each(&contextShape, context, func(_ int, pair []byte) error {
			v, err := labelEntry.Ints(pair, 0, len(pair))
			labels = append(labels, profile.Label{Key: texts[int64(v[1])], Text: texts[int64(v[2])]})
			return cmp.Or(err, expand(fieldBytes))
		})
		if err != nil {
			return nil, err
		}
		contexts[id] = labels
	}
	return contexts, nil
}

// keyed reads an entry of a map from numbers to bytes.
func keyed(entry []byte) (key int64, value []byte, err error) {
	var v wire.Numbers
	for pos := 0; pos < len(entry); {
		f, err := contextEntry.Next(entry, pos, len(entry))
		if err != nil {
			return 0, nil, fmt.Errorf("an entry of a map is damaged: %w", err)
		}
		if f.Num == 2 {
			value = entry[f.Lo:f.Hi]
		} else {
			v.Set(f)
		}
		pos = f.Hi
	}
	return int64(v[1]), value, nil
}
