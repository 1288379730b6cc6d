package proftest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// stacks spells the samples of a profile: `A;B 3`, `- 1` without a stack.
func stacks(p *profile.Profile) []string {
	var out []string
	s := &p.Tables[0]
	for i, st := range s.Stack {
		var names []string
		for _, f := range p.Symbols.Path(st, nil) {
			names = append(names, p.Symbols.Functions[p.Symbols.Frames[f].Function].Name)
		}
		if st == profile.NoStack {
			names = []string{"-"}
		}
		out = append(out, fmt.Sprintf("%s %d", strings.Join(names, ";"), s.Value[i]))
	}
	return out
}

func TestColumns(t *testing.T) {
	for _, c := range []struct {
		name, drawing string
		want          []string
	}{
		{"one", `A`, []string{"A 1"}},
		{"as in the package comment", `
			A  A  A
			B  B  C
			C
		`, []string{"A;B;C 1", "A;B 1", "A;C 1"}},
		{"a cell stands under its column", `
			A  A  A
			B     C
			      D
		`, []string{"A;B 1", "A 1", "A;C;D 1"}},
		{"weights", `
			×3   ×-1  ×10
			A    A    B
			foo  bar
		`, []string{"A;foo 3", "A;bar -1", "B 10"}},
		{"without a stack", `
			A  ·  B
			C     D
		`, []string{"A;C 1", "- 1", "B;D 1"}},
		{"counted when not aligned", `
			A  A  A
			operator new  f  ·
			·  g  h
		`, []string{"A;operator new 1", "A;f;g 1", "A;h 1"}},
		{"tabs", "A\tA\tB\n\t\tC\t·\tD\n", []string{"A;C 1", "A 1", "B;D 1"}},
		{"margin of spaces", "   A  B\n   C  D", []string{"A;C 1", "B;D 1"}},
		{"non-ASCII names", `
			größe  A
			       B
		`, []string{"größe 1", "A;B 1"}},
		{"nothing", ``, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := proftest.Columns(c.drawing)
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, stacks(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestColumnsRefuseNonsense(t *testing.T) {
	for _, drawing := range []string{"×3\nA  B", "×3  ×4\nA", "×x\nA"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q: no panic", drawing)
				}
			}()
			proftest.Columns(drawing)
		}()
	}
}

func TestDraw(t *testing.T) {
	got := proftest.Draw(proftest.Tree(`
		×1  ×2  ×5
		A   A   D
		    B
	`))
	want := proftest.Trim(`
		- D (total: 5, self: 5)
		- A (total: 3, self: 1)
		  - B (total: 2, self: 2)
	`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStack(t *testing.T) {
	s := profile.NewSymbols()
	a, b := proftest.Stack(s, "A", "B"), proftest.Stack(s, "A", "B")
	if a != b || s.Stacks.Len() != 2 || proftest.Stack(s) != profile.NoStack {
		t.Errorf("%d, %d, %d stacks", a, b, s.Stacks.Len())
	}
}
