package gotrace

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(b []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
}

// generic is what a trace spells "[...]".
var generic = regexp.MustCompile(`\[.*\]`)

// TestAgainstProfile compares with `go tool pprof -traces` of the CPU profile that was
// recorded at the same time.
func TestAgainstProfile(t *testing.T) {
	b := readtest.File(t, "work.trace.gz")
	p, err := decode(b)
	if err != nil || !Sniff(b) {
		t.Fatal(err, Sniff(b))
	}
	var want, got []string
	for _, sample := range strings.Split(string(readtest.File(t, "work.traces.txt")), "-----------+")[1:] {
		var stack []string
		for i, line := range strings.Split(strings.TrimSpace(sample), "\n")[1:] {
			name := strings.TrimSpace(strings.TrimSuffix(line, "(inline)"))
			if i == 0 {
				name = strings.Fields(name)[1]
			}
			stack = append(stack, generic.ReplaceAllString(name, "[...]"))
		}
		if len(stack) > 0 {
			want = append(want, strings.Join(stack, ";"))
		}
	}
	for _, st := range p.Tables[0].Stack {
		var stack []string
		for ; st != profile.NoStack; st = p.Symbols.Parent(st) {
			if name := p.Symbols.Functions[p.Symbols.Frames[p.Symbols.Leaf(st)].Function].Name; name != "runtime.goexit" {
				stack = append(stack, name)
			}
		}
		got = append(got, strings.Join(stack, ";"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 20 {
		t.Errorf("%d samples: %s", len(got), diff)
	}
	if len(p.Tables[0].Time) != 20 || p.Duration < 1e9 || fmt.Sprint(p.Threads) != "[{   } {goroutine 1  } {goroutine 19  }]" {
		t.Error(p.Duration, p.Threads)
	}
	if text := readtest.Describe(p); !strings.Contains(text, "main.work:24:0 (gt/gen/main.go:0:0)") {
		t.Error(text)
	}
}

func TestErrors(t *testing.T) {
	none := readtest.File(t, "nosamples.trace.gz")
	if _, err := decode(none); !Sniff(none) || !errors.Is(err, profile.ErrUnsupported) || !strings.Contains(err.Error(), "go tool trace") {
		t.Error(err)
	}
	for _, text := range []string{"", "go 1.26 trace", "go 1.99 trace\x00\x00\x00", string(none[:100]), "go 1.26 trace\x00\x00\x00xyz"} {
		if p, err := decode([]byte(text)); !errors.Is(err, profile.ErrMalformed) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
	if _, err := NewDecoder().Decode(bytes.NewReader(none), nil, profile.Limits{Message: 1000}); !errors.Is(err, profile.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := NewDecoder().Decode(bytes.NewReader(readtest.File(t, "work.trace.gz")), nil, profile.Limits{Depth: 5}); !errors.Is(err,
		profile.ErrTooLarge) {
		t.Error(err)
	}
}

func TestDamage(t *testing.T) {
	readtest.Damage(t, readtest.File(t, "work.trace.gz"), 1000, decode)
}

func FuzzDecode(f *testing.F) {
	f.Add(readtest.File(f, "nosamples.trace.gz"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		readtest.Sound(t, len(b), p, err)
		Sniff(b)
	})
}
