package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Layered is the layer of every file of a package, the ground first.
type Layered map[string]int

// readLayers reads layers.txt: packages, and their files by layer.
func readLayers(text string) (map[string]Layered, error) {
	packages, layers := map[string]Layered{}, map[string]int{}
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "|")
		if len(columns) != 3 {
			return nil, fmt.Errorf("layers line %d: %d columns, want package | layer | files", n+1, len(columns))
		}
		dir := strings.TrimSpace(columns[0])
		if packages[dir] == nil {
			packages[dir] = Layered{}
		}
		layers[dir]++
		for _, file := range strings.Fields(columns[2]) {
			if _, have := packages[dir][file]; have {
				return nil, fmt.Errorf("layers line %d: %s/%s has a layer already", n+1, dir, file)
			}
			packages[dir][file] = layers[dir]
		}
	}
	return packages, nil
}

// nothing imports packages without content: what a package uses of itself needs no other.
type nothing map[string]*types.Package

func (n nothing) Import(path string) (*types.Package, error) {
	if n[path] == nil {
		n[path] = types.NewPackage(path, filepath.Base(path))
		n[path].MarkComplete()
	}
	return n[path], nil
}

// upward lists what files use of layers above their own, and files without a layer or layers without a file.
func upward(dir string, layers Layered) (findings []string, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	seen := map[string]bool{}
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") {
			continue
		}
		seen[base] = true
		if layers[base] == 0 {
			findings = append(findings, base+" has no layer")
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	for file := range layers {
		if !seen[file] {
			findings = append(findings, file+" has a layer and does not exist")
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}} // other packages are empty here: errors are expected
	pkg, _ := config.Check(dir, set, files, info)
	at := func(p token.Pos) string { return filepath.Base(set.Position(p).Filename) }
	for id, o := range info.Uses {
		if o.Pkg() != pkg || !o.Pos().IsValid() || o.Parent() != nil && o.Parent() != pkg.Scope() {
			continue
		}
		if from, to := at(id.Pos()), at(o.Pos()); layers[from] < layers[to] {
			findings = append(findings, fmt.Sprintf("%s uses %s of %s, a layer above", from, o.Name(), to))
		}
	}
	slices.Sort(findings)
	return slices.Compact(findings), nil
}

// TestLayers checks that files use the layers below them only.
func TestLayers(t *testing.T) {
	text, err := os.ReadFile("layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := readLayers(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for dir, layers := range packages {
		findings, err := upward(filepath.Join(root, filepath.FromSlash(dir)), layers)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			t.Errorf("%s: %s", dir, f)
		}
	}
}

// TestLayersFire checks that an arrow up is found, of functions, methods, fields and constants.
func TestLayersFire(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ground.go": "package x\n\ntype box struct{ size int }\n\nfunc f(b *box) int { return b.size + b.area() + g() + limit + top{}.height }\n",
		"upper.go":  "package x\n\nconst limit = 1\n\ntype top struct{ height int }\n\nfunc (b *box) area() int { return b.size }\n\nfunc g() int { return f(nil) }\n",
		"extra.go":  "package x\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := upward(dir, Layered{"ground.go": 1, "upper.go": 2, "gone.go": 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"extra.go has no layer", "gone.go has a layer and does not exist",
		"ground.go uses area of upper.go, a layer above", "ground.go uses g of upper.go, a layer above",
		"ground.go uses height of upper.go, a layer above",
		"ground.go uses limit of upper.go, a layer above", "ground.go uses top of upper.go, a layer above"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
