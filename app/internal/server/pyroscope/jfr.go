package pyroscope

import (
	"bytes"
	"errors"
	"slices"

	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/jfr"
	"github.com/dendroprof/dendro/internal/column"
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
		return slices.ContainsFunc(p.Tables, func(t profile.Samples) bool { return t.Type.Name == name })
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

// labelsSnapshot has the labels of contexts; keys and values of labels are numbers of strings.
type (
	labelsSnapshot struct {
		Contexts []contextEntry `pb:"1 contexts"`
		Strings  []stringEntry  `pb:"2 strings"`
	}
	contextEntry struct {
		Key   int64 `pb:"1 key"`
		Value struct {
			Labels []labelEntry `pb:"1 labels"`
		} `pb:"2 value"`
	}
	labelEntry struct {
		Key   int64 `pb:"1 key"`
		Value int64 `pb:"2 value"`
	}
	stringEntry struct {
		Key   int64  `pb:"1 key"`
		Value string `pb:"2 value"`
	}
)

// readContexts reads the labels of contexts. What they expand to is counted.
func readContexts(msg []byte, expand func(bytes int64) error) (map[int64][]profile.Label, error) {
	snapshot, err := decode[labelsSnapshot](expand, msg)
	if err != nil {
		return nil, err
	}
	texts := make(map[int64]string, len(snapshot.Strings))
	for _, s := range snapshot.Strings {
		texts[s.Key] = s.Value
	}
	contexts := make(map[int64][]profile.Label, len(snapshot.Contexts))
	for _, c := range snapshot.Contexts {
		if err := expand(int64(len(c.Value.Labels)) * fieldBytes); err != nil {
			return nil, err
		}
		labels := column.Of(c.Value.Labels, func(l labelEntry) profile.Label { return profile.Label{Key: texts[l.Key], Text: texts[l.Value]} })
		contexts[c.Key] = labels
	}
	return contexts, nil
}
