package calltree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// TestPictures draws samples and the tree that they make.
func TestPictures(t *testing.T) {
	for _, c := range []struct{ name, samples, tree string }{
		{"nothing", ``, `
		`},
		{"self is what ends in a node, total what passes", `
			A  A  A
			B  B  C
			C
		`, `
			- A (total: 3, self: —)
			  - B (total: 2, self: 1)
			    - C (total: 1, self: 1)
			  - C (total: 1, self: 1)
		`},
		{"weights", `
			×10  ×3  ×1
			A    A   A
			B        C
		`, `
			- A (total: 14, self: 3)
			  - B (total: 10, self: 10)
			  - C (total: 1, self: 1)
		`},
		{"many roots", `
			×1  ×2  ×2
			A   B   C
		`, `
			- B (total: 2, self: 2)
			- C (total: 2, self: 2)
			- A (total: 1, self: 1)
		`},
		{"samples without a stack count nowhere", `
			×1  ×100  ×1
			A   ·     B
		`, `
			- A (total: 1, self: 1)
			- B (total: 1, self: 1)
		`},
		{"ties follow the function table, here Z before A", `
			Z  A  Z  Z
			      B  A
		`, `
			- Z (total: 3, self: 1)
			  - A (total: 1, self: 1)
			  - B (total: 1, self: 1)
			- A (total: 1, self: 1)
		`},
		{"order is by the size of the change, whatever its sign", `
			×1  ×-3  ×2
			A   A    A
			B   C    D
		`, `
			- A (total: —, self: —)
			  - C (total: -3, self: -3)
			  - D (total: 2, self: 2)
			  - B (total: 1, self: 1)
		`},
		{"a node whose total cancels stays for its children, and goes without", `
			×2  ×-2  ×5  ×-5
			A   A    B   B
			x   y    z   z
		`, `
			- A (total: —, self: —)
			  - x (total: 2, self: 2)
			  - y (total: -2, self: -2)
		`},
		{"self and the children may cancel", `
			×3  ×-3
			A   A
			    B
		`, `
			- A (total: —, self: 3)
			  - B (total: -3, self: -3)
		`},
		{"a sample of zero shows nothing", `
			×0  ×1
			A   B
			C
		`, `
			- B (total: 1, self: 1)
		`},
		{"recursion is no special case of a tree", `
			A  A  A
			A  B
			A  A
		`, `
			- A (total: 3, self: 1)
			  - A (total: 1, self: —)
			    - A (total: 1, self: 1)
			  - B (total: 1, self: —)
			    - A (total: 1, self: 1)
		`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := proftest.Tree(c.samples)
			proftest.CheckTree(t, tree)
			if diff := cmp.Diff(trim(c.tree), proftest.Draw(tree)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// trim is proftest.Trim, but for a drawing of nothing.
func trim(drawing string) string {
	if s := proftest.Trim(drawing); s != "\n" {
		return s
	}
	return ""
}

func TestFunctionsOfOneNameStayApartWithinAFile(t *testing.T) {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: profile.ValueType{Name: profile.CPUSamples}}}
	frame := func(f profile.Frame, fn profile.Function) profile.FrameID {
		f.Function = p.Symbols.Function(fn)
		return p.Symbols.Frame(f)
	}
	first := profile.Function{Name: "f", File: "a.c"}
	second := profile.Function{Name: "f", File: "b.c"}
	// Two lines of one function are one node; another file is another function.
	for i, fr := range []profile.FrameID{
		frame(profile.Frame{Line: 1}, first), frame(profile.Frame{Line: 2, Type: profile.FrameJIT}, first), frame(profile.Frame{}, second),
	} {
		p.Tables[0].Add(p.Symbols.Stack(profile.NoStack, fr), int64(i+1))
	}
	tree := calltree.FromProfile(p, 0)
	proftest.CheckTree(t, tree)
	want := "- f (total: 3, self: 3)\n- f (total: 3, self: 3)\n"
	if diff := cmp.Diff(want, proftest.Draw(tree)); diff != "" {
		t.Error(diff)
	}
	merged, err := calltree.Merge(tree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("- f (total: 6, self: 6)\n", proftest.Draw(merged)); diff != "" {
		t.Errorf("between profiles a name is a function: %s", diff)
	}
}

func TestRootTotal(t *testing.T) {
	for _, c := range []struct {
		samples string
		want    int64
	}{
		{"×1  ×2\nA  B", 3},
		{"×5  ×-2\nA  B", 7},
		{"×5  ×-5\nA  A", 0}, // +5 and -5 cancel in the node before the sizes are added
		{"", 0},
	} {
		if got := proftest.Tree(c.samples).RootTotal(); got != c.want {
			t.Errorf("%s: %d, want %d", c.samples, got, c.want)
		}
	}
}

func TestPathAndName(t *testing.T) {
	tree := proftest.Tree("A  B\nB  C\nC")
	want := [][]string{{"A"}, {"A", "B"}, {"A", "B", "C"}, {"B"}, {"B", "C"}}
	for n := range int32(tree.Len()) {
		if diff := cmp.Diff(want[n], tree.Path(n)); diff != "" {
			t.Error(diff)
		}
		if path := tree.Path(n); path[len(path)-1] != tree.Name(n) {
			t.Errorf("node %d is %s", n, tree.Name(n))
		}
	}
}

func TestWalkLeavesOutWhatIsBelow(t *testing.T) {
	tree := proftest.Tree("A  A  C\nB  B\nC  D")
	var seen []string
	tree.Walk(func(n int32) bool {
		seen = append(seen, tree.Name(n))
		return tree.Name(n) != "B"
	})
	if diff := cmp.Diff([]string{"A", "B", "C"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionRows(t *testing.T) {
	type row struct {
		Name        string
		Self, Total int64
	}
	for _, c := range []struct {
		name, samples string
		want          []row
	}{
		{"one line each", `
			A  A  A
			B  B  C
			C
		`, []row{{"A", 0, 3}, {"B", 1, 2}, {"C", 2, 2}}},
		{"recursion counts a sample once", `
			A  A  A
			A  B
			A  A
		`, []row{{"A", 3, 3}, {"B", 0, 1}}},
		{"mutual recursion", `
			A  A  B
			B  B  A
			A  A  B
			B
		`, []row{{"A", 1, 3}, {"B", 2, 3}}},
		{"siblings after a recursive subtree count again", `
			R  R  R
			A  A  B
			A     A
		`, []row{{"R", 0, 3}, {"A", 3, 3}, {"B", 0, 1}}},
		{"a function whose outermost node cancels is missing, though it has self values", `
			×3  ×-3
			f   f
			f   g
		`, []row{{"g", -3, -3}}},
		{"self is the sum over all nodes, those that cancel too", `
			×3  ×-3  ×1
			A   A    C
			    B    A
		`, []row{{"B", -3, -3}, {"A", 4, 1}, {"C", 0, 1}}},
		{"a function whose nodes all cancel is missing", `
			×3  ×-3  ×1
			A   A    B
			f   f
		`, []row{{"B", 1, 1}}},
		{"self of a node whose total cancels is not added", `
			×3  ×-3  ×1
			A   A    B
			    B
		`, []row{{"B", -2, -2}}},
		{"ties by function table, size before sign", `
			×1  ×1  ×-2
			Z   A   M
		`, []row{{"M", -2, -2}, {"Z", 1, 1}, {"A", 1, 1}}},
		{"nothing", ``, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := proftest.Tree(c.samples)
			var got []row
			for _, r := range tree.FunctionRows() {
				got = append(got, row{tree.Functions[r.Func].Name, r.Self, r.Total})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTableCheck(t *testing.T) {
	good := func() *calltree.Table { return proftest.Tree("A  A  C\nB  B\nC  D").Table } // A(B(C,D)) C
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(*calltree.Table)
	}{
		{"T1: a column is short", func(t *calltree.Table) { t.Depth = t.Depth[:3] }},
		{"T1: parent behind the child", func(t *calltree.Table) { t.Parent[1] = 2 }},
		{"T1: parent of itself", func(t *calltree.Table) { t.Parent[1] = 1 }},
		{"T1: no such parent", func(t *calltree.Table) { t.Parent[1] = -2 }},
		{"T1: wrong depth", func(t *calltree.Table) { t.Depth[2] = 1 }},
		{"T1: empty subtree", func(t *calltree.Table) { t.End[2] = 2 }},
		{"T1: subtree past the end", func(t *calltree.Table) { t.End[4] = 9 }},
		{"T1: subtree past the parent's", func(t *calltree.Table) { t.End[3] = 5 }},
		{"T1: subtree too short", func(t *calltree.Table) { t.End[1] = 3 }},
		{"T1: subtree holds a stranger", func(t *calltree.Table) { t.End[2] = 4 }},
		{"T2: root not at depth 0", func(t *calltree.Table) { t.Depth[4] = 1 }},
		{"T3: siblings out of order", func(t *calltree.Table) { t.Func[2], t.Func[3] = t.Func[3], t.Func[2] }},
		{"T3: siblings of one function", func(t *calltree.Table) { t.Func[3] = t.Func[2] }},
		{"T3: roots out of order", func(t *calltree.Table) { t.Func[4] = 0 }},
		{"no such function", func(t *calltree.Table) { t.Func[0] = 4 }},
		{"negative function", func(t *calltree.Table) { t.Func[0] = -1 }},
	} {
		tab := good()
		c.spoil(tab)
		if tab.Check() == nil {
			t.Errorf("%s: not found", c.name)
		}
	}
}
