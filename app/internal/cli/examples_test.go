package cli

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/demo"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

// elsewhere are parts of examples that need more than the demo's store: a server, a graph
// database, a running program. Tests of these run the commands.
var elsewhere = []string{"dendro serve", "dendro fleet", "dendro bench", "dendro task", "dendro cypher", "neo4j://", "neo4j+s://",
	"postgres://", "s3://", "/mnt/", "localhost:", "--service checkout", "go test "}

// placeholders stand in examples for what differs from store to store.
var placeholders = map[string]func(t *testing.T, dir string) string{
	"9f1c2ab04d5e6677": func(t *testing.T, dir string) string {
		st, err := engines.Open(t.Context(), filepath.Join(dir, "dendro.duckdb"), engines.Read)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		list, err := st.Profiles(t.Context(), store.Query{Last: 1})
		if err != nil {
			t.Fatal(err)
		}
		return string(list[0].ID)
	},
	"--callers malloc":   func(*testing.T, string) string { return "--callers f3" },
	"drop-function:poll": func(*testing.T, string) string { return "drop-function:f17" },
	"perf script":        func(*testing.T, string) string { return "gzip -dc perf.gz" },
	"/tmp/demo.duckdb":   func(_ *testing.T, dir string) string { return dir + "/demo.duckdb" },
	"~/src/shop":         func(t *testing.T, dir string) string { return dir },
}

// ago is a time before now: the runs of the demo have dates of their own.
var ago = regexp.MustCompile(`--(since|until) \d+[dh]`)

// TestHelpWidth wants the text of every help to fit a terminal, and every command of the
// program in a group.
func TestHelpWidth(t *testing.T) {
	root := newRoot(&command.Env{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Short + "\n" + c.Long + "\n" + c.Example) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 130 || n > 92 && !strings.Contains(c.Example, line) {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		if c.Parent() == root && c.GroupID == "" && !c.Hidden && c.Name() != "version" {
			t.Errorf("%s is in no group", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// TestExamples runs every example of every help, each in a folder of its own that has the
// demo's store and files with the names that the examples use.
func TestExamples(t *testing.T) {
	surroundings := t.TempDir()
	fillExamples(t, surroundings)
	n := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(line)
			if line == "" || contains(line, elsewhere) {
				continue
			}
			n++
			t.Run(line, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(surroundings)); err != nil {
					t.Fatal(err)
				}
				line := ago.ReplaceAllString(line, "--$1 2026-10-01")
				for text, value := range placeholders {
					if strings.Contains(line, text) {
						line = strings.ReplaceAll(line, text, value(t, dir))
					}
				}
				if strings.Contains(line, "--base main") {
					line = "dendro import --run head --group shop --machine demo --branch my-branch --commit $(git rev-parse HEAD) profiles/\n" + line
				}
				run := exec.Command("sh", "-euc", line)
				run.Dir = dir
				run.Env = append(os.Environ(), "DENDRO_STORE=", "NO_COLOR=1", "XDG_CONFIG_HOME="+dir, "GITHUB_ACTIONS=")
				out, err := run.CombinedOutput()
				if status := run.ProcessState.ExitCode(); status != 0 && !(status == exitFound && c.Name() == "check") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&command.Env{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
	if n < 50 {
		t.Errorf("only %d examples", n)
	}
}

func contains(line string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// fillExamples makes the folder that examples run in: a repository with a commit, the
// store of `dendro demo`, and files of several formats.
func fillExamples(t *testing.T, dir string) {
	t.Helper()
	command := func(name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "DENDRO_STORE=", "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
	}
	command("git", "init", "-q", "-b", "main")
	command("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first")
	command("dendro", "demo", "--store", "dendro.duckdb")
	for to, from := range map[string]string{"results": "profiles", "profiles": "profiles/run-018"} {
		profiles, err := fs.Sub(demo.Profiles, from)
		if err == nil {
			err = os.CopyFS(filepath.Join(dir, to), profiles)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const testdata = "../../../format/"
	for to, from := range map[string]string{
		"cpu.pb.gz":                      "../app/internal/demo/profiles/run-017/checkout.pb.gz",
		"other.pb.gz":                    "../app/internal/demo/profiles/run-015/checkout.pb.gz",
		"before.pb.gz":                   "../app/internal/demo/profiles/run-015/checkout.pb.gz",
		"after.pb.gz":                    "../app/internal/demo/profiles/run-017/checkout.pb.gz",
		"old.duckdb":                     "",
		"heap.pb.gz":                     "pprof/testdata/go-heap.pb.gz",
		"jstack.txt":                     "threaddump/testdata/locks-jstack-jdk17.txt.gz",
		"recording.jfr":                  "jfr/testdata/ap46-cpu.jfr.gz",
		"main/orders.jfr":                "jfr/testdata/ap46-cpu.jfr.gz",
		"branch/orders.jfr":              "jfr/testdata/ap46-cpu.jfr.gz",
		"profile.json":                   "firefox/testdata/written-v57.json",
		"run1.collapsed.gz":              "folded/testdata/ap46-cpu.expect-cpu.collapsed.gz",
		"run2.collapsed.gz":              "folded/testdata/ap46-multi.expect-cpu.collapsed.gz",
		"other.folded":                   "folded/testdata/pyspy-raw.collapsed",
		"stacks.folded":                  "folded/testdata/pyspy-raw.collapsed",
		"app.otlp":                       "otlp/testdata/ap46-cpu.otlp.gz",
		"perf.gz":                        "perfscript/testdata/perf-script-short.txt.gz",
		"history/r1/shop/checkout.pb.gz": "../app/internal/demo/profiles/run-015/checkout.pb.gz",
		"history/r2/shop/checkout.pb.gz": "../app/internal/demo/profiles/run-016/checkout.pb.gz",
		"before/r1/checkout.pb.gz":       "../app/internal/demo/profiles/run-014/checkout.pb.gz",
		"before/r2/checkout.pb.gz":       "../app/internal/demo/profiles/run-015/checkout.pb.gz",
		"after/r3/checkout.pb.gz":        "../app/internal/demo/profiles/run-017/checkout.pb.gz",
	} {
		data, err := os.ReadFile(testdata + from)
		if to == "old.duckdb" {
			data, err = os.ReadFile(filepath.Join(dir, "dendro.duckdb"))
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, filepath.Dir(to)), 0o777)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "question.sql"), []byte("SELECT count(*) FROM profiles"), 0o600); err != nil {
		t.Fatal(err)
	}
}
