package stacktext

import (
	"errors"
	"io"
	"math"
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
	d := NewDecoder("x", func(r *Reading) error {
		if l, p := r.Limits, r.Profile; l.Depth != profile.DefaultDepth || p.Format != "x" {
			t.Errorf("depth %d, format %q", l.Depth, p.Format)
		}
		return fill(r.Profile)
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

// TestReading places errors in the text, and prefers what ended the text to what a reader made of its beginning.
func TestReading(t *testing.T) {
	d := NewDecoder("x", func(r *Reading) error {
		table := NewTable(r.Limits)
		for r.Next() {
			r.Frames = r.Frames[:0]
			for _, word := range strings.Fields(string(r.Text())) {
				err := r.PushText([]byte(word), func() profile.FrameID {
					s := r.Profile.Symbols
					return s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: word})})
				})
				if err != nil {
					return err
				}
			}
			if len(r.Frames) == 0 {
				return profile.Malformed("no frame")
			}
			r.Notes.Add("a line", "lines", r.Number())
			if err := r.Sample(table, Row{Stack: r.Stack(r.Frames), Value: math.MaxInt64 / 2}); err != nil {
				return err
			}
		}
		r.Profile.Tables = []profile.Samples{table.Samples(profile.NamedType(profile.CPU), false, 0)}
		return nil
	})
	for text, want := range map[string]profile.ParseError{
		"a b\na":        {},
		"a b\n\na":      {Line: 2, Offset: 4, Err: profile.ErrMalformed},
		"a\nb\na\n":     {Line: 3, Offset: 4, Err: ErrSum},
		"a b c d\n":     {Line: 1, Err: profile.ErrTooLarge},
		"a\nbbbbbbbbbb": {Line: 2, Offset: 2, Err: profile.ErrTooLarge},
	} {
		p, err := d.Decode(strings.NewReader(text), nil, profile.Limits{Depth: 3, Line: 8})
		if want.Err == nil {
			if err != nil || p.Tables[0].Len() != 2 || len(p.Warnings) != 1 || len(p.Symbols.Functions) != 2 {
				t.Errorf("%q: %v, %v", text, p, err)
			}
			continue
		}
		var at *profile.ParseError
		if !errors.As(err, &at) || at.Line != want.Line || at.Offset != want.Offset || !errors.Is(err, want.Err) {
			t.Errorf("%q: %v, want %v", text, err, &want)
		}
	}
	broken := io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(io.ErrClosedPipe))
	if _, err := d.Decode(broken, nil, profile.Limits{}); err != io.ErrClosedPipe {
		t.Error(err)
	}
}
