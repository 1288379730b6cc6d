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

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
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
			thread := p.Threads[s.Thread[i]]
			got[thread.Name+" "+thread.ID+" "+p.States[s.State[i]]+"|"+readtest.Callers(p.Symbols, st)]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

const benchSize = 64 << 20

// BenchmarkDecode reads 64 MiB of dumps of 500 threads.
func BenchmarkDecode(b *testing.B) {
	text := program(rand.New(rand.NewPCG(1, 1)), 500)
	readtest.Measure(b, "reader=decoder", benchSize, func() error {
		_, err := NewDecoder().Decode(readtest.Repeat(benchSize, text), nil, profile.Limits{})
		return err
	})
	readtest.Measure(b, "reader=regexp", benchSize, func() error {
		_, err := regexpRead(readtest.Repeat(benchSize, text))
		return err
	})
}
