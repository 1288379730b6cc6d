package regression

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRules: every rule of the table is decided in the function that it names, once, and every
// rule that can be left out is in the table, which is that of METHOD.md.
func TestRules(t *testing.T) {
	deciders := map[string][]string{}
	for _, name := range files(t, "*.go") {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 {
					return true
				}
				sel, isSel := call.Fun.(*ast.SelectorExpr)
				text, isText := call.Args[0].(*ast.BasicLit)
				if isSel && isText && sel.Sel.Name == "without" {
					rule, _ := strconv.Unquote(text.Value)
					deciders[rule] = append(deciders[rule], fn.Name.Name)
				}
				return true
			})
		}
	}
	page, err := os.ReadFile("METHOD.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, r := range Rules {
		fmt.Fprintf(&table, "| %s | %s |\n", r.Name, r.Why)
	}
	if !strings.Contains(string(page), "| rule | because |\n|---|---|\n"+table.String()+"\n") {
		t.Errorf("METHOD.md has another table of rules than:\n%s", &table)
	}
	for _, r := range Rules {
		if got := strings.Join(deciders[r.Name], ", "); got != r.Decides || r.Why == "" {
			t.Errorf("rule %q is decided by %s, the table says %s, because %q", r.Name, got, r.Decides, r.Why)
		}
		delete(deciders, r.Name)
	}
	for rule, by := range deciders {
		t.Errorf("rule %q of %s is not in the table", rule, by)
	}
}

// files lists the files of a pattern that are no tests.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// mostConstants is the number of named numbers of the package and of those inside of it. It may fall.
const mostConstants = 76

// TestConstants: every name of a number in a const declaration counts, and none is added.
func TestConstants(t *testing.T) {
	n := 0
	for _, name := range slices.Concat(files(t, "*.go"), files(t, "internal/*/*.go")) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(x ast.Node) bool {
			d, ok := x.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				return true
			}
			for _, spec := range d.Specs {
				for _, v := range spec.(*ast.ValueSpec).Values {
					if isNumber(v) {
						n++
					}
				}
			}
			return true
		})
	}
	if n != mostConstants {
		t.Errorf("%d constants are numbers, want %d: use one of those that are there, or say which one went", n, mostConstants)
	}
}

// isNumber reports whether the value of a constant has a literal number.
func isNumber(v ast.Expr) (is bool) {
	ast.Inspect(v, func(x ast.Node) bool {
		lit, ok := x.(*ast.BasicLit)
		is = is || ok && lit.Kind != token.STRING
		return true
	})
	return is
}

// TestWithout: a rule that is left out decides nothing, and the others do.
func TestWithout(t *testing.T) {
	const price = "runtime.main;main.main;main.serve;main.price"
	st := put(t, noisy(3, 8, func(i int, run map[string]int64) {
		if i >= 6 {
			run[price+";main.round"] = 400
		}
	}))
	for rule, want := range map[string]string{"": "main.price", "faster": "main.price", "existing headline": "main.round"} {
		list := costs(find(t, st, Request{Options: Options{Without: rule}}).Findings)
		if len(list) != 1 || list[0].Headline == nil || list[0].Headline.Function != want {
			t.Errorf("without %q: %+v, want the headline %s", rule, list, want)
		}
	}
}
