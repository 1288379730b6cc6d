package baseline

import (
	"testing"

	"github.com/dendroprof/dendro/test/bench/suite"
)

// BenchmarkParse is the tuned parser alone, names known.
func BenchmarkParse(b *testing.B) {
	for _, order := range []suite.Order{suite.Sorted, suite.Shuffled} {
		b.Run([]string{"sorted", "shuffled"}[order], func(b *testing.B) {
			s := suite.New(suite.Config{Groups: 1, Benchmarks: 1, Order: order})
			var texts [][]byte
			n := 0
			for i := range 8 {
				text, _ := s.AppendFolded(nil, i)
				texts = append(texts, text)
				n += len(text)
			}
			syms := newSymbols(newDictionary(nil))
			var t tree
			b.SetBytes(int64(n / len(texts)))
			for i := 0; b.Loop(); i++ {
				if err := t.parse(texts[i%len(texts)], syms); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
