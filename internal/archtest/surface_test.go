package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// checkSurface finds exported declarations of a public package that mention a type of
// an internal one: whoever imports the package could not name it. Commands and
// programs for tests have no importers.
func (c *checker) checkSurface(p *pkg) {
	if isInternal(p.dir) || within(p.dir, "test") || len(p.files) == 0 || p.files[0].syntax.Name.Name == "main" {
		return
	}
	for _, f := range p.files {
		internal := map[string]string{} // name in the file → import path
		for _, spec := range f.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			own, ok := strings.CutPrefix(imported, c.module+"/")
			if err != nil || !ok || !isInternal(own) {
				continue
			}
			name := path.Base(imported)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			internal[name] = own
		}
		if len(internal) == 0 {
			continue
		}
		for _, decl := range f.syntax.Decls {
			for _, node := range surface(decl) {
				ast.Inspect(node, func(n ast.Node) bool {
					if sel, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := sel.X.(*ast.Ident); ok && internal[x.Name] != "" {
							c.add(f.at(sel.Pos()), "an exported declaration mentions %s.%s of %s, which importers cannot name", x.Name, sel.Sel.Name, internal[x.Name])
						}
						return false
					}
					return true
				})
			}
		}
	}
}

// isInternal reports whether a directory is below one named internal.
func isInternal(dir string) bool { return slices.Contains(strings.Split(dir, "/"), "internal") }

// surface returns what importers see of a declaration: signatures of exported
// functions, exported types without their unexported fields, and the stated types of
// exported variables and constants. An alias may name an internal type: that is how
// importers can.
func surface(decl ast.Decl) (nodes []ast.Node) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if _, ok := exportedFunc(d); ok {
			nodes = append(nodes, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && !s.Assign.IsValid() { // an alias gives the type a name
					nodes = append(nodes, exportedParts(s.Type)...)
				}
			case *ast.ValueSpec:
				if s.Type != nil && slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
					nodes = append(nodes, s.Type)
				}
			}
		}
	}
	return nodes
}

// exportedParts returns a type, or of a struct the types of its exported and embedded
// fields.
func exportedParts(t ast.Expr) (nodes []ast.Node) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return []ast.Node{t}
	}
	for _, field := range s.Fields.List {
		if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
			nodes = append(nodes, exportedParts(field.Type)...)
		}
	}
	return nodes
}
