package readtest

import (
	"io"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// Reader is what a test of a text format reads with: the format's Sniff, and a new decoder's
// Decode.
type Reader struct {
	Sniff  func(prefix []byte) bool
	Decode func(r io.Reader) (*profile.Profile, error)
}

// Text is an input that a reader recognises, and what Describe prints of its profile.
type Text struct{ Name, Text, Want string }

// Texts reads each text and compares it with what is wanted, and wants each of the malformed ones
// refused as such.
func (r Reader) Texts(t *testing.T, texts []Text, malformed ...string) {
	t.Helper()
	for _, tt := range texts {
		p, err := r.Decode(strings.NewReader(tt.Text))
		if err != nil {
			t.Errorf("%s: %v", tt.Name, err)
		} else if got := Describe(p); got != tt.Want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.Name, got, tt.Want)
		}
		if !r.Sniff([]byte(tt.Text)) {
			t.Errorf("%s: not recognised", tt.Name)
		}
	}
	for _, text := range malformed {
		_, err := r.Decode(strings.NewReader(text))
		Refused(t, text, err, profile.ErrMalformed, "")
	}
}

// Fuzz feeds a reader with variations of texts and wants each answer to be Sound.
func (r Reader) Fuzz(f *testing.F, texts ...string) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r.Sniff([]byte(text))
		p, err := r.Decode(strings.NewReader(text))
		Sound(t, len(text), p, err)
	})
}
