package stacktext

import (
	"encoding/binary"

	"github.com/dendroprof/dendro/profile"
)

// LabelSet is the labels of one sample while they are collected. Sets are equal
// if they were given the same labels in the same order. The zero value is empty.
type LabelSet struct {
	// key holds one label after the other: its key, whether it is a number, and
	// the text, or the number and its unit.
	key []byte
}

// Reset empties the set.
func (s *LabelSet) Reset() { s.key = s.key[:0] }

// Text adds a label that is a text.
func (s *LabelSet) Text(key string, parts ...[]byte) {
	s.key = appendText(s.key, key)
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	s.key = binary.AppendUvarint(append(s.key, 0), uint64(size))
	for _, p := range parts {
		s.key = append(s.key, p...)
	}
}

// Num adds a label that is a number.
func (s *LabelSet) Num(key string, v int64, unit string) {
	s.key = binary.AppendVarint(append(appendText(s.key, key), 1), v)
	s.key = appendText(s.key, unit)
}

// Append adds the labels of another set.
func (s *LabelSet) Append(other LabelSet) { s.key = append(s.key, other.key...) }

// Mark returns where the set ends just now, for Part.
func (s *LabelSet) Mark() int { return len(s.key) }

// Part returns the labels between two marks. They are valid as long as nothing
// is reset.
func (s *LabelSet) Part(from, to int) LabelSet { return LabelSet{s.key[from:to:to]} }

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// labels returns what the set says; intern makes strings.
func (s *LabelSet) labels(intern func([]byte) string) []profile.Label {
	var all []profile.Label
	rest := s.key
	text := func() string {
		n, w := binary.Uvarint(rest)
		t := rest[w : w+int(n)]
		rest = rest[w+int(n):]
		return intern(t)
	}
	for len(rest) > 0 {
		l := profile.Label{Key: text()}
		number := rest[0] == 1
		rest = rest[1:]
		if number {
			v, w := binary.Varint(rest)
			rest = rest[w:]
			l.Num, l.Unit = v, text()
		} else {
			l.Text = text()
		}
		all = append(all, l)
	}
	return all
}
