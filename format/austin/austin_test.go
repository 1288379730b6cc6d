package austin

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

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
	if p.Profiler != "austin" || p.ProfilerVersion != "3.7.0" || p.Interval.Milliseconds() != 40 ||
		!strings.Contains(name, "mojo") && p.Duration == 0 {
		t.Errorf("%s: %s %s, %s of %s", name, p.Profiler, p.ProfilerVersion, p.Interval, p.Duration)
	}
	return p
}

// sums adds up the lines of a text by thread and stack, of value number column.
func sums(text string, column int) map[string]int64 {
	all := map[string]int64{}
	for line := range strings.Lines(text) {
		i := strings.LastIndexByte(line, ' ')
		if line[0] == '#' || i < 0 {
			continue
		}
		v, err := strconv.ParseInt(strings.Split(strings.TrimSpace(line[i:]), ",")[column], 10, 64)
		if err != nil {
			panic(err)
		}
		if v != 0 {
			all[strings.TrimSuffix(line[:i], ";:GC:")] += v
		}
	}
	return all
}

// spelled adds up a table in the same way.
func spelled(p *profile.Profile, table int, unit int64) map[string]int64 {
	all := map[string]int64{}
	t := &p.Tables[table]
	for i, st := range t.Stack {
		th := p.Threads[t.Tags(i).Thread]
		text := fmt.Sprintf("P%s;T0:%s", th.Process, th.ID)
		for _, id := range p.Symbols.Path(st, nil) {
			if st == p.Symbols.Lost() {
				break // austin writes nothing
			}
			fr := &p.Symbols.Frames[id]
			fn := &p.Symbols.Functions[fr.Function]
			text += fmt.Sprintf(";%s:%s:%d", fn.File, fn.Name, fr.Line)
		}
		all[text] += t.Value[i] / unit
	}
	return all
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name   string
		types  string
		states string
	}{
		{"wall", "[wall]", `[""]`}, {"cpu", "[cpu]", `["" "gc"]`}, {"mem", "[memory]", `[""]`}, {"full", "[wall cpu memory]", `["" "idle"]`},
	} {
		p := mustDecode(t, tt.name+".austin.gz")
		text := string(readtest.File(t, tt.name+".austin.gz"))
		var types []string
		for i := range p.Tables {
			types = append(types, p.Tables[i].Type.Name)
			unit, column := int64(1000), 0
			switch p.Tables[i].Type.Name {
			case memory:
				unit = 1
				if tt.name == "full" {
					column = 2
				}
			case "cpu":
				if tt.name == "full" {
					continue
				}
			}
			if diff := cmp.Diff(sums(text, column), spelled(p, i, unit)); diff != "" {
				t.Errorf("%s %s: %s", tt.name, p.Tables[i].Type.Name, diff)
			}
		}
		if got, states := fmt.Sprint(types), fmt.Sprintf("%q", p.States); got != tt.types || states != tt.states {
			t.Errorf("%s: %s with states %s", tt.name, got, states)
		}
	}
}

// TestMojo compares with what mojo2austin makes of the same file.
func TestMojo(t *testing.T) {
	for _, name := range []string{"wall", "cpu", "mem", "full"} {
		p := mustDecode(t, name+".mojo.gz")
		unit := int64(1000)
		if name == "mem" {
			unit = 1
		}
		if diff := cmp.Diff(sums(string(readtest.File(t, name+".from-mojo.gz")), 0), spelled(p, 0, unit)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if fr := p.Symbols.Frames[p.Symbols.Leaf(p.Tables[0].Stack[p.Tables[0].Len()/2])]; fr.Column == 0 || fr.Line == 0 {
			t.Errorf("%s: %+v", name, fr)
		}
	}
	p := mustDecode(t, "full.mojo.gz")
	if len(p.Tables) != 3 || p.Tables[1].Total() > p.Tables[0].Total() || p.Tables[1].Total() == 0 || len(p.States) != 2 {
		t.Errorf("%d tables, states %q", len(p.Tables), p.States)
	}
	if p := mustDecode(t, "cpu.mojo.gz"); fmt.Sprintf("%q", p.States) != `["" "gc"]` {
		t.Errorf("%q", p.States)
	}
}

const head = "# austin: 3.7.0\n# mode: full\n\n"

func TestTexts(t *testing.T) {
	p, err := decode([]byte(head + "P1;T1:2;C:\\a.py:f:3;:INVALID: 5,1,-7\nP1;T0x7f;b 1,0,0\n"))
	want := `== wall nanoseconds scale 0 default
5000 [ tid=1:2 in 1] <idle> f:3:0 (C:\a.py:0:0) > [invalid]
1000 [ tid=0x7f in 1] b
== cpu nanoseconds scale 0
1000 [ tid=0x7f in 1] b
== memory bytes scale 0
-7 [ tid=1:2 in 1] <idle> f:3:0 (C:\a.py:0:0) > [invalid]
`
	if err != nil || readtest.Describe(p) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, readtest.Describe(p), want)
	}
	for text, is := range map[string]error{
		head + "P1;T1 5":          profile.ErrMalformed,
		head + "P1;T1 -5,0,0":     profile.ErrMalformed,
		head + "a;b 1,0,0":        profile.ErrMalformed,
		head + "P1;b 1,0,0":       profile.ErrMalformed,
		head + "P1;T1 9e9,0,0":    profile.ErrMalformed,
		head + "P1;T1":            profile.ErrMalformed,
		"MOJ":                     profile.ErrMalformed,
		"MOJ\x04":                 profile.ErrUnsupported,
		"MOJ\x03\x0d":             profile.ErrUnsupported,
		"MOJ\x03\x02\x01\x00a":    profile.ErrMalformed,
		"MOJ\x03\x04":             profile.ErrMalformed,
		"MOJ\x03\x05\x01":         profile.ErrMalformed,
		"MOJ\x03\x09\x41":         profile.ErrMalformed,
		"MOJ\x03\x03\x01\x02\x02": profile.ErrMalformed,
		"MOJ\x03\x0a" + strings.Repeat("\xff", 9):                  profile.ErrMalformed,
		head + "P1;T1;a" + strings.Repeat(";a", 70_000) + " 1,0,0": profile.ErrTooLarge,
		head + strings.Repeat("P1;T1;a 9000000000000000,0,0\n", 2): profile.ErrMalformed,
	} {
		if p, err := decode([]byte(text)); !errors.Is(err, is) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%.60q: %v, %v", text, p, err)
		}
	}
}

func TestDamage(t *testing.T) {
	for _, name := range readtest.Names(t, 8, "*.austin.gz", "*.mojo.gz") {
		readtest.Damage(t, readtest.File(t, name), 300, decode)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range readtest.Names(f, 8, "*.austin.gz", "*.mojo.gz") {
		b := readtest.File(f, name)
		f.Add(b[:min(len(b), 3000)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		readtest.Sound(t, len(b), p, err)
		Sniff(b)
	})
}
