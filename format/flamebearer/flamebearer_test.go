package flamebearer

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

// single is a flame graph of the paths a 1, a;b 2, a;c 3, d 4 with a gap of 5 in
// front of d.
const single = `{"version":1,"flamebearer":{"names":["total","d","a","c","b"],"levels":[[0,15,0,0],[0,6,1,2,5,4,4,1],[1,2,2,4,0,3,3,3]],"numTicks":15,"maxSelf":4},
"metadata":{"format":"single","spyName":"gospy","sampleRate":100,"units":"samples","name":"shop.cpu"},"timeline":{"startTime":1700000000,"samples":[1,2,3],"durationDelta":10}}`

const double = `{"flamebearer":{"names":["total","a","b"],"levels":[[0,3,0,0,7,0,0],[0,3,3,0,7,2,1],[3,0,0,2,5,5,2]],"numTicks":10,"maxSelf":5},
"metadata":{"format":"double","spyName":"javaspy","units":"bytes","name":"shop.alloc_space"},"leftTicks":3,"rightTicks":7}`

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"single", single, "== cpu-samples count scale 0 period 10000000 nanoseconds default\n1 a\n4 d\n2 a > b\n3 a > c\n"},
		{"double", double, "== base bytes scale 0\n3 a\n== head bytes scale 0 default\n2 a\n5 a > b\n"},
		{"nanoseconds", strings.Replace(single, `"sampleRate":100`, `"sampleRate":1000000000`, 1), "== cpu nanoseconds scale 0 default\n1 a\n4 d\n2 a > b\n3 a > c\n"},
		{"side by side", `{"flamebearer":{"names":["total","a","b","c"],"levels":[[0,4,0,0],[0,2,1,1,0,2,1,2],[1,1,1,3,0,1,1,3]]}}`,
			"== cpu-samples count scale 0 default\n1 a\n1 b\n1 a > c\n1 b > c\n"},
		{"old", `{"flamebearer":{"names":["total","a"],"levels":[[0,1,0,0],[0,1,1,1]],"units":"goroutines","format":"single"}}`, "== goroutines count scale 0 default\n1 a\n"},
	} {
		p, err := decode(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := readtest.Describe(p); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if !Sniff([]byte(tt.text)) {
			t.Errorf("%s: not recognised", tt.name)
		}
	}
	p, _ := decode(single)
	if p.Start.Unix() != 1700000000 || p.Duration.Seconds() != 30 || p.Symbols.Functions[0].Name != "d" ||
		p.Symbols.Functions[0].Kind != profile.KindGo {
		t.Error(p.Start, p.Duration, p.Symbols.Functions)
	}
}

func TestValueTypes(t *testing.T) {
	for _, tt := range []struct{ units, name, want string }{
		{"bytes", "x.alloc_space", "alloc (bytes)"}, {"bytes", "memory:inuse_space:bytes", "live (bytes)"}, {"bytes", "x", "bytes (bytes)"},
		{"objects", "x.alloc_objects", "alloc-samples (count)"}, {"objects", "x.inuse_objects", "live-samples (count)"},
		{"lock_nanoseconds", "", "lock (nanoseconds)"}, {"lock_samples", "", "lock-samples (count)"}, {"exceptions", "", "exceptions (count)"},
	} {
		f := file{units: tt.units, name: tt.name}
		if got := f.valueType().String(); got != tt.want {
			t.Errorf("%s %s: %s", tt.units, tt.name, got)
		}
	}
}

// TestUnknown reads a box whose name is not listed, and a profile without levels.
func TestUnknown(t *testing.T) {
	for levels, want := range map[string]string{
		`[[0,3,1,0],[0,2,2,9]]`: "1 (no stack)\n2 [unknown]\nwarning: 1 boxes have a name that is not in the list of 2; they count as [unknown]\n",
		`[[0,1,0,-1]]`:          "warning: 1 boxes have a name that is not in the list of 2; they count as [unknown]\n",
		`[]`:                    "",
	} {
		p, err := decode(`{"flamebearer":{"names":["total","a"],"levels":` + levels + `}}`)
		if err != nil {
			t.Error(err)
		} else if got, want := readtest.Describe(p), "== cpu-samples count scale 0 default\n"+want; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", levels, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, levels := range []string{
		`[[0,1,0]]`, `[[0,-1,0,0]]`, `[[0,1,0,0],[0,2,2,1]]`, `[[0,1,0,0],[2,1,1,1]]`, `[[],[0,1,1,1]]`,
		`[[0,1152921504606846977,0,0]]`, `[[0,1,0,"x"]]`,
	} {
		text := `{"flamebearer":{"names":["total","a"],"levels":` + levels + `}}`
		if _, err := decode(text); !errors.Is(err, profile.ErrMalformed) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := decode(`{}`); !errors.Is(err, profile.ErrMalformed) {
		t.Error(err)
	}
	if _, err := NewDecoder().Decode(strings.NewReader(single), nil, profile.Limits{Depth: 1}); !errors.Is(err, profile.ErrTooLarge) {
		t.Error(err)
	}
}

func TestDamage(t *testing.T) {
	for _, text := range []string{single, double} {
		readtest.Damage(t, []byte(text), 5000, func(b []byte) (*profile.Profile, error) {
			return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(single)
	f.Add(double)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := decode(text)
		readtest.Sound(t, len(text), p, err)
		Sniff([]byte(text))
	})
}
