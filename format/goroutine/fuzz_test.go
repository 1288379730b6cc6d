package goroutine

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// robust reads a text that may be anything. It demands an error with a place or a
// profile that holds, of no more samples than the text has lines.
func robust(t *testing.T, d profile.Decoder, text []byte, l profile.Limits) {
	t.Helper()
	p, err := d.Decode(bytes.NewReader(text), nil, l)
	if !readtest.Sound(t, len(text), p, err) {
		return
	}
	most := bytes.Count(text, []byte("\n")) + 1
	for i := range p.Tables {
		if n := p.Tables[i].Len(); n > most {
			t.Fatalf("%d samples of %d lines", n, most)
		}
	}
	if n := len(p.Symbols.Frames); n > len(text) {
		t.Fatalf("%d frames of %d bytes", n, len(text))
	}
	if len(p.Warnings) > 10 {
		t.Fatalf("%d warnings", len(p.Warnings))
	}
}

// TestMutations reads every sample with bytes changed, cut out, repeated and cut
// off.
func TestMutations(t *testing.T) {
	d := NewDecoder()
	for _, name := range samples(t) {
		for text := range readtest.Damaged(readtest.File(t, name), 150) {
			robust(t, d, text, profile.Limits{})
		}
	}
}

// TestAgainstReference holds random texts against the reader of regular
// expressions.
func TestAgainstReference(t *testing.T) {
	d := NewDecoder()
	symbols := profile.NewSymbols()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		text := server(r, rapid.IntRange(1, 40).Draw(t, "goroutines"), rapid.IntRange(1, 2).Draw(t, "debug"))
		want, err := regexpRead(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Decode(bytes.NewReader(text), symbols, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		table := &p.Tables[0]
		for i, st := range table.Stack {
			var state string
			if table.State != nil {
				state = p.States[table.State[i]]
			}
			got[state+"|"+readtest.Callers(p.Symbols, st)] += int(table.Value[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzDecode demands that nothing panics, whatever the text.
func FuzzDecode(f *testing.F) {
	for _, name := range samples(f) {
		text := readtest.File(f, name)
		f.Add(text[:min(len(text), 2000)], uint8(0))
		f.Add(text[:min(len(text), 1000)], uint8(20))
	}
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, text []byte, limit uint8) {
		robust(t, d, text, profile.Limits{Depth: int(limit), Line: int(limit) * 20})
		Sniff(text)
	})
}
