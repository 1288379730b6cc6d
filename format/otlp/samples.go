package otlp

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/format/protobuf"
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
	if x.OriginalFormat != "" {
		k.notes.payloads++
	}
	typ, at := k.valueType(x), int(x.At.At)
	if err := k.spend(1+len(typ.Original)+len(typ.Unit)+len(typ.PeriodName)+len(typ.PeriodUnit), at); err != nil {
		return err // many profiles may share long names
	}
	t, err := k.table(typ, at)
	if err != nil {
		return err
	}
	if x.Period > 0 && x.Samples > 0 && k.p.Interval == 0 && t.Type.PeriodUnit == "nanoseconds" {
		k.p.Interval = time.Duration(x.Period)
	}
	if x.Time != 0 && x.Time <= math.MaxInt64 {
		k.begin, k.end = min(k.begin, int64(x.Time)), max(k.end, int64(x.Time))
		if x.Duration <= math.MaxInt64-x.Time {
			k.end = max(k.end, int64(x.Time+x.Duration))
		}
	} else if x.Duration <= math.MaxInt64 {
		k.p.Duration = max(k.p.Duration, time.Duration(x.Duration))
	}
	if err := k.head(x); err != nil {
		return err
	}
	t.Grow(int(x.Samples))
	return k.m.eachSample(x, func(at, pos, end int) (bool, error) { return k.plainSample(t, at, pos, end) },
		func(s *sample) error { return k.sample(t, s) })
}

// plainSample adds a sample of one value that has no more than a stack, a time and
// attributes, as nearly all have. It returns false for any other, and for what is
// malformed.
func (k *linker) plainSample(t *table, at, pos, end int) (bool, error) {
	msg := k.m.content
	var stack, value, when uint64
	var attributes part
	valued := false
	for pos < end {
		var err error
		tag := msg[pos]
		pos++
		if tag == 1<<3|wire.Varint {
			if stack, pos, err = wire.Uvarint(msg, pos, end); err != nil {
				return false, nil
			}
			continue
		}
		if tag&7 != wire.Bytes {
			return false, nil // a link
		}
		lo, hi, err := wire.Payload(msg, pos, end)
		if err != nil {
			return false, nil
		}
		switch {
		case tag == 2<<3|wire.Bytes && attributes.hi == 0:
			attributes, pos = next(lo, hi), hi
		case tag == 4<<3|wire.Bytes && !valued:
			if value, pos, err = wire.Uvarint(msg, lo, hi); err != nil || pos != hi {
				return false, nil
			}
			valued = true
		case tag == 5<<3|wire.Bytes && when == 0 && hi-lo == 8:
			when, pos = binary.LittleEndian.Uint64(msg[lo:]), hi
		default:
			return false, nil
		}
	}
	if !valued {
		return false, nil
	}
	st, err := k.stack(index(stack), at)
	if err != nil {
		return false, err
	}
	w, err := k.whoAt(attributes, at)
	if err != nil {
		return false, err
	}
	return true, k.row(t, st, w, int64(value), when, at)
}

// whoAt is who for a sample without a link whose packed attributes are a part of the
// content. Those of the sample before are mostly the same.
func (k *linker) whoAt(attributes part, at int) (who, error) {
	if attributes.lo == attributes.hi && len(k.common) == 0 {
		return who{}, nil
	}
	key := uint64(1) // and the bytes behind it, if they are few
	for _, c := range k.m.content[attributes.lo:min(attributes.hi, attributes.lo+8)] {
		key = key<<8 | uint64(c)
	}
	short := attributes.hi-attributes.lo < 8
	if key == k.last.key && short {
		return k.last.who, nil
	}
	if w, ok := k.bytesWhom[key]; ok && short {
		k.last = lastWho{key, w}
		return w, nil
	}
	if err := k.m.readIndices(attributes); err != nil {
		return who{}, err
	}
	w, err := k.who(&sample{At: protobuf.Position{At: int32(at)}, Attributes: k.m.indices})
	if short && err == nil {
		k.bytesWhom[key] = w
	}
	return w, err
}

// lastWho is who the sample before was of.
type lastWho struct {
	key uint64 // of its attributes; 0: none
	who who
}

// head takes over attributes of a profile that Profile has places for, as the
// conventions for pprof name them; the others become comments.
func (k *linker) head(x *profileMessage) error {
	for _, i := range x.Comments {
		if text := k.m.Tables.text(i); text != "" {
			if err := k.comment("", text, int(x.At.At)); err != nil {
				return err
			}
		}
	}
	for _, i := range x.Attributes {
		a, ok := k.attribute(i)
		if !ok {
			continue
		}
		switch key, text := k.m.Tables.text(a.Key), k.m.Tables.textOf(&a.Value); {
		case key == keyDropFrames:
			k.p.DropFrames = text
		case key == keyKeepFrames:
			k.p.KeepFrames = text
		case key == keyComment:
			if err := k.spend(len(a.Value.Array.Values), int(x.At.At)); err != nil {
				return err
			}
			for _, c := range a.Value.texts() {
				if err := k.comment("", c, int(x.At.At)); err != nil {
					return err
				}
			}
		case text != "":
			if err := k.comment(key+"=", text, int(x.At.At)); err != nil {
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
// second that would get a name keeps its own, or is called by its key.
func (k *linker) table(typ profile.ValueType, at int) (*table, error) {
	key := typ.AddKey()
	if t := k.byKey[key]; t != nil {
		t.Type = t.Type.Plus(typ)
		return t, nil
	}
	for _, name := range []string{typ.Original, typ.Key()} {
		if !slices.ContainsFunc(k.tables, func(t *table) bool { return t.Type.Name == typ.Name }) {
			break
		}
		typ.Name = name
	}
	if len(k.tables) == maxTypes {
		return nil, protobuf.Malformed(at, "more than %d value types", maxTypes)
	}
	t := &table{Samples: profile.Samples{Type: typ}}
	k.tables = append(k.tables, t)
	k.byKey[key] = t
	return t, nil
}

// sample adds one sample: a row per timestamp, or one without.
func (k *linker) sample(t *table, s *sample) error {
	stack, err := k.stack(s.Stack, int(s.At.At))
	if err != nil {
		return err
	}
	w, err := k.who(s)
	if err != nil {
		return err
	}
	values, times := s.Values, s.Times
	switch {
	case len(values) == 0 && len(times) == 0:
		return nil
	case len(values) == 0: // each is one event
		for _, at := range times {
			if err := k.row(t, stack, w, 1, at, int(s.At.At)); err != nil {
				return err
			}
		}
		return nil
	case len(values) == len(times):
		for i, v := range values {
			if err := k.row(t, stack, w, v, times[i], int(s.At.At)); err != nil {
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
		if err := k.row(t, stack, w, v, at, int(s.At.At)); err != nil {
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
		return protobuf.Malformed(place, "the values of %s add up to more than 63 bits", t.Type.Name)
	}
	if at > math.MaxInt64 {
		return protobuf.Malformed(place, "a timestamp of more than 63 bits")
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
