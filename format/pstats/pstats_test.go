package pstats

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// recorded are the files of cProfile (marshal 4 and 2) and of the module profile.
var recorded = []string{"shop.pstats", "shop-v2.pstats.gz", "shop-profile.pstats"}

func decode(b []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
}

func TestVersions(t *testing.T) {
	var all []*profile.Profile
	for _, name := range recorded {
		b := readtest.File(t, name)
		p, err := decode(b)
		if err != nil || !Sniff(b) || !Sniff(b[:300]) {
			t.Fatalf("%s: %v, recognised %v", name, err, Sniff(b))
		}
		if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Message, "estimated") {
			t.Errorf("%s: %v", name, p.Warnings)
		}
		all = append(all, p)
	}
	readtest.Same(t, all[0], all[1])
	if all[0].Profiler != "cProfile" || all[2].Profiler != "profile" {
		t.Error(all[0].Profiler, all[2].Profiler)
	}
	costs := readtest.Costs(all[2], 0)
	if name := all[2].Tables[0].Type.Name; name != profile.CPU || costs["fib"].Self != 23991991 ||
		costs["main"].Total < costs["sort_it"].Total {
		t.Error(name, costs)
	}
}

// TestAgainstPstats compares with the times that Python's module pstats has.
func TestAgainstPstats(t *testing.T) {
	p, err := decode(readtest.File(t, "shop.pstats"))
	if err != nil {
		t.Fatal(err)
	}
	want, sum := map[string]readtest.Cost{}, int64(0)
	for line := range strings.Lines(string(readtest.File(t, "shop.expect.txt"))) {
		var self, total float64
		var place string
		if _, err := fmt.Sscan(line, &self, &total, &place); err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(strings.TrimSpace(line), place+" ")
		c := want[name]
		c.Self, c.Total = c.Self+int64(self*1e9+0.5), c.Total+int64(total*1e9+0.5)
		want[name] = c
		sum += int64(self*1e9 + 0.5)
	}
	got := readtest.Costs(p, 0)
	if p.Tables[0].Total() != sum || len(got) != len(want) {
		t.Errorf("%d in %d functions, want %d in %d", p.Tables[0].Total(), len(got), sum, len(want))
	}
	for name, w := range want {
		if g := got[name]; g.Self != w.Self || strings.Contains("main report nap price <lambda> fib sort_it", name) &&
			(g.Total < w.Total*99/100 || g.Total > w.Total*101/100) {
			t.Errorf("%s has %+v, want %+v", name, g, w)
		}
	}
	for i := range p.Tables[0].Stack {
		path := readtest.DescribeStack(p.Symbols, p.Tables[0].Stack[i])
		if !strings.HasPrefix(path, "<lambda> (<string>:6:0)") && !strings.HasPrefix(path, "<method 'disable'") {
			t.Errorf("a path begins elsewhere: %s", path)
		}
	}
}

// head is a dictionary with one function: a of a.py:1, with 1 s of itself.
const head = "{(\x03\x00\x00\x00s\x04\x00\x00\x00a.pyi\x01\x00\x00\x00s\x01\x00\x00\x00a(\x05\x00\x00\x00i\x01\x00\x00\x00l\x01\x00\x00\x00\x01\x00f\x031.0"

func TestTexts(t *testing.T) {
	const b = "(\x03\x00\x00\x00t\x04\x00\x00\x00a.pyi\x09\x00\x00\x00s\x01\x00\x00\x00b"
	p, err := decode([]byte(head + "f\x042.25{00"))
	want := "== wall nanoseconds scale 0 default\n1000000000 a (a.py:1:0)\n"
	if err != nil || readtest.Describe(p) != want {
		t.Errorf("%v\n%s", err, readtest.Describe(p))
	}
	p, err = decode([]byte(head + "f\x042.25{" + b + "i\x07\x00\x00\x0000"))
	if err != nil || !strings.Contains(readtest.Describe(p), "1000000000 b (a.py:9:0) > a (a.py:1:0)\n") {
		t.Errorf("%v\n%s", err, readtest.Describe(p))
	}
	for text, is := range map[string]error{
		"": profile.ErrMalformed, "{": profile.ErrMalformed, "{(\x04\x00\x00\x00": profile.ErrMalformed,
		"{i\x01\x00\x00\x00":                                 profile.ErrMalformed,
		"{)\x03r\x07\x00\x00\x00":                            profile.ErrMalformed,
		head + "f\x03nan{00":                                 profile.ErrMalformed,
		head + "f\x041e99{00":                                profile.ErrMalformed,
		head + "f\x011{00x":                                  profile.ErrMalformed,
		head + "f\x011{" + b + "(\x03\x00\x00\x00":           profile.ErrMalformed,
		head + "l\x01\x00\x00\x80" + strings.Repeat("a", 30): profile.ErrMalformed,
		"{)\x03s\xff\xff\xff\x7f":                            profile.ErrTooLarge,
	} {
		if p, err := decode([]byte(text)); !errors.Is(err, is) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
	for _, other := range []string{"", "{", "{\"a\":1}", "{)\x03", "{0", "{)\x03i\x01\x00\x00\x00"} {
		if Sniff([]byte(other)) {
			t.Errorf("%q is recognised", other)
		}
	}
}

func TestDamage(t *testing.T) {
	for _, name := range recorded {
		readtest.Damage(t, readtest.File(t, name), 1500, decode)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range recorded {
		f.Add(readtest.File(f, name))
	}
	f.Add([]byte(head + "f\x042.25{00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		readtest.Sound(t, len(b), p, err)
		Sniff(b)
	})
}
