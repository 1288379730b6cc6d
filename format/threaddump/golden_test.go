package threaddump

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// samples are the dumps of testdata; see the README there.
func samples(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.txt", "*.gz"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			names = append(names, filepath.Base(name))
		}
	}
	if len(names) < 12 {
		t.Fatalf("%d samples", len(names))
	}
	return names
}

// readSample returns a file of testdata without its compression.
func readSample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// decoderOf returns the decoder for a sample.
func decoderOf(name string) *Decoder {
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
	fmt.Fprintf(&b, "format %s, profiler %q %q, start %s, duration %s\n", p.Format, p.Profiler, p.ProfilerVersion, p.Start.Format("2006-01-02T15:04:05.999999999Z07:00"), p.Duration)
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
	warm := map[bool]*Decoder{false: NewDecoder(), true: NewJavacoreDecoder()}
	for _, name := range samples(t) {
		t.Run(name, func(t *testing.T) {
			text := readSample(t, name)
			d := decoderOf(name)
			p, err := d.Decode(bytes.NewReader(text), nil, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got := picture(p)
			golden := filepath.Join("testdata", strings.TrimSuffix(name, ".gz")+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if Sniff(text) == d.javacore || SniffJavacore(text) != d.javacore {
				t.Errorf("recognised: %v, as javacore: %v", Sniff(text), SniffJavacore(text))
			}
			again, err := warm[d.javacore].Decode(bytes.NewReader(text), symbols, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Tables {
				if p.Hash(i) != again.Hash(i) {
					t.Errorf("table %d: a warm decoder reads something else", i)
				}
			}
		})
	}
}
