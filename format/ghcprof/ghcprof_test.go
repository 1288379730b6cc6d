package ghcprof

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

var recorded = []string{"shop-percent.prof.gz", "shop-ticks.prof.gz", "shop-all.prof.gz", "shop.json.gz"}

func decode(b []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
}

func TestRecorded(t *testing.T) {
	for _, tt := range []struct {
		name         string
		ticks, bytes int64
		warnings     int
		fib          string
	}{
		{"shop-percent.prof.gz", 19, 23_234_000, 1, "2 "},
		{"shop-ticks.prof.gz", 9, 23_187_104, 0, "1 "},
		{"shop-all.prof.gz", 33, 31_504_000, 0, "2 "},
		{"shop.json.gz", 31, 31_475_896, 0, "2 "},
	} {
		b := readtest.File(t, tt.name)
		p, err := decode(b)
		if err != nil || !Sniff(b) {
			t.Fatalf("%s: %v, recognised %v", tt.name, err, Sniff(b))
		}
		if tt.name == "shop-all.prof.gz" || tt.name == "shop-ticks.prof.gz" { // compare with the sum of the columns of the tree
			tt.ticks, tt.bytes = 0, 0
			_, tree, _ := strings.Cut(string(b), "entries")
			for line := range strings.Lines(tree) {
				if w := strings.Fields(line); len(w) > 9 && w[len(w)-1] != "bytes" {
					ticks, _ := strconv.ParseInt(w[len(w)-2], 10, 64)
					bytes, _ := strconv.ParseInt(w[len(w)-1], 10, 64)
					tt.ticks, tt.bytes = tt.ticks+ticks, tt.bytes+bytes
				}
			}
		}
		near := int64(0)
		if tt.warnings > 0 {
			near = tt.bytes / 100
		}
		if got := p.Tables[1].Total(); p.Tables[0].Total() != tt.ticks || got < tt.bytes-near || got > tt.bytes+near ||
			len(p.Warnings) != tt.warnings {
			t.Errorf("%s: %d ticks, %d bytes, want %d, %d; %v", tt.name, p.Tables[0].Total(), got, tt.ticks, tt.bytes, p.Warnings)
		}
		const path = "MAIN!MAIN > Main!Main.CAF > Main!Main.main (Shop.hs:10:0) > Main!Main.price (Shop.hs:6:0) > Main!Main.price_inner (Shop.hs:6:0) > Main!Main.fib (Shop.hs:4:0)\n"
		if text := readtest.Describe(p); !strings.Contains(text, "\n"+tt.fib+path) {
			t.Errorf("%s: no %s in\n%s", tt.name, tt.fib+path, text)
		}
		if typ := p.Tables[0].Type; typ.Period != 1_000_000 || len(p.Comments) != 1 || !strings.Contains(p.Comments[0], "shop") {
			t.Error(typ, p.Comments)
		}
	}
}

const head = "\tMon Time and Allocation Profiling Report  (Final)\n\n\ttotal alloc = 1,000 bytes  (x)\n\n" +
	"COST CENTRE MODULE no. entries %time %alloc %time %alloc\n\n"

func TestTexts(t *testing.T) {
	// A table without SRC, as before GHC 8, and names with blanks and of other letters.
	p, err := decode([]byte(head + "MAIN        MAIN     1       0    0.0    0.0   100.0  100.0\n grün weiß  Main     2       7    5.0   12.5   100.0  100.0\n b          Main     2       7    5.0   50.0   100.0  100.0\n"))
	want := `== cpu-samples count scale 0 default
== alloc bytes scale 0
125 MAIN!MAIN > Main!Main.grün weiß
500 MAIN!MAIN > Main!Main.b
warning: values are computed from percentages with one decimal; for exact ones record with +RTS -P
`
	if err != nil || readtest.Describe(p) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, readtest.Describe(p), want)
	}
	deep := "{\"profile\":" + strings.Repeat(`{"id":1,"children":[`, 70_000)
	for text, is := range map[string]error{
		"":                                      profile.ErrMalformed,
		"x\n":                                   profile.ErrMalformed,
		head + "x":                              profile.ErrMalformed,
		head + "MAIN        MAIN 1 2 3 4 5\n":   profile.ErrMalformed,
		head + "MAIN        MAIN 1 2 3 x 5 6\n": profile.ErrMalformed,
		head + "MAIN        MAIN 1 2 nan 4 5 6\n": profile.ErrMalformed,
		head + " MAIN       MAIN 1 2 3 4 5 6\n":   profile.ErrMalformed,
		"COST CENTRE x entries\n":                 profile.ErrMalformed,
		"{}":                                      profile.ErrMalformed,
		`{"profile":{"id":1}}`:                    profile.ErrMalformed,
		`{"cost_centres":[{"id":1}],"profile":{"id":1,"ticks":9e18,"children":[{"id":1,"ticks":9e18}]}}`: profile.ErrMalformed,
		deep: profile.ErrTooLarge,
	} {
		if p, err := decode([]byte(text)); !errors.Is(err, is) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%.90q: %v, %v", text, p, err)
		}
	}
}

func TestDamage(t *testing.T) {
	for _, name := range recorded {
		readtest.Damage(t, readtest.File(t, name), 400, decode)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range recorded {
		b := readtest.File(f, name)
		f.Add(b[:min(len(b), 4000)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		readtest.Sound(t, len(b), p, err)
		Sniff(b)
	})
}

// TestUnknownCentre reads a node of a cost centre that is not listed.
func TestUnknownCentre(t *testing.T) {
	p, err := decode([]byte(`{"cost_centres":[{"id":1,"label":"main","module":"Main"}],` +
		`"profile":{"id":1,"ticks":2,"children":[{"id":7,"ticks":3}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := readtest.Describe(p)
	if !strings.Contains(got, "main > [unknown]\n") || !strings.Contains(got, "1 nodes are of cost centres that are not in the list of 1") {
		t.Error(got)
	}
}
