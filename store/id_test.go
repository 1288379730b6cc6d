package store_test

import (
	"fmt"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// TestIDOf pins ids: they are stored, and in users' scripts.
func TestIDOf(t *testing.T) {
	for _, test := range []struct {
		group, name, run, typ string
		want                  store.ProfileID
	}{
		{"", "", "", "", "48b2c92616fc193d"},
		{"json", "parse", "r1", "cpu", "6336577f7229c47d"},
		{"json", "parse/size=10", "2024-05-06T07:08:09Z", "alloc", "348ceed08780ddaf"},
		{"größe", "日本", "r\n1", "cpu-samples", "5a54223d8c29f927"},
	} {
		if got := store.IDOf(testrun.Benchmark{Group: test.group, Name: test.name}, test.run, test.typ); got != test.want {
			t.Errorf("IDOf(%q, %q, %q, %q) = %q, want %q", test.group, test.name, test.run, test.typ, got, test.want)
		}
	}
}

// TestIDOfDefinition spells the hashed bytes out.
func TestIDOfDefinition(t *testing.T) {
	got := store.IDOf(testrun.Benchmark{Group: "g", Name: "name"}, "r1", "cpu")
	if want := fmt.Sprintf("%016x", xxh3.HashString("\x01g\x04name\x02r1\x03cpu")); string(got) != want {
		t.Errorf("IDOf = %s, want %s", got, want)
	}
}

// TestIDOfSeparates moves letters between the parts of an identity.
func TestIDOfSeparates(t *testing.T) {
	seen := map[store.ProfileID]string{}
	for _, parts := range [][4]string{
		{"ab", "c", "d", "e"}, {"a", "bc", "d", "e"}, {"a", "b", "cd", "e"}, {"a", "b", "c", "de"}, {"", "abcd", "", "e"}, {"abcde", "", "", ""},
	} {
		id := store.IDOf(testrun.Benchmark{Group: parts[0], Name: parts[1]}, parts[2], parts[3])
		if other, ok := seen[id]; ok {
			t.Errorf("%q has the id of %q", parts, other)
		}
		seen[id] = fmt.Sprint(parts)
	}
}

func TestReadID(t *testing.T) {
	for text, want := range map[string]store.ProfileID{
		"0123456789abcdef": "0123456789abcdef", " 0123456789ABCDEF\n": "0123456789abcdef", "0123": "0123", "": "", "012": "",
		"0123456789abcdef0": "", "0123456789abcdeg": "", "0x23456789abcdef": "",
	} {
		var got store.ProfileID
		err := got.UnmarshalText([]byte(text))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
