package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strings"
)

// Limits of the house.
const (
	maxFile        = 800 // lines of a file
	maxMain        = 40  // lines of cmd/dendro/main.go
	packageComment = 5   // lines of text of a package comment
)

// vague are names that say nothing about what a package holds.
var vague = map[string]bool{
	"util": true, "utils": true, "common": true, "helper": true, "helpers": true,
	"type": true, "types": true, "model": true, "models": true, "misc": true,
}

// checkName refuses packages that could hold anything.
func (c *checker) checkName(p *pkg) {
	if vague[path.Base(p.dir)] {
		c.add(p.dir, "a package named %s: a name says what it holds, or the code moves to its only caller", path.Base(p.dir))
		return
	}
	for _, f := range p.files {
		if name := f.syntax.Name.Name; vague[name] {
			c.add(f.place, "a package named %s: a name says what it holds, or the code moves to its only caller", name)
		}
	}
}

// checkLength refuses long files.
func (c *checker) checkLength(p *pkg) {
	for _, f := range p.files {
		switch {
		case f.place == "cmd/dendro/main.go" && f.lines > maxMain:
			c.add(f.place, "%d lines, more than %d: commands belong in app/internal/cli", f.lines, maxMain)
		case f.lines > maxFile && !f.generated:
			c.add(f.place, "%d lines, more than %d: split it by noun", f.lines, maxFile)
		}
	}
}

// checkPackageComment asks every package for a comment, and those that are
// neither commands nor part of the tests for one that explains something.
func (c *checker) checkPackageComment(p *pkg) {
	if len(p.files) == 0 {
		return // tests only
	}
	want := packageComment
	if p.files[0].syntax.Name.Name == "main" || within(p.dir, "test") {
		want = 1
	}
	longest := 0
	for _, f := range p.files {
		n := 0
		for line := range strings.Lines(f.syntax.Doc.Text()) {
			if strings.TrimSpace(line) != "" {
				n++
			}
		}
		longest = max(longest, n)
	}
	if longest < want {
		c.add(p.dir, "package comment of %d lines, want %d: what it models, the words, what it does not do", longest, want)
	}
}

// checkDocs asks for a comment on everything exported, but struct fields and the
// methods of interfaces.
func (c *checker) checkDocs(f *file) {
	for _, decl := range f.syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if name, ok := exportedFunc(d); ok && d.Doc.Text() == "" {
				c.add(f.at(d.Pos()), "exported %s has no comment", name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, name := range undocumented(d, spec) {
					c.add(f.at(name.Pos()), "exported %s has no comment", name.Name)
				}
			}
		}
	}
}

// exportedFunc returns the name of an exported function, or of an exported
// method of an exported type.
func exportedFunc(d *ast.FuncDecl) (name string, ok bool) {
	name, ok = d.Name.Name, d.Name.IsExported()
	if d.Recv == nil || !ok {
		return name, ok
	}
	typ := receiver(d.Recv.List[0].Type)
	return typ + "." + name, ast.IsExported(typ)
}

// receiver returns the name of a receiver's type, without * and parameters.
func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// undocumented returns the exported names of a type, constant or variable that
// have neither a comment of their own nor one of their group.
func undocumented(d *ast.GenDecl, spec ast.Spec) (names []*ast.Ident) {
	group := d.Doc.Text() != ""
	switch s := spec.(type) {
	case *ast.TypeSpec:
		// A comment over a group of types says what the group is, not what each is.
		alone := !d.Lparen.IsValid()
		if s.Name.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" && !(alone && group) {
			names = append(names, s.Name)
		}
	case *ast.ValueSpec:
		if group || s.Doc.Text() != "" || s.Comment.Text() != "" {
			return nil
		}
		for _, n := range s.Names {
			if n.IsExported() {
				names = append(names, n)
			}
		}
	}
	return names
}

// at returns file and line of a position.
func (f *file) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.place, f.positions.Position(pos).Line)
}
