package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

// proof is what SECURITY.md names in the last column of a row: tests, in a package.
var proof = regexp.MustCompile("((?:`(?:Test|Fuzz)\\w+`(?:, )?)+) in ([\\w/]+)")

// TestSecurityPage: every test that a row of SECURITY.md names is in the package that it
// names, and every maximum of `dendro serve` is in a row, with its unit.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tables, ok := strings.Cut(string(page), "and the test that proves it")
	if !ok {
		t.Fatal("SECURITY.md has no tables of attacks")
	}
	rows := 0
	for line := range strings.Lines(tables) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 && len(cells) != 4 || strings.Contains(line, "---") || strings.TrimSpace(cells[len(cells)-1]) == "test" {
			continue
		}
		rows++
		last := cells[len(cells)-1]
		found := proof.FindAllStringSubmatch(last, -1)
		if len(found) == 0 && !strings.Contains(last, "the tests of") {
			t.Errorf("no test in the row: %s", line)
		}
		for _, m := range found {
			for _, name := range strings.Split(m[1], ", ") {
				if name = strings.Trim(name, "` "); !hasTest(t, m[2], name) {
					t.Errorf("%s has no test %s", m[2], name)
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
	}
	_, limits, ok := strings.Cut(tables, "## The limits of `dendro serve`")
	named := map[string]string{}
	for _, m := range regexp.MustCompile("`(--[a-z-]+)` (\\w+)").FindAllStringSubmatch(limits, -1) {
		named[m[1]] = m[2]
	}
	help, _, _ := program.Run(t, t.TempDir(), "help", "serve", "--all")
	flags := regexp.MustCompile(`(?m)^ +(--(?:continuous-)?(?:max|min|stall)-[a-z-]+) (\S+)`).FindAllStringSubmatch(help, -1)
	for _, m := range flags {
		if named[m[1]] != m[2] {
			t.Errorf("%s is in %s, SECURITY.md has %q", m[1], m[2], named[m[1]])
		}
		delete(named, m[1])
	}
	if len(named) > 0 || !ok || len(flags) < 30 {
		t.Errorf("%d flags, unknown ones: %v", len(flags), named)
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}
