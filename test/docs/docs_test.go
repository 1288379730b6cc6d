package docs

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

const root = "../.."

// elsewhere names the pages whose blocks of a language another test runs.
var elsewhere = map[string]string{
	"docs/api.md sh":              "test/server",
	"docs/tasks.md sh":            "app/internal/cli",
	"docs/tasks.md console":       "app/internal/cli",
	"docs/graph.md cypher":        "test/neo4j/e2e",
	"docs/schema/neo4j.md cypher": "store/neo4j",
	"docs/lake.md sql":            "python/tests",
	"docs/lake.md python":         "python/tests",
}

// block is a fenced block of a page.
type block struct {
	language, text string
	fragment       bool
}

var fence = regexp.MustCompile("(?ms)^```([^\n`]*)\n(.*?)^```$")

func blocks(page string) []block {
	var list []block
	for _, m := range fence.FindAllStringSubmatch(page, -1) {
		words := strings.Fields(m[1])
		b := block{text: m[2]}
		if len(words) > 0 {
			b.language, b.fragment = words[0], slices.Contains(words[1:], "fragment")
		}
		list = append(list, b)
	}
	return list
}

// pages returns the pages below docs, by name, without those of sessions.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || slices.Contains(sessions, filepath.ToSlash(name)) {
			return err
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// surroundings fills dir with what the blocks of a page may use.
func surroundings(t *testing.T, dir string) {
	t.Helper()
	program.Must(t, dir, "demo", "--store", "dendro.duckdb")
	profiles := os.DirFS(filepath.Join(root, "app/internal/demo/profiles"))
	if err := os.CopyFS(filepath.Join(dir, "profiles"), profiles); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]string{"before.pb.gz": "run-016", "after.pb.gz": "run-017"} {
		data, err := fs.ReadFile(profiles, run+"/checkout.pb.gz")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// command returns the program that runs a block in dir, or nil.
func command(t *testing.T, dir string, b block) *exec.Cmd {
	t.Helper()
	var c *exec.Cmd
	switch b.language {
	case "sh":
		c = exec.Command("sh", "-euc", b.text)
		c.Env = append(os.Environ(), "PATH="+filepath.Dir(program.Path())+":"+os.Getenv("PATH"))
	case "sql":
		c = exec.Command(program.Path(), "sql", "-o", "json", b.text)
		c.Env = os.Environ()
	case "python":
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("python3 is not installed")
		}
		c = exec.Command(python, "-c", b.text)
		c.Env = os.Environ()
	default:
		return nil
	}
	c.Dir = dir
	c.Env = append(c.Env, "DENDRO_STORE=", "NO_COLOR=1", "XDG_CONFIG_HOME="+dir)
	return c
}

// TestBlocks runs the blocks of all pages: each must succeed, a query must have rows,
// and all of them different.
func TestBlocks(t *testing.T) {
	for name, page := range pages(t) {
		t.Run(name, func(t *testing.T) {
			dir := ""
			for _, b := range blocks(page) {
				if b.fragment || elsewhere[name+" "+b.language] != "" {
					continue
				}
				switch b.language {
				case "json":
					checkJSON(t, b.text)
				case "go":
					text := b.text
					if !strings.HasPrefix(text, "package ") { // else a program, which test/library runs
						text = "package p\nfunc f() error {\n" + text + "}\n"
					}
					if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil {
						t.Errorf("%v in\n%s", err, b.text)
					}
				case "", "text", "yaml", "ini", "console":
					if commands.MatchString(b.text) {
						t.Errorf("commands in a block that is neither sh nor a fragment:\n%s", b.text)
					}
				default:
					if dir == "" {
						dir = t.TempDir()
						surroundings(t, dir)
					}
					c := command(t, dir, b)
					if c == nil {
						t.Errorf("nothing runs blocks of %s:\n%s", b.language, b.text)
						continue
					}
					out := program.Succeed(t, c)
					if b.language == "sql" {
						checkRows(t, b.text, out)
					}
				}
			}
		})
	}
}

// commands finds lines that a reader would type.
var commands = regexp.MustCompile(`(?m)^(\$ )?(dendro|curl|swctl|docker|perf|jcmd) `)

func checkRows(t *testing.T, query, out string) {
	t.Helper()
	var doc struct{ Rows []json.RawMessage }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if len(doc.Rows) == 0 {
		t.Errorf("no rows:\n%s", query)
	}
	seen := map[string]bool{}
	for _, row := range doc.Rows {
		if seen[string(row)] {
			t.Errorf("%s is there twice:\n%s", row, query)
		}
		seen[string(row)] = true
	}
}

// checkJSON demands JSON, one value or one a line.
func checkJSON(t *testing.T, text string) {
	t.Helper()
	if json.Valid([]byte(text)) {
		return
	}
	for line := range strings.Lines(text) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON, and not marked as a fragment: %s", line)
		}
	}
}

// TestElsewhere demands that the pages that other tests run have blocks for them.
func TestElsewhere(t *testing.T) {
	all := pages(t)
	for key, test := range elsewhere {
		name, language, _ := strings.Cut(key, " ")
		if !slices.ContainsFunc(blocks(all[name]), func(b block) bool { return b.language == language && !b.fragment }) {
			t.Errorf("%s has no %s for %s to run", name, language, test)
		}
	}
}
