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

// TestMemory checks that only sound profiles come out, over the Symbols that go in.
func TestMemory(t *testing.T) {
	var m Memory
	fill := func(failure error) func(*profile.Profile) error {
		return func(p *profile.Profile) error {
			table := profile.Samples{Type: profile.NamedType(profile.Threads)}
			table.Add(profile.NoStack, 1)
			if failure == nil {
				p.Tables = append(p.Tables, table)
			}
			return failure
		}
	}
	s := profile.NewSymbols()
	if p, err := m.Decode(s, fill(nil)); err != nil || p.Symbols != s || p.Tables[0].Len() != 1 {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := m.Decode(nil, fill(nil)); err != nil || p.Symbols == nil || p.Symbols == s {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := m.Decode(s, fill(io.ErrClosedPipe)); p != nil || err != io.ErrClosedPipe {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := m.Decode(s, func(p *profile.Profile) error {
		p.Tables = []profile.Samples{{Stack: []profile.StackID{9}, Value: []int64{1}}}
		return nil
	}); p != nil || err == nil {
		t.Errorf("%v, %v", p, err)
	}
}
