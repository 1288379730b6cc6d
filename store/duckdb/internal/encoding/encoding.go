// Package encoding is how a vector, the self values of a profile over the paths of a forest, is
// written into a blob of the file: the byte form that store/duckdb/FORMAT.md describes.
//
// A decoder believes nothing that it reads: paths are below the size of the forest, and memory
// is in proportion to the blob. The package knows no table and no forest; how decoded rows and
// vectors are kept in memory is the business of package profiles.
package encoding

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// A vector is stored as
//
//	uvarint n       number of entries; nothing follows when there are none
//	uvarint 2g + s  g: greatest common divisor of the values, 1 if that is 2^62 or more;
//	                s: 1 if some are negative
//	sequence        of each entry the path id minus its predecessor minus 1
//	sequence        of each entry the value: divided by g, then zigzag if s, then minus 1
//
// Path ids ascend, and no value is 0. Dividing by g makes nanoseconds of a sampling
// profiler, which are multiples of its period, as small as sample counts. A sequence
// is a byte, the order k of its codes, and then an exponential Golomb code of each
// number (J. Teuhola, A compression method for clustered bit-vectors, 1978): small
// numbers take few bits, and nothing needs a table.
//
// The code of order k of u is y = u + 2^k in binary behind as many zeros as y has
// bits more than k + 1. Where those would be escape zeros or more, there are escape
// of them and then u in 64 bits. Codes follow each other from the highest bit of a
// byte to the lowest; the last byte is filled with zeros.
const (
	escape   = 16
	maxOrder = 40 // so that a code without its zeros is less than a word
)

// Encoder encodes vectors. It reuses its memory; the zero value is ready.
type Encoder struct {
	gaps, values []uint64
	buf          []byte
}

// Encode returns ascending paths and their values, none of them 0, as a vector.
func (e *Encoder) Encode(paths []int32, self []int64) []byte {
	n := len(paths)
	e.gaps, e.values = sized(e.gaps, n), sized(e.values, n)
	prev := int32(-1)
	for i, p := range paths {
		e.gaps[i] = uint64(uint32(p - prev - 1))
		prev = p
	}
	g, sign := Divisor(self)
	for i, v := range self {
		if g > 1 {
			v /= g
		}
		e.values[i] = (uint64(v)<<sign ^ uint64(v>>63)) - 1
	}
	e.buf = sized(e.buf, 2*binary.MaxVarintLen64+2*sequenceSize(n))
	at := binary.PutUvarint(e.buf, uint64(n))
	if n > 0 {
		at += binary.PutUvarint(e.buf[at:], uint64(g)<<1|uint64(sign))
		at += encodeSequence(e.buf[at:], e.gaps)
		at += encodeSequence(e.buf[at:], e.values)
	}
	blob := append([]byte(nil), e.buf[:at]...)
	if n > maxKept {
		*e = Encoder{}
	}
	return blob
}

// maxKept is the maximum number of entries for which an encoder keeps memory, 36 bytes
// each.
const maxKept = 1 << 18

// Divisor returns the greatest common divisor of values other than 0, at least 1,
// and whether some are negative, as 0 or 1.
func Divisor(values []int64) (g int64, sign uint) {
	d := uint64(0)
	for _, v := range values {
		if v < 0 {
			sign = 1
		}
		for a := Magnitude(v); a != 0 && d != 1; {
			d, a = a, d%a
		}
	}
	if d == 0 || d > math.MaxInt64>>1 {
		d = 1
	}
	return int64(d), sign
}

// Magnitude returns the absolute value, also of the smallest int64.
func Magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// sequenceSize returns the size of the buffer that encodeSequence needs for n numbers:
// a code has at most 10 bytes, and it writes a word at a time.
func sequenceSize(n int) int { return 10*n + 16 }

// encodeSequence writes numbers to dst and returns the number of bytes.
func encodeSequence(dst []byte, numbers []uint64) int {
	order := bestOrder(numbers)
	dst[0] = byte(order)
	at, n, acc := 1, uint(0), uint64(0)
	for _, u := range numbers {
		y := u + 1<<order
		length := uint(bits.Len64(y))
		zeros := length - order - 1
		switch size := zeros + length; {
		case y <= u || zeros >= escape:
			at, n, acc = putBits(dst, at, n, acc, 0, escape)
			at, n, acc = putBits(dst, at, n, acc, u>>32, 32)
			at, n, acc = putBits(dst, at, n, acc, u&math.MaxUint32, 32)
		case size > 56:
			at, n, acc = putBits(dst, at, n, acc, 0, zeros)
			at, n, acc = putBits(dst, at, n, acc, y, length)
		default:
			at, n, acc = putBits(dst, at, n, acc, y, size)
		}
	}
	return at + int(n+7)/8
}

// putBits writes the lowest bits of v, at most 56, the others of which are 0, behind
// the n bits at the top of acc, which are those from byte at on.
func putBits(dst []byte, at int, n uint, acc, v uint64, size uint) (int, uint, uint64) {
	n += size
	acc |= v << ((64 - n) & 63)
	binary.BigEndian.PutUint64(dst[at:], acc)
	return at + int(n>>3), n & 7, acc << (n &^ 7 & 63)
}

// bestOrder returns an order for which the codes of numbers are short: the mean length
// of a number in bits, less one. Codes of real profiles are within 1 % of the
// shortest.
func bestOrder(numbers []uint64) uint {
	sum, n := 0, len(numbers)
	for _, u := range numbers {
		sum += bits.Len64(u)
	}
	return uint(min(max((2*sum+n)/(2*n)-1, 0), maxOrder))
}

