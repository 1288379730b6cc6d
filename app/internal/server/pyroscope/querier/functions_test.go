package querier

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// drawStacks returns stacks of few functions, outermost first, and their tree. Functions of two
// files have one name.
func drawStacks(t *rapid.T) (stacks [][]string, values []int64, tree *calltree.Tree) {
	forest, self := new(calltree.Forest), map[int32]int64{}
	for range rapid.IntRange(0, 12).Draw(t, "stacks") {
		stack := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 6).Draw(t, "stack")
		path, value := calltree.NoNode, rapid.Int64Range(1, 9).Draw(t, "value")
		for i, name := range stack {
			path = forest.Path(path, forest.Function(profile.Function{Name: name, File: fmt.Sprint("file", i%2)}))
		}
		self[path] += value
		stacks, values = append(stacks, stack), append(values, value)
	}
	list := make([]int64, forest.Paths.Len())
	for p, v := range self {
		list[p] = v
	}
	return stacks, values, forest.Tree(profile.ValueType{Name: "cpu"}, list)
}

// TestFunctions compares the table with the stacks one by one.
func TestFunctions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stacks, values, tree := drawStacks(t)
		want := map[string]functionStats{}
		sum := int64(0)
		for i, stack := range stacks {
			sum += values[i]
			for at, name := range stack {
				f := want[name]
				f.Name = name
				if !slices.Contains(stack[:at], name) {
					f.Total += values[i]
				}
				if at == len(stack)-1 {
					f.Self += values[i]
				}
				want[name] = f
			}
		}
		table, err := functions(context.Background(), tree)
		if err != nil || table.Total != sum || table.Count != int64(len(want)) {
			t.Fatalf("%+v, %v; want %d functions, %d", table, err, len(want), sum)
		}
		for i, f := range table.Functions {
			if f != want[f.Name] || i > 0 && f.Self > table.Functions[i-1].Self {
				t.Fatalf("%+v, want %+v", table.Functions, want)
			}
		}
	})
}

// TestBranches compares callers and callees with the stacks one by one.
func TestBranches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stacks, values, tree := drawStacks(t)
		var chain []callSite
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3).Draw(t, "chain")
		for _, name := range names {
			chain = append(chain, callSite{name})
		}
		o := &functionTreeOptions{Selection: rapid.SampledFrom([]treeSelection{rootPath, functionChain}).Draw(t, "selection"),
			Depth: rapid.Int32Range(1, 4).Draw(t, "depth")}
		callees, callers := map[string]int64{}, map[string]int64{} // by the path from the chain
		own, ownTop := int64(0), int64(0)
		for i, stack := range stacks {
			for at := 0; at+len(names) <= len(stack) && (at == 0 || o.Selection == functionChain); at++ {
				if !slices.Equal(stack[at:at+len(names)], names) {
					continue
				}
				below := stack[at+len(names):]
				for n := range min(len(below), int(o.Depth)) + 1 {
					callees[strings.Join(below[:n], ";")] += values[i]
				}
				if len(below) == 0 {
					own += values[i]
				}
				above := slices.Clone(stack[:at])
				slices.Reverse(above)
				for n := range min(len(above), int(o.Depth)) + 1 {
					callers[strings.Join(above[:n], ";")] += values[i]
				}
				if len(below) == 0 && len(names) == 1 {
					ownTop += values[i]
				}
			}
		}
		b := newBranches(context.Background(), tree, chain, o)
		down, err := b.callees(context.Background())
		up, err2 := b.callers(context.Background())
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for _, c := range []struct {
			root *branch
			name string
			own  int64
			want map[string]int64
		}{{down, names[len(names)-1], own, callees}, {up, names[0], ownTop, callers}} {
			got := map[string]int64{}
			if c.root != nil {
				c.root.flatten(nil, got)
				if c.root.Name != c.name || c.root.Self != c.own {
					t.Fatalf("the root is %+v, want %s with %d", c.root, c.name, c.own)
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Fatalf("%v below %v, want %v", got, names, c.want)
			}
		}
	})
}

// flatten adds the totals of a branch and those below it by path.
func (b *branch) flatten(path []string, totals map[string]int64) {
	totals[strings.Join(path, ";")] += b.Total
	for _, c := range b.children {
		c.flatten(append(slices.Clone(path), c.Name), totals)
	}
}

// TestBranchesEnd: a query whose time is over ends.
func TestBranchesEnd(t *testing.T) {
	forest := new(calltree.Forest)
	path := calltree.NoNode
	for range 3000 {
		path = forest.Path(path, forest.Function(profile.Function{Name: "a"}))
	}
	values := make([]int64, forest.Paths.Len())
	values[path] = 1
	ctx, end := context.WithCancel(t.Context())
	end()
	b := newBranches(ctx, forest.Tree(profile.ValueType{Name: "cpu"}, values), []callSite{{"a"}, {"a"}},
		&functionTreeOptions{Selection: functionChain})
	if _, err := b.callers(ctx); err == nil {
		t.Error("callers of an ended query")
	}
	if _, err := b.callees(ctx); err == nil {
		t.Error("callees of an ended query")
	}
}
