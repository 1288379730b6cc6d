package calltree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/profile"
)

// TestCutAlongLayout compares the two ways to cut: laying out what is used, and
// taking rows out of the layout of the whole forest.
func TestCutAlongLayout(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var f Forest
	for range 20_000 {
		parent := NoNode
		if n := f.Paths.Len(); n > 0 && r.IntN(20) > 0 {
			parent = int32(r.IntN(n))
		}
		f.Path(parent, f.Function(profile.Function{Name: fmt.Sprintf("f%d", r.IntN(300))}))
	}
	whole := f.Paths.Len()
	plain := Forest{Functions: f.Functions, Paths: f.Paths}
	for _, n := range []int{0, 1, 10, 1000, 5000, 12_000, whole} {
		var paths []int32
		for _, p := range r.Perm(f.Paths.Len())[:n] {
			paths = append(paths, int32(p))
		}
		if n == whole { // leaves are enough
			paths = slices.DeleteFunc(paths, func(p int32) bool { return slices.Contains(f.Paths.Parent, p) })
		}
		all := make([]int32, f.Paths.Len())
		for p := range all {
			all[p] = int32(p)
		}
		f.Cut(all) // makes the layout
		along := f.Cut(paths)
		if along.Check() != nil || f.layoutFor(0) == nil {
			t.Fatal(along.Check())
		}
		used := bitset.New(f.Paths.Len())
		self := make([]int64, f.Paths.Len())
		for _, p := range paths {
			used.Add(p)
			self[p] = int64(p) + 1
		}
		sum := f.Sum(profile.ValueType{}, slices.Clone(used), self)
		f.close(used)
		want, node := plain.cutOf(used.Members())
		if d := cmp.Diff(want, along.Table, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%d paths: %s", n, d)
		}
		if d := cmp.Diff(want, sum.Table, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("sum of %d paths: %s", n, d)
		}
		for p := range used.All() {
			if got, ok := along.Node(p); !ok || got != node[p] || along.Paths[got] != p || sum.Self[got] != self[p] {
				t.Fatalf("Node(%d) = %d, %v, want %d; its sum is %d, want %d", p, got, ok, node[p], sum.Self[got], self[p])
			}
		}
	}
}
