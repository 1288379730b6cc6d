package calltree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
)

// TestTransforms has a picture per rule. The expected trees were derived by hand
// from the rules at TransformKind.
func TestTransforms(t *testing.T) {
	for _, c := range []picture{
		{"merge-function takes out every frame, samples go to the caller", `
			A  A  B  B
			B  B  B  A
			C  B  D
		`, "merge-function:B", `
			- A (total: 3, self: 2)
			  - C (total: 1, self: 1)
			- D (total: 1, self: 1)
		`},
		{"merge-function of all frames leaves no stack", `
			A  B
			A
		`, "merge-function:A", `
			- B (total: 1, self: 1)
		`},
		{"merge-node takes out one node only", `
			A  A  B
			B  B  B
			C  B  C
		`, "merge-node:A;B", `
			- A (total: 2, self: —)
			  - B (total: 1, self: 1)
			  - C (total: 1, self: 1)
			- B (total: 1, self: —)
			  - B (total: 1, self: —)
			    - C (total: 1, self: 1)
		`},
		{"merge-node stops at a frame that is not on the path", `
			A  A
			X  B
			B  C
		`, "merge-node:A;B", `
			- A (total: 2, self: —)
			  - X (total: 1, self: —)
			    - B (total: 1, self: 1)
			  - C (total: 1, self: 1)
		`},
		{"merge-node jumps over frames of other kinds", `
			A[kind:js]  A[kind:js]
			x           B[kind:js]
			B[kind:js]  C[kind:js]
			y
		`, "merge-node@js:A;B", `
			- A (total: 2, self: —)
			  - x (total: 1, self: —)
			    - y (total: 1, self: 1)
			  - C (total: 1, self: 1)
		`},
		{"merge-node of a root leaves samples in it without a stack", `
			A  A
			   B
		`, "merge-node:A", `
			- B (total: 1, self: 1)
		`},
		{"drop-function", `
			A  A  B
			B  C
			C
		`, "drop-function:B", `
			- A (total: 1, self: —)
			  - C (total: 1, self: 1)
		`},
		{"focus-function keeps from the outermost", `
			A  B  C
			B  A
			C  B
			B
		`, "focus-function:B", `
			- B (total: 2, self: —)
			  - A (total: 1, self: —)
			    - B (total: 1, self: 1)
			  - C (total: 1, self: —)
			    - B (total: 1, self: 1)
		`},
		{"focus-subtree", `
			A  A  A  B
			B  B  C  B
			C     B
		`, "focus-subtree:A;B", `
			- B (total: 2, self: 1)
			  - C (total: 1, self: 1)
		`},
		{"focus-subtree jumps over frames of other kinds, which stay below the focus", `
			A[kind:js]  A[kind:js]  A[kind:js]
			x           B[kind:js]  D[kind:js]
			B[kind:js]  y           B[kind:js]
		`, "focus-subtree@js:A;B", `
			- B (total: 2, self: 1)
			  - y (total: 1, self: 1)
		`},
		{"focus-subtree-inverted goes up from the leaf and cuts what was called", `
			A  A  B  C
			B  X  C
			C  C
		`, "focus-subtree-inverted:C;B", `
			- A (total: 1, self: —)
			  - B (total: 1, self: 1)
			- B (total: 1, self: 1)
		`},
		{"focus-subtree-inverted jumps over frames of other kinds", `
			A           A           A
			B[kind:js]  B[kind:js]  B[kind:js]
			x           C[kind:js]  D[kind:js]
			C[kind:js]  y           C[kind:js]
			z
		`, "focus-subtree-inverted@js:C;B", `
			- A (total: 2, self: —)
			  - B (total: 2, self: 2)
		`},
		{"focus-self is the leaf", `
			A  A  A
			B  B  B
			B  C
		`, "focus-self:B", `
			- B (total: 2, self: 2)
		`},
		{"focus-self keeps callees of other kinds", `
			A[kind:js]  A[kind:js]  A[kind:js]
			B[kind:js]  B[kind:js]  B[kind:js]
			x           x
			y           C[kind:js]
		`, "focus-self@js:B", `
			- B (total: 2, self: 1)
			  - x (total: 1, self: —)
			    - y (total: 1, self: 1)
		`},
		{"focus-category keeps frames, inherited categories too", `
			A[cat:Other]  A[cat:Other]  A[cat:Other]
			B[cat:DOM]    B[cat:DOM]    D[cat:JS]
			C             E[cat:JS]
			              F[cat:DOM/Style]
		`, "focus-category:DOM", `
			- B (total: 2, self: —)
			  - C (total: 1, self: 1)
			  - F (total: 1, self: 1)
		`},
		{"categories are inherited before a transform takes frames out", `
			A[cat:Other]  A[cat:Other]
			B[cat:DOM]    B[cat:DOM]
			C
		`, "merge-function:B focus-category:DOM", `
			- C (total: 1, self: 1)
		`},
		{"collapse-function", `
			A  A  A
			B  B  D
			C  B
			   C
		`, "collapse-function:B", `
			- A (total: 3, self: —)
			  - B (total: 2, self: 2)
			  - D (total: 1, self: 1)
		`},
		{"collapse-direct-recursion", `
			A  A  A  A
			B  B  B  B
			B  B  C  B
			B  C  B  C
			D     B
		`, "collapse-direct-recursion:B", `
			- A (total: 4, self: —)
			  - B (total: 4, self: —)
			    - C (total: 3, self: 2)
			      - B (total: 1, self: 1)
			    - D (total: 1, self: 1)
		`},
		{"collapse-direct-recursion sees through frames of other kinds", `
			A[kind:js]  A[kind:js]
			x           B[kind:js]
			B[kind:js]  y
			y
			B[kind:js]
			z
			B[kind:js]
			w
		`, "collapse-direct-recursion@js:B", `
			- A (total: 2, self: —)
			  - x (total: 1, self: —)
			    - B (total: 1, self: —)
			      - w (total: 1, self: 1)
			  - B (total: 1, self: —)
			    - y (total: 1, self: 1)
		`},
		{"collapse-direct-recursion counts all frames when all are ok", `
			A
			B
			x
			B
		`, "collapse-direct-recursion:B", `
			- A (total: 1, self: —)
			  - B (total: 1, self: —)
			    - x (total: 1, self: —)
			      - B (total: 1, self: 1)
		`},
		{"collapse-recursion", `
			A  A  A
			B  B  B
			C  C  D
			B  E
			D
			B
			F
		`, "collapse-recursion:B", `
			- A (total: 3, self: —)
			  - B (total: 3, self: —)
			    - C (total: 1, self: —)
			      - E (total: 1, self: 1)
			    - D (total: 1, self: 1)
			    - F (total: 1, self: 1)
		`},
		{"collapse-recursion of every function", `
			A  A  A
			B  B  B
			A  C  C
			C  B  C
			   C  D
			   A  B
		`, "collapse-recursion:*", `
			- A (total: 3, self: 1)
			  - B (total: 1, self: 1)
			  - C (total: 1, self: 1)
		`},
		{"collapse-resource", `
			A          A          A
			B[lib:xu]  B[lib:xu]  C[lib:xu]
			C[lib:xu]  D          E[lib:li]
			D          B[lib:xu]
		`, "collapse-resource:xu", `
			- A (total: 3, self: —)
			  - xu (total: 3, self: —)
			    - D (total: 2, self: 1)
			      - xu (total: 1, self: 1)
			    - E (total: 1, self: 1)
		`},
		{"the function of a resource is behind all others in ties", `
			A          A
			B[lib:xu]  Z
		`, "collapse-resource:xu", `
			- A (total: 2, self: —)
			  - Z (total: 1, self: 1)
			  - xu (total: 1, self: 1)
		`},
		{"a collapsed resource is a function for what follows", `
			A          A
			B[lib:xu]  B[lib:xu]
			C          D[lib:xu]
		`, "collapse-resource:xu merge-function:xu", `
			- A (total: 2, self: 1)
			  - C (total: 1, self: 1)
		`},
		{"filter:stack-prefix", `
			A  A  B  A
			B  C  A  B
			C     B
		`, "filter:stack-prefix:A;B", `
			- A (total: 2, self: —)
			  - B (total: 2, self: 1)
			    - C (total: 1, self: 1)
		`},
		{"filter:stack-suffix", `
			A  A  B
			B  C  A
			   B  C
		`, "filter:stack-suffix:B", `
			- A (total: 2, self: —)
			  - B (total: 1, self: 1)
			  - C (total: 1, self: —)
			    - B (total: 1, self: 1)
		`},
		{"filter:function-include takes any of several", `
			A  A  B  D
			B  C  C
		`, "filter:function-include:B;D", `
			- A (total: 1, self: —)
			  - B (total: 1, self: 1)
			- B (total: 1, self: —)
			  - C (total: 1, self: 1)
			- D (total: 1, self: 1)
		`},
		{"order of transforms matters: focus, then drop", `
			A  A
			B  B
			C  D
		`, "focus-function:B drop-function:A", `
			- B (total: 2, self: —)
			  - C (total: 1, self: 1)
			  - D (total: 1, self: 1)
		`},
		{"drop, then focus", `
			A  A  E
			B  B  B
			C  D
		`, "drop-function:A focus-function:B", `
			- B (total: 1, self: 1)
		`},
		{"transforms of a path that an earlier one made", `
			A  A
			X  X
			B  C
		`, "merge-function:X focus-subtree:A;B", `
			- B (total: 1, self: 1)
		`},
		{"names with separators", `
			a;b  a;b
			c\d  e
		`, `drop-function:c\\d focus-subtree:a\;b;e`, `
			- e (total: 1, self: 1)
		`},
		{"of several functions of a name all are meant", `
			A  A           A
			f  f[file:b.c]  g
		`, "drop-function:f", `
			- A (total: 1, self: —)
			  - g (total: 1, self: 1)
		`},
		{"or one, with its file", `
			A  A            A
			f  f[file:b.c]  g
		`, "drop-function:f_(b.c)", `
			- A (total: 2, self: —)
			  - f (total: 1, self: 1)
			  - g (total: 1, self: 1)
		`},
	} {
		c.check(t, drawTree)
	}
}

