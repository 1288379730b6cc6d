package pprof

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// samples reads the samples of a message. Rows are collected for all value
// types at once in buffers that the next message uses again. At the end, and each
// profile.SumRows rows, they are copied into the tables, without the zeros.
type samples struct {
	*links

	// One row per sample; values has one entry per type and row.
	stacks  []profile.StackID
	threads []profile.ThreadID
	labels  []profile.LabelsID
	values  []int64
	sums    []uint64 // of the absolute values, per type

	sets labelSets
	seen repeats

	// The stack of the sample before: what is equal at the outermost end is not
	// looked up again. last holds locations, innermost first; lastAt[k] is the
	// stack up to the k-th location from the outermost.
	ids, last []int32
	lastAt    []profile.StackID
}

// read reads all samples, which lie between firstSample and samplesEnd, into the
// tables of p.
func (s *samples) read(p *profile.Profile) error {
	s.stacks, s.threads, s.labels = s.stacks[:0], s.threads[:0], s.labels[:0]
	s.values, s.last = s.values[:0], s.last[:0]
	s.sums = append(s.sums[:0], make([]uint64, len(s.types))...)
	s.sets.reset(s.links)
	s.seen.reset(s.tables.samples)
	rows := min(s.samples, profile.SumRows)
	s.stacks = slices.Grow(s.stacks, rows)
	s.values = slices.Grow(s.values, min(rows*len(s.types), len(s.msg)))
	if s.firstSample < 0 {
		return nil
	}
	// The fields were checked by the first pass.
	for pos := s.firstSample; pos < s.samplesEnd; {
		at, lo, hi := pos, 0, 0
		var err error
		sample := s.msg[pos] == fieldSample<<3|wire.Bytes
		if sample {
			lo, hi, err = wire.Payload(s.msg, pos+1, s.samplesEnd)
		} else {
			var f wire.Field
			f, err = nextField(s.msg[:s.samplesEnd], pos)
			at, lo, hi, sample = f.At, f.Lo, f.Hi, f.Num == fieldSample
		}
		if err == nil && sample {
			err = s.sample(at, lo, hi)
		}
		if err != nil {
			return protobuf.Place(err)
		}
		if pos = hi; len(s.stacks) == profile.SumRows {
			if err := s.limits.CheckMemory(); err != nil {
				return &profile.ParseError{Offset: int64(pos), Err: err}
			}
			s.fill(p)
		}
	}
	s.fill(p)
	for i := range p.Tables {
		p.Tables[i].Bounded()
	}
	return nil
}

// Tags of the fields of a sample, as all writers put them.
const (
	tagLocations = 1<<3 | wire.Bytes
	tagValues    = 2<<3 | wire.Bytes
	tagValue     = 2<<3 | wire.Varint
	tagLabel     = 3<<3 | wire.Bytes
)

// sample reads the sample whose tag is at and whose message is [pos, end).
func (s *samples) sample(at, pos, end int) (err error) {
	s.ids = s.ids[:0]
	first := len(s.values)
	var packed, labels span
	s.sets.scattered = s.sets.scattered[:0]
	for pos < end {
		var lo, hi int
		switch tag := s.msg[pos]; tag {
		case tagLocations, tagValues, tagLabel:
			if lo, hi, err = wire.Payload(s.msg, pos+1, end); err != nil {
				return err
			}
			switch tag {
			case tagValues:
				err = s.packedValues(lo, hi)
			case tagLabel:
				labels = s.sets.extend(labels, span{pos, hi})
			case tagLocations:
				if packed.hi == 0 && len(s.ids) == 0 {
					packed = span{lo, hi} // perhaps all of them, and seen before
				} else if err = s.packedLocations(packed); err == nil {
					packed = span{}
					err = s.packedLocations(span{lo, hi})
				}
			}
		case tagValue:
			var v uint64
			if v, hi, err = wire.Uvarint(s.msg, pos+1, end); err != nil {
				return err
			}
			s.values = append(s.values, int64(v))
		default:
			var f wire.Field
			if f, err = sampleShape.Next(s.msg, pos, end); err != nil {
				return err
			}
			hi = f.Hi
			switch {
			case f.Num == 1 && f.Type == wire.Varint:
				if err = s.packedLocations(packed); err == nil {
					packed = span{}
					s.ids = append(s.ids, s.location(f.Value))
				}
			case sampleShape.Known(f.Num):
				err = protobuf.Malformed(pos, "a tag of several bytes")
			}
		}
		if err != nil {
			return err
		}
		pos = hi
	}
	if err := s.checkValues(s.values[first:], at); err != nil {
		return err
	}
	stack, err := s.stackOf(packed, at)
	if err != nil {
		return err
	}
	s.stacks = append(s.stacks, stack)
	return s.addLabels(labels)
}

