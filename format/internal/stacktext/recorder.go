package stacktext

import (
	"encoding/binary"
	"math"

	"github.com/dendroprof/dendro/profile"
)

// Recorder collects samples into a profile that may have threads, labels and
// states already. Its Labels are those of the Interner.
type Recorder struct {
	Profile *profile.Profile

	*profile.Interner
	threads map[string]profile.ThreadID
	texts   map[string]string
	key     []byte
}

// NewRecorder returns a Recorder that adds to p.
func NewRecorder(p *profile.Profile) *Recorder {
	return &Recorder{Profile: p, Interner: profile.NewInterner(p), threads: map[string]profile.ThreadID{}, texts: map[string]string{}}
}

// Thread interns the thread of a process that has this name and id.
func (r *Recorder) Thread(process, name, id []byte) profile.ThreadID {
	r.key = append(binary.AppendUvarint(r.key[:0], uint64(len(process))), process...)
	r.key = append(binary.AppendUvarint(r.key, uint64(len(name))), name...)
	r.key = append(r.key, id...)
	t, ok := r.threads[string(r.key)]
	if !ok {
		t = profile.ThreadID(len(r.Profile.Threads))
		r.Profile.Threads = append(r.Profile.Threads, profile.Thread{Name: Clean(name), ID: Clean(id), Process: Clean(process)})
		r.threads[string(r.key)] = t
	}
	return t
}

// State interns the state of that name.
func (r *Recorder) State(name []byte) profile.StateID { return r.Interner.State(r.text(name)) }

// Label returns a label that is a text.
func (r *Recorder) Label(key string, text []byte) profile.Label {
	return profile.Label{Key: key, Text: r.text(text)}
}

// text returns text as a string that all of its kind share.
func (r *Recorder) text(text []byte) string {
	s, ok := r.texts[string(text)]
	if !ok {
		s = Clean(text)
		r.texts[string(text)] = s
	}
	return s
}

// Stack returns the stack of frames that are given innermost first.
//
// Stacks have numbers in the order in which some earlier dump had them, so the
// next one is likely to be the successor of the last: to see that takes no hash.
func (r *Recorder) Stack(frames []profile.FrameID) profile.StackID {
	tree := &r.Profile.Symbols.Stacks
	stack := int32(profile.NoStack)
	for i := len(frames) - 1; i >= 0; i-- {
		frame := int32(frames[i])
		next := stack + 1
		if stack < 0 || int(next) >= len(tree.Parent) || tree.Parent[next] != stack || tree.Item[next] != frame {
			next = tree.Child(stack, frame)
		}
		stack = next
	}
	return profile.StackID(stack)
}

// Row is one sample. Time counts from whatever the reader decides to.
type Row struct {
	Stack  profile.StackID
	Value  int64
	Time   int64
	Thread profile.ThreadID
	Labels profile.LabelsID
	State  profile.StateID
}

// NoTime is the time of a sample that has none.
const NoTime = math.MinInt64

// Table collects the samples of one value type.
type Table struct {
	// First and Last are the range of the times; First > Last without any.
	First, Last int64

	samples profile.Samples
	sum     uint64
	limits  profile.Limits
}

// NewTable returns an empty table. Large tables are summed as Samples.Bound does.
func NewTable(l profile.Limits) *Table {
	return &Table{First: math.MaxInt64, Last: math.MinInt64, limits: l}
}

// Add appends a sample. It returns false, and adds nothing, if the values would
// no longer add up to 63 bits.
func (t *Table) Add(r Row) bool {
	size := uint64(r.Value)
	if r.Value < 0 {
		size = -size
	}
	if size > math.MaxInt64-t.sum {
		return false
	}
	t.sum += size
	if r.Time != NoTime {
		t.First, t.Last = min(t.First, r.Time), max(t.Last, r.Time)
	}
	t.samples.Append(r.Stack, r.Value, r.Time, profile.Tags{Thread: r.Thread, Labels: r.Labels, State: r.State})
	t.samples.Bound(t.limits)
	return true
}

// Join appends the rows of another table, which must not be used afterwards. It returns
// false, and appends nothing, if the values would no longer add up to 63 bits.
func (t *Table) Join(o *Table) bool {
	if o.sum > math.MaxInt64-t.sum {
		return false
	}
	t.sum += o.sum
	t.First, t.Last = min(t.First, o.First), max(t.Last, o.Last)
	t.samples.Summed += o.samples.Summed
	for i, stack := range o.samples.Stack {
		at := int64(0)
		if o.samples.Time != nil {
			at = o.samples.Time[i]
		}
		t.samples.Append(stack, o.samples.Value[i], at, o.samples.Tags(i))
		t.samples.Bound(t.limits)
	}
	return true
}

// ErrSum is the error of a sample that Table.Add refuses.
var ErrSum = profile.Malformed("the values up to here add up to more than 63 bits")

// Len returns the number of rows.
func (t *Table) Len() int { return t.samples.Len() }

// Samples returns the table with its type. Times count from origin, and are nil if
// timed is false; a row without a time has the time of the first one with a time.
// The Table must not be used afterwards.
func (t *Table) Samples(typ profile.ValueType, timed bool, origin int64) profile.Samples {
	s := t.samples
	s.Type = typ
	summed := s.Bounded()
	switch {
	case !timed:
		s.Time = nil
	case s.Time == nil && !summed:
		s.Time = make([]int64, s.Len())
	}
	for i, at := range s.Time {
		if at == NoTime {
			at = t.First
		}
		s.Time[i] = at - origin
	}
	return s
}
