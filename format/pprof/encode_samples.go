package pprof

import (
	"encoding/binary"
	"slices"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// rowKey is what makes two samples one in the file. Tags become labels.
type rowKey struct {
	stack profile.StackID
	profile.Tags
}

func keyOf(t *profile.Samples, i int) rowKey { return rowKey{t.Stack[i], t.Tags(i)} }

// writeSamples writes the rows of all tables. Gaps are left out: what has no stack in
// pprof counts.
func (e *encoder) writeSamples() {
	e.location.init(e.p.Symbols)
	keys, values := e.rows()
	n := len(e.tables)
	for i, k := range keys {
		row := values[i*n : (i+1)*n]
		if k.stack == profile.NoStack || !slices.ContainsFunc(row, func(v int64) bool { return v != 0 }) {
			continue
		}
		e.msg = e.msg[:0]
		e.part = e.part[:0]
		for st := k.stack; st != profile.NoStack; {
			var id uint64
			id, st = e.location.next(st)
			e.part = binary.AppendUvarint(e.part, id)
		}
		if len(e.part) > 0 {
			e.msg = wire.AppendBytes(e.msg, 1, e.part)
		}
		e.part = e.part[:0]
		for _, v := range row {
			e.part = binary.AppendUvarint(e.part, uint64(v))
		}
		e.msg = wire.AppendBytes(e.msg, 2, e.part)
		e.msg = append(e.msg, e.labels.fields(e, k.Tags)...)
		e.flush(fieldSample)
	}
}

// rows returns the samples of all tables, one value per table each. Two samples
// of one table stay two, however equal, unless they differ in what the file
// cannot hold.
func (e *encoder) rows() ([]rowKey, []int64) {
	n := len(e.tables)
	if e.aligned() {
		first := e.tables[0]
		keys, values := make([]rowKey, first.Len()), make([]int64, first.Len()*n)
		for i := range keys {
			keys[i] = keyOf(first, i)
			for k, t := range e.tables {
				values[i*n+k] = e.scales[k].Apply(t.Value[i])
			}
		}
		return keys, values
	}
	type occurrence struct {
		rowKey
		nth int32 // of this key in its table
	}
	var keys []rowKey
	var sums []int64
	index := map[occurrence]int{}
	for k, t := range e.tables {
		seen := map[rowKey]int32{}
		sum := t.Time != nil || t.Address != nil
		for i, v := range t.Value {
			o := occurrence{rowKey: keyOf(t, i)}
			if !sum {
				o.nth = seen[o.rowKey]
				seen[o.rowKey]++
			}
			row, ok := index[o]
			if !ok {
				row = len(keys)
				index[o] = row
				keys = append(keys, o.rowKey)
				sums = append(sums, make([]int64, n)...)
			}
			sums[row*n+k] += v
		}
	}
	for i := range sums {
		sums[i] = e.scales[i%n].Apply(sums[i])
	}
	return keys, sums
}

// aligned reports whether row i means the same in all tables and none is to be
// summed, as in profiles of one table and of most formats.
func (e *encoder) aligned() bool {
	first := e.tables[0]
	for _, t := range e.tables {
		if t.Time != nil || t.Address != nil || !slices.Equal(t.Stack, first.Stack) ||
			!slices.Equal(t.Thread, first.Thread) || !slices.Equal(t.Labels, first.Labels) || !slices.Equal(t.State, first.State) {
			return false
		}
	}
	return true
}

// scaleTables chooses units in which the tables have no fractions, if there are.
func (e *encoder) scaleTables() error {
	for _, t := range e.tables {
		s, err := t.Unscale()
		if err != nil {
			return err
		}
		e.scales = append(e.scales, s)
	}
	return nil
}

// labelWriter remembers the label fields of what it wrote before.
type labelWriter struct {
	known map[profile.Tags][]byte
	last  profile.Tags
	bytes []byte // of last
}

// fields returns the label fields of a sample.
func (w *labelWriter) fields(e *encoder, k profile.Tags) []byte {
	if k == w.last {
		return w.bytes
	}
	b, ok := w.known[k]
	if !ok {
		b = e.appendTags(nil, k)
		if w.known == nil {
			w.known = map[profile.Tags][]byte{}
		}
		w.known[k] = b
	}
	w.last, w.bytes = k, b
	return b
}

func (e *encoder) appendTags(b []byte, k profile.Tags) []byte {
	labels := e.p.LabelSets[k.Labels]
	want, have := e.p.Threads[k.Thread], foreignThread(labels)
	for _, l := range []struct{ key, want, have string }{
		{keyThread, want.Name, have.Name}, {keyThreadID, want.ID, have.ID}, {keyProcess, want.Process, have.Process},
	} {
		if l.want != "" && (l.want != l.have || hasText(labels, l.key)) {
			b = e.appendLabel(b, profile.Label{Key: l.key, Text: l.want})
		}
	}
	if k.State != 0 {
		b = e.appendLabel(b, profile.Label{Key: "state", Text: e.p.States[k.State]})
	}
	for _, l := range labels {
		b = e.appendLabel(b, l)
	}
	return b
}

// hasText reports whether labels have a string under key, which a reader would
// take for the thread's if it came first.
func hasText(labels []profile.Label, key string) bool {
	return slices.ContainsFunc(labels, func(l profile.Label) bool { return l.Key == key && l.Text != "" })
}

func (e *encoder) appendLabel(b []byte, l profile.Label) []byte {
	e.part = wire.AppendInt(e.part[:0], 1, e.string(l.Key))
	if l.Text != "" {
		e.part = wire.AppendInt(e.part, 2, e.string(l.Text))
	} else {
		e.part = wire.AppendInt(e.part, 3, uint64(l.Num))
		e.part = wire.AppendInt(e.part, 4, e.string(l.Unit))
	}
	return wire.AppendBytes(b, 3, e.part)
}
