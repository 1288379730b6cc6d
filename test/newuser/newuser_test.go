package newuser

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
	"github.com/dendroprof/dendro/test/session"
)

const root = "../.."

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

var scripts = []string{"testdata/engineer.md", "testdata/operator.md", "testdata/researcher.md"}

// TestNewUsers runs the scripts, each in a folder of its own.
func TestNewUsers(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("measures, and installs pandas: DENDRO_TEST_REAL=1 runs it, as make smoke-servers does")
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	origin := filepath.Join(t.TempDir(), "dendro") // a clone has the name of its origin
	if err := os.Symlink(here, origin); err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".md"), func(t *testing.T) {
			replace := []string{"https://github.com/dendroprof/dendro", origin}
			for _, usual := range []string{"127.0.0.1:12800", "127.0.0.1:11800", "127.0.0.1:8000", "127.0.0.1:8001", "127.0.0.1:8002"} {
				replace = append(replace, usual, freeAddress(t))
			}
			session.Run(t, script, session.Options{Replace: strings.NewReplacer(replace...),
				Env: []string{"MAKELEVEL=", "MAKEFLAGS=", "GITHUB_ACTIONS=", "GITLAB_CI=", "JENKINS_URL=", "GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@example.com", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@example.com"}})
		})
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
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
	for _, script := range scripts {
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
