package newuser

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/cache"
	"github.com/dendroprof/dendro/test/program"
	"github.com/dendroprof/dendro/test/session"
)

const root = "../.."

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

var (
	scripts = []string{"testdata/engineer.md", "testdata/operator.md", "testdata/researcher.md"}
	weeks   = []string{"testdata/week/node.md", "testdata/week/go.md", "testdata/week/python.md", "testdata/week/cpp.md",
		"testdata/week/jvm.md", "testdata/week/rust.md"}
)

// shortWeeks are those of every check, the first: of a language whose benchmarks know nothing of
// Dendro. Pairs of Go are recorded by docs/start/ci.md, which test/docs runs. The others need tools
// that not every machine has, and make nightly runs all.
const shortWeeks = 1

// TestNewUsers runs the scripts, each in an empty folder. The folder has one name for all of them, and the
// same name the next time: Go compiles a program anew for each folder it is in, for a minute of processor time.
// With -short nobody compiles: what runs the tests has just made the binary of this commit by the same command.
func TestNewUsers(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("measures, and installs pandas: DENDRO_TEST_REAL=1 runs it, as make smoke-timed does")
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	origin := filepath.Join(t.TempDir(), "dendro") // a clone has the name of its origin
	if err := os.Symlink(here, origin); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(os.TempDir(), fmt.Sprintf("dendro-newuser-%08x", crc32.ChecksumIEEE([]byte(here))))
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".md"), func(t *testing.T) {
			if err := errors.Join(os.RemoveAll(home), os.Mkdir(home, 0o755)); err != nil {
				t.Fatal(err)
			}
			replace := []string{"https://github.com/dendroprof/dendro", origin}
			if testing.Short() {
				replace = append(replace, "make build", "install -D "+program.Path()+" bin/dendro", "go build -o bin/dendro ./cmd/dendro", "…")
			}
			for _, usual := range []string{"127.0.0.1:12800", "127.0.0.1:11800", "127.0.0.1:8000", "127.0.0.1:8001", "127.0.0.1:8002"} {
				replace = append(replace, usual, program.FreeAddress(t))
			}
			session.Run(t, script, session.Options{Dir: home, Replace: strings.NewReplacer(replace...),
				Env: []string{"MAKELEVEL=", "MAKEFLAGS=", "GITHUB_ACTIONS=", "GITLAB_CI=", "JENKINS_URL=", "GIT_AUTHOR_NAME=me",
					"GIT_AUTHOR_EMAIL=me@example.com", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@example.com"}})
		})
	}
}

// TestWeeks runs the weeks. They need, beside what the scripts install: npm; and those of
// make nightly python3 with venv; g++, make, perf and libbenchmark-dev; a JDK and Maven; cargo.
func TestWeeks(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("measures, and installs frameworks: DENDRO_TEST_REAL=1 runs it, as make smoke-timed does")
	}
	list := weeks
	if testing.Short() {
		list = weeks[:shortWeeks]
	}
	for _, script := range list {
		name := strings.TrimSuffix(filepath.Base(script), ".md")
		t.Run(name, func(t *testing.T) {
			o := session.Options{Env: []string{"GITHUB_ACTIONS=", "GITLAB_CI=", "JENKINS_URL=", "GIT_AUTHOR_NAME=me",
				"GIT_AUTHOR_EMAIL=me@example.com", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@example.com"}}
			switch name {
			case "python":
				o.Path = []string{filepath.Join(pythonTools(t), "bin")}
			case "jvm":
				o.Env = append(o.Env, "JMH="+strings.Join(jmhJars(t), " "))
			}
			session.Run(t, script, o)
		})
	}
}

// pythonTools returns an environment of Python with pytest-benchmark and py-spy.
func pythonTools(t *testing.T) string {
	t.Helper()
	all, err := cache.Dir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(all, "python-bench-1") // not moved once it is made: its programs have its name
	if _, err := os.Stat(filepath.Join(dir, "whole")); err == nil {
		return dir
	}
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", dir},
		{filepath.Join(dir, "bin", "pip"), "install", "-q", "--disable-pip-version-check", "pytest==9.*", "pytest-benchmark==5.*",
			"py-spy==0.4.*"}, {"touch", filepath.Join(dir, "whole")}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// jmhJars returns the JARs of JMH.
func jmhJars(t *testing.T) []string {
	t.Helper()
	lib, err := cache.Jars(t.Context(), "jmh-1.37", "org.openjdk.jmh:jmh-core:1.37", "org.openjdk.jmh:jmh-generator-annprocess:1.37")
	if err != nil {
		t.Fatal(err)
	}
	jars, err := filepath.Glob(filepath.Join(lib, "*.jar"))
	if err != nil || len(jars) == 0 {
		t.Fatal(jars, err)
	}
	return jars
}

var (
	called = regexp.MustCompile(`\bdendro ([a-z]+)([^|;&>)\n]*)`)
	flag   = regexp.MustCompile(`--[a-z][a-z-]*`)
)

// TestOnlyThePages: the users know no command and no flag that the README and the pages for
// beginners do not show.
func TestOnlyThePages(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/start/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var known strings.Builder
	for _, page := range append(pages, root+"/README.md", root+"/python/README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		known.Write(text)
	}
	for _, script := range append(scripts, weeks...) {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "$ ") {
				continue
			}
			for _, m := range called.FindAllStringSubmatch(line, -1) {
				n++
				own, _, _ := strings.Cut(m[2], " -- ")
				if !strings.Contains(known.String(), "dendro "+m[1]) && !strings.Contains(known.String(), "`"+m[1]+"`") {
					t.Errorf("%s: no page for beginners has the command %s", script, m[1])
				}
				for _, name := range flag.FindAllString(own, -1) {
					if !strings.Contains(known.String(), name) {
						t.Errorf("%s: dendro %s: no page for beginners has the flag %s", script, m[1], name)
					}
				}
			}
		}
		if n < 2 {
			t.Errorf("%s: only %d commands", script, n)
		}
	}
}
