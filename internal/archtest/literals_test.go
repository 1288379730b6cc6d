package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxUnnamed is how many fields a literal of a struct may set by position.
const maxUnnamed = 5

// TestNamedFields finds literals of structs of their own package that set more fields by
// position than a reader can count.
func TestNamedFields(t *testing.T) {
	err := eachPackage(func(_ string, files *token.FileSet, list []*ast.File) {
		for _, at := range unnamed(list) {
			t.Errorf("%s: more than %d fields without names", files.Position(at), maxUnnamed)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eachPackage calls do with the files of each package of the project, without tests.
func eachPackage(do func(dir string, files *token.FileSet, list []*ast.File)) error {
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		packages[filepath.Dir(name)] = append(packages[filepath.Dir(name)], file)
		return err
	})
	if err != nil || len(packages) < 50 {
		return fmt.Errorf("%d packages: %w", len(packages), err)
	}
	for dir, list := range packages {
		do(dir, files, list)
	}
	return nil
}

// unnamed returns the literals of a package that set too many fields by position.
func unnamed(files []*ast.File) (list []token.Pos) {
	structs := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				_, structs[spec.Name.Name] = spec.Type.(*ast.StructType)
			}
			return true
		})
	}
	look := func(c *ast.CompositeLit, typ ast.Expr) {
		if len(c.Elts) <= maxUnnamed {
			return
		}
		_, named := c.Elts[0].(*ast.KeyValueExpr)
		if name, ok := typ.(*ast.Ident); ok && structs[name.Name] && !named {
			list = append(list, c.Pos())
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			c, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			look(c, c.Type)
			if of, ok := c.Type.(*ast.ArrayType); ok {
				for _, e := range c.Elts { // whose type is not repeated
					if e, ok := e.(*ast.CompositeLit); ok && e.Type == nil {
						look(e, of.Elt)
					}
				}
			}
			return true
		})
	}
	return list
}

func TestUnnamed(t *testing.T) {
	const text = `package p
type six struct{ a, b, c, d, e, f int }
type five struct{ a, b, c, d, e int }
type numbers []int
var (
	_ = six{1, 2, 3, 4, 5, 6}
	_ = six{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6}
	_ = five{1, 2, 3, 4, 5}
	_ = []six{{1, 2, 3, 4, 5, 6}, {a: 1}}
	_ = numbers{1, 2, 3, 4, 5, 6, 7}
)
`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if list := unnamed([]*ast.File{file}); len(list) != 2 || files.Position(list[0]).Line != 6 || files.Position(list[1]).Line != 9 {
		t.Errorf("%v", list)
	}
}
