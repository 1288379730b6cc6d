package firefox

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// labels are the payloads of markers, one list of fields per row.
type labels struct {
	list     []profile.Label
	ends     []int // of each row
	interned interned
}

func payloads(i interned) column {
	return column{name: "data", kind: labelColumn, labels: &labels{interned: i}}
}

// interned are the short texts of markers, which repeat. There is one per file.
type interned map[string]string

const (
	internedLength = 100
	internedTexts  = 1 << 16
)

func (i interned) text(b []byte) string {
	if t, ok := i[string(b)]; ok {
		return t
	}
	t := string(b)
	if len(t) <= internedLength && len(i) < internedTexts {
		i[t] = t
	}
	return t
}

// read reads the payload of one marker: its strings, numbers and booleans. What
// nests inside, such as the stack that caused it, is left out.
func (l *labels) read(s *jsonscan.Scanner) {
	if s.Kind() != jsonscan.Object {
		s.Skip()
		l.ends = append(l.ends, len(l.list))
		return
	}
	for key := range s.Object() {
		label := profile.Label{Key: l.interned.text(key)}
		switch s.Kind() {
		case jsonscan.String:
			if label.Text = l.interned.text(s.Bytes()); label.Text == "" {
				continue
			}
		case jsonscan.Number, jsonscan.Bool:
			text := s.Scalar()
			var err error
			if label.Num, err = strconv.ParseInt(text, 10, 64); err != nil {
				label.Num, label.Text = 0, text // a fraction, or true
			}
		default:
			continue
		}
		l.list = append(l.list, label)
	}
	l.ends = append(l.ends, len(l.list))
}

// of returns the fields of a row.
func (l *labels) of(row int) []profile.Label {
	if row >= len(l.ends) {
		return nil
	}
	start, end := 0, l.ends[row]
	if row > 0 {
		start = l.ends[row-1]
	}
	if start == end {
		return nil
	}
	return l.list[start:end:end]
}

// Phases of markers.
const (
	phaseInstant = iota
	phaseInterval
	phaseStart
	phaseEnd
)

// markers adds the markers of a thread. Starts and ends that come as markers of
// their own are paired: an end with the last open start of its name. What has no
// other side reaches to the end of the thread's samples, or from their beginning.
func (k *linker) markers(t *thread, strings *texts, id profile.ThreadID, shift int64) error {
	m := &t.markers
	if m.rows() == 0 {
		return nil
	}
	names, starts, ends, phases, payload := m.col("name"), m.col("startTime"), m.col("endTime"), m.col("phase"), m.col("data")
	at := func(c *column, row int) int64 {
		if row < len(c.wide) {
			return c.wide[row] + shift
		}
		return shift
	}
	open := map[int32][]int{} // starts by name
	first, last := k.span(t, shift)
	for row := range m.rows() {
		name := names.id(row)
		start := at(starts, row)
		mk := profile.Marker{
			Name: k.text(names, row, strings), Thread: id, Start: start, End: start,
			Category: k.category(m.col("category").id(row), 0), Fields: k.fields(payload.labels.of(row), strings),
		}
		switch phase := phases.id(row); phase {
		case absent, phaseInstant:
		case phaseInterval:
			mk.End = max(start, at(ends, row))
		case phaseStart:
			mk.End = max(start, last)
			open[name] = append(open[name], len(k.p.Markers))
		case phaseEnd:
			mk.End = at(ends, row)
			mk.Start = min(mk.End, first)
			if l := open[name]; len(l) > 0 {
				begun := &k.p.Markers[l[len(l)-1]]
				open[name] = l[:len(l)-1]
				begun.End = max(begun.Start, mk.End)
				begun.Fields = mergeFields(begun.Fields, mk.Fields)
				continue
			}
		default:
			return m.errorf(phases, row, "is phase %d", phase)
		}
		k.p.Markers = append(k.p.Markers, mk)
	}
	return nil
}

// mergeFields returns the fields of an end with those of its start that it does
// not have.
func mergeFields(start, end []profile.Label) []profile.Label {
	merged := slices.Clone(end)
	for _, f := range start {
		if !slices.ContainsFunc(end, func(e profile.Label) bool { return e.Key == f.Key }) {
			merged = append(merged, f)
		}
	}
	return merged
}

// span returns the times of the first and of the last sample of a thread.
func (k *linker) span(t *thread, shift int64) (first, last int64) {
	var times []int64
	if t.samples.rows() > 0 {
		times = k.times(&t.samples, shift)
	}
	if len(times) == 0 {
		return shift, shift
	}
	return slices.Min(times), slices.Max(times) + k.file.interval
}

// fields replaces the ids of strings in the fields of one marker by the strings.
func (k *linker) fields(list []profile.Label, strings *texts) []profile.Label {
	if len(k.stringFields) == 0 {
		return list
	}
	kind := ""
	for _, f := range list {
		if f.Key == "type" {
			kind = f.Text
		}
	}
	for i := range list {
		f := &list[i]
		if f.Text == "" && k.stringFields[fieldKey{kind, f.Key}] && f.Num >= 0 && f.Num < int64(strings.len()) {
			f.Text, f.Num = strings.text(int32(f.Num)), 0
		}
	}
	return list
}

func (k *linker) sortMarkers() {
	slices.SortStableFunc(k.p.Markers, func(a, b profile.Marker) int { return cmp.Compare(a.Start, b.Start) })
}
