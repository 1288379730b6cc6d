// Package bitset has sets of numbers below a known bound, one bit each. Members are listed
// in ascending order, which is
// how the dense numbers of a query's paths and functions are sorted.
//
// A Set does not check its bound beyond what Go does. It is not safe for concurrent use
// while it changes, and does not know what its numbers mean.
package bitset

import (
	"iter"
	"math/bits"
)

// Set is a set of numbers from 0 to below its capacity.
type Set []uint64

// New returns an empty set.
func New(capacity int) Set { return make(Set, Words(capacity)) }

// Words returns the length of a set of that capacity.
func Words(capacity int) int { return (capacity + 63) / 64 }

// Add puts i into the set and reports whether it was not there.
func (s Set) Add(i int32) bool {
	word, bit := &s[i>>6], uint64(1)<<(i&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// Has reports whether i is in the set.
func (s Set) Has(i int32) bool { return s[i>>6]&(1<<(i&63)) != 0 }

// Unite adds the members of t, which has the same capacity.
func (s Set) Unite(t Set) {
	for w, word := range t {
		s[w] |= word
	}
}

// Includes reports whether all members of t, which has the same capacity, are in s.
func (s Set) Includes(t Set) bool {
	for w, word := range t {
		if word&^s[w] != 0 {
			return false
		}
	}
	return true
}

// Fill adds all numbers below n.
func (s Set) Fill(n int) {
	for w := range s[:n/64] {
		s[w] = ^uint64(0)
	}
	if n%64 > 0 {
		s[n/64] |= 1<<(n%64) - 1
	}
}

// Len counts the members.
func (s Set) Len() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// All yields the members, ascending.
func (s Set) All() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for w, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(int32(w<<6 | bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// Members lists the members, ascending.
func (s Set) Members() []int32 { return s.Append(make([]int32, 0, s.Len())) }

// Append appends the members to list, ascending.
func (s Set) Append(list []int32) []int32 {
	for i := range s.All() {
		list = append(list, i)
	}
	return list
}
