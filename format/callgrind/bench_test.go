package callgrind

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// largeText is 50 MB of parts, as --dump-every-bb writes them: the recorded file
// again and again, its functions in 20 copies.
var largeText = sync.OnceValue(func() string {
	_, body, _ := strings.Cut(text(new(testing.B), recorded[0]), "summary: ")
	_, body, _ = strings.Cut(body, "\n")
	var b strings.Builder
	b.WriteString("# callgrind format\nversion: 1\npositions: line\nevents: Ir\n")
	for i := 0; b.Len() < 50<<20; i++ {
		fmt.Fprintf(&b, "part: %d\n", i+1)
		part := strings.ReplaceAll(body, "fn=(", fmt.Sprintf("fn=(%d", 1+i%20))
		b.WriteString(part)
	}
	return b.String()
})

// plain is the straightforward parser: a bufio.Scanner, strings, maps of costs by
// name, no call graph.
func plain(text string) int {
	names, selfs := map[string]string{}, map[string]int64{}
	fn, call := "", false
	in := bufio.NewScanner(strings.NewReader(text))
	for in.Scan() {
		line := in.Text()
		key, value, ok := strings.Cut(line, "=")
		switch {
		case ok && strings.HasSuffix(key, "fn"):
			number, name, ok := strings.Cut(value, " ")
			if ok {
				names[number] = name
			}
			if key == "fn" {
				fn = names[number]
			}
		case ok:
			call = key == "calls"
		case len(line) > 0 && (line[0] <= '9'):
			if words := strings.Fields(line); len(words) > 1 && !call {
				v, _ := strconv.ParseInt(words[1], 10, 64)
				selfs[fn] += v
			}
			call = false
		}
	}
	return len(selfs)
}

// BenchmarkDecode compares with a plain parser that has no call graph.
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

func BenchmarkEncode(b *testing.B) {
	p := mustDecode(b, text(b, recorded[0]))
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if err := Encode(&out, p, -1); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(out.Len()))
	}
}
