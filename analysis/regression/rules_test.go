package regression

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRules: every rule of the table is decided in the function that it names, once, and every
// rule that can be left out is in the table.
func TestRules(t *testing.T) {
	deciders := map[string][]string{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
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
