package profiles

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// packedVector is the vector of one profile over the store's forest as the cache keeps it:
// in 2 or 3 bytes per entry if most paths are near each other and most values, divided by
// their greatest common divisor, small. It is read four times as fast as the stored form.
type packedVector struct {
	gaps    []byte // of the paths, see appendGap
	divisor int64

	// The values divided by the divisor, or their lowest bits: one of these.
	small []uint8
	mid   []uint32
	rest  calltree.Vector // what is missing of some values
}

// farGap is a byte in place of a gap that does not fit; the gap follows in four bytes.
const farGap = math.MaxUint8

// appendGap appends the number of paths between two neighbours of a vector.
func appendGap(gaps []byte, gap uint32) []byte {
	if gap < farGap {
		return append(gaps, byte(gap))
	}
	return binary.LittleEndian.AppendUint32(append(gaps, farGap), gap)
}

// gapAt returns the gap at a position and the position of the next one.
func gapAt(gaps []byte, at int) (gap int32, next int) {
	if gap := gaps[at]; gap != farGap {
		return int32(gap), at + 1
	}
	return int32(binary.LittleEndian.Uint32(gaps[at+1:])), at + 5
}

// packed returns a copy of v.
func packed(v calltree.Vector) packedVector {
	var p packedVector
	p.gaps = make([]byte, 0, len(v.Nodes)+len(v.Nodes)/32)
	before := int32(-1)
	for _, n := range v.Nodes {
		p.gaps = appendGap(p.gaps, uint32(n-before-1))
		before = n
	}
	p.gaps = slices.Clip(p.gaps)
	p.divisor, _ = divisor(v.Self)
	large := 0
	for _, x := range v.Self {
		if q := x / p.divisor; q < 0 || q > math.MaxUint8 {
			large++
		}
	}
	if large <= len(v.Self)/4 {
		p.small, p.rest = packValues[uint8](v, p.divisor)
	} else {
		p.mid, p.rest = packValues[uint32](v, p.divisor)
	}
	return p
}

func packValues[T uint8 | uint32](v calltree.Vector, divisor int64) (low []T, rest calltree.Vector) {
	low = make([]T, len(v.Self))
	for i, x := range v.Self {
		low[i] = T(x / divisor)
		if missing := x - int64(low[i])*divisor; missing != 0 {
			rest.Nodes, rest.Self = append(rest.Nodes, v.Nodes[i]), append(rest.Self, missing)
		}
	}
	return low, calltree.Vector{Nodes: slices.Clip(rest.Nodes), Self: slices.Clip(rest.Self)}
}

// addTo adds the vector to a sum over the forest.
func (p *packedVector) addTo(sum *pathSum) {
	if p.mid != nil {
		addPacked(sum, p.gaps, p.mid, p.divisor)
	} else {
		addPacked(sum, p.gaps, p.small, p.divisor)
	}
	for i, n := range p.rest.Nodes {
		sum.self[n] += p.rest.Self[i]
	}
}

func addPacked[T uint8 | uint32](sum *pathSum, gaps []byte, low []T, divisor int64) {
	n, at := int32(-1), 0
	for _, q := range low {
		var gap int32
		gap, at = gapAt(gaps, at)
		n += gap + 1
		sum.add(n, int64(q)*divisor)
	}
}

// vector returns the vector in the memory of buf.
func (p *packedVector) vector(buf *calltree.Vector) calltree.Vector {
	if p.mid != nil {
		unpack(buf, p.gaps, p.mid, p.divisor)
	} else {
		unpack(buf, p.gaps, p.small, p.divisor)
	}
	k := 0
	for i, n := range p.rest.Nodes {
		for buf.Nodes[k] != n {
			k++
		}
		buf.Self[k] += p.rest.Self[i]
	}
	return *buf
}

func unpack[T uint8 | uint32](buf *calltree.Vector, gaps []byte, low []T, divisor int64) {
	buf.Nodes, buf.Self = sized(buf.Nodes, len(low)), sized(buf.Self, len(low))
	n, at := int32(-1), 0
	for i, q := range low {
		var gap int32
		gap, at = gapAt(gaps, at)
		n += gap + 1
		buf.Nodes[i], buf.Self[i] = n, int64(q)*divisor
	}
}

func (p packedVector) bytes() int64 {
	return int64(len(p.gaps) + len(p.small) + 4*len(p.mid) + 12*len(p.rest.Nodes) + 300)
}
