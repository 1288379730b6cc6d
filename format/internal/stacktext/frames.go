package stacktext

import (
	"hash/maphash"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// MostTexts is how many texts are worth remembering. Beyond, everything is forgotten and
// learned again.
const MostTexts = 1 << 20

// Texts remembers a number for each of many texts. The zero value is empty and ready.
//
// Texts are told apart by a hash of 64 bits and not compared, which would be a cache miss
// for each. The seed is random, so that nobody can make two texts that agree; among a
// million texts two do with a probability of 3·10^-8.
type Texts struct {
	seed    maphash.Seed
	index   intern.Index
	entries []textEntry // 0 is none
	last    int32       // the entry found or added last
}

type textEntry struct {
	hash   uint64
	number int32
	next   int32 // what came behind this one the last time: mostly comes again
}

// Len returns how many texts are known.
func (t *Texts) Len() int { return max(0, len(t.entries)-1) }

// Find returns the number of a text, if it is known.
func (t *Texts) Find(text []byte) (int32, bool) {
	if len(t.entries) == 0 {
		return 0, false
	}
	hash := maphash.Bytes(t.seed, text)
	last := &t.entries[t.last]
	if next := &t.entries[last.next]; next.hash == hash && last.next != 0 {
		t.last = last.next
		return next.number, true
	}
	i, ok := t.index.Find(hash, func(i int32) bool { return t.entries[i].hash == hash })
	if !ok {
		return 0, false
	}
	last.next, t.last = i, i
	return t.entries[i].number, true
}

// Add remembers the number of a text that Find did not know.
func (t *Texts) Add(text []byte, number int32) {
	if len(t.entries) == 0 {
		t.seed, t.entries = maphash.MakeSeed(), make([]textEntry, 1, 64)
	}
	i, hash := int32(len(t.entries)), maphash.Bytes(t.seed, text)
	t.entries = append(t.entries, textEntry{hash, number, 0})
	t.index.Add(hash, i)
	t.entries[t.last].next, t.last = i, i
}

// Frames remembers which frame a text stands for, over many texts read into the
// same Symbols. The zero value is empty and ready.
type Frames struct {
	symbols *profile.Symbols
	texts   Texts
}

// Use makes s the Symbols that frames belong to; other Symbols than before make
// everything forgotten.
func (f *Frames) Use(s *profile.Symbols) {
	if f.symbols != s || f.texts.Len() > MostTexts {
		*f = Frames{symbols: s}
	}
	f.texts.last = 0
}

// Find returns the frame of text, if it is known.
func (f *Frames) Find(text []byte) (profile.FrameID, bool) {
	n, ok := f.texts.Find(text)
	return profile.FrameID(n), ok
}

// Add remembers what text, which Find did not know, stands for.
func (f *Frames) Add(text []byte, frame profile.FrameID) {
	if f.texts.Len() > MostTexts {
		f.texts = Texts{}
	}
	f.texts.Add(text, int32(frame))
}