// TestTransformText reads back what it wrote.
func TestTransformText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTransform.Draw(t, "transform")
		for i := range tr.Args {
			tr.Args[i] += rapid.StringMatching(`[;\\:@, a-z(]{0,5}`).Draw(t, "more")
		}
		got, err := calltree.ParseTransform(tr.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tr, got); diff != "" {
			t.Fatalf("%s: %s", tr, diff)
		}
	})
	for _, c := range []struct{ text, want string }{
		{"merge-function:f", "merge-function:f"},
		{"focus-subtree@js:A;B", "focus-subtree@js:A;B"},
		{"focus-subtree@combined:A;B", "focus-subtree:A;B"},
		{`drop-function:a;b\c`, `drop-function:a\;b\\c`},
		{"filter:marker-search:name:GC,-cat:DOM", "filter:marker-search:name:GC,-cat:DOM"},
		{"filter@js:stack-suffix:f", "filter:stack-suffix@js:f"},
		{"filter:stack-suffix@js:f", "filter:stack-suffix@js:f"},
		{"merge-function:std::vector<int>", "merge-function:std::vector<int>"},
	} {
		tr, err := calltree.ParseTransform(c.text)
		if err != nil || tr.String() != c.want {
			t.Errorf("%s: %s, %v", c.text, tr, err)
		}
	}
	for _, text := range []string{"", "merge-function", "merge-function:", "no-such:f", "merge-node:A;;B", "focus-self@nothing:f", "filter:x",
		"filter:no-such:x", ":x"} {
		if _, err := calltree.ParseTransform(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
