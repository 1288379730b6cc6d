package scalene

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(b []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
}

// TestRecorded compares with sums over the lines and stacks of the file.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"full.json.gz", "cpu.json.gz"} {
		b := readtest.File(t, name)
		p, err := decode(b)
		if err != nil || !Sniff(b) || !Sniff(b[:min(len(b), 64<<10)]) {
			t.Fatalf("%s: %v, recognised %v", name, err, Sniff(b))
		}
		var content struct {
			Elapsed float64 `json:"elapsed_time_sec"`
			Stacks  [][2]json.RawMessage
			Files   map[string]struct {
				Lines []struct {
					Python float64 `json:"n_cpu_percent_python"`
					C      float64 `json:"n_cpu_percent_c"`
					System float64 `json:"n_sys_percent"`
					Malloc float64 `json:"n_malloc_mb"`
				}
			}
		}
		if err := json.Unmarshal(b, &content); err != nil {
			t.Fatal(err)
		}
		samples, percent, mb := int64(0), 0.0, 0.0
		for _, s := range content.Stacks {
			var hits struct{ Count int64 }
			if err := json.Unmarshal(s[1], &hits); err != nil {
				t.Fatal(err)
			}
			samples += hits.Count
		}
		for _, f := range content.Files {
			for _, l := range f.Lines {
				percent, mb = percent+l.Python+l.C+l.System, mb+l.Malloc
			}
		}
		want := []int64{samples, int64(percent / 100 * content.Elapsed * 1e9), int64(mb * (1 << 20))}
		if mb == 0 {
			want = want[:2]
		}
		if len(p.Tables) != len(want) || samples == 0 {
			t.Fatalf("%s: %d tables, %d samples", name, len(p.Tables), samples)
		}
		for i := range want {
			if got := p.Tables[i].Total(); math.Abs(float64(got-want[i])) > 100 {
				t.Errorf("%s: %s is %d, want %d", name, p.Tables[i].Type.Name, got, want[i])
			}
		}
		text := readtest.Describe(p)
		for _, want := range []string{
			"<module>:15:0 (/srv/shop/sc.py:0:0) > main:13:0 (/srv/shop/sc.py:0:0) > build:8:0 (/srv/shop/sc.py:0:0)\n",
			" <system> build:7:0 (/srv/shop/sc.py:6:0)\n", " <python> fib:4:0 (/srv/shop/sc.py:4:0)\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	p, err := decode([]byte(`{"elapsed_time_sec":2,"files":{"a b.py":{"lines":[{"lineno":3,"start_function_line":3,"n_cpu_percent_c":50,"n_malloc_mb":0.5},{"lineno":1}],"functions":[{"line":"f","lineno":3}]}},
"stacks":[[["/a b.py f:4;","g"],{"count":3}],[[],{"count":0}]]}`))
	want := `== cpu-samples count scale 0 default
3 f:4:0 (/a b.py:0:0) > g
== wall nanoseconds scale 0
1000000000 <native> f:3:0 (a b.py:3:0)
== alloc bytes scale 0
524288 f:3:0 (a b.py:3:0)
warning: times and allocations are of lines, without callers
`
	if err != nil || readtest.Describe(p) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, readtest.Describe(p), want)
	}
	for text, is := range map[string]error{
		"": profile.ErrMalformed, `{"stacks":3}`: profile.ErrMalformed, `{"stacks":[[["a"],{"count":-1}]]}`: profile.ErrMalformed,
		`{"stacks":[[["a"],{"count":9e18}],[["a"],{"count":9e18}]]}`:                           profile.ErrMalformed,
		`{"elapsed_time_sec":9,"files":{"a":{"lines":[{"lineno":1,"n_cpu_percent_c":5000}]}}}`: profile.ErrMalformed,
		`{"stacks":[[["a"` + strings.Repeat(`,"a"`, 70_000) + `]]]}`:                           profile.ErrTooLarge,
	} {
		if p, err := decode([]byte(text)); !errors.Is(err, is) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%.90q: %v, %v", text, p, err)
		}
	}
}

func TestDamage(t *testing.T) {
	readtest.Damage(t, readtest.File(t, "cpu.json.gz"), 100, decode)
}

func FuzzDecode(f *testing.F) {
	b := readtest.File(f, "cpu.json.gz")
	f.Add(b[:4000])
	f.Add([]byte(`{"elapsed_time_sec":2,"files":{"a":{"lines":[{"lineno":3,"n_cpu_percent_c":50}]}},"stacks":[[["a f:4;"],{"count":3}]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		readtest.Sound(t, len(b), p, err)
		Sniff(b)
	})
}
