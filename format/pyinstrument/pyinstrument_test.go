package pyinstrument

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(text string) (*profile.Profile, error) {
	return NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
}

// sample is a recording of the program itself.
const sample = "pyinstrument-own.json"

func TestRecording(t *testing.T) {
	text := string(readtest.File(t, sample))
	p, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	const shop = "/srv/shop/shop.py:"
	top := "<module> (" + shop + "1) > main (" + shop + "18) > "
	top = strings.ReplaceAll(top, ".py:1)", ".py:1:0)")
	top = strings.ReplaceAll(top, ".py:18)", ".py:18:0)")
	sort, enc := top+"sort_it (/srv/shop/shop.py:16:0)", top+"encode (/srv/shop/shop.py:14:0)"
	dumps := enc + " > dumps (/usr/lib/python3.11/json/__init__.py:183:0) > encode (/usr/lib/python3.11/json/encoder.py:183:0)"
	got := readtest.Describe(p)
	for _, want := range []string{
		"== wall nanoseconds scale 0 default\n", "205741000 " + sort + " > <genexpr> (/srv/shop/shop.py:17:0) > Random.random (<built-in>:0:0)\n",
		"167512000 " + sort + " > <genexpr> (/srv/shop/shop.py:17:0)\n", "311324000 " + sort + "\n",
		"11011000 " + dumps + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	// Times are rounded to microseconds in the file, so the sum is off by one or two.
	if d := p.Tables[0].Total() - 1_059_371_000; d < -5000 || d > 5000 || p.Duration.Microseconds() != 1_062_965 ||
		p.Start.Unix() != 1795217221 {
		t.Error(p.Tables[0].Total(), p.Duration, p.Start)
	}
	if len(p.Warnings) != 0 || p.Comments[0] != "Program: /srv/shop/shop.py 1" || !Sniff([]byte(text)) {
		t.Error(p.Warnings, p.Comments)
	}
}

func TestTree(t *testing.T) {
	p, err := decode(`{"root_frame":{"children":[{"function":"[await]","file_path":"","time":0.25,"children":[]},
{"function":"b","file_path":"b.py","line_no":3,"time":0.5,"children":[{"function":"c","file_path":"b.py","time":0.75,"children":null}]}],"function":"a","file_path":"a.py","time":1}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := "== wall nanoseconds scale 0 default\n250000000 a (a.py:0:0)\n250000000 <[await]> a (a.py:0:0)\n750000000 a (a.py:0:0) > b (b.py:3:0) > c (b.py:0:0)\nwarning: 1 frames have less time than their children\n"
	if got := readtest.Describe(p); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if p.Symbols.Functions[0].Name != "a" || p.Symbols.Functions[1].Name != "b" {
		t.Error("functions are not in the order of the file")
	}
}

func TestErrors(t *testing.T) {
	for text, is := range map[string]error{
		`{}`: profile.ErrMalformed, `{"root_frame":[]}`: profile.ErrMalformed,
		`{"root_frame":{"time":1e99}}`:                            profile.ErrMalformed,
		`{"root_frame":{"children":[{"time":9e9},{"time":9e9}]}}`: profile.ErrMalformed,
	} {
		if _, err := decode(text); !errors.Is(err, is) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%s: %v", text, err)
		}
	}
	deep := strings.Repeat(`{"function":"f","file_path":"f.py","time":1,"children":[`, 100_000)
	if _, err := decode(`{"root_frame":` + deep); !errors.Is(err, profile.ErrTooLarge) {
		t.Error(err)
	}
	fits := `{"root_frame":` + strings.Repeat(`{"function":"f","file_path":"f.py","time":1,"children":[`, 60_000) + strings.Repeat("]}",
		60_000) + "}"
	if _, err := decode(fits); err != nil {
		t.Error(err)
	}
}

func TestDamage(t *testing.T) {
	readtest.Damage(t, readtest.File(t, sample), 5000, func(b []byte) (*profile.Profile, error) {
		return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(string(readtest.File(f, sample)))
	f.Add(`{"root_frame":{"function":"a","time":1,"children":[{"function":"[self]","time":1}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := decode(text)
		readtest.Sound(t, len(text), p, err)
		Sniff([]byte(text))
	})
}

// TestEmpty reads what pyinstrument writes if nothing was sampled.
func TestEmpty(t *testing.T) {
	p, err := decode(`{"start_time":1,"sample_count":0,"root_frame":null}`)
	if err != nil || len(p.Tables) != 1 || p.Tables[0].Len() != 0 {
		t.Errorf("%v, %v", p, err)
	}
}
