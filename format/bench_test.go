package format

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
)

// manyStacks returns n lines of folded text over 2,000 functions.
func manyStacks(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range n {
		b.WriteString("main")
		for range 5 + r.IntN(20) {
			fmt.Fprintf(&b, ";service/handler%d.serve", r.IntN(40)*r.IntN(50))
		}
		fmt.Fprintf(&b, " %d\n", 1+r.IntN(100))
	}
	return b.String()
}

// BenchmarkRead shows what a Reader costs beside its decoders, warm. "direct"
// is the decoder alone on bytes in memory.
func BenchmarkRead(b *testing.B) {
	text := manyStacks(100_000)
	p, err := folded.NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	var pb bytes.Buffer
	if err := pprof.Encode(&pb, p, 0); err != nil {
		b.Fatal(err)
	}
	for _, f := range []struct {
		name    string
		content string
		decoder Decoder
	}{{"folded", text, folded.NewDecoder()}, {"pprof", pb.String(), pprof.NewDecoder()}} {
		b.Run("format="+f.name+"/direct", func(b *testing.B) {
			b.SetBytes(int64(len(f.content)))
			s := profile.NewSymbols()
			for b.Loop() {
				if _, err := f.decoder.Decode(strings.NewReader(f.content), s, profile.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, packed := range []struct{ name, content string }{{"plain", f.content}, {"gzip", gz(f.content)}, {"zstd", zst(f.content)}} {
			b.Run("format="+f.name+"/"+packed.name, func(b *testing.B) {
				b.SetBytes(int64(len(f.content)))
				r := NewReader(profile.Limits{})
				for b.Loop() {
					for _, err := range r.Read("x", strings.NewReader(packed.content)) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// BenchmarkDetect shows what the detection of a text costs beside its decoding: every file
// of an import pays for the formats that are asked before its own.
func BenchmarkDetect(b *testing.B) {
	text := manyStacks(100_000)[:PrefixSize]
	b.SetBytes(PrefixSize)
	for b.Loop() {
		if f, err := Detect([]byte(text)); err != nil || f.Name != "folded" {
			b.Fatal(f, err)
		}
	}
}
