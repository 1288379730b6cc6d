package threaddump

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// robust reads a text that may be anything. It demands an error with a place or a
// profile that holds, of no more samples than the text has lines, and stacks no
// deeper than that.
func robust(t *testing.T, d profile.Decoder, text []byte, l profile.Limits) {
	t.Helper()
	p, err := d.Decode(bytes.NewReader(text), nil, l)
	if !readtest.Sound(t, len(text), p, err) {
		return
	}
	// A frame of JSON takes a comma and two quotes, a thread two brackets.
	most := bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte{'"'}) + bytes.Count(text, []byte("{")) + 1
	if n := p.Tables[0].Len(); n > most {
		t.Fatalf("%d samples of %d lines", n, most)
	}
	if n := len(p.Symbols.Frames); n > most {
		t.Fatalf("%d frames of %d lines", n, most)
	}
	if len(p.Warnings) > 20 {
		t.Fatalf("%d warnings", len(p.Warnings))
	}
}

// TestMutations reads every sample with bytes changed, cut out, repeated and cut
// off.
func TestMutations(t *testing.T) {
	for _, name := range samples(t) {
		d := decoderOf(name)
		for text := range readtest.Damaged(readtest.File(t, name), 150) {
			robust(t, d, text, profile.Limits{})
		}
	}
}

// TestCutOff cuts a dump at every byte: there are never more samples than threads
// begun, and those before the last are whole.
func TestCutOff(t *testing.T) {
	text := string(readtest.File(t, "log-jdk8.txt"))
	whole := decode(t, text)
	for end := len(text) - 1; end > 0; end -= 7 {
		p, err := NewDecoder().Decode(strings.NewReader(text[:end]), nil, profile.Limits{})
		if err != nil {
			continue
		}
		n := p.Tables[0].Len()
		for i := range n - 1 {
			st, full := p.Tables[0].Stack[i], whole.Tables[0].Stack[i]
			if got, want := readtest.Callers(p.Symbols, st), readtest.Callers(whole.Symbols, full); got != want {
				t.Fatalf("cut at %d: sample %d is %s, want %s", end, i, got, want)
			}
		}
	}
}

// TestAgainstReference holds random dumps against the reader of regular
// expressions, cold and warm.
func TestAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newService(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 30).Draw(t, "threads"))
		d := NewDecoder()
		symbols := profile.NewSymbols()
		for range 2 {
			var text []byte
			for range rapid.IntRange(1, 3).Draw(t, "dumps") {
				text = append(text, s.dump()...)
			}
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
				state := p.States[table.State[i]]
				if st == profile.NoStack {
					state = "" // words of the VM, which the reference does not read
				}
				got[p.Threads[table.Thread[i]].Name+"|"+state+"|"+readtest.Callers(p.Symbols, st)]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// FuzzDecode demands that nothing panics, whatever the text.
func FuzzDecode(f *testing.F) {
	for _, name := range samples(f) {
		text := readtest.File(f, name)
		f.Add(text[:min(len(text), 3000)], strings.HasPrefix(name, "javacore"), uint8(0))
		f.Add(text[max(0, len(text)-2000):], strings.HasPrefix(name, "javacore"), uint8(9))
	}
	f.Fuzz(func(t *testing.T, text []byte, javacore bool, limit uint8) {
		d := NewDecoder()
		if javacore {
			d = NewJavacoreDecoder()
		}
		robust(t, d, text, profile.Limits{Depth: int(limit), Line: int(limit) * 20})
		Sniff(text)
		SniffJavacore(text)
	})
}
