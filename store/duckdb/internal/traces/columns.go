package traces

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// The snapshots of one task and segment that came together are stored as
// columns of equally many numbers, one behind the other:
//
//	sequence   each less its predecessor and 1, the first less 0: 0 in an unbroken run
//	time       each less its predecessor less the difference before: 0 at an even pace
//	path       each less its predecessor, plus 0; the predecessor of the first is 0
//	count      each as it is; of Go profiles only
//	nanos      each as it is; of Go profiles only
//
// Numbers are zigzag varints, and differences wrap around at 64 bits, so that
// every number has one. Runs of numbers below 64 are decoded eight at a time.

// appendSnapshots encodes the columns of s.
func appendSnapshots(dst []byte, s *traceprof.Snapshots) []byte {
	put := func(v int64) { dst = binary.AppendVarint(dst, v) }
	before := int64(-1)
	for _, q := range s.Sequence {
		put(int64(q) - before - 1)
		before = int64(q)
	}
	last, pace := int64(0), int64(0)
	for _, t := range s.Time {
		put(t - last - pace)
		last, pace = t, t-last
	}
	before = 0
	for _, p := range s.Path {
		put(int64(p) - before)
		before = int64(p)
	}
	for _, column := range [][]int64{s.Count, s.Nanos} {
		for _, v := range column {
			put(v)
		}
	}
	return dst
}

// snapshotDecoder appends decoded columns to a value. It reuses its memory.
type snapshotDecoder struct {
	stacks  *stackCache
	numbers []int64
}

// appendTo decodes n snapshots and appends them to s. Paths must be below limit.
func (d *snapshotDecoder) appendTo(s *traceprof.Snapshots, blob []byte, n int, limit int) error {
	columns := 3
	if s.Language == traceprof.GoProfiles {
		columns = 5
	}
	if n < 0 || n > len(blob)/columns {
		return driver.Corruptf("%d snapshots of segment %q in %d bytes", n, s.Segment, len(blob))
	}
	d.numbers = slices.Grow(d.numbers[:0], columns*n)[:columns*n]
	rest, ok := decodeNumbers(blob, d.numbers)
	if !ok || len(rest) > 0 {
		return driver.Corruptf("%d snapshots of segment %q cannot be read", n, s.Segment)
	}
	from := s.Len()
	s.Sequence, s.Time, s.Path = slices.Grow(s.Sequence, n)[:from+n], slices.Grow(s.Time, n)[:from+n], slices.Grow(s.Path, n)[:from+n]
	before, low, high := int64(-1), int64(0), int64(0)
	for i, v := range d.numbers[:n] {
		before += v + 1
		low, high = min(low, before), max(high, before)
		s.Sequence[from+i] = int32(before)
	}
	if low < math.MinInt32 || high > math.MaxInt32 {
		return driver.Corruptf("segment %q has a snapshot of a sequence outside of 32 bits", s.Segment)
	}
	last, pace := int64(0), int64(0)
	for i, v := range d.numbers[n : 2*n] {
		pace += v
		last += pace
		s.Time[from+i] = last
	}
	before, low, high = 0, 0, -1
	for i, v := range d.numbers[2*n : 3*n] {
		before += v
		low, high = min(low, before), max(high, before)
		s.Path[from+i] = int32(before)
	}
	if low < int64(calltree.NoNode) || high >= int64(limit) {
		return driver.Corruptf("segment %q has a snapshot of a stack that is not there", s.Segment)
	}
	if columns > 3 {
		s.Count, s.Nanos = append(s.Count, d.numbers[3*n:4*n]...), append(s.Nanos, d.numbers[4*n:]...)
	}
	return nil
}

// oneByte has the high bit of each byte: a word with none of these bits is eight
// varints of one byte.
const oneByte = 0x8080808080808080

// decodeNumbers decodes len(dst) zigzag varints and returns the rest of b.
func decodeNumbers(b []byte, dst []int64) ([]byte, bool) {
	i := 0
	for k := 0; k < len(dst); {
		if i+8 <= len(b) && k+8 <= len(dst) {
			if w := binary.LittleEndian.Uint64(b[i:]); w&oneByte == 0 {
				d := dst[k : k+8 : k+8]
				for x := range d {
					u := int64(w & 0x7f)
					d[x] = u>>1 ^ -(u & 1)
					w >>= 8
				}
				i, k = i+8, k+8
				continue
			}
		}
		v, size := binary.Varint(b[i:])
		if size <= 0 {
			return nil, false
		}
		dst[k] = v
		i, k = i+size, k+1
	}
	return b[i:], true
}