// stackOf returns the stack of the sample at hand: of the packed locations, or
// of those that were decoded already.
func (s *samples) stackOf(packed span, at int) (profile.StackID, error) {
	if packed.lo == packed.hi {
		return s.stack(at)
	}
	slot, st, seen := s.seen.find(s.msg[packed.lo:packed.hi])
	if seen {
		return st, nil
	}
	if err := s.packedLocations(packed); err != nil {
		return 0, err
	}
	st, err := s.stack(at)
	slot.set(st)
	return st, err
}

// addLabels appends to the columns of labels and threads, which stay empty up
// to the first sample that has any.
func (s *samples) addLabels(labels span) error {
	if labels.hi == 0 && len(s.labels) == 0 {
		return nil
	}
	var ref labelRef
	if labels.hi > 0 {
		var err error
		if ref, err = s.sets.find(labels); err != nil {
			return err
		}
	}
	for len(s.labels) < len(s.stacks)-1 {
		s.labels, s.threads = append(s.labels, 0), append(s.threads, 0)
	}
	s.labels, s.threads = append(s.labels, ref.labels), append(s.threads, ref.thread)
	return nil
}

// packedLocations appends the entries of packed ids to s.ids.
func (s *samples) packedLocations(sp span) error {
	ids := slices.Grow(s.ids, sp.hi-sp.lo)
	msg := s.msg[:sp.hi]
	var n uint64 // ids up to which id-1 is the entry
	if s.locationIDs.inRow {
		n = s.locationIDs.n
	}
	for pos := sp.lo; pos < len(msg); {
		id := uint64(msg[pos])
		if id < 0x80 {
			pos++
		} else if pos+1 < len(msg) && msg[pos+1] < 0x80 {
			id = id&0x7f | uint64(msg[pos+1])<<7
			pos += 2
		} else {
			var err error
			if id, pos, err = wire.Uvarint(msg, pos, sp.hi); err != nil {
				return err
			}
		}
		if id-1 < n {
			ids = append(ids, int32(id-1))
			continue
		}
		ids = append(ids, s.location(id))
	}
	s.ids = ids
	return nil
}

// location returns the entry of an id, that of the unknown location if there is none.
func (s *samples) location(id uint64) int32 {
	i, ok := s.locationIDs.find(id)
	if !ok {
		s.found.locations++
		return s.unknown
	}
	return i
}

func (s *samples) packedValues(pos, end int) error {
	for pos < end {
		v, next, err := wire.Uvarint(s.msg, pos, end)
		if err != nil {
			return err
		}
		s.values = append(s.values, int64(v))
		pos = next
	}
	return nil
}

// checkValues checks the values of one sample and that no sum over the samples
// up to here can overflow.
func (s *samples) checkValues(values []int64, at int) error {
	if len(values) != len(s.types) {
		return protobuf.Malformed(at, "a sample with %d values for %d types", len(values), len(s.types))
	}
	for i, v := range values {
		if v < 0 {
			v = -v // the smallest int64 stays negative and is far over the limit below
		}
		if s.sums[i] += uint64(v); s.sums[i] > math.MaxInt64 {
			return protobuf.Malformed(at, "the sum of the values exceeds 63 bits")
		}
	}
	return nil
}

// fewFrames is how many locations may be new behind those of the last sample so
// that walking on is cheaper than asking for the whole stack.
const fewFrames = 3

