package xhprof

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

var recorded = []string{"tideways.json", "tideways.xhprof", "wall.json"}

func decode(b []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
}

// TestRecorded compares with sums over the pairs of the file.
func TestRecorded(t *testing.T) {
	for _, name := range recorded {
		b := readtest.File(t, name)
		p, err := decode(b)
		if err != nil || !Sniff(b) || len(p.Warnings) != 1 {
			t.Fatalf("%s: %v, recognised %v", name, err, Sniff(b))
		}
		if name == "tideways.xhprof" {
			b = readtest.File(t, "tideways.json")
		}
		var pairs map[string]map[string]int64
		if err := json.Unmarshal(b, &pairs); err != nil {
			t.Fatal(err)
		}
		keys := []string{"wt", "cpu", "mu"}
		if name == "wall.json" {
			keys = keys[:1]
		}
		if len(p.Tables) != len(keys) {
			t.Fatalf("%s: %d tables", name, len(p.Tables))
		}
		for i, key := range keys {
			factor := int64(1000)
			if key == "mu" {
				factor = 1
			}
			want, outermost := map[string]int64{}, int64(0)
			function := func(name string) string { name, _, _ = strings.Cut(name, "@"); return name }
			for pair, values := range pairs {
				caller, callee, ok := strings.Cut(pair, "==>")
				if !ok {
					outermost += values[key] * factor
					callee = pair
				} else {
					want[function(caller)] -= values[key] * factor
				}
				want[function(callee)] += values[key] * factor
			}
			costs := readtest.Costs(p, i)
			for name, self := range want {
				if costs[name].Self != self {
					t.Errorf("%s %s: %s has self %d, want %d", name, key, name, costs[name].Self, self)
				}
			}
			if p.Tables[i].Total() != outermost {
				t.Errorf("%s %s: %d in total, want %d", name, key, p.Tables[i].Total(), outermost)
			}
			if got, want := costs["run"].Total, pairs["run"][key]*factor; key != "mu" && (got < want*99/100 || got > want*101/100) {
				t.Errorf("%s %s: run has %d, want %d", name, key, got, want)
			}
		}
	}
}

// TestLevels checks that a recursion, whose levels the file has, is as deep as it was.
func TestLevels(t *testing.T) {
	p, err := decode([]byte(`{"main()":{"ct":1,"wt":100,"mu":-8},"main()==>f":{"ct":1,"wt":90,"mu":2},"f==>f@1":{"ct":1,"wt":70},"f@1==>g":{"ct":1,"wt":-5}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `== wall nanoseconds scale 0 default
10000 main()
20000 main() > f
70000 main() > f > f
== memory bytes scale 0
-10 main()
2 main() > f
warning: the file is a call graph: own costs of functions are exact, call paths are estimated from 3 pairs of caller and callee
`
	if got := readtest.Describe(p); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestErrors(t *testing.T) {
	for _, text := range []string{
		"", "{}", `{"a==>b":{"ct":1}}`, `{"a==>b":{"wt":9e18}}`, `{"a":{"wt":9e15,"mu":9e18}}`, `[]`,
		"a:1:{s:1:\"a\";a:1:{s:2:\"wt\";i:5;}", "a:1:{s:1:\"a\";a:1:{s:2:\"wt\";d:5;}}",
		"a:1:{s:1:\"a\";a:1:{s:2:\"wt\";i:9223372036854775807;}}",
		"a:1:{s:1:\"a\";a:1:{s:2:\"wt\";i:5;}}x", "a:1:{s:-1:\"a\";", "a:99999999999999999999999999999999999:{",
	} {
		if p, err := decode([]byte(text)); !errors.Is(err, profile.ErrMalformed) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	if _, err := decode([]byte("a:1:{s:99999999:\"")); !errors.Is(err, profile.ErrTooLarge) {
		t.Error(err)
	}
	for _, text := range []string{"", "a:", "a;b 1\n", `{"wt":1}`, `{"a":{"wt":1}}`} {
		if Sniff([]byte(text)) {
			t.Errorf("%q is recognised", text)
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
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		readtest.Sound(t, len(b), p, err)
		Sniff(b)
	})
}
