package profiles

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/calltree"
)

// TestTakeVector adds up few and many values, close together and far apart, one sum after the
// other.
func TestTakeVector(t *testing.T) {
	const paths = 1 << 20
	var sw sweeper
	sw.grow(paths)
	r := rand.New(rand.NewPCG(1, 2))
	for _, spread := range []int32{1, 100, 3000, paths} {
		for _, n := range []int{0, 1, 500, 1024, 5000} {
			want, first := map[int32]int64{}, r.Int32N(paths-spread+1)
			for range n {
				p, v := first+r.Int32N(spread), r.Int64N(5)-2
				sw.add(calltree.Vector{Nodes: []int32{p}, Self: []int64{v}})
				want[p] += v
			}
			maps.DeleteFunc(want, func(_ int32, v int64) bool { return v == 0 })
			sw.takeVector()
			got := map[int32]int64{}
			for i, p := range sw.nodes {
				got[p] = sw.values[i]
			}
			if !maps.Equal(got, want) || len(got) != len(sw.nodes) || !slices.IsSorted(sw.nodes) {
				t.Errorf("%d values in %d paths: %d nodes, want %d", n, spread, len(sw.nodes), len(want))
			}
		}
	}
	for _, v := range sw.self {
		if v != 0 {
			t.Fatal("a value is left")
		}
	}
	for _, word := range sw.isTouched {
		if word != 0 {
			t.Fatal("a bit is left")
		}
	}
}
