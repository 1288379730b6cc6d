package diff

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// broadAndDeep returns a table of so many roots, the last of which is one deep stack.
func broadAndDeep(roots, depth int) *calltree.Table {
	t := &calltree.Table{}
	add := func(parent, fn, level, end int) {
		t.Parent, t.Func = append(t.Parent, int32(parent)), append(t.Func, int32(fn))
		t.Depth, t.End = append(t.Depth, int32(level)), append(t.End, int32(end))
	}
	for i := range roots - 1 {
		t.Functions = append(t.Functions, profile.Function{Name: fmt.Sprintf("root %09d", i)})
		add(-1, i, 0, i+1)
	}
	t.Functions = append(t.Functions, profile.Function{Name: "stack"})
	for level := range depth {
		up := -1
		if level > 0 {
			up = t.Len() - 1
		}
		add(up, roots-1, level, roots-1+depth)
	}
	return t
}

// TestBroadAndDeep lays tables over each other that have many chunks and one that
// is split again and again: the time it takes must not be their product.
func TestBroadAndDeep(t *testing.T) {
	const roots, depth = 200_000, 100_000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	table := broadAndDeep(roots, depth)
	same := make([]int32, len(table.Functions))
	for i := range same {
		same[i] = int32(i)
	}
	start := readtest.CPUTime()
	both, one, two := overlay(table, table, same, same, table.Functions)
	if took := readtest.CPUTime() - start; took > 5*time.Second {
		t.Errorf("%d roots and a stack of %d took %v", roots, depth, took)
	}
	if !slices.Equal(both.Parent, table.Parent) || !slices.Equal(both.End, table.End) || !slices.Equal(one, two) {
		t.Error("a table laid over itself is another one")
	}
}