// stack returns the stack of the locations in s.ids.
func (s *samples) stack(at int) (profile.StackID, error) {
	n := len(s.ids)
	if n*max(1, s.maxLines) > s.limits.Depth {
		if err := s.checkDepth(s.ids, at); err != nil {
			return 0, err
		}
	}
	same, m := 0, len(s.last)
	for same < n && same < m && s.ids[n-1-same] == s.last[m-1-same] {
		same++
	}
	if n-same <= fewFrames {
		return s.walk(same, at)
	}
	hash := s.seed
	for _, i := range s.ids {
		x := &s.extensions[i]
		if x.first < 0 {
			if err := s.resolve(x, i); err != nil {
				return 0, err
			}
		}
		hash = hash.add(x.hash)
	}
	slot, st, ok := s.warm.stacks.find(hash.a, uint32(hash.b))
	if ok {
		return st, nil
	}
	st, err := s.walk(same, at)
	if err != nil {
		return 0, err
	}
	slot.set(st)
	return st, nil
}

// walk returns the stack of the locations in s.ids, of which the outermost same
// are those of s.last, and makes them s.last.
func (s *samples) walk(same, at int) (profile.StackID, error) {
	ids, n := s.ids, len(s.ids)
	if len(s.lastAt) < n {
		s.lastAt = append(s.lastAt, make([]profile.StackID, n-len(s.lastAt))...)
	}
	st := profile.NoStack
	if same > 0 {
		st = s.lastAt[same-1]
	}
	for k := same; k < n; k++ {
		x := &s.extensions[ids[n-1-k]]
		if x.parent != st {
			if err := s.extend(x, ids[n-1-k], st, at); err != nil {
				return 0, err
			}
		}
		st = x.stack
		s.lastAt[k] = st
	}
	s.last, s.ids = ids, s.last
	return st, nil
}

func (s *samples) checkDepth(ids []int32, at int) error {
	depth := 0
	for _, i := range ids {
		l := &s.locations[i]
		depth += max(1, int(l.linesEnd-l.lines))
	}
	if depth > s.limits.Depth {
		err := profile.TooDeep(s.limits.Depth)
		return &profile.ParseError{Offset: int64(at), Err: err}
	}
	return nil
}

// extend calls location i from the stack parent, and remembers the result.
func (s *samples) extend(x *extension, i int32, parent profile.StackID, at int) error {
	if x.first < 0 {
		if err := s.resolve(x, i); err != nil {
			return err
		}
	}
	if err := s.spend(int(x.n), at); err != nil {
		return err
	}
	st := parent
	for _, fr := range s.frames[x.first : x.first+x.n] {
		st = s.symbols.Stack(st, fr)
	}
	x.parent, x.stack = parent, st
	return nil
}

// fill moves the rows into the tables of p, one per value type.
func (s *samples) fill(p *profile.Profile) {
	types := len(p.Tables)
	for i := range p.Tables {
		n, labels, threads := 0, false, false
		for row := range s.stacks {
			if s.values[row*types+i] != 0 {
				n++
				labels = labels || row < len(s.labels) && s.labels[row] != 0
				threads = threads || row < len(s.threads) && s.threads[row] != 0
			}
		}
		t := &p.Tables[i]
		before := t.Len()
		t.Stack, t.Value = slices.Grow(t.Stack, n), slices.Grow(t.Value, n)
		if t.Labels == nil && labels {
			t.Labels = make([]profile.LabelsID, before, before+n)
		}
		if t.Thread == nil && threads {
			t.Thread = make([]profile.ThreadID, before, before+n)
		}
		for row, st := range s.stacks {
			v := s.values[row*types+i]
			if v == 0 {
				continue
			}
			t.Add(st, v)
			var ref labelRef
			if row < len(s.labels) {
				ref = labelRef{s.labels[row], s.threads[row]}
			}
			if t.Labels != nil {
				t.Labels = append(t.Labels, ref.labels)
			}
			if t.Thread != nil {
				t.Thread = append(t.Thread, ref.thread)
			}
		}
		t.Bound(s.limits)
	}
	s.stacks, s.threads, s.labels, s.values = s.stacks[:0], s.threads[:0], s.labels[:0], s.values[:0]
}
