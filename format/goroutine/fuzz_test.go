package goroutine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
)

// robust reads a text that may be anything. It demands an error with a place or a
// profile that holds, of no more samples than the text has lines.
func robust(t *testing.T, d *Decoder, text []byte, l profile.Limits) {
	t.Helper()
	p, err := d.Decode(bytes.NewReader(text), nil, l)
	if err != nil {
		var pe *profile.ParseError
		if !errors.As(err, &pe) {
			t.Fatalf("an error without a place: %v", err)
		}
		n := 0
		for _, e := range []error{profile.ErrMalformed, profile.ErrTooLarge, profile.ErrUnsupported, profile.ErrUnrecognized} {
			if errors.Is(err, e) {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%v is %d of the four errors", err, n)
		}
		return
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
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
	r := rand.New(rand.NewPCG(1, 2))
	d := NewDecoder()
	for _, name := range samples(t) {
		text := readSample(t, name)
		for range 150 {
			m := bytes.Clone(text)
			for n := 1 + r.IntN(4); n > 0 && len(m) > 0; n-- {
				i := r.IntN(len(m))
				j := min(len(m), i+r.IntN(200))
				switch r.IntN(4) {
				case 0:
					m[i] = byte(r.IntN(256))
				case 1:
					m = append(m[:i:i], m[j:]...)
				case 2:
					m = append(m[:j:j], m[i:]...)
				case 3:
					m = m[:max(1, j)]
				}
			}
			robust(t, d, m, profile.Limits{})
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
			var frames []string
			for ; st != profile.NoStack; st = p.Symbols.Parent(st) {
				f := p.Symbols.Frames[p.Symbols.Leaf(st)]
				fn := p.Symbols.Functions[f.Function]
				frames = append(frames, fmt.Sprintf("%s %s:%d", fn.Name, fn.File, f.Line))
			}
			got[state+"|"+strings.Join(frames, ";")] += int(table.Value[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzDecode demands that nothing panics, whatever the text.
func FuzzDecode(f *testing.F) {
	for _, name := range samples(f) {
		text := readSample(f, name)
		f.Add(text[:min(len(text), 2000)], uint8(0))
		f.Add(text[:min(len(text), 1000)], uint8(20))
	}
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, text []byte, limit uint8) {
		robust(t, d, text, profile.Limits{Depth: int(limit), Line: int(limit) * 20})
		Sniff(text)
	})
}
