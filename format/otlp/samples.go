package otlp

import (
	"math"
	"time"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// table is a sample table in the making: times are Unix nanoseconds.
type table struct {
	profile.Samples
	sum uint64
}

// profile adds the samples of one Profile message to the table of its type.
func (k *linker) profile(x *profileMessage) error {
	if x.originalFormat != "" {
		k.notes.payloads++
	}
	t, err := k.table(k.valueType(x), x.at)
	if err != nil {
		return err
	}
	if x.period > 0 && x.count > 0 && k.p.Interval == 0 && t.Type.PeriodUnit == "nanoseconds" {
		k.p.Interval = time.Duration(x.period)
	}
	if x.time != 0 && x.time <= math.MaxInt64 {
		k.begin, k.end = min(k.begin, int64(x.time)), max(k.end, int64(x.time))
		if x.duration <= math.MaxInt64-x.time {
			k.end = max(k.end, int64(x.time+x.duration))
		}
	} else if x.duration <= math.MaxInt64 {
		k.p.Duration = max(k.p.Duration, time.Duration(x.duration))
	}
	if err := k.head(x); err != nil {
		return err
	}
	t.Grow(x.count)
	return k.m.eachSample(x, func(s *sample) error { return k.sample(t, s) })
}

// head takes over attributes of a profile that Profile has places for, as the
// conventions for pprof name them; the others become comments.
func (k *linker) head(x *profileMessage) error {
	for _, i := range k.m.indices[x.attributes.lo:x.attributes.hi] {
		a, ok := k.attribute(i)
		if !ok {
			continue
		}
		switch key, text := k.m.text(a.key), k.m.textOf(&a.value); {
		case key == keyDropFrames:
			k.p.DropFrames = text
		case key == keyKeepFrames:
			k.p.KeepFrames = text
		case key == keyComment:
			for _, c := range a.value.list {
				if err := k.comment("", c, x.at); err != nil {
					return err
				}
			}
		case text != "":
			if err := k.comment(key+"=", text, x.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// comment adds a comment unless it is there.
func (k *linker) comment(key, text string, at int) error {
	if err := k.spend(1+len(key)+len(text), at); err != nil {
		return err
	}
	if text = key + text; !k.comments[text] {
		k.comments[text] = true
		k.p.Comments = append(k.p.Comments, text)
	}
	return nil
}

// maxTypes bounds the value types; the most that a profiler writes is 20 or so.
const maxTypes = 1000

// table returns the table of a value type. Types are asked for by name, so the
// second that would get a name keeps its own.
func (k *linker) table(typ profile.ValueType, at int) (*table, error) {
	if t := k.byKey[typ.Key()]; t != nil {
		return t, nil
	}
	for _, t := range k.tables {
		if t.Type.Name == typ.Name {
			typ.Name = typ.Original
			break
		}
	}
	if t := k.byKey[typ.Key()]; t != nil {
		return t, nil
	}
	if len(k.tables) == maxTypes {
		return nil, wire.Malformed(at, "more than %d value types", maxTypes)
	}
	t := &table{Samples: profile.Samples{Type: typ}}
	k.tables = append(k.tables, t)
	k.byKey[typ.Key()] = t
	return t, nil
}

// sample adds one sample: a row per timestamp, or one without.
func (k *linker) sample(t *table, s *sample) error {
	stack, err := k.stack(s.stack, s.at)
	if err != nil {
		return err
	}
	w, err := k.who(s)
	if err != nil {
		return err
	}
	values, times := k.m.values[s.values.lo:s.values.hi], k.m.times[s.times.lo:s.times.hi]
	switch {
	case len(values) == 0 && len(times) == 0:
		return nil
	case len(values) == 0: // each is one event
		for _, at := range times {
			if err := k.row(t, stack, w, 1, at, s.at); err != nil {
				return err
			}
		}
		return nil
	case len(values) == len(times):
		for i, v := range values {
			if err := k.row(t, stack, w, v, times[i], s.at); err != nil {
				return err
			}
		}
		return nil
	}
	at := uint64(0)
	if len(times) > 0 {
		k.notes.shapes++
		at = times[0]
	} else if len(values) > 1 {
		k.notes.shapes++
	}
	for _, v := range values {
		if err := k.row(t, stack, w, v, at, s.at); err != nil {
			return err
		}
	}
	return nil
}

func (k *linker) row(t *table, stack profile.StackID, w who, v int64, at uint64, place int) error {
	if v == 0 {
		return nil
	}
	size := uint64(v)
	if v < 0 {
		size = -size
	}
	if t.sum += size; t.sum > math.MaxInt64 {
		return wire.Malformed(place, "the values of %s add up to more than 63 bits", t.Type.Name)
	}
	if at > math.MaxInt64 {
		return wire.Malformed(place, "a timestamp of more than 63 bits")
	}
	t.Append(stack, v, int64(at), profile.Tags{Thread: w.thread, Labels: w.labels})
	t.Bound(k.limits)
	if at != 0 {
		k.begin, k.end = min(k.begin, int64(at)), max(k.end, int64(at))
	}
	return nil
}

// sinceBoot separates dates from clocks that began with the machine: 1973.
const sinceBoot = 1e17

// finish makes the profile.
func (k *linker) finish() *profile.Profile {
	p := k.p
	begin := int64(0)
	if k.begin != math.MaxInt64 {
		begin = k.begin
		if begin > sinceBoot {
			p.Start = time.Unix(0, begin).UTC()
		}
		p.Duration = max(p.Duration, time.Duration(k.end-begin))
	}
	for _, t := range k.tables {
		t.Bounded()
		for i := range t.Time {
			if t.Time[i] != 0 {
				t.Time[i] -= begin
			}
		}
		p.Tables = append(p.Tables, t.Samples)
	}
	if len(p.Tables) == 0 {
		p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
		p.Warnf("the file holds no samples")
	}
	k.notes.report(p)
	return p
}
