package threaddump

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// samples are the dumps of testdata; see the README there.
func samples(t testing.TB) []string {
	t.Helper()
	return readtest.Names(t, 12, "*.txt", "*.gz")
}

// decoderOf returns the decoder for a sample.
func decoderOf(name string) profile.Decoder {
	if strings.HasPrefix(name, "javacore") {
		return NewJavacoreDecoder()
	}
	return NewDecoder()
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
	fmt.Fprintf(&b, "format %s, profiler %q %q, start %s, duration %s\n", p.Format, p.Profiler, p.ProfilerVersion,
		p.Start.Format("2006-01-02T15:04:05.999999999Z07:00"), p.Duration)
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for i := range p.Tables {
		s := &p.Tables[i]
		fmt.Fprintf(&b, "\n%s\n", s.Type)
		for n := range s.Stack {
			b.WriteString(pictureSample(p, s, n))
		}
	}
	return b.String()
}

func pictureSample(p *profile.Profile, s *profile.Samples, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", s.Value[n])
	if s.Time != nil {
		fmt.Fprintf(&b, " at %dms", s.Time[n]/1e6)
	}
	thread := p.Threads[s.Thread[n]]
	fmt.Fprintf(&b, " %q %s", thread.Name, thread.ID)
	if thread.Process != "" {
		fmt.Fprintf(&b, " of %s", thread.Process)
	}
	if s.State != nil {
		fmt.Fprintf(&b, " %s", p.States[s.State[n]])
	}
	if s.Labels != nil {
		for _, l := range p.LabelSets[s.Labels[n]] {
			if l.Text != "" {
				fmt.Fprintf(&b, " %s=%s", l.Key, l.Text)
			} else {
				fmt.Fprintf(&b, " %s=%d%s", l.Key, l.Num, l.Unit)
			}
		}
	}
	b.WriteByte('\n')
	for _, id := range p.Symbols.Path(s.Stack[n], nil) {
		f := p.Symbols.Frames[id]
		fn := p.Symbols.Functions[f.Function]
		fmt.Fprintf(&b, "    %s", fn.Name)
		for _, extra := range []string{fn.Module, fn.File, f.Type.String()} {
			if extra != "" {
				fmt.Fprintf(&b, " %s", extra)
			}
		}
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		if fn.Kind != profile.KindJava {
			fmt.Fprintf(&b, " kind %s", fn.Kind)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestGolden compares what is read of every sample with a file that a person has
// compared with the sample.
func TestGolden(t *testing.T) {
	symbols := profile.NewSymbols()
	warm := map[bool]profile.Decoder{false: NewDecoder(), true: NewJavacoreDecoder()}
	for _, name := range samples(t) {
		t.Run(name, func(t *testing.T) {
			text := readtest.File(t, name)
			javacore := strings.HasPrefix(name, "javacore")
			p, err := decoderOf(name).Decode(bytes.NewReader(text), nil, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			readtest.Golden(t, strings.TrimSuffix(name, ".gz")+".golden", picture(p))
			if Sniff(text) == javacore || SniffJavacore(text) != javacore {
				t.Errorf("recognised: %v, as javacore: %v", Sniff(text), SniffJavacore(text))
			}
			again, err := warm[javacore].Decode(bytes.NewReader(text), symbols, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			readtest.Same(t, p, again)
		})
	}
}
