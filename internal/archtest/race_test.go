package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// racedElsewhere are packages in which goroutines meet and that `make race` leaves out, with who runs them instead.
// `make nightly` runs all packages under the race detector.
var racedElsewhere = map[string]string{
	"analysis":            "query/judge runs the analyses in parallel",
	"app/internal/cli":    "sessions run the binary, and what they share is the server's",
	"app/internal/gitlog": "one lock around the answers of git",
	"app/internal/mcp":    "sessions of one client, and what they share is the server's",
	"calltree/internal":   "calltree, which alone uses it, is raced",
	"format/protobuf":     "a table that is filled once, by readers that format runs",
	"internal/cost":       "counters of requests, which the server's tests run",
	"store":               "DuckDB and Neo4j take minutes under the detector; store/mem is raced",
	"symbolize":           "a cache that ingest shares",
}

// TestRace wants the packages in which goroutines meet to be those of `make race`, and no others there.
func TestRace(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACE = (.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("Makefile has no line RACE")
	}
	var raced []string
	for _, name := range strings.Fields(string(list[1])) {
		raced = append(raced, strings.TrimPrefix(name, "./"))
	}
	code, all := map[string]bool{}, map[string]bool{} // with goroutines or locks: the package, or also its tests
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		place, _ := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() {
			_, module := os.Stat(filepath.Join(name, "go.mod"))
			if base == "testdata" || base == "node_modules" || place == "test" || place != "." && (module == nil || strings.HasPrefix(base, ".")) {
				return fs.SkipDir
			}
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil && concurrent(f) {
			place = filepath.ToSlash(filepath.Dir(place))
			all[place] = true
			if !strings.HasSuffix(name, "_test.go") {
				code[place] = true
			}
		}
		return err
	})
	if err != nil || len(code) < 30 {
		t.Fatalf("%d packages, %v", len(code), err)
	}
	used := map[string]bool{} // of racedElsewhere
	for place := range code {
		excused := false
		for folder := range racedElsewhere {
			if place == folder || strings.HasPrefix(place, folder+"/") {
				excused, used[folder] = true, true
			}
		}
		if !excused && !slices.Contains(raced, place) {
			t.Errorf("goroutines meet in %s: add it to RACE of the Makefile, or to racedElsewhere with the reason", place)
		}
	}
	if len(used) != len(racedElsewhere) {
		t.Errorf("of racedElsewhere only %v have goroutines", used)
	}
	for _, place := range raced {
		if !all[place] && place != "query/judge" && place != "app/internal/server/pyroscope" {
			t.Errorf("RACE of the Makefile names %s, where no goroutines meet", place)
		}
	}
}

// TestSequential wants each name of SEQUENTIAL to be that of a test which `make race` would run otherwise.
func TestSequential(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACE = (.*)$`).FindSubmatch(makefile)
	skipped := regexp.MustCompile(`(?m)^SEQUENTIAL = \^Test\((.*)\)\$\$$`).FindSubmatch(makefile)
	if list == nil || skipped == nil {
		t.Fatal("Makefile has no line RACE or SEQUENTIAL")
	}
	var names []string
	for _, folder := range strings.Fields(string(list[1])) {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func Test(\w+)\(`).FindAllSubmatch(text, -1) {
				names = append(names, string(m[1]))
			}
		}
	}
	for name := range strings.SplitSeq(string(skipped[1]), "|") {
		if !slices.ContainsFunc(names, regexp.MustCompile("^(?:"+name+")$").MatchString) {
			t.Errorf("SEQUENTIAL of the Makefile names %s, which is no test of RACE", name)
		}
	}
}

// concurrent says whether a file starts goroutines, or has what several of them may use.
func concurrent(f *ast.File) bool {
	for _, i := range f.Imports {
		if i.Path.Value == `"sync"` || i.Path.Value == `"sync/atomic"` || i.Path.Value == `"golang.org/x/sync/errgroup"` {
			return true
		}
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		_, is := n.(*ast.GoStmt)
		found = found || is
		return !found
	})
	return found
}
