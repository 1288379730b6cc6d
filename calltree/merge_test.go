package calltree_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

func merge(t interface{ Fatalf(string, ...any) }, trees ...*calltree.Tree) *calltree.Tree {
	m, err := calltree.Merge(trees...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := m.Check(); err != nil {
		t.Fatalf("%v", err)
	}
	return m
}

func TestMergePictures(t *testing.T) {
	for _, c := range []struct{ name, a, b, tree string }{
		{"paths unite, values add", `
			A  A
			B  C
		`, `
			×2  ×3
			A   D
			B
		`, `
			- A (total: 4, self: —)
			  - B (total: 3, self: 3)
			  - C (total: 1, self: 1)
			- D (total: 3, self: 3)
		`},
		{"ties are in byte order of names, whatever the tables say", `
			b  a  B
		`, `
			ä  Z
		`, `
			- B (total: 1, self: 1)
			- Z (total: 1, self: 1)
			- a (total: 1, self: 1)
			- b (total: 1, self: 1)
			- ä (total: 1, self: 1)
		`},
		{"a difference is a merge with negative values", `
			×5  ×3
			A   B
		`, `
			×-5  ×-1
			A    B
		`, `
			- B (total: 2, self: 2)
		`},
		{"with nothing", ``, `A`, `
			- A (total: 1, self: 1)
		`},
	} {
		t.Run(c.name, func(t *testing.T) {
			merged := merge(t, proftest.Tree(c.a), proftest.Tree(c.b))
			proftest.CheckTree(t, merged)
			if diff := cmp.Diff(trim(c.tree), proftest.Draw(merged)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMergeOfNothing(t *testing.T) {
	if m := merge(t); m.Len() != 0 || len(m.FunctionRows()) != 0 || m.RootTotal() != 0 {
		t.Errorf("%+v", m)
	}
}

func TestMergeDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.Permutation([]string{"", "b.go", "cc.go"}).Draw(t, "files")
		a := proftest.ToTree(files[0], proftest.Samples(-6).Draw(t, "a"))
		b := proftest.ToTree(files[1], proftest.Samples(-6).Draw(t, "b"))
		c := proftest.ToTree(files[2], proftest.Samples(-6).Draw(t, "c"))
		all := merge(t, a, b, c)
		proftest.CheckTree(t, all)
		for name, other := range map[string]*calltree.Tree{
			"c, b, a":   merge(t, c, b, a),
			"(a, b), c": merge(t, merge(t, a, b), c),
			"a, (b, c)": merge(t, a, merge(t, b, c)),
			"b, (c, a)": merge(t, b, merge(t, c, a)),
		} {
			if diff := cmp.Diff(all, other); diff != "" {
				t.Fatalf("(a, b, c) (-) and %s (+):\n%s", name, diff)
			}
		}
	})
}

func TestMergeOfTreesIsTreeOfAllSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := proftest.Samples(-6).Draw(t, "a"), proftest.Samples(-6).Draw(t, "b")
		both := append(append([]proftest.Sample{}, a...), b...)
		merged := merge(t, proftest.ToTree("x", a), proftest.ToTree("x", b))
		if diff := cmp.Diff(merge(t, proftest.ToTree("x", both)), merged); diff != "" {
			t.Fatalf("tree of all (-) and merge (+):\n%s", diff)
		}
		if diff := cmp.Diff(proftest.Naive(both...), proftest.NumbersOf(merged)); diff != "" {
			t.Fatalf("definition (-) and merge (+):\n%s", diff)
		}
	})
}

func TestFromProfileMatchesDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := proftest.Samples(-6).Draw(t, "samples")
		tree := proftest.ToTree("x", list)
		proftest.CheckTree(t, tree)
		if diff := cmp.Diff(proftest.Naive(list...), proftest.NumbersOf(tree)); diff != "" {
			t.Fatal(diff)
		}
		// The function list, from its definition: a stack counts once for each
		// function in it. Without negative values nothing cancels.
		want := map[string]int64{}
		for i, x := range list {
			x.Value = max(x.Value, -x.Value)
			list[i] = x
			seen := map[string]bool{}
			for _, f := range x.Stack {
				if !seen[f] {
					want[f] += x.Value
				}
				seen[f] = true
			}
		}
		got := map[string]int64{}
		positive := proftest.ToTree("x", list)
		for _, r := range positive.FunctionRows() {
			got[positive.Functions[r.Func].Name] = r.Total
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestMergeOnSeveralCoresGivesTheSame(t *testing.T) {
	trees := make([]*calltree.Tree, 9)
	total := 0
	for i := range trees {
		trees[i] = calltree.FromProfile(proftest.Wide(9000, uint64(i)), 0)
		total += trees[i].Len()
	}
	if total < 1<<16 {
		t.Fatalf("%d nodes are too few to be merged on several cores", total)
	}
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	alone := merge(t, trees...)
	for _, cores := range []int{2, 3, 4, 64} {
		runtime.GOMAXPROCS(cores)
		if !proftest.Same(alone, merge(t, trees...)) {
			t.Errorf("%d cores give another tree than one", cores)
		}
	}
}

func TestMergeOfAttributes(t *testing.T) {
	tree := func(f profile.Function) *calltree.Tree {
		f.Name = "f"
		p := proftest.Columns("")
		p.Tables[0].Add(p.Symbols.Stack(profile.NoStack, p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(f)})), 1)
		return calltree.FromProfile(p, 0)
	}
	for _, c := range []struct{ a, b, want profile.Function }{
		{profile.Function{}, profile.Function{Kind: profile.KindGo, Module: "m", Language: "go", SystemName: "s"},
			profile.Function{Kind: profile.KindGo, Module: "m", Language: "go", SystemName: "s"}},
		{profile.Function{Kind: profile.KindGo, Module: "b"}, profile.Function{Kind: profile.KindJava, Module: "a"},
			profile.Function{Kind: profile.KindJava, Module: "a"}},
		{profile.Function{File: "b", StartLine: 1, Column: 1}, profile.Function{File: "a", StartLine: 9, Column: 9},
			profile.Function{File: "a", StartLine: 9, Column: 9}}, // a place stays whole
		{profile.Function{File: "a", StartLine: 2}, profile.Function{File: "a", StartLine: 1, Column: 7},
			profile.Function{File: "a", StartLine: 1, Column: 7}},
		{profile.Function{StartLine: 2}, profile.Function{StartLine: 1}, profile.Function{StartLine: 1}},
		{profile.Function{StartLine: 1}, profile.Function{File: "a", StartLine: 2}, profile.Function{File: "a", StartLine: 2}},
	} {
		c.want.Name = "f"
		for _, pair := range [][2]profile.Function{{c.a, c.b}, {c.b, c.a}} {
			got := merge(t, tree(pair[0]), tree(pair[1])).Functions[0]
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%+v and %+v:\n%s", pair[0], pair[1], diff)
			}
		}
	}
}

func TestMergeKeepsWhatIsNotInTheKeyOfTheType(t *testing.T) {
	one := func(original, name string) *calltree.Tree {
		tree := proftest.Tree("A")
		tree.Type.Original, tree.Type.PeriodName = original, name
		return tree
	}
	ab, ba := merge(t, one("samples", ""), one("", "cpu")), merge(t, one("", "cpu"), one("samples", ""))
	want := profile.ValueType{Name: profile.CPUSamples, Unit: "count", Original: "samples", PeriodName: "cpu"}
	if ab.Type != want || ba.Type != want {
		t.Errorf("%+v, %+v", ab.Type, ba.Type)
	}
}

func TestMergeErrors(t *testing.T) {
	with := func(unit string, self ...int64) *calltree.Tree {
		tree := proftest.Tree("A  B")
		return calltree.NewTree(tree.Table, profile.ValueType{Name: "cpu", Unit: unit}, append(self, make([]int64, 2-len(self))...))
	}
	for _, c := range []struct {
		name  string
		trees []*calltree.Tree
		want  string
	}{
		{"units", []*calltree.Tree{with("count"), with("bytes")}, "value types cpu/count and cpu/bytes do not add"},
		{"sum", []*calltree.Tree{with("n", math.MaxInt64), with("n", 1)}, "exceeds 63 bits"},
		{"sizes of opposite sign", []*calltree.Tree{with("n", math.MaxInt64), with("n", -1)}, "exceeds 63 bits"},
		{"within a tree", []*calltree.Tree{with("n", math.MaxInt64, math.MaxInt64)}, "exceeds 63 bits"},
		{"twice round", []*calltree.Tree{with("n", 1<<62), with("n", 1<<62, 1<<62), with("n", 1<<62, 1<<62)}, "exceeds 63 bits"},
		{"smallest", []*calltree.Tree{with("n", math.MinInt64)}, "exceeds 63 bits"},
	} {
		_, err := calltree.Merge(c.trees...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if strings.Contains(c.want, "63 bits") && !errors.Is(err, profile.ErrMalformed) {
			t.Errorf("%s: %v is not ErrMalformed", c.name, err)
		}
	}
	if _, err := calltree.Merge(with("n", math.MaxInt64-1), with("n", 1)); err != nil {
		t.Errorf("the largest sum: %v", err)
	}
}

func ExampleMerge() {
	monday := proftest.Tree("main  main\nparse  sort")
	tuesday := proftest.Tree("main\nsort")
	both, err := calltree.Merge(monday, tuesday)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(proftest.Draw(both))
	// Output:
	// - main (total: 3, self: —)
	//   - sort (total: 2, self: 2)
	//   - parse (total: 1, self: 1)
}
