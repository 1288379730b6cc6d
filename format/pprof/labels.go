package pprof

import (
	"bytes"
	"cmp"
	"strconv"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// labelSets interns the labels of samples. What repeats is found by the bytes of
// its fields, so a label is parsed once however many samples carry it.
type labelSets struct {
	*links
	refs map[string]labelRef         // by the bytes of all label fields of a sample
	sets map[string]profile.LabelsID // by those of the labels that are left without the thread
	last []byte                      // the bytes found last
	ref  labelRef                    // and what they are

	list    [][]profile.Label
	threads []profile.Thread
	ids     map[profile.Thread]profile.ThreadID

	// scattered holds the label fields of the sample at hand when other fields
	// lie between them, which no known writer does.
	scattered []byte
	rest      []byte
}

// labelRef is what the labels of a sample are to the profile.
type labelRef struct {
	labels profile.LabelsID
	thread profile.ThreadID
}

func (ls *labelSets) reset(l *links) {
	*ls = labelSets{
		links: l, scattered: ls.scattered, rest: ls.rest,
		refs:    map[string]labelRef{},
		sets:    map[string]profile.LabelsID{"": 0},
		list:    make([][]profile.Label, 1),
		threads: make([]profile.Thread, 1),
		ids:     map[profile.Thread]profile.ThreadID{{}: 0},
	}
}

// extend adds a label field to those of the sample at hand.
func (ls *labelSets) extend(have, f span) span {
	switch {
	case have.hi == 0:
		return f
	case len(ls.scattered) == 0 && have.hi == f.lo:
		return span{have.lo, f.hi}
	case len(ls.scattered) == 0:
		ls.scattered = append(ls.scattered, ls.msg[have.lo:have.hi]...)
	}
	ls.scattered = append(ls.scattered, ls.msg[f.lo:f.hi]...)
	return have
}

// find returns what the label fields in sp, or the scattered ones, are.
func (ls *labelSets) find(sp span) (labelRef, error) {
	fields := ls.msg[sp.lo:sp.hi]
	if len(ls.scattered) > 0 {
		fields = ls.scattered
	}
	if bytes.Equal(fields, ls.last) {
		return ls.ref, nil
	}
	ref, ok := ls.refs[string(fields)]
	if !ok {
		var err error
		if ref, err = ls.add(fields, sp.lo); err != nil {
			return ref, err
		}
		ls.refs[string(fields)] = ref
	}
	ls.ref = ref
	ls.last = append(ls.last[:0], fields...)
	return ref, nil
}

// add interns labels that were not seen before. Fields are a copy when they were
// scattered, so errors name the sample's first label, at.
func (ls *labelSets) add(fields []byte, at int) (ref labelRef, err error) {
	var labels []profile.Label
	var own, foreign profile.Thread
	ls.rest = ls.rest[:0]
	for pos := 0; pos < len(fields); {
		f, err := sampleShape.Next(fields, pos, len(fields))
		if err != nil {
			return ref, protobuf.Malformed(at, "a damaged label")
		}
		label, err := ls.label(fields, f, at)
		if err != nil {
			return ref, err
		}
		if !liftOwn(&own, label) {
			liftForeign(&foreign, label)
			labels = append(labels, label)
			ls.rest = append(ls.rest, fields[pos:f.Hi]...)
		}
		pos = f.Hi
	}
	id, ok := ls.sets[string(ls.rest)]
	if !ok {
		id = profile.LabelsID(len(ls.list))
		ls.list = append(ls.list, labels)
		ls.sets[string(ls.rest)] = id
	}
	return labelRef{id, ls.thread(prefer(own, foreign))}, nil
}

func (ls *labelSets) thread(t profile.Thread) profile.ThreadID {
	return intern.Number(ls.ids, &ls.threads, t, t)
}

// label parses one label. A label with a string is a string, whatever else it
// says; any other is a number, be it zero.
func (ls *labelSets) label(fields []byte, f wire.Field, at int) (l profile.Label, err error) {
	v, err := labelShape.Ints(fields, f.Lo, f.Hi)
	if err != nil {
		return l, protobuf.Malformed(at, "a damaged label")
	}
	if l.Key, err = ls.string(textRef{v[1], at}); err != nil {
		return l, err
	}
	if v[2] != 0 {
		l.Text, err = ls.string(textRef{v[2], at})
	} else {
		l.Num = int64(v[3])
		l.Unit, err = ls.string(textRef{v[4], at})
	}
	if err == nil {
		err = ls.spend(len(l.Key)+len(l.Text)+len(l.Unit), at)
	}
	return l, err
}

// Keys under which Dendro writes the thread of a sample. Read again, they leave
// the labels and are the thread.
const (
	keyThread   = "thread"
	keyThreadID = "thread_id"
	keyProcess  = "process"
)

// liftOwn moves a label that Dendro writes itself into t. The first of a key
// counts, further ones stay labels.
func liftOwn(t *profile.Thread, l profile.Label) bool {
	var to *string
	switch l.Key {
	case keyThread:
		to = &t.Name
	case keyThreadID:
		to = &t.ID
	case keyProcess:
		to = &t.Process
	}
	if to == nil || *to != "" || l.Text == "" {
		return false
	}
	*to = l.Text
	return true
}

// liftForeign copies a label by which other profilers name the thread into t.
// It stays a label, so that it is written again as it was.
func liftForeign(t *profile.Thread, l profile.Label) {
	var to *string
	switch l.Key {
	case "thread_name", "thread name":
		if l.Text != "" {
			to = &t.Name
		}
	case "thread_id", "thread id", "tid":
		to = &t.ID
	case "process_id", "process id", "pid":
		to = &t.Process
	}
	if to == nil || *to != "" {
		return
	}
	if *to = l.Text; l.Text == "" {
		*to = strconv.FormatInt(l.Num, 10)
	}
}

// foreignThread returns the thread that labels tell of.
func foreignThread(labels []profile.Label) (t profile.Thread) {
	for _, l := range labels {
		liftForeign(&t, l)
	}
	return t
}

// prefer returns a with its empty fields taken from b.
func prefer(a, b profile.Thread) profile.Thread {
	a.Name = cmp.Or(a.Name, b.Name)
	a.ID = cmp.Or(a.ID, b.ID)
	a.Process = cmp.Or(a.Process, b.Process)
	return a
}
