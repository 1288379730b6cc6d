package hprof

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(text []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
}

func TestGolden(t *testing.T) {
	for name, totals := range map[string][]int64{
		"cpu.hprof.txt":   {126}, // as the head of its last table says
		"sites.hprof.txt": {1161280 + 167552, 14516 + 4, 1161280 + 223472, 14516 + 7},
	} {
		text := readtest.File(t, name)
		if !Sniff(text) {
			t.Errorf("%s is not recognised", name)
		}
		p, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		readtest.Golden(t, name+".golden", readtest.Describe(p))
		if len(p.Tables) != len(totals) || p.Start.IsZero() ||
			p.Start.Second() != map[string]int{"cpu.hprof.txt": 56, "sites.hprof.txt": 24}[name] {
			t.Fatal(name, len(p.Tables), p.Start.Format(time.DateTime))
		}
		for i, want := range totals {
			if got := p.Tables[i].Total(); got != want {
				t.Errorf("%s: %s is %d in total, want %d", name, p.Tables[i].Type.Name, got, want)
			}
		}
		readtest.Damage(t, text, 5000, decode)
	}
	if Sniff([]byte("JAVA PROFILE 1.0.2\x00\x00\x00\x00\x08")) || Sniff([]byte("a;b 1\n")) {
		t.Error("a heap dump is recognised")
	}
}

func TestErrors(t *testing.T) {
	const first = "JAVA PROFILE 1.0.1, created Wed Apr  3 21:50:56 2019\n"
	table := func(rows string) string {
		return first + "TRACE 1:\n\ta.B.c(B.java:1)\nCPU SAMPLES BEGIN (total = 1) x\n" + rows
	}
	for text, c := range map[string]struct {
		is   error
		says string
	}{
		first: {profile.ErrUnsupported, "without CPU samples"},
		first + "MONITOR TIME BEGIN (total = 5 ms) x\n":                 {profile.ErrUnsupported, "cpu=samples"},
		first + "TRACE 1x\n":                                            {profile.ErrMalformed, "line 2"},
		first + "TRACE 1:\n\tnothing\n":                                 {profile.ErrMalformed, "not a frame"},
		first + "TRACE 1:\n" + strings.Repeat("\ta.B.c(B.java:1)\n", 3): {profile.ErrTooLarge, "--max-depth"},
		table("1 1% 1% 5\n"):                                            {profile.ErrMalformed, "without a stack"},
		table("1 1% 1% 5 2 a\n"):                                        {profile.ErrMalformed, "stack 2 is not above"},
		table("1 1% 1% x 1 a\n"):                                        {profile.ErrMalformed, "not a number"},
		table(strings.Repeat("1 1% 1% 9223372036854775807 1 a\n", 2)):   {profile.ErrMalformed, "63 bits"},
		first + "TRACE 1:\n" + strings.Repeat("x", 100) + "\n":          {profile.ErrTooLarge, "--max-line"},
	} {
		_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 2, Line: 90})
		readtest.Refused(t, text, err, c.is, c.says)
	}
	p, err := decode([]byte(table("1 1% 1% 1 1 a\n")))
	if err != nil || len(p.Warnings) != 1 || p.Tables[0].Total() != 1 {
		t.Error(p, err)
	}
}

// TestLegend reads a text as the agent of the JDK writes it, with the legend of its
// records, whose lines begin as the records do.
func TestLegend(t *testing.T) {
	const text = `JAVA PROFILE 1.0.1, created Wed Apr  3 21:50:56 2019

This file contains the following types of records:

THREAD START
THREAD END      the lifetime of a thread

TRACE           a stack, as a series of frames, to which
                other records refer
SITES           allocations
CPU SAMPLES     a statistical profile
CPU TIME        is measured

--------

THREAD START (obj=50000190, id = 200001, name="main", group="main")
TRACE 300027:
	shop.Price.of(Price.java:12)
	shop.Main.main(Main.java:5)
TRACE 300028:
	shop.Main.main(Main.java:7)
CPU TIME (ms) BEGIN (total = 2000) Wed Apr  3 21:51:00 2019
rank   self  accum   count trace method
   1 75,25% 75,25%      59 300027 shop.Price.of
   2 20.50% 95.75%       1 300028 shop.Main.main
CPU TIME (ms) END
`
	p, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	costs := readtest.Costs(p, 0)
	if costs["shop.Price.of"].Total != 1505e6 || costs["shop.Main.main"] != (readtest.Cost{Self: 410e6, Total: 1915e6}) ||
		costs["[below cutoff]"].Self != 85e6 || p.Tables[0].Total() != 2e9 {
		t.Error(costs)
	}
	samples := strings.NewReplacer("CPU TIME (ms)", "CPU SAMPLES").Replace(text)
	if p, err = decode([]byte(samples)); err != nil || readtest.Costs(p, 0)["shop.Price.of"].Self != 59 {
		t.Error(p, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range readtest.Names(f, 2, "*.txt") {
		f.Add(readtest.File(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decode(text)
		readtest.Sound(t, len(text), p, err)
		Sniff(text)
	})
}
