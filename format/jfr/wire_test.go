package jfr

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// varints draws numbers of all lengths.
func varints(t *rapid.T) []uint64 {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) uint64 {
		return rapid.Uint64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift")
	}), 0, 40).Draw(t, "varints")
}

func TestVarints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := varints(t)
		var b buffer
		ends := []int{0}
		for _, v := range want {
			b.varint(v)
			ends = append(ends, len(b))
			if n := len(b) - ends[len(ends)-2]; n != varintLength(v) {
				t.Fatalf("%x takes %d bytes, want %d", v, n, varintLength(v))
			}
		}
		c := cursor{b: b}
		for _, v := range want {
			if got := c.varint(); got != v {
				t.Fatalf("read %x, want %x", got, v)
			}
		}
		n := rapid.IntRange(0, len(want)).Draw(t, "skipped")
		from := rapid.IntRange(0, len(want)-n).Draw(t, "from")
		c = cursor{b: b, i: ends[from]}
		if c.skipVarints(uint64(n)); c.bad || c.i != ends[from+n] {
			t.Fatalf("%d varints from byte %d end at %d, want %d", n, ends[from], c.i, ends[from+n])
		}
		c = cursor{b: b, i: ends[from]}
		if c.skipVarints(uint64(len(want)-from) + 1); !c.bad {
			t.Fatal("skipped more than there is")
		}
		if len(b) > 0 {
			c = cursor{b: b[:len(b)-1]}
			for range want {
				c.varint()
			}
			if !c.bad {
				t.Fatal("read more than there is")
			}
		}
	})
}

func TestStrings(t *testing.T) {
	chars := func(units ...uint64) buffer {
		b := buffer{stringChars}
		b.varint(uint64(len(units)))
		for _, u := range units {
			b.varint(u)
		}
		return b
	}
	for _, tt := range []struct {
		in   buffer
		want string
	}{
		{buffer{stringNull}, ""},
		{buffer{stringEmpty}, ""},
		{buffer{stringUTF8, 3, 'a', 0xc3, 0xa9}, "aé"},
		{buffer{stringLatin1, 2, 'a', 0xe9}, "aé"},
		{chars('a', 0x20ac), "a€"},
		{chars(0xd83d, 0xde00), "😀"},
		{chars(0xd83d, 'x'), "\uFFFDx"},
		{chars('x', 0xde00), "x\uFFFD"},
		{chars(0xd83d, 0xd83d), "\uFFFD\uFFFD"},
	} {
		c := cursor{b: append(slices.Clone(tt.in), 9)}
		got, _, constant := c.appendString(nil)
		if string(got) != tt.want || constant || c.bad || c.i != len(tt.in) {
			t.Errorf("% x: %q at %d, want %q", tt.in, got, c.i, tt.want)
		}
		c = cursor{b: append(slices.Clone(tt.in), 9)}
		if c.skipString(); c.bad || c.i != len(tt.in) {
			t.Errorf("% x: skipped to %d", tt.in, c.i)
		}
	}
	c := cursor{b: []byte{stringConstant, 0x81, 0x01}}
	if _, n, constant := c.appendString(nil); !constant || n != 129 {
		t.Errorf("constant %d, %v", n, constant)
	}
	for _, bad := range [][]byte{{}, {7}, {stringUTF8, 5, 'a'}, {stringUTF8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{stringChars, 3, 1}} {
		c := cursor{b: bad}
		if c.appendString(nil); !c.bad {
			t.Errorf("% x is read", bad)
		}
	}
}
