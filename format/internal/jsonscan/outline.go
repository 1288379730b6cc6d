package jsonscan

import (
	"bytes"

	"github.com/dendroprof/dendro/profile"
)

// Outline is what the beginning of a JSON text shows of its keys: the path of
// each, up to outlineDepth containers deep, with the spelling of its value if that
// is a string, a number, true or false. An array adds "[]" to the path:
// "threads[].name". Of an array the first few elements are looked at.
//
// Formats are told apart by it. A key that comes behind the prefix cannot be seen,
// so a format is to be recognised by any of several keys.
type Outline map[string]string

const (
	outlineDepth    = 4
	outlineElements = 3
	outlineText     = 200 // longer values are cut
)

// NewOutline returns the outline of a text that begins with prefix: empty if that
// does not begin as JSON does.
func NewOutline(prefix []byte) Outline {
	o := Outline{}
	if text := bytes.TrimLeft(prefix, " \t\r\n"); len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return o // most files are no JSON: they are not to pay for a Scanner
	}
	o.read(New(bytes.NewReader(prefix), profile.Limits{}), nil)
	return o
}

// Has reports whether any of the paths was seen.
func (o Outline) Has(paths ...string) bool {
	for _, p := range paths {
		if _, ok := o[p]; ok {
			return true
		}
	}
	return false
}

// read adds what is below path. It calls itself at most outlineDepth deep.
func (o Outline) read(s *Scanner, path []byte) {
	switch kind := s.Kind(); {
	case kind == Object && s.Depth() < outlineDepth:
		for key := range s.Object() {
			sub := append(path[:len(path):len(path)], '.')
			if len(path) == 0 {
				sub = nil
			}
			sub = append(sub, key...)
			if _, ok := o[string(sub)]; !ok {
				o[string(sub)] = ""
			}
			o.read(s, sub)
		}
	case kind == Array && s.Depth() < outlineDepth:
		for i := range s.Array() {
			if i >= outlineElements {
				break
			}
			o.read(s, append(path[:len(path):len(path)], "[]"...))
		}
	case kind == String || kind == Number || kind == Bool:
		text := s.Scalar()
		o[string(path)] = text[:min(len(text), outlineText)]
	default:
		s.Skip()
	}
}
