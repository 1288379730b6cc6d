package profiles

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// The cache keeps ascending numbers (paths, functions) as the gaps between them, a byte
// each, and values in a byte or two if they are small, which most are. They are read four
// times as fast as the stored form, and take a fourth of plain columns.

// farGap is a byte in place of a gap that does not fit; the gap follows in four bytes.
const farGap = math.MaxUint8

// packKeys returns the gaps before ascending keys.
func packKeys(keys []int32) []byte {
	gaps := make([]byte, 0, len(keys)+len(keys)/32)
	before := int32(-1)
	for _, key := range keys {
		if gap := uint32(key - before - 1); gap < farGap {
			gaps = append(gaps, byte(gap))
		} else {
			gaps = binary.LittleEndian.AppendUint32(append(gaps, farGap), gap)
		}
		before = key
	}
	return slices.Clip(gaps)
}

// gapAt returns the gap at a position and the position of the next one.
func gapAt(gaps []byte, at int) (gap int32, next int) {
	if gap := gaps[at]; gap != farGap {
		return int32(gap), at + 1
	}
	return int32(binary.LittleEndian.Uint32(gaps[at+1:])), at + 5
}

// unpackKeys reads len(keys) keys.
func unpackKeys(keys []int32, gaps []byte) {
	key, at := int32(-1), 0
	for i := range keys {
		var gap int32
		gap, at = gapAt(gaps, at)
		key += gap + 1
		keys[i] = key
	}
}

// packedColumn is a column of values divided by their greatest common divisor: one of the
// slices has all of them or their lowest bits.
type packedColumn struct {
	divisor int64
	byte1   []uint8
	byte2   []uint16
	byte4   []uint32
	rest    calltree.Vector // what is missing of the value of a key
}

// packColumn returns the values of ascending keys in few bytes.
func packColumn(keys []int32, values []int64) packedColumn {
	var c packedColumn
	c.divisor, _ = encoding.Divisor(values)
	var beyond1, beyond2 int
	for _, v := range values {
		if q := uint64(encoding.Quotient(v, c.divisor)); q > math.MaxUint8 {
			beyond1++
			if q > math.MaxUint16 {
				beyond2++
			}
		}
	}
	const restBytes = 12
	n := len(values)
	switch one, two := n+restBytes*beyond1, 2*n+restBytes*beyond2; {
	case one <= min(two, 4*n):
		c.byte1, c.rest = packValues[uint8](keys, values, c.divisor)
	case two <= 4*n:
		c.byte2, c.rest = packValues[uint16](keys, values, c.divisor)
	default:
		c.byte4, c.rest = packValues[uint32](keys, values, c.divisor)
	}
	return c
}

func packValues[T uint8 | uint16 | uint32](keys []int32, values []int64, divisor int64) (low []T, rest calltree.Vector) {
	low = make([]T, len(values))
	for i, v := range values {
		low[i] = T(encoding.Quotient(v, divisor))
		if missing := v - int64(low[i])*divisor; missing != 0 {
			rest.Nodes, rest.Self = append(rest.Nodes, keys[i]), append(rest.Self, missing)
		}
	}
	return low, calltree.Vector{Nodes: slices.Clip(rest.Nodes), Self: slices.Clip(rest.Self)}
}

// unpack reads the values of all keys.
func (c *packedColumn) unpack(values []int64, keys []int32) {
	switch {
	case c.byte1 != nil:
		unpackValues(values, c.byte1, c.divisor)
	case c.byte2 != nil:
		unpackValues(values, c.byte2, c.divisor)
	default:
		unpackValues(values, c.byte4, c.divisor)
	}
	k := 0
	for i, key := range c.rest.Nodes {
		for keys[k] != key {
			k++
		}
		values[k] += c.rest.Self[i]
	}
}

func unpackValues[T uint8 | uint16 | uint32](values []int64, low []T, divisor int64) {
	values = values[:len(low)]
	for i, q := range low {
		values[i] = int64(q) * divisor
	}
}

