package profile

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/zeebo/xxh3"
)

// Hash is the 128-bit identity of the content of one value type of a profile.
type Hash [16]byte

// String returns 32 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Hash returns the identity of what table i says, before any name is
// normalised. It does not depend on the order of samples, on ids, on what else
// the Symbols hold or on the format's metadata, so the same samples give the
// same hash in every engine and from every reader.
//
// Definition: each sample with a value other than 0 is written as 64-bit
// little-endian words: the 128-bit xxh3 of its stack (of the hash of its parent
// and that of the frame's content; zero without a stack), value, time, address, and the
// xxh3-64 of thread, labels and state, then hashed with xxh3-128. The hashes
// are added modulo 2^128, and the sum is hashed once more behind the value
// type's key and the number of such samples.
func (p *Profile) Hash(i int) Hash {
	s := &p.Tables[i]
	var stacks []StackHash
	if s.Content == nil {
		stacks = p.Symbols.stackHashes()
	}
	threads := hashEach(len(p.Threads), func(b []byte, i int) []byte {
		return appendTexts(b, p.Threads[i].Name, p.Threads[i].ID, p.Threads[i].Process)
	})
	labels := hashEach(len(p.LabelSets), func(b []byte, i int) []byte {
		for _, l := range p.LabelSets[i] {
			b = appendTexts(b, l.Key, l.Text, l.Unit)
			b = binary.LittleEndian.AppendUint64(b, uint64(l.Num))
		}
		return b
	})
	states := hashEach(len(p.States), func(b []byte, i int) []byte { return appendTexts(b, p.States[i]) })

	var sum xxh3.Uint128
	var count uint64
	var row [64]byte
	for n, v := range s.Value {
		if v == 0 {
			continue
		}
		count++
		var stack StackHash
		if s.Content != nil {
			stack = s.Content[n]
		} else if st := s.Stack[n]; st != NoStack {
			stack = stacks[st]
		}
		le := binary.LittleEndian
		le.PutUint64(row[0:], stack.Lo)
		le.PutUint64(row[8:], stack.Hi)
		le.PutUint64(row[16:], uint64(v))
		le.PutUint64(row[24:], at(s.Time, n))
		le.PutUint64(row[32:], at(s.Address, n))
		le.PutUint64(row[40:], pick(threads, s.Thread, n))
		le.PutUint64(row[48:], pick(labels, s.Labels, n))
		le.PutUint64(row[56:], pick(states, s.State, n))
		h := xxh3.Hash128(row[:])
		lo := sum.Lo + h.Lo
		sum.Hi += h.Hi
		if lo < sum.Lo {
			sum.Hi++
		}
		sum.Lo = lo
	}
	b := appendTexts(nil, s.Type.Key())
	b = binary.LittleEndian.AppendUint64(b, count)
	b = binary.LittleEndian.AppendUint64(b, sum.Lo)
	b = binary.LittleEndian.AppendUint64(b, sum.Hi)
	return Hash(xxh3.Hash128(b).Bytes())
}

// StackHash is a hash of what a stack says, independent of ids: of its frames from the
// outermost on. The zero value is that of no stack.
type StackHash xxh3.Uint128

// Call returns the hash of the stack that calls a frame, of which it takes the hash.
func (h StackHash) Call(frame StackHash) StackHash {
	var row [32]byte
	le := binary.LittleEndian
	le.PutUint64(row[0:], h.Lo)
	le.PutUint64(row[8:], h.Hi)
	le.PutUint64(row[16:], frame.Lo)
	le.PutUint64(row[24:], frame.Hi)
	return StackHash(xxh3.Hash128(row[:]))
}

// hashEach hashes n things; the empty thing at index 0 stays 0.
func hashEach(n int, write func([]byte, int) []byte) []uint64 {
	hashes := make([]uint64, n)
	var b []byte
	for i := 1; i < n; i++ {
		b = write(b[:0], i)
		hashes[i] = xxh3.Hash(b)
	}
	return hashes
}

func appendTexts(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	return b
}

func at[T int64 | uint64](column []T, n int) uint64 {
	if column == nil {
		return 0
	}
	return uint64(column[n])
}

func pick[ID ~int32](hashes []uint64, column []ID, n int) uint64 {
	if column == nil {
		return 0
	}
	return hashes[column[n]]
}
