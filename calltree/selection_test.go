package calltree_test

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/proftest"
)

func TestRewritePath(t *testing.T) {
	p := proftest.Columns(`
		A          A[cat:JS]
		B[lib:xu]  B[lib:xu]
		C[lib:xu]  E[cat:DOM]
		B[lib:xu]
		B[lib:xu]
		D
	`)
	v := calltree.NewViewer(p)
	s := mustShow(t, v, calltree.View{})
	for _, c := range []struct{ transform, path, want string }{
		{"merge-function:B", "A;B;C;B;B;D", "A;C;D"},
		{"merge-node:A;B", "A;B;C", "A;C"},
		{"merge-node:A;B", "A", "A"},
		{"merge-node:B", "A;B", "A;B"},
		{"drop-function:C", "A;B", "A;B"},
		{"drop-function:C", "A;B;C", ""},
		{"focus-function:B", "A;B;C;B", "B;C;B"},
		{"focus-function:B", "A", ""},
		{"focus-subtree:A;B", "A;B;C", "B;C"},
		{"focus-subtree:A;B", "A", ""},
		{"focus-subtree-inverted:A;B", "A;B;C", "B;C"},
		{"focus-self:C", "A;B;C;B", "C"},
		{"focus-self:D", "A;B", ""},
		{"collapse-function:B", "A;B;C;B", "A;B"},
		{"collapse-direct-recursion:B", "A;B;C;B;B;D", "A;B;C;B;D"},
		{"collapse-recursion:B", "A;B;C;B;B;D", "A;B;D"},
		{"collapse-recursion:B", "A", "A"},
		{"collapse-resource:xu", "A;B;C;B;B;D", "A;xu;D"},
		{"focus-category:DOM", "A;B;E", "E"},
		{"filter:stack-suffix:B", "A;B", "A;B"},
	} {
		var path []int32
		for _, name := range strings.Split(c.path, ";") {
			path = append(path, s.FunctionsNamed(name)[0])
		}
		var got []string
		for _, fn := range s.RewritePath(path, transforms(c.transform)[0]) {
			got = append(got, s.Functions[fn].Name)
		}
		if g := strings.Join(got, ";"); g != c.want {
			t.Errorf("%s of %s: %s, want %s", c.transform, c.path, g, c.want)
		}
	}
}

func TestSelectionSurvivesInversion(t *testing.T) {
	tree := proftest.Tree(`
		×1  ×5  ×3
		A   A   A
		B   B   D
		    C
	`)
	names := func(path []int32) string {
		var s []string
		for _, fn := range path {
			s = append(s, tree.Functions[fn].Name)
		}
		return strings.Join(s, ";")
	}
	n, _ := tree.FindPath([]string{"A", "B"})
	if got := names(tree.SelectInverted(n)); got != "C;B" {
		t.Errorf("A;B upside down is %s", got)
	}
	v := tree.Invert()
	h, ok := v.Node(tree.SelectInverted(n))
	if !ok || v.Name(h) != "B" || names(v.FunctionPath(h)) != "C;B" {
		t.Errorf("no node C;B")
	}
	if got := names(v.SelectUpright(h)); got != "A;B" {
		t.Errorf("and back %s", got)
	}
}
