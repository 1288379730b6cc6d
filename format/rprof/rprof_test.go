package rprof

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

var recorded = []string{"plain", "line", "mem", "gc"}

func decode(b []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
}

// TestAgainstSummary compares with the times of R's summaryRprof.
func TestAgainstSummary(t *testing.T) {
	for _, name := range recorded {
		b := readtest.File(t, name+".Rprof.gz")
		p, err := decode(b)
		if err != nil || !Sniff(b) {
			t.Fatalf("%s: %v, recognised %v", name, err, Sniff(b))
		}
		if typ := p.Tables[0].Type; typ.Key() != "cpu-samples/count/10000000 nanoseconds" && typ.Period != 10_000_000 || len(p.Warnings) > 0 {
			t.Error(typ.Key(), p.Warnings)
		}
		costs, compared := readtest.Costs(p, 0), 0
		for line := range strings.Lines(string(readtest.File(t, name+".total.txt"))) {
			function, values, ok := strings.Cut(strings.TrimPrefix(line, `"\"`), `\"" `)
			var total, totalShare, self float64
			if _, err := fmt.Sscan(values, &total, &totalShare, &self); !ok || err != nil {
				continue
			}
			compared++
			want := readtest.Cost{Self: int64(math.Round(self * 100)), Total: int64(math.Round(total * 100))}
			if costs[function] != want {
				t.Errorf("%s: %s has %+v, want %+v", name, function, costs[function], want)
			}
		}
		if compared < 8 {
			t.Errorf("%s: %d functions compared", name, compared)
		}
		if memory := name == "mem" || name == "gc"; memory != (len(p.Tables) == 2) || memory && p.Tables[1].Total() <= 0 {
			t.Errorf("%s: %d tables", name, len(p.Tables))
		}
	}
}

func TestTexts(t *testing.T) {
	p, err := decode([]byte(`memory profiling: line profiling: sample.interval=20000
:1:2:100:0:"f" "main" 1#1
#File 1: /srv/a.R
:2:1:150:9:1#6 "f" 1#7 "main"
:2:1:150:9:"f" 
:2:1:150:9:"a "b" c" "<GC>" "main"
:9:9:150:9:
`))
	want := `== cpu-samples count scale 0 period 20000000 nanoseconds default
1 main > f
1 main:7:0 (/srv/a.R:0:0) > f:6:0 (/srv/a.R:0:0)
1 f (/srv/a.R:0:0)
1 main (/srv/a.R:0:0) > <GC> > a "b" c
== memory bytes scale 0
58 main:7:0 (/srv/a.R:0:0) > f:6:0 (/srv/a.R:0:0)
`
	if err != nil || readtest.Describe(p) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, readtest.Describe(p), want)
	}
	for text, is := range map[string]error{
		"": profile.ErrMalformed, "sample.interval=x\n": profile.ErrMalformed, "memory\n": profile.ErrMalformed,
		"sample.interval=1\n#File x: y\n":                                       profile.ErrMalformed,
		"sample.interval=1\n1#2 f\n":                                            profile.ErrMalformed,
		"sample.interval=1\n\"f\n":                                              profile.ErrMalformed,
		"memory profiling: sample.interval=1\n\"f\"\n":                          profile.ErrMalformed,
		"memory profiling: sample.interval=1\n:1:2:99999999999999999:3:\"f\"\n": profile.ErrMalformed,
		"sample.interval=1\n" + strings.Repeat("\"f\" ", 70_000) + "\n":         profile.ErrTooLarge,
	} {
		if p, err := decode([]byte(text)); !errors.Is(err, is) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%.60q: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "sample;interval 1\n", "xsample.interval=1\n"} {
		if Sniff([]byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}
}

// TestNextFile checks that a decoder forgets the numbers of files.
func TestNextFile(t *testing.T) {
	d, s := NewDecoder(), profile.NewSymbols()
	for _, file := range []string{"a.R", "b.R"} {
		p, err := d.Decode(strings.NewReader("line profiling: sample.interval=1\n#File 1: "+file+"\n1#2 \"f\"\n"), s, profile.Limits{})
		if err != nil || !strings.Contains(readtest.Describe(p), "1 f:2:0 ("+file+":0:0)\n") {
			t.Errorf("%v\n%s", err, readtest.Describe(p))
		}
	}
}

func TestDamage(t *testing.T) {
	for _, name := range recorded {
		readtest.Damage(t, readtest.File(t, name+".Rprof.gz"), 500, decode)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range recorded {
		f.Add(readtest.File(f, name+".Rprof.gz"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		readtest.Sound(t, len(b), p, err)
		Sniff(b)
	})
}
