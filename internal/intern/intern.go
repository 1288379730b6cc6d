// Package intern maps values, such as functions and frames, to their numbers in a table of
// their owner.
//
// An Index is an open-addressing table of 8 bytes per slot: four of the hash and four of
// the number. Adding a new value accesses one cache line and no other value. Go's map
// stores a copy of each key, which for keys of several texts needs ten times the memory,
// twice the time to look up and ten times the time to fill (BenchmarkKnown, BenchmarkNew).
package intern

import (
	"hash/maphash"
	"math/bits"
)

// seed and secret are random, so that input cannot be constructed to collide.
var (
	seed   = maphash.MakeSeed()
	secret = [2]uint64{maphash.String(seed, "so far"), maphash.String(seed, "next")}
)

// String returns the hash of a text.
func String(s string) uint64 { return maphash.String(seed, s) }

// Bytes returns what String returns for the same text.
func Bytes(b []byte) uint64 { return maphash.Bytes(seed, b) }

// With returns the hash of a value of which h is the hash so far and x the next
// part, a number or the hash of a text; its upper half is the better one. It folds
// the product of both, as W. Yi's wyhash does, and breaks up what is left of a
// sequence in x by one more multiplication, by 2^64 ÷ the golden ratio.
func With(h, x uint64) uint64 {
	high, low := bits.Mul64(h^secret[0], x^secret[1])
	h = high ^ low
	return (h ^ h>>32) * 0x9E3779B97F4A7C15
}

// Index maps hashes of values to their numbers. The zero value is empty and ready.
// It is not safe for concurrent use while it grows.
type Index struct {
	slots []slot
	used  int
}

// slot is one place of the table; the number is stored plus one so that the zero
// slot is empty.
type slot struct {
	hash   uint32
	number uint32
}

// Find returns the number that was added with this hash and for which is returns true. It
// calls is for every number with the same half of the hash.
func (x *Index) Find(hash uint64, is func(number int32) bool) (int32, bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	mask := uint32(len(x.slots) - 1)
	h := uint32(hash >> 32)
	for i := h & mask; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s.number == 0 {
			return 0, false
		}
		if s.hash == h && is(int32(s.number-1)) {
			return int32(s.number - 1), true
		}
	}
}

// Add maps the hash to a number, which must not be negative. The caller knows from
// Find that the value has none yet.
func (x *Index) Add(hash uint64, number int32) {
	if x.used >= room(len(x.slots)) {
		x.resize(max(64, 2*len(x.slots)))
	}
	x.put(slot{uint32(hash >> 32), uint32(number) + 1})
	x.used++
}

// Grow makes room for n further values.
func (x *Index) Grow(n int) {
	size := 64
	for room(size) < x.used+n {
		size *= 2
	}
	if size > len(x.slots) {
		x.resize(size)
	}
}

// room returns how many values a table of so many slots has.
func room(slots int) int { return slots / 4 * 3 }

func (x *Index) resize(size int) {
	old := x.slots
	x.slots = Table[slot](size)
	for _, s := range old {
		if s.number != 0 {
			x.put(s)
		}
	}
}

func (x *Index) put(s slot) {
	mask := uint32(len(x.slots) - 1)
	i := s.hash & mask
	for x.slots[i].number != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}
