package pyspy

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

var samples = []string{"dump.txt", "dump.json.gz", "variants.txt"}

// picture shows all that a profile says.
func picture(p *profile.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q\n", p.Profiler, p.Comments)
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	s := &p.Tables[0]
	fmt.Fprintf(&b, "%s\n", s.Type)
	for n, st := range s.Stack {
		thread := p.Threads[s.Thread[n]]
		fmt.Fprintf(&b, "%d %q %s of %s [%s]\n", s.Value[n], thread.Name, thread.ID, thread.Process, p.States[s.State[n]])
		for _, id := range p.Symbols.Path(st, nil) {
			f := p.Symbols.Frames[id]
			fn := p.Symbols.Functions[f.Function]
			fmt.Fprintf(&b, "    %s %s %s:%d\n", fn.Name, fn.Kind, fn.File, f.Line)
		}
	}
	return b.String()
}

// TestGolden compares what is read of every sample with a file that a person has
// compared with the sample.
func TestGolden(t *testing.T) {
	warm, symbols := NewDecoder(), profile.NewSymbols()
	for _, name := range samples {
		text := readtest.File(t, name)
		p, err := NewDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		readtest.Golden(t, strings.TrimSuffix(name, ".gz")+".golden", picture(p))
		if !Sniff(text) || !Sniff(text[:len(text)/2]) {
			t.Errorf("%s is not recognised", name)
		}
		again, err := warm.Decode(bytes.NewReader(text), symbols, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		readtest.Same(t, p, again)
	}
}

// TestTextAndJSONAgree compares the two dumps of one program, thread by thread.
// They were taken at different moments, so only what rests can be equal.
func TestTextAndJSONAgree(t *testing.T) {
	read := func(name string) map[string]string {
		p, err := NewDecoder().Decode(bytes.NewReader(readtest.File(t, name)), nil, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		threads := map[string]string{}
		for _, block := range strings.Split(picture(p), "\n1 ")[1:] {
			head, stack, _ := strings.Cut(block, "\n")
			name, _, _ := strings.Cut(head, " of ")
			threads[name] = head + "\n" + strings.TrimSuffix(stack, "\n")
		}
		return threads
	}
	text, json := read("dump.txt"), read("dump.json.gz")
	if len(text) != 3 || len(json) != 3 {
		t.Errorf("%d and %d threads", len(text), len(json))
	}
	const resting = `"idle-wait; x" 12949`
	if text[resting] == "" || text[resting] != json[resting] {
		t.Errorf("text:\n%s\nJSON:\n%s", text[resting], json[resting])
	}
}

func TestErrors(t *testing.T) {
	deep := "Process 1: x\nPython v3\n\nThread 1 (idle)\n" + strings.Repeat("    f (a.py:1)\n", 11)
	for _, c := range []struct {
		text    string
		limits  profile.Limits
		want    error
		message string
	}{
		{"", profile.Limits{}, profile.ErrMalformed, "there is no thread in it"},
		{"Process 1: x\nPython v3\n", profile.Limits{}, profile.ErrMalformed, "line 2: malformed: there is no thread"},
		{deep, profile.Limits{Depth: 10}, profile.ErrTooLarge, "line 15: stack deeper than 10"},
		{deep, profile.Limits{Line: 5}, profile.ErrTooLarge, "line 1: line longer than 5"},
		{`[{"pid": 1, "frames": [`, profile.Limits{}, profile.ErrMalformed, "byte"},
		{`[{"frames": [{"name": "a"}, {"name": "b"}]}]`, profile.Limits{Depth: 1}, profile.ErrTooLarge, "stack deeper than 1"},
	} {
		_, err := NewDecoder().Decode(strings.NewReader(c.text), nil, c.limits)
		readtest.Refused(t, c.text, err, c.want, c.message)
	}
	if _, err := NewDecoder().Decode(strings.NewReader(deep), nil, profile.Limits{Depth: 11}); err != nil {
		t.Error(err)
	}
}

func TestSniff(t *testing.T) {
	for _, text := range []string{"", "[]", `[{"pid": 1}]`, "Process 1: x\n", "Thread 1 (idle)\n", "Python v3\nThread 1 (idle)\n"} {
		if Sniff([]byte(text)) {
			t.Errorf("recognised: %q", text)
		}
	}
}

// robust reads a text that may be anything. It demands an error with a place or a
// profile that holds, of no more samples than the text has lines or objects.
func robust(t *testing.T, d profile.Decoder, text []byte, l profile.Limits) {
	t.Helper()
	p, err := d.Decode(bytes.NewReader(text), nil, l)
	if !readtest.Sound(t, len(text), p, err) {
		return
	}
	most := bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("{")) + bytes.Count(text, []byte(",")) + 1
	if n := p.Tables[0].Len(); n > most {
		t.Fatalf("%d samples of %d lines", n, most)
	}
	if len(p.Warnings) > 3 {
		t.Fatalf("%d warnings", len(p.Warnings))
	}
}

// TestMutations reads every sample with bytes changed, cut out, repeated and cut
// off.
func TestMutations(t *testing.T) {
	d := NewDecoder()
	for _, name := range samples {
		for text := range readtest.Damaged(readtest.File(t, name), 500) {
			robust(t, d, text, profile.Limits{})
		}
	}
}

// FuzzDecode demands that nothing panics, whatever the text.
func FuzzDecode(f *testing.F) {
	for _, name := range samples {
		text := readtest.File(f, name)
		f.Add(text[:min(len(text), 1500)], uint8(0))
		f.Add(text[:min(len(text), 500)], uint8(9))
	}
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, text []byte, limit uint8) {
		robust(t, d, text, profile.Limits{Depth: int(limit), Line: int(limit) * 20})
		Sniff(text)
	})
}
