package stacktext

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dendroprof/dendro/profile"
)

func TestPeek(t *testing.T) {
	far := strings.Repeat(" ", 64) + "{"
	for text, want := range map[string]byte{"": 0, "a": 'a', " \t\r\n[1]": '[', " \n": 0, far: 0, far[1:]: '{'} {
		start, r, err := Peek(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil || start != want {
			t.Errorf("%q begins with %q, %v, want %q", text, start, err, want)
		}
		if all, err := io.ReadAll(r); err != nil || string(all) != text {
			t.Errorf("%q becomes %q, %v", text, all, err)
		}
	}
	if _, _, err := Peek(iotest.ErrReader(io.ErrClosedPipe)); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

// TestDecoder checks that only sound profiles come out, over the Symbols that go in.
func TestDecoder(t *testing.T) {
	var fill func(*profile.Profile) error
	d := NewDecoder("x", func(_ *Memory, _ io.Reader, p *profile.Profile, l profile.Limits) error {
		if l.Depth != profile.DefaultDepth || p.Format != "x" {
			t.Errorf("depth %d, format %q", l.Depth, p.Format)
		}
		return fill(p)
	})
	decode := func(s *profile.Symbols) (*profile.Profile, error) {
		return d.Decode(strings.NewReader(""), s, profile.Limits{})
	}
	fill = func(p *profile.Profile) error {
		p.Tables = make([]profile.Samples, 1)
		p.Tables[0].Add(profile.NoStack, 1)
		return nil
	}
	s := profile.NewSymbols()
	if p, err := decode(s); err != nil || p.Symbols != s || p.Tables[0].Len() != 1 {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := decode(nil); err != nil || p.Symbols == nil || p.Symbols == s {
		t.Errorf("%v, %v", p, err)
	}
	fill = func(*profile.Profile) error { return io.ErrClosedPipe }
	if p, err := decode(s); p != nil || err != io.ErrClosedPipe {
		t.Errorf("%v, %v", p, err)
	}
	fill = func(p *profile.Profile) error {
		p.Tables = []profile.Samples{{Stack: []profile.StackID{9}, Value: []int64{1}}}
		return nil
	}
	if p, err := decode(s); p != nil || err == nil {
		t.Errorf("%v, %v", p, err)
	}
}
