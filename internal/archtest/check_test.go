package archtest

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Finding is one broken rule.
type Finding struct {
	Place   string // a file and line, or a directory, relative to the root
	Message string
}

// String returns "place: message".
func (f Finding) String() string { return f.Place + ": " + f.Message }

// Check returns what breaks the policy or the general rules in the module whose
// root is given, by place. An error means that it could not be read.
func Check(root string, policy *Policy) ([]Finding, error) {
	c := checker{policy: policy, root: root}
	var err error
	if c.module, err = modulePath(root); err != nil {
		return nil, err
	}
	if err := filepath.WalkDir(root, c.directory); err != nil {
		return nil, fmt.Errorf("checking %s: %w", root, err)
	}
	c.checkPolicy()
	slices.SortFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Message, b.Message))
	})
	return c.findings, nil
}

// modulePath returns the path that the go.mod of a directory declares.
func modulePath(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("reading the module's path: %w", err)
	}
	for line := range bytes.Lines(text) {
		if p, ok := strings.CutPrefix(string(line), "module "); ok {
			return strings.TrimSpace(p), nil
		}
	}
	return "", fmt.Errorf("no module line in %s/go.mod", dir)
}

type checker struct {
	root, module string
	policy       *Policy
	nested       []string // directories of nested modules, with a slash behind
	packages     []string // directories of packages that rules are for, files of tests or not
	findings     []Finding
}

// pkg is one directory of Go files.
type pkg struct {
	dir    string // relative to the root, with slashes; "." is the root
	nested bool   // in a module of its own
	files  []*file
}

// file is one Go file that is no test.
type file struct {
	place     string // relative to the root
	lines     int
	generated bool
	syntax    *ast.File
	positions *token.FileSet
}

func (c *checker) add(place, format string, args ...any) {
	c.findings = append(c.findings, Finding{place, fmt.Sprintf(format, args...)})
}

// directory checks one directory of the walk.
func (c *checker) directory(name string, entry fs.DirEntry, err error) error {
	if err != nil || !entry.IsDir() {
		return err
	}
	rel, err := filepath.Rel(c.root, name)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	if base := path.Base(rel); rel != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" ||
		base == "vendor") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && rel != "." {
		c.nested = append(c.nested, rel+"/")
	}
	p := &pkg{dir: rel}
	for _, n := range c.nested {
		p.nested = p.nested || strings.HasPrefix(rel+"/", n)
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	tests := false
	for _, e := range entries {
		switch {
		case e.IsDir() || !strings.HasSuffix(e.Name(), ".go"):
		case strings.HasSuffix(e.Name(), "_test.go"):
			tests = true
		default:
			f, err := readFile(filepath.Join(name, e.Name()), path.Join(rel, e.Name()))
			if err != nil {
				return err
			}
			p.files = append(p.files, f)
		}
	}
	if tests || len(p.files) > 0 {
		c.checkPackage(p)
	}
	return nil
}

func readFile(name, place string) (*file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &file{place: place, positions: token.NewFileSet()}
	if f.syntax, err = parser.ParseFile(f.positions, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	f.generated = ast.IsGenerated(f.syntax)
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, len(text)+1)
	for s.Scan() {
		f.lines++
	}
	return f, s.Err()
}

// checkPackage applies all rules to one package.
func (c *checker) checkPackage(p *pkg) {
	c.checkName(p)
	c.checkLength(p)
	c.checkPackageComment(p)
	for _, f := range p.files {
		if !f.generated {
			c.checkDocs(f)
		}
	}
	if !p.nested {
		c.packages = append(c.packages, p.dir)
		c.checkImports(p)
		c.checkSurface(p)
	}
}
