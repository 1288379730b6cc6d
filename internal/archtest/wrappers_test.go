package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWrappers: optional interfaces of stores are found by store.As alone, and every type that
// embeds a store says what it wraps. Otherwise a wrapper would be an engine that can do less.
func TestWrappers(t *testing.T) {
	optional := optionalInterfaces(t)
	if len(optional) != 7 {
		t.Errorf("package store has the optional interfaces %q; name them in the comment of store.As", optional)
	}
	as, err := os.ReadFile(filepath.Join(root, "store", "as.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range optional {
		if !strings.Contains(string(as), name) {
			t.Errorf("the comment of store.As does not name %s", name)
		}
		optional = append(optional, "store."+name)
	}
	optional = append(optional, "traceprof.Store", "continuous.Store", "continuous.Limited", "continuous.LineStore", "continuous.Follower")
	wrappers := 0
	err = eachPackage(func(dir string, files *token.FileSet, list []*ast.File) {
		if strings.HasPrefix(dir, filepath.Join(root, "test")) {
			return // suites of engines ask the engine alone, and one hides what it can do
		}
		asserted, bare, n := wrapping(list, optional)
		wrappers += n
		for _, at := range asserted {
			t.Errorf("%s: asserts an optional interface of stores; use store.As", files.Position(at))
		}
		for _, at := range bare {
			t.Errorf("%s: embeds a store and has no Unwrap: what the engine can do besides is lost", files.Position(at))
		}
	})
	if err != nil || wrappers < 2 {
		t.Errorf("%d wrappers: %v", wrappers, err)
	}
}

// optionalInterfaces returns the interfaces of package store that some engines implement, as
// their comments say.
func optionalInterfaces(t *testing.T) (names []string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, "store", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || len(g.Specs) != 1 || !strings.Contains(g.Doc.Text(), "is implemented by engines that") {
				continue
			}
			if spec, ok := g.Specs[0].(*ast.TypeSpec); ok {
				names = append(names, spec.Name.Name)
			}
		}
	}
	return names
}

// wrapping returns the type assertions of a package to one of some interfaces, and the structs
// that embed a store without a method Unwrap; and how many have one.
func wrapping(files []*ast.File, optional []string) (asserted, bare []token.Pos, wrappers int) {
	unwraps := map[string]bool{}
	embed := map[string]token.Pos{}
	for _, file := range files {
		own := func(name string) string { return strings.TrimPrefix(name, file.Name.Name+".") }
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				if n.Type != nil && slices.Contains(optional, nameOf(n.Type)) {
					asserted = append(asserted, n.Pos())
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					if name := nameOf(e); strings.Contains(name, ".") && slices.Contains(optional, name) {
						asserted = append(asserted, e.Pos())
					}
				}
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == "Unwrap" {
					unwraps[nameOf(n.Recv.List[0].Type)] = true
				}
			case *ast.TypeSpec:
				s, ok := n.Type.(*ast.StructType)
				for i := 0; ok && i < len(s.Fields.List); i++ {
					f := s.Fields.List[i]
					if name := nameOf(f.Type); len(f.Names) == 0 && (name == own("store.Store") || name == own("store.Reader")) {
						embed[n.Name.Name] = n.Pos()
					}
				}
			}
			return true
		})
	}
	for name, at := range embed {
		if unwraps[name] {
			wrappers++
		} else {
			bare = append(bare, at)
		}
	}
	return asserted, bare, wrappers
}

// nameOf returns the name of a type, or of what it points to, as it stands; empty for others.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return nameOf(e.X)
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	}
	return ""
}

func TestWrapping(t *testing.T) {
	const text = `package p
type a struct{ store.Reader }
type b struct{ store.Store; n int }
func (b *b) Unwrap() store.Reader { return b.Store }
type c struct{ st store.Store }
func f(st any) {
	_, _ = st.(store.Accepter)
	_, _ = st.(*mem.Store)
	switch st.(type) {
	case store.Accepter:
	}
}
`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	asserted, bare, wrappers := wrapping([]*ast.File{file}, []string{"store.Accepter"})
	var lines []int
	for _, at := range append(asserted, bare...) {
		lines = append(lines, files.Position(at).Line)
	}
	if !slices.Equal(lines, []int{7, 10, 2}) || wrappers != 1 {
		t.Errorf("lines %d, %d wrappers", lines, wrappers)
	}
}
