package jfr

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

var recordings = []string{"ap29-multi", "ap46-cpu", "ap46-wall", "ap46-multi", "jdk25-profile"}

// checkDecode decodes content, be it a recording or not, and checks what must
// hold for whatever bytes: an error with a place and of one kind, or a profile
// that is valid.
func checkDecode(t *testing.T, b []byte) *profile.Profile {
	t.Helper()
	p, err := NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{Message: 1 << 20})
	if !readtest.Sound(t, len(b), p, err) {
		return nil
	}
	if len(p.Warnings) > maxWarnings+12 {
		t.Fatalf("%d warnings", len(p.Warnings))
	}
	return p
}

func FuzzDecode(f *testing.F) {
	// Recordings are too long to be minimized; TestMutations has them.
	for _, seed := range eventTests {
		f.Add(seed.write().bytes())
	}
	f.Add(datadogChunk(10, 50))
	f.Add(slices.Concat(jdkChunk("period", "20 ms"), datadogChunk(20, 100)))
	f.Add(slices.Concat(withNumber(small(), 8, 0), small()))
	f.Fuzz(func(t *testing.T, b []byte) { checkDecode(t, b) })
}

// TestMutations damages recordings: bytes flipped, cut out, repeated, ends cut.
func TestMutations(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for _, name := range recordings {
		b := readtest.File(t, name+".jfr.gz")
		whole := samples(mustDecode(t, b))
		read := 0
		for m := range readtest.Damaged(b, rounds) {
			p := checkDecode(t, m)
			if p == nil {
				continue
			}
			read++
			if n := samples(p); n > whole*11/10 {
				t.Fatalf("%s: %d samples of %d after damage", name, n, whole)
			}
		}
		if read < rounds/10 { // a shift of bytes leaves most recordings without metadata
			t.Errorf("%s: only %d of %d damaged recordings are read", name, read, rounds)
		}
	}
}

func samples(p *profile.Profile) (n int) {
	for i := range p.Tables {
		n += p.Tables[i].Len()
	}
	return n
}

// TestMemoryOfDamage decodes files whose numbers promise more than there is.
func TestMemoryOfDamage(t *testing.T) {
	b := readtest.File(t, "ap46-multi.jfr.gz")
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		m := bytes.Clone(b)
		for range 20 {
			copy(m[headerSize+r.IntN(len(m)-headerSize-9):], "\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		checkDecode(t, m)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64*uint64(len(m))+1<<20 {
			t.Fatalf("%d bytes allocated for %d", n, len(m))
		}
	}
}

// TestManyChunks decodes a large chunk followed by many small ones, good, not
// finished, and of no use, which must take no longer than their length.
func TestManyChunks(t *testing.T) {
	large := withNames(newWriter(execClass))
	for i := range uint64(100_000) {
		large.stack(i+1, testFrame{1, 1, 1})
	}
	for name, small := range map[string][]byte{"whole": small(), "unfinished": withNumber(small(), 8, 0), "header": []byte(magic),
		"garbage": []byte("FLR\x01")} {
		b := slices.Concat(large.bytes(), bytes.Repeat(small, (2<<20)/len(small)))
		start := readtest.CPUTime()
		mustDecode(t, b)
		if d := readtest.CPUTime() - start; d > 20*time.Second {
			t.Errorf("%s: %v", name, d)
		} else {
			t.Logf("%s: %v", name, d)
		}
	}
}

// TestMemoryOfFrames decodes a recording in which no frame repeats.
func TestMemoryOfFrames(t *testing.T) {
	w := withNames(newWriter(execClass))
	for stack := range uint64(20) {
		var frames []testFrame
		for i := range uint64(10_000) {
			frames = append(frames, testFrame{1, 128 + stack*10_000 + i, 1})
		}
		w.stack(stack+1, frames...)
		w.numbers(classExecution, 1500, 7, stack+1, 2)
	}
	b := w.bytes()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	mustDecode(t, b)
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / uint64(len(b)); n > 256 {
		t.Errorf("%d bytes allocated for a byte", n)
	} else {
		t.Logf("%d bytes allocated for a byte", n)
	}
}

// TestWarmDecoder reads recordings with one decoder into the same Symbols, in
// chunks of one file and in files.
func TestWarmDecoder(t *testing.T) {
	d := NewDecoder()
	s := profile.NewSymbols()
	for range 2 {
		for _, name := range recordings {
			b := readtest.File(t, name+".jfr.gz")
			cold := mustDecode(t, b)
			warm, err := d.Decode(bytes.NewReader(b), s, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if c, w := picture(cold), picture(warm); c != w {
				t.Errorf("%s: a warm decoder reads something else", name)
			}
			readtest.Same(t, cold, warm)
		}
	}
}

// TestConcatenated reads several recordings as one.
func TestConcatenated(t *testing.T) {
	var all []byte
	sum := map[string]int64{}
	for _, name := range recordings[:4] {
		b := readtest.File(t, name+".jfr.gz")
		all = append(all, b...)
		p := mustDecode(t, b)
		for i := range p.Tables {
			sum[p.Tables[i].Type.Name] += p.Tables[i].Total()
		}
	}
	p := mustDecode(t, all)
	for i := range p.Tables {
		if s := &p.Tables[i]; s.Total() != sum[s.Type.Name] {
			t.Errorf("%s: %d, the parts have %d", s.Type.Name, s.Total(), sum[s.Type.Name])
		}
	}
	if len(p.Tables) != len(sum) || len(p.Warnings) > 0 {
		t.Errorf("%d tables, want %d; warnings %q", len(p.Tables), len(sum), p.Warnings)
	}
}

// TestGolden draws a summary of each recording.
func TestGolden(t *testing.T) {
	for _, name := range recordings {
		got := summary(mustDecode(t, readtest.File(t, name+".jfr.gz")))
		readtest.Golden(t, name+".golden", got)
	}
}

// summary draws what a profile says of itself, and of each table the totals, the
// threads and the leaves.
func summary(p *profile.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, %v, %v, interval %v\n", p.Profiler, p.ProfilerVersion, p.Start, p.Duration, p.Interval)
	for i := range p.Tables {
		s := &p.Tables[i]
		fmt.Fprintf(&b, "%s in %s of %s: %d samples, %d", s.Type.Name, s.Type.Unit, s.Type.Original, s.Len(), s.Total())
		if i == p.Default {
			b.WriteString(", default")
		}
		b.WriteByte('\n')
		threads, leaves, states := map[string]int64{}, map[string]int64{}, map[string]int64{}
		for i, v := range s.Value {
			if s.Thread != nil {
				threads[p.Threads[s.Thread[i]].Name] += v
			}
			if s.State != nil {
				states[p.States[s.State[i]]] += v
			}
			if s.Stack[i] != profile.NoStack {
				f := p.Symbols.Frames[p.Symbols.Leaf(s.Stack[i])]
				fn := p.Symbols.Functions[f.Function]
				leaves[fn.Name+" "+fn.Kind.String()+" "+fn.Module] += v
			}
		}
		for _, part := range []struct {
			name   string
			values map[string]int64
		}{{"thread", threads}, {"state", states}, {"leaf", leaves}} {
			for _, name := range heaviest(part.values, 5) {
				fmt.Fprintf(&b, "  %-6s %12d %s\n", part.name, part.values[name], name)
			}
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func heaviest(values map[string]int64, n int) []string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if values[a] != values[b] {
			return int(min(max(values[b]-values[a], -1), 1))
		}
		return strings.Compare(a, b)
	})
	return names[:min(len(names), n)]
}
