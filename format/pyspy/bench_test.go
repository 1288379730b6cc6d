package pyspy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
)

// program makes a dump of a program of n threads with stacks of 5 to 40 frames.
func program(r *rand.Rand, n int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Process 12946: /usr/bin/python3 shop.py\nPython v3.11.2 (/usr/bin/python3.11)\n\n")
	for i := range n {
		fmt.Fprintf(&b, "Thread %d (%s): \"worker-%d\"\n", 1000+i, []string{"idle", "active", "active+gil"}[r.IntN(3)], i)
		pool := r.IntN(20)
		for d := range 5 + r.IntN(35) {
			f := (pool*31 + d*7) % 2000
			fmt.Fprintf(&b, "    Service%d.method_%d (service/module%d.py:%d)\n", f%100, f, f%60, f)
		}
	}
	return b.Bytes()
}

var (
	threadRE = regexp.MustCompile(`^Thread (\S+) \(([^)]*)\): "(.*)"$`)
	frameRE  = regexp.MustCompile(`^    (\S.*) \((.*):(\d+)\)$`)
)

// regexpRead is the program that everybody writes first: a line at a time and a
// regular expression for each kind of line.
func regexpRead(r io.Reader) (map[string]int, error) {
	counts := map[string]int{}
	head, stack := "", []string(nil)
	end := func() {
		if head != "" {
			counts[head+"|"+strings.Join(stack, ";")]++
		}
		head, stack = "", nil
	}
	in := bufio.NewScanner(r)
	for in.Scan() {
		if m := threadRE.FindStringSubmatch(in.Text()); m != nil {
			end()
			head = m[3] + " " + m[1] + " " + m[2]
		} else if m := frameRE.FindStringSubmatch(in.Text()); m != nil {
			stack = append(stack, m[1]+" "+m[2]+":"+m[3])
		}
	}
	end()
	return counts, in.Err()
}

// TestAgainstReference holds random dumps against the reader of regular
// expressions.
func TestAgainstReference(t *testing.T) {
	d, symbols := NewDecoder(), profile.NewSymbols()
	for seed := range uint64(100) {
		text := program(rand.New(rand.NewPCG(seed, 1)), 1+int(seed)%20)
		want, err := regexpRead(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Decode(bytes.NewReader(text), symbols, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		s := &p.Tables[0]
		for i, st := range s.Stack {
			var frames []string
			for ; st != profile.NoStack; st = p.Symbols.Parent(st) {
				f := p.Symbols.Frames[p.Symbols.Leaf(st)]
				fn := p.Symbols.Functions[f.Function]
				frames = append(frames, fmt.Sprintf("%s %s:%d", fn.Name, fn.File, f.Line))
			}
			thread := p.Threads[s.Thread[i]]
			got[thread.Name+" "+thread.ID+" "+p.States[s.State[i]]+"|"+strings.Join(frames, ";")]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// BenchmarkDecode reads 64 MiB of dumps of 500 threads.
func BenchmarkDecode(b *testing.B) {
	text := program(rand.New(rand.NewPCG(1, 1)), 500)
	times := 64<<20/len(text) + 1
	size := times * len(text)
	all := func() io.Reader {
		parts := make([]io.Reader, times)
		for i := range parts {
			parts[i] = bytes.NewReader(text)
		}
		return io.MultiReader(parts...)
	}
	for _, reading := range []struct {
		name string
		read func(io.Reader) error
	}{
		{"decoder", func(r io.Reader) error {
			_, err := NewDecoder().Decode(r, nil, profile.Limits{})
			return err
		}},
		{"regexp", func(r io.Reader) error {
			_, err := regexpRead(r)
			return err
		}},
	} {
		b.Run("reader="+reading.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var best time.Duration
			for b.Loop() {
				start := cpuTime()
				if err := reading.read(all()); err != nil {
					b.Fatal(err)
				}
				if cpu := cpuTime() - start; best == 0 || cpu < best {
					best = cpu
				}
			}
			if best > 0 {
				b.ReportMetric(float64(size)/1e6/best.Seconds(), "best-MB/cpu-s")
			}
		})
	}
}
