package encoding

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/calltree"
)

// FuzzVector decodes anything, within memory in proportion to it.
func FuzzVector(f *testing.F) {
	f.Add(new(Encoder).Encode([]int32{0, 2, 7}, []int64{20, 30, -10}))
	f.Add(new(Encoder).Encode([]int32{1 << 30}, []int64{math.MinInt64}))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, blob []byte) {
		v, err := Decode(blob, 1<<20, calltree.Vector{})
		if err != nil {
			return
		}
		if cap(v.Nodes) > 6*len(blob) {
			t.Errorf("room for %d entries of %d bytes", cap(v.Nodes), len(blob))
		}
		for i, p := range v.Nodes {
			if p < 0 || p >= 1<<20 || i > 0 && p <= v.Nodes[i-1] {
				t.Fatalf("paths %v", v.Nodes)
			}
		}
		if slices.Contains(v.Self, 0) {
			return // a product beyond 64 bits, which nobody writes
		}
		again, err := Decode(new(Encoder).Encode(v.Nodes, v.Self), 1<<20, calltree.Vector{})
		if err != nil || !slices.Equal(again.Nodes, v.Nodes) || !slices.Equal(again.Self, v.Self) {
			t.Fatalf("%v becomes %v, %v", v, again, err)
		}
	})
}

// suiteVector looks like one of the large suite: dense paths, values as of samples.
func suiteVector(n int) calltree.Vector {
	r := rand.New(rand.NewPCG(3, 4))
	v := calltree.Vector{}
	p := int32(-1)
	for range n {
		p++
		if r.IntN(5) > 1 {
			p += int32(r.ExpFloat64() * 5)
		}
		v.Nodes, v.Self = append(v.Nodes, p), append(v.Self, 1+int64(math.Exp(3+1.8*r.NormFloat64())))
	}
	return v
}

// BenchmarkVector encodes and decodes a vector of 5,000 entries.
func BenchmarkVector(b *testing.B) {
	v := suiteVector(5000)
	var enc Encoder
	blob := new(Encoder).Encode(v.Nodes, v.Self)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			blob = enc.Encode(v.Nodes, v.Self)
		}
		b.ReportMetric(float64(len(blob))/float64(len(v.Nodes)), "B/entry")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(v.Nodes)), "ns/entry")
	})
	b.Run("decode", func(b *testing.B) {
		var buf calltree.Vector
		for b.Loop() {
			var err error
			if buf, err = Decode(blob, math.MaxInt32, buf); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(v.Nodes)), "ns/entry")
	})
}
