package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proof is what SECURITY.md names in the last column of a row: tests, in a package.
var proof = regexp.MustCompile("((?:`(?:Test|Fuzz)\\w+`(?:, )?)+) in ([\\w/]+)")

// TestSecurityPage: every test that a row of SECURITY.md names is in the package that it
// names.
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
		if len(cells) != 3 || strings.Contains(line, "---") || strings.TrimSpace(cells[2]) == "test" {
			continue
		}
		rows++
		found := proof.FindAllStringSubmatch(cells[2], -1)
		if len(found) == 0 && !strings.Contains(cells[2], "the tests of") {
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
