package stackprof

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

var recorded = []string{"cpu-raw.dump", "cpu-raw.json", "object-raw.dump", "wall.dump", "wall.json"}

func decode(b []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
}

func mustDecode(t *testing.T, name string) *profile.Profile {
	t.Helper()
	b := readtest.File(t, name)
	p, err := decode(b)
	if err != nil || !Sniff(b) {
		t.Fatalf("%s: %v, recognised %v", name, err, Sniff(b))
	}
	return p
}

// TestRaw compares with the stacks that stackprof --stackcollapse prints.
func TestRaw(t *testing.T) {
	for _, tt := range []struct{ dump, folded, key string }{
		{"cpu-raw.dump", "cpu-raw.folded", "cpu-samples/count period 1000000 nanoseconds"},
		{"object-raw.dump", "object-raw.folded", "alloc-samples/count period 50 count"},
	} {
		p := mustDecode(t, tt.dump)
		want, got := map[string]int64{}, map[string]int64{}
		for line := range strings.Lines(string(readtest.File(t, tt.folded))) {
			i := strings.LastIndexByte(line, ' ')
			var n int64
			fmt.Sscan(line[i:], &n)
			want[line[:i]] += n
		}
		table := &p.Tables[0]
		for i, st := range table.Stack {
			var names []string
			for _, fr := range p.Symbols.Path(st, nil) {
				names = append(names, p.Symbols.Functions[p.Symbols.Frames[fr].Function].Name)
			}
			got[strings.Join(names, ";")] += table.Value[i]
		}
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s:\n%v\nwant\n%v", tt.dump, got, want)
		}
		if key := fmt.Sprintf("%s/%s period %d %s", table.Type.Name, table.Type.Unit, table.Type.Period, table.Type.PeriodUnit); key != tt.key ||
			len(table.Time) != table.Len() || table.Time[0] != 0 || len(p.Warnings) > 0 {
			t.Error(key, table.Time, p.Warnings)
		}
	}
	readtest.Same(t, mustDecode(t, "cpu-raw.json"), mustDecode(t, "cpu-raw.dump"))
	if got := mustDecode(t, "object-raw.dump").Comments; fmt.Sprint(got) != "[user: x n: 3]" {
		t.Error(got)
	}
}

// TestGraph compares with what stackprof --text prints.
func TestGraph(t *testing.T) {
	p := mustDecode(t, "wall.dump")
	readtest.Same(t, mustDecode(t, "wall.json"), p)
	costs := readtest.Costs(p, 0)
	compared := 0
	want := map[string]int64{}
	for line := range strings.Lines(string(readtest.File(t, "wall.expect.txt"))) {
		if w := strings.Fields(line); len(w) > 4 && strings.HasPrefix(w[1], "(") && strings.HasSuffix(w[1], "%)") {
			var self int64
			fmt.Sscan(w[2], &self)
			want[strings.Join(w[4:], " ")] += self
		}
	}
	for name, self := range want {
		compared++
		if costs[name].Self != self {
			t.Errorf("%s has %+v, want self %d", name, costs[name], self)
		}
	}
	if compared < 10 || p.Tables[0].Total() != 87 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Message, "estimated") {
		t.Error(compared, p.Tables[0].Total(), p.Warnings)
	}
	if text := readtest.Describe(p); !strings.Contains(text, "Shop#fib:9:0 (/srv/shop/shop.rb:8:0)\n") {
		t.Error(text)
	}
}

func TestTexts(t *testing.T) {
	const frames = `"frames":{"1":{"name":"a","file":"a.rb","line":3,"samples":0},"2":{"name":"(marking)","file":"","samples":3}}`
	p, err := decode([]byte(`{"version":1.2,"mode":"custom","samples":4,` + frames + `,"raw":[2,1,2,3,0,1],"raw_lines":[2,7,0,3,0,1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := readtest.Describe(p), "== samples count scale 0 default\n3 a:7:0 (a.rb:3:0) > (marking)\n1 (no stack)\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for text, is := range map[string]error{
		``: profile.ErrMalformed, `{"frames":{"x":{}}}`: profile.ErrMalformed,
		`{` + frames + `,"raw":[9,1]}`:                                                   profile.ErrMalformed,
		`{` + frames + `,"raw":[1,1,-1]}`:                                                profile.ErrMalformed,
		`{"frames":{"1":{"name":"a","samples":-3}}}`:                                     profile.ErrMalformed,
		`{` + frames + `,"raw":[1,1,2],"raw_sample_timestamps":[0,9223372036854775807]}`: profile.ErrMalformed,
		"\x04\x08{\x06:\x06ai\x06x":                                                      profile.ErrMalformed,
		"\x04\x08{\x06:\x06a@\x06":                                                       profile.ErrMalformed, "\x04\x08{\x06:\x06ao": profile.ErrMalformed,
		"\x04\x08{\x06\"\x04\xff\xff\xff\x7f":                               profile.ErrTooLarge,
		`{` + frames + `,"raw":[70000` + strings.Repeat(",1", 70001) + `]}`: profile.ErrTooLarge,
	} {
		if p, err := decode([]byte(text)); !errors.Is(err, is) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%.80q: %v, %v", text, p, err)
		}
	}
	// A link of three bytes to a text of a megabyte, many times.
	links := strings.Repeat("@\x06", 1000)
	bomb := "\x04\x08{\x07:\x06a\"\x03\x00\x00\x10" + strings.Repeat("a", 1<<20) + ":\x06b[\x02\xe8\x03" + links
	if _, err := decode([]byte(bomb)); !errors.Is(err, profile.ErrMalformed) {
		t.Error(err)
	}
}

func TestDamage(t *testing.T) {
	for _, name := range recorded {
		readtest.Damage(t, readtest.File(t, name), 1000, decode)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range recorded {
		f.Add(readtest.File(f, name))
	}
	f.Add([]byte("\x04\x08{\x07:\x06a\"\x06b:\x06b[\x07@\x06f\x063"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		readtest.Sound(t, len(b), p, err)
		Sniff(b)
	})
}

// TestUnknownFrame reads a stack of a frame that is not listed.
func TestUnknownFrame(t *testing.T) {
	p, err := decode([]byte(`{"frames":{"1":{"name":"a"}},"raw":[2,1,7,3]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := readtest.Describe(p); !strings.Contains(got, "3 a > [unknown]\nwarning: 1 frames of stacks are not in the list of 1 frames; they count as [unknown]\n") {
		t.Error(got)
	}
}
