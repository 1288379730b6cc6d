package docs

import (
	"flag"
	"path"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
	"github.com/dendroprof/dendro/test/session"
)

var update = flag.Bool("update", false, "rewrite the pictures and the outputs that pages show")

// sessions are the pages that show commands with what they print.
var sessions = []string{"README.md", "docs/config.md", "docs/method/diff.md", "docs/method/paper.md", "docs/method/trace-profiling.md",
	"docs/start/ci.md",
	"docs/start/continuous.md", "docs/start/dumps.md", "docs/start/help.md", "docs/start/howto.md", "docs/start/research.md",
	"docs/start/skywalking.md"}

// TestSessions runs the commands of these pages. Those that need Neo4j or an agent have
// a tag, and run in test/neo4j/e2e and test/agents.
func TestSessions(t *testing.T) {
	for _, page := range sessions {
		t.Run(path.Base(page), func(t *testing.T) {
			t.Parallel()
			session.Run(t, path.Join(root, page), session.Options{Update: *update,
				Env: []string{"GITHUB_RUN_ID=1001", "GITHUB_HEAD_REF=", "GITHUB_BASE_REF=main", "GITHUB_ACTIONS="}, Replace: replacements(t)})
		})
	}
}

// replacements replaces the default ports of a server by free ones, the installation of the program by
// nothing, and the time of a benchmark by half a second: what the pages plant shows in less.
func replacements(t *testing.T) *strings.Replacer {
	t.Helper()
	return strings.NewReplacer("go install github.com/dendroprof/dendro/cmd/dendro@latest", "dendro version",
		"-benchtime 1s", "-benchtime 0.5s", "-benchtime 2s", "-benchtime 0.5s",
		"127.0.0.1:12800", program.FreeAddress(t), "127.0.0.1:11800", program.FreeAddress(t))
}
