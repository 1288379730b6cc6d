package goroutine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// samples are the texts of testdata; see the README there.
func samples(t testing.TB) []string {
	t.Helper()
	return readtest.Names(t, 11, "*.txt", "*.gz")
}

func decode(t testing.TB, text string) *profile.Profile {
	t.Helper()
	p, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// picture shows all that a profile says.
func picture(p *profile.Profile) string {
	var b strings.Builder
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for i := range p.Tables {
		s := &p.Tables[i]
		fmt.Fprintf(&b, "\n%s %s, of %d %s\n", s.Type, s.Type.Original, s.Type.Period, s.Type.PeriodUnit)
		for n := range s.Stack {
			b.WriteString(pictureSample(p, s, n))
		}
	}
	return b.String()
}

func pictureSample(p *profile.Profile, s *profile.Samples, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", s.Value[n])
	if s.Thread != nil {
		thread := p.Threads[s.Thread[n]]
		fmt.Fprintf(&b, " %q %s", thread.Name, thread.ID)
	}
	if s.State != nil {
		fmt.Fprintf(&b, " [%s]", p.States[s.State[n]])
	}
	if s.Labels != nil {
		for _, l := range p.LabelSets[s.Labels[n]] {
			if l.Text != "" {
				fmt.Fprintf(&b, " %s=%q", l.Key, l.Text)
			} else {
				fmt.Fprintf(&b, " %s=%d %s", l.Key, l.Num, l.Unit)
			}
		}
	}
	b.WriteByte('\n')
	for _, id := range p.Symbols.Path(s.Stack[n], nil) {
		f := p.Symbols.Frames[id]
		fn := p.Symbols.Functions[f.Function]
		fmt.Fprintf(&b, "    %s %s %s:%d %s\n", fn.Name, fn.Kind, fn.File, f.Line, f.Type)
	}
	return b.String()
}

// TestGolden compares what is read of every sample with a file that a person has
// compared with the sample.
func TestGolden(t *testing.T) {
	warm, symbols := NewDecoder(), profile.NewSymbols()
	for _, name := range samples(t) {
		t.Run(name, func(t *testing.T) {
			text := readtest.File(t, name)
			p := decode(t, string(text))
			readtest.Golden(t, strings.TrimSuffix(name, ".gz")+".golden", picture(p))
			if !Sniff(text) {
				t.Error("not recognised")
			}
			again, err := warm.Decode(bytes.NewReader(text), symbols, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			readtest.Same(t, p, again)
		})
	}
}

// TestTruths checks figures of the recordings that go tool pprof printed of the
// binary profiles taken at the same moments.
func TestTruths(t *testing.T) {
	p := decode(t, string(readtest.File(t, "heap-debug1.txt.gz")))
	live, err := p.Table(profile.Live)
	if err != nil || live != p.Default {
		t.Fatalf("table %d, default %d, %v", live, p.Default, err)
	}
	for name, want := range map[string]string{"main.retain": "3841.42kB", "net/http.NewServeMux": "64.09kB"} {
		if got := fmt.Sprintf("%.2fkB", float64(self(p, live)[name])/1024); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
	if got := fmt.Sprintf("%.2fkB", float64(p.Tables[live].Total())/1024); got != "3969.75kB" {
		t.Errorf("total %s", got)
	}
	for _, name := range []string{"goroutine-debug1.txt.gz", "goroutine-debug2.txt.gz"} {
		p := decode(t, string(readtest.File(t, name)))
		if p.Tables[0].Total() != 27 || p.Tables[0].Type.Name != profile.Goroutines {
			t.Errorf("%s: %d %s", name, p.Tables[0].Total(), p.Tables[0].Type)
		}
		if n := self(p, 0)["internal/poll.runtime_pollWait"]; n != 9 {
			t.Errorf("%s: %d wait for the network", name, n)
		}
	}
}

// self returns the self value of each function.
func self(p *profile.Profile, table int) map[string]int64 {
	v := map[string]int64{}
	s := &p.Tables[table]
	for i, st := range s.Stack {
		if st != profile.NoStack {
			v[p.Symbols.Functions[p.Symbols.Frames[p.Symbols.Leaf(st)].Function].Name] += s.Value[i]
		}
	}
	return v
}

func TestErrors(t *testing.T) {
	head := "goroutine profile: total 3\n"
	deep := "goroutine 1 [running]:\n" + strings.Repeat("main.f()\n\tm.go:1 +0x1\n", 11)
	for _, c := range []struct {
		name, text string
		limits     profile.Limits
		want       error
		message    string
	}{
		{"empty", "", profile.Limits{}, profile.ErrMalformed, "neither a traceback nor a profile"},
		{"log", "a\nb\n", profile.Limits{}, profile.ErrMalformed, "line 2"},
		{"no number", head + "x @ 0x1\n", profile.Limits{}, profile.ErrMalformed, "line 2: malformed: not 1 numbers before the @"},
		{"two numbers", head + "1 2 @ 0x1\n", profile.Limits{}, profile.ErrMalformed, "not 1 numbers"},
		{"no record", head + "hello\n", profile.Limits{}, profile.ErrMalformed, "not a record of a goroutine profile"},
		{"no address", head + "1 @ x\n", profile.Limits{}, profile.ErrMalformed, "not an address"},
		{"overflow", head + "9223372036854775807 @ 0x1\n1 @ 0x1\n", profile.Limits{}, profile.ErrMalformed, "more than 63 bits"},
		{"two kinds", head + "heap profile: 1: 2 [3: 4] @ heap/5\n", profile.Limits{}, profile.ErrUnsupported, "two kinds, goroutine and heap"},
		{"clock", "--- contention:\ncycles/second=x\n", profile.Limits{}, profile.ErrMalformed, "cycles/second is not a number"},
		{"scaled", "heap profile: 1: 2 [3: 4] @ heap/9223372036854775807\n9223372036854775807: 1 [0: 0] @ 0x1\n", profile.Limits{}, profile.ErrMalformed, "63 bits"},
		{"deep", deep, profile.Limits{Depth: 10}, profile.ErrTooLarge, "stack deeper than 10"},
		{"deep addresses", head + "1 @" + strings.Repeat(" 0x1", 11) + "\n", profile.Limits{Depth: 10}, profile.ErrTooLarge,
			"stack deeper than 10"},
		{"long", deep, profile.Limits{Line: 12}, profile.ErrTooLarge, "line 1: line longer"},
	} {
		_, err := NewDecoder().Decode(strings.NewReader(c.text), nil, c.limits)
		readtest.Refused(t, c.name, err, c.want, c.message)
	}
	if _, err := NewDecoder().Decode(strings.NewReader(deep), nil, profile.Limits{Depth: 11}); err != nil {
		t.Error(err)
	}
}

func TestSniff(t *testing.T) {
	for _, text := range []string{"", "goroutine 1 [running]:\nhello", "goroutine x [a]:\nf()", "a profile: total x", "--- other:",
		"x\nheap profile: 1: 2 [3: 4] @ heap/5", "a;b 3\n"} {
		if Sniff([]byte(text)) {
			t.Errorf("recognised: %q", text)
		}
	}
}
