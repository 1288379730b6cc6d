package calltree

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
	plain := Forest{Functions: f.Functions, Paths: f.Paths}
	for _, n := range []int{0, 1, 10, 1000, 5000, 12_000} {
		var paths []int32
		for _, p := range r.Perm(f.Paths.Len())[:n] {
			paths = append(paths, int32(p))
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
		plain.whole = nil
		want := plain.cutOf(closure(plain.Paths.Parent, paths).Members())
		if d := cmp.Diff(want.Table, along.Table, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%d paths: %s", n, d)
		}
		for i, p := range want.Paths {
			if along.Paths[i] != p {
				t.Fatalf("%d paths: row %d is path %d, want %d", n, i, along.Paths[i], p)
			}
			if got, ok := along.Node(p); !ok || got != int32(i) {
				t.Fatalf("Node(%d) = %d, %v", p, got, ok)
			}
		}
	}
}