// at returns the value at a position, which has a key.
func (c *packedColumn) at(i int, key int32) int64 {
	var v int64
	switch {
	case c.byte1 != nil:
		v = int64(c.byte1[i])
	case c.byte2 != nil:
		v = int64(c.byte2[i])
	default:
		v = int64(c.byte4[i])
	}
	v *= c.divisor
	if k, ok := slices.BinarySearch(c.rest.Nodes, key); ok {
		v += c.rest.Self[k]
	}
	return v
}

func (c *packedColumn) len() int { return len(c.byte1) + len(c.byte2) + len(c.byte4) }

func (c *packedColumn) bytes() int64 {
	return int64(len(c.byte1) + 2*len(c.byte2) + 4*len(c.byte4) + 12*len(c.rest.Nodes) + 128)
}

// packedVector is the vector of one profile over the store's forest, in 2 or 3 bytes per
// entry.
type packedVector struct {
	gaps   []byte
	values packedColumn
}

// packed returns a copy of v.
func packed(v calltree.Vector) *packedVector {
	return &packedVector{packKeys(v.Nodes), packColumn(v.Nodes, v.Self)}
}

// addTo adds the vector to a sum over the forest.
func (p *packedVector) addTo(sum *pathSum) {
	switch c := &p.values; {
	case c.byte1 != nil:
		addPacked(sum, p.gaps, c.byte1, c.divisor)
	case c.byte2 != nil:
		addPacked(sum, p.gaps, c.byte2, c.divisor)
	default:
		addPacked(sum, p.gaps, c.byte4, c.divisor)
	}
	for i, n := range p.values.rest.Nodes {
		sum.self[n] += p.values.rest.Self[i]
	}
}

func addPacked[T uint8 | uint16 | uint32](sum *pathSum, gaps []byte, low []T, divisor int64) {
	path, at := int32(-1), 0
	for _, q := range low {
		var gap int32
		gap, at = gapAt(gaps, at)
		path += gap + 1
		sum.add(path, int64(q)*divisor)
	}
}

// vector returns the vector in the memory of buf.
func (p *packedVector) vector(buf *calltree.Vector) calltree.Vector {
	n := p.values.len()
	buf.Nodes, buf.Self = sized(buf.Nodes, n), sized(buf.Self, n)
	unpackKeys(buf.Nodes, p.gaps)
	p.values.unpack(buf.Self, buf.Nodes)
	return *buf
}

func (p *packedVector) bytes() int64 { return int64(len(p.gaps)) + p.values.bytes() + 64 }

// packedRows are the rows of functions of one profile, by function, in about 5 bytes each.
type packedRows struct {
	gaps        []byte // of the functions
	self, total packedColumn
}

// packRows packs the rows of one profile, in any order.
func packRows(rows *columns) *packedRows {
	order := column.Places[int32](len(rows.fn))
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(rows.fn[a], rows.fn[b]) })
	fns := column.Pick(rows.fn, order)
	return &packedRows{packKeys(fns), packColumn(fns, column.Pick(rows.self, order)), packColumn(fns, column.Pick(rows.total, order))}
}

// unpack appends the rows to r, as those of the profile at a position: all, or those of some
// functions, ascending.
func (p *packedRows) unpack(r *columns, profile int32, fns []int32) {
	n, from := p.self.len(), len(r.fn)
	if fns == nil {
		r.profile, r.fn = append(r.profile, slices.Repeat([]int32{profile}, n)...), slices.Grow(r.fn, n)[:from+n]
		r.self, r.total = slices.Grow(r.self, n)[:from+n], slices.Grow(r.total, n)[:from+n]
		unpackKeys(r.fn[from:], p.gaps)
		p.self.unpack(r.self[from:], r.fn[from:])
		p.total.unpack(r.total[from:], r.fn[from:])
		return
	}
	fn, at := int32(-1), 0
	for i := 0; i < n && len(fns) > 0; i++ {
		var gap int32
		gap, at = gapAt(p.gaps, at)
		fn += gap + 1
		for len(fns) > 0 && fns[0] < fn {
			fns = fns[1:]
		}
		if len(fns) > 0 && fns[0] == fn {
			r.add(profile, fn, p.self.at(i, fn), p.total.at(i, fn))
		}
	}
}

func (p *packedRows) bytes() int64 { return int64(len(p.gaps)) + p.self.bytes() + p.total.bytes() + 64 }
