package duckdb

import (
	"encoding/binary"
	"math"

	"github.com/dendroprof/dendro/calltree"
)

// A vector is stored as
//
//	uvarint n         number of entries
//	uvarint g         greatest common divisor of the values; 1 when n is 0
//	n × uvarint       path ids, ascending: the id minus its predecessor minus 1
//	n × uvarint       values divided by g, zigzag
//
// All ids before all values, because runs of one-byte numbers are decoded eight
// at a time. Dividing by g makes nanoseconds of a sampling profiler, which are
// multiples of its period, as small as sample counts.

// appendVector encodes ascending paths and their values, none of them 0.
func appendVector(dst []byte, paths []int32, self []int64) []byte {
	g := divisor(self)
	dst = binary.AppendUvarint(dst, uint64(len(paths)))
	dst = binary.AppendUvarint(dst, g)
	prev := int32(-1)
	for _, p := range paths {
		dst = binary.AppendUvarint(dst, uint64(p-prev-1))
		prev = p
	}
	if g == 1 {
		for _, v := range self {
			dst = binary.AppendUvarint(dst, uint64(v)<<1^uint64(v>>63))
		}
		return dst
	}
	for _, v := range self {
		q := v / int64(g)
		dst = binary.AppendUvarint(dst, uint64(q)<<1^uint64(q>>63))
	}
	return dst
}

// divisor returns the greatest common divisor of the values, at least 1.
func divisor(values []int64) uint64 {
	g := uint64(0)
	for _, v := range values {
		a := magnitude(v)
		for a != 0 {
			g, a = a, g%a
		}
		if g == 1 {
			return 1
		}
	}
	return max(g, 1)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// decodeVector decodes a vector into the memory of buf. Paths must be below
// limit, the size of the forest.
func decodeVector(blob []byte, limit int, buf calltree.Vector) (calltree.Vector, error) {
	n, i := binary.Uvarint(blob)
	g, j := binary.Uvarint(blob[max(i, 0):])
	if i <= 0 || j <= 0 || n > uint64(len(blob)) || g == 0 || g > math.MaxInt64 {
		return calltree.Vector{}, corruptf("a call tree's header makes no sense")
	}
	v := calltree.Vector{Nodes: grown(buf.Nodes, int(n)), Self: grown(buf.Self, int(n))}
	rest, ok := decodePaths(blob[i+j:], v.Nodes, limit)
	if ok {
		rest, ok = decodeValues(rest, v.Self, int64(g))
	}
	if !ok || len(rest) > 0 {
		return calltree.Vector{}, corruptf("a call tree of %d entries cannot be read", n)
	}
	return v, nil
}

// grown returns a slice of length n, in the memory of s if it is large enough.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// oneByte has the high bit of each byte: a word that has none of them is eight
// varints of one byte.
const oneByte = 0x8080808080808080

func decodePaths(b []byte, dst []int32, limit int) ([]byte, bool) {
	prev := int64(-1)
	i := 0
	for k := 0; k < len(dst); {
		if i+8 <= len(b) && k+8 <= len(dst) {
			if w := binary.LittleEndian.Uint64(b[i:]); w&oneByte == 0 {
				d := dst[k : k+8 : k+8]
				for x := range d {
					prev += int64(w&0x7f) + 1
					d[x] = int32(prev)
					w >>= 8
				}
				i, k = i+8, k+8
				continue
			}
		}
		u, size := binary.Uvarint(b[i:])
		if size <= 0 || u > math.MaxInt32 {
			return nil, false
		}
		prev += int64(u) + 1
		dst[k] = int32(prev)
		i, k = i+size, k+1
	}
	return b[i:], prev < int64(limit)
}

func decodeValues(b []byte, dst []int64, g int64) ([]byte, bool) {
	i := 0
	for k := 0; k < len(dst); {
		if i+8 <= len(b) && k+8 <= len(dst) {
			if w := binary.LittleEndian.Uint64(b[i:]); w&oneByte == 0 {
				d := dst[k : k+8 : k+8]
				for x := range d {
					u := int64(w & 0x7f)
					d[x] = (u>>1 ^ -(u & 1)) * g
					w >>= 8
				}
				i, k = i+8, k+8
				continue
			}
		}
		u, size := binary.Uvarint(b[i:])
		if size <= 0 {
			return nil, false
		}
		dst[k] = int64(u>>1^-(u&1)) * g
		i, k = i+size, k+1
	}
	return b[i:], true
}