// Decode decodes a vector into the memory of buf. Paths must be below
// limit, the size of the forest.
func Decode(blob []byte, limit int, buf calltree.Vector) (calltree.Vector, error) {
	n, i := binary.Uvarint(blob)
	if i > 0 && n == 0 && i == len(blob) {
		return calltree.Vector{Nodes: buf.Nodes[:0], Self: buf.Self[:0]}, nil
	}
	g, j := binary.Uvarint(blob[max(i, 0):])
	sign := g & 1
	if g >>= 1; i <= 0 || j <= 0 || n == 0 || g == 0 || n > uint64(len(blob))*4 { // two codes are two bits at least
		return calltree.Vector{}, driver.Corruptf("a call tree's header makes no sense")
	}
	v := calltree.Vector{Nodes: sized(buf.Nodes, int(n)), Self: sized(buf.Self, int(n))}
	last, rest, ok := decodeSums(v.Nodes, blob[i+j:], -1, math.MaxInt32)
	if ok = ok && last < int64(limit); ok {
		_, rest, ok = decodeSums(v.Self, rest, 0, math.MaxUint64)
	}
	if !ok || len(rest) > 0 {
		return calltree.Vector{}, driver.Corruptf("a call tree of %d entries cannot be read", n)
	}
	before := int64(0)
	if sign == 0 {
		for k, sum := range v.Self {
			v.Self[k], before = (sum-before)*int64(g), sum
		}
		return v, nil
	}
	for k, sum := range v.Self {
		q := uint64(sum - before)
		v.Self[k], before = int64(q>>1^-(q&1))*int64(g), sum
	}
	return v, nil
}

// Quotient returns v ÷ divisor, which is 1 in most columns: a division takes ten times as
// long as the rest of packing.
func Quotient(v, divisor int64) int64 {
	if divisor == 1 {
		return v
	}
	return v / divisor
}

// decodeSums decodes len(dst) numbers, none above maximum, and adds each and 1 to sum:
// dst has the sums. It returns the last one and the rest of b.
func decodeSums[T int32 | int64](dst []T, b []byte, sum int64, maximum uint64) (last int64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] > maxOrder {
		return 0, nil, false
	}
	order, b := uint(b[0]), b[1:]
	table := codeTables[min(order, window)]()
	at := uint(0) // bit of b
	for k := 0; k < len(dst); {
		w, first := bitsAt(b, at), k
		for n := 0; n < 57/window && k+tableCodes <= len(dst); n++ {
			e := table[w>>(64-window)]
			if e == 0 {
				break
			}
			d := dst[k : k+tableCodes]
			d[0] = T(sum + int64(e>>8&(1<<window-1)))
			d[1] = T(sum + int64(e>>(8+window)&(1<<window-1)))
			d[2] = T(sum + int64(e>>(8+2*window)&(1<<window-1)))
			sum += int64(e >> (8 + 3*window) & (1<<window - 1))
			d[3] = T(sum)
			size := uint(e & 15)
			w <<= size & 63
			at += size
			k += int(e >> 4 & 15)
		}
		if k == first {
			var u uint64
			if u, at = longCode(b, at, order); u > maximum {
				return 0, nil, false
			}
			sum += int64(u + 1)
			dst[k] = T(sum)
			k++
		}
	}
	end := (at + 7) / 8
	if end > uint(len(b)) {
		return 0, nil, false
	}
	return sum, b[end:], true
}

// A codeTable has, for the next bits of a sequence, the complete codes in them: the
// number of their bits (4 bits), the number of codes (4 bits), and for each of
// tableCodes the running sum of the numbers plus 1, which stays the same after the last.
// Zero: the first code is longer. Short codes cost a third this way.
type codeTable [1 << window]uint64

const (
	window     = 12
	tableCodes = 4
)

// codeTables are the tables of each order, made when they are first used.
var codeTables = func() (list [window + 1]func() *codeTable) {
	for order := range list {
		list[order] = sync.OnceValue(func() *codeTable { return newCodeTable(uint(order)) })
	}
	return list
}()

func newCodeTable(order uint) *codeTable {
	t := new(codeTable)
	for i := range t {
		w, used, codes, sum := uint64(i)<<(64-window), uint(0), uint64(0), uint64(0)
		for field := range tableCodes {
			if size := 2*uint(bits.LeadingZeros64(w)) + 1 + order; used+size <= window {
				sum += w>>(64-size) - 1<<order + 1
				w <<= size
				used += size
				codes++
			}
			t[i] |= sum << (8 + window*field)
		}
		if t[i] |= codes<<4 | uint64(used); codes == 0 {
			t[i] = 0
		}
	}
	return t
}

// longCode decodes a code at a bit that may be an escape or longer than the result of
// bitsAt, and returns the bit after it.
func longCode(b []byte, at, order uint) (u uint64, end uint) {
	zeros := uint(bits.LeadingZeros64(bitsAt(b, at)))
	if zeros >= escape {
		at += escape
		return bitsAt(b, at)>>32<<32 | bitsAt(b, at+32)>>32, at + 64
	}
	at += zeros
	length := zeros + 1 + order
	return bitsAt(b, at)>>(64-length) - 1<<order, at + length
}

// bitsAt returns at least 57 bits from a bit on, highest first; zeros follow the end.
func bitsAt(b []byte, at uint) uint64 {
	if i := at >> 3; i+8 <= uint(len(b)) {
		return binary.BigEndian.Uint64(b[i:]) << (at & 7)
	}
	var word [8]byte
	if i := at >> 3; i < uint(len(b)) {
		copy(word[:], b[i:])
	}
	return binary.BigEndian.Uint64(word[:]) << (at & 7)
}

// sized returns a slice of length n, in the memory of s if it is large enough.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
