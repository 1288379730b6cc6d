package perfscript

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// largeText is 50 MB in the shape of the recorded text, as a service with many
// threads would give: the recorded stacks with other addresses and times, each
// function in 20 copies.
var largeText = sync.OnceValue(func() string {
	r := rand.New(rand.NewPCG(1, 2))
	records := strings.Split(strings.TrimSpace(text(new(testing.B), "perf-script.txt.gz")), "\n\n")
	var b strings.Builder
	for us := 2433000000; b.Len() < 50<<20; us += 100 {
		lines := strings.Split(records[r.IntN(len(records))], "\n")
		copyOf := r.IntN(20)
		fmt.Fprintf(&b, "worker %d %d %d.%06d:    5025125 cpu-clock: \n", r.IntN(50), 14000+r.IntN(50), us/1e6, us%1e6)
		for _, l := range lines[1:] {
			address, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
			symbol, library, _ := strings.Cut(rest, "+0x")
			fmt.Fprintf(&b, "\t%16s %s.%d+0x%s\n", address, symbol, copyOf, library)
		}
		b.WriteByte('\n')
	}
	return b.String()
})

// plain is the straightforward parser: a bufio.Scanner, strings, maps.
func plain(text string) int {
	stacks, leaves := map[string]int64{}, 0
	var frames []string
	var period int64
	in := bufio.NewScanner(strings.NewReader(text))
	for in.Scan() {
		switch line := in.Text(); {
		case line == "":
			stacks[strings.Join(frames, ";")] += period
			leaves++
			frames = frames[:0]
		case line[0] == '\t':
			_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			symbol, _, _ := strings.Cut(rest, "+0x")
			frames = append([]string{symbol}, frames...)
		default:
			words := strings.Fields(line)
			period, _ = strconv.ParseInt(words[len(words)-2], 10, 64)
		}
	}
	return len(stacks)
}

// BenchmarkDecode compares with a plain parser that keeps only sums of stacks.
func BenchmarkDecode(b *testing.B) {
	text := largeText()
	readtest.Measure(b, "dendro", len(text), func() error {
		_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
		return err
	})
	readtest.Measure(b, "plain", len(text), func() error {
		plain(text)
		return nil
	})
}
