package goroutine

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// server makes the tracebacks and the goroutine profiles of a server: n
// goroutines with one of a few hundred stacks of 5 to 40 frames.
func server(r *rand.Rand, n int, debug int) []byte {
	var b bytes.Buffer
	stacks := make([]int, 300)
	for i := range stacks {
		stacks[i] = 5 + r.IntN(35)
	}
	frame := func(stack, depth int) (string, string) {
		f := (stack%17*31 + depth*7) % 2000
		if depth < 4 {
			f = stack*40 + depth
		}
		return fmt.Sprintf("shop.example/service/pkg%d.(*Type%d).method%d", f%40, f%300, f),
			fmt.Sprintf("shop.example/service/pkg%d/file%d.go:%d", f%40, f%300, f)
	}
	if debug == 1 {
		fmt.Fprintf(&b, "goroutine profile: total %d\n", n)
	}
	for i := range n {
		stack := r.IntN(len(stacks))
		if debug == 2 {
			fmt.Fprintf(&b, "goroutine %d [chan receive, %d minutes]:\n", i+1, 1+r.IntN(5))
			for d := range stacks[stack] {
				function, place := frame(stack, d)
				fmt.Fprintf(&b, "%s(0xc%09x, {0x%x, 0x%x?})\n\t%s +0x%x\n", function, r.IntN(1<<30), r.IntN(1<<30), d, place, d)
			}
			b.WriteString("created by net/http.(*Server).Serve in goroutine 1\n\tnet/http/server.go:3285 +0x4b4\n\n")
			continue
		}
		fmt.Fprintf(&b, "%d @", 1+r.IntN(20))
		for d := range stacks[stack] {
			fmt.Fprintf(&b, " %#x", 0x400000+stack*400+d)
		}
		b.WriteByte('\n')
		for d := range stacks[stack] {
			function, place := frame(stack, d)
			fmt.Fprintf(&b, "#\t%#x\t%s+%#x\t\t%s\n", 0x400000+stack*400+d, function, d, place)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

const benchSize = 64 << 20

// BenchmarkDecode reads 64 MiB of text of 5,000 goroutines, again and again.
func BenchmarkDecode(b *testing.B) {
	for _, debug := range []int{1, 2} {
		text := server(rand.New(rand.NewPCG(1, 1)), 5000, debug)
		b.Run(fmt.Sprintf("debug=%d", debug), func(b *testing.B) {
			readtest.Measure(b, "reader=decoder", benchSize, func() error {
				_, err := NewDecoder().Decode(readtest.Repeat(benchSize, text), nil, profile.Limits{})
				return err
			})
			readtest.Measure(b, "reader=regexp", benchSize, func() error {
				_, err := regexpRead(readtest.Repeat(benchSize, text))
				return err
			})
		})
	}
}

var (
	goroutineRE = regexp.MustCompile(`^goroutine (\d+) \[([^,\]]*)`)
	callRE      = regexp.MustCompile(`^(\S.*)\([^()]*\)$`)
	placeRE     = regexp.MustCompile(`^\s+(\S+:\d+)`)
	recordRE    = regexp.MustCompile(`^(\d+) @`)
	commentRE   = regexp.MustCompile(`^#\t0x[0-9a-f]+\t+(\S+)\+0x[0-9a-f]+\t+(\S+:\d+)`)
)

// regexpRead is the program that everybody writes first: a line at a time and a
// regular expression for each kind of line. It returns the goroutines of each
// state and stack, innermost frame first.
func regexpRead(r io.Reader) (map[string]int, error) {
	counts := map[string]int{}
	var stack []string
	state, call, n := "", "", 0
	end := func() {
		if n > 0 {
			counts[state+"|"+strings.Join(stack, ";")] += n
		}
		stack, state, n = nil, "", 0
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		if m := goroutineRE.FindStringSubmatch(line); m != nil {
			end()
			state, n = m[2], 1
		} else if m := recordRE.FindStringSubmatch(line); m != nil {
			end()
			fmt.Sscan(m[1], &n)
		} else if m := commentRE.FindStringSubmatch(line); m != nil {
			stack = append(stack, m[1]+" "+m[2])
		} else if strings.HasPrefix(line, "created by") {
			call = ""
		} else if m := callRE.FindStringSubmatch(line); m != nil {
			call = m[1]
		} else if m := placeRE.FindStringSubmatch(line); m != nil && call != "" {
			stack = append(stack, call+" "+m[1])
			call = ""
		} else if line == "" {
			end()
		}
	}
	end()
	return counts, in.Err()
}
