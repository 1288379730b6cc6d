package bytescan

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dendroprof/dendro/profile"
)

// TestScanner reads what a file has, and zeros behind its first error.
func TestScanner(t *testing.T) {
	limits := profile.Limits{Line: 5}
	s := New(strings.NewReader("abcdef"), "file", limits)
	c, b := s.Byte(), string(s.Bytes(2))
	if text := s.Text(3); c != 'a' || b != "bc" || text != "def" || s.More() || s.Err() != nil {
		t.Errorf("read %q %q %q, error %v", c, b, text, s.Err())
	}
	if c, b := s.Byte(), s.Bytes(100); c != 0 || len(b) != 8 || s.Text(1) != "" {
		t.Errorf("behind the end: %d, %d bytes", c, len(b))
	}
	var at *profile.ParseError
	if !errors.As(s.Err(), &at) || at.Offset != 6 || !errors.Is(at, profile.ErrMalformed) ||
		!strings.Contains(at.Error(), "the file ends early") {
		t.Errorf("error %v", s.Err())
	}
	for n, want := range map[int]error{-1: profile.ErrMalformed, 6: profile.ErrTooLarge, 5: profile.ErrMalformed} {
		s := New(strings.NewReader("abc"), "file", limits)
		if text := s.Text(n); text != "" || !errors.Is(s.Err(), want) {
			t.Errorf("%d bytes: %q, %v; want %v", n, text, s.Err(), want)
		}
	}
	s = New(iotest.ErrReader(io.ErrClosedPipe), "file", limits)
	if s.More() || s.Byte() != 0 || s.Err() != io.ErrClosedPipe {
		t.Errorf("an error of the reader: %v", s.Err())
	}
}
