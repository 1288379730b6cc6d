package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStepsOfCI compares the steps that CONTRIBUTING.md lists with those of .ci/run.
func TestStepsOfCI(t *testing.T) {
	var steps []string
	for _, m := range regexp.MustCompile(`(?m)^step make (\S+)$`).FindAllStringSubmatch(read(t, ".ci/run"), -1) {
		steps = append(steps, m[1])
	}
	_, list, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "`.ci/run` runs these targets, in this order:")
	list, _, _ = strings.Cut(list, "\n`make soak")
	list, _, _ = strings.Cut(list, " `make soak")
	var listed []string
	for _, m := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(list, -1) {
		listed = append(listed, m[1])
	}
	if len(steps) < 10 || !slices.Equal(listed, steps) {
		t.Errorf(".ci/run runs\n%q, CONTRIBUTING.md lists\n%q", steps, listed)
	}
}

// TestEntryPagesNameFiles wants every path that CONTRIBUTING.md and ARCHITECTURE.md write as code
// to exist. NAME and PACKAGE stand for the reader's own.
func TestEntryPagesNameFiles(t *testing.T) {
	for _, page := range []string{"CONTRIBUTING.md", "ARCHITECTURE.md"} {
		n := 0
		for _, m := range regexp.MustCompile("`((?:\\.?[a-z]\\w*/)+[\\w.*/-]*|[a-z]+/)`").FindAllStringSubmatch(
			fence.ReplaceAllString(read(t, page), ""), -1) {
			name := m[1]
			if strings.Contains(name, "NAME") || strings.HasPrefix(name, "dist/") || strings.Contains(name, "PACKAGE") ||
				strings.Contains(name, "…") {
				continue
			}
			n++
			found, err := filepath.Glob(filepath.Join(root, name))
			if err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", page, name)
			}
		}
		if n < 10 {
			t.Errorf("%s: only %d paths", page, n)
		}
	}
}

// TestDependencies wants the reason for each direct dependency above its line in go.mod.
func TestDependencies(t *testing.T) {
	lines, direct := strings.Split(read(t, "go.mod"), "\n"), 0
	for i, line := range lines {
		if !regexp.MustCompile(`^\t[\w./-]+ v\S+$`).MatchString(line) {
			continue
		}
		direct++
		if !strings.HasPrefix(lines[i-1], "\t// ") {
			t.Errorf("go.mod does not say what%s is for", line)
		}
	}
	if direct < 20 {
		t.Errorf("only %d direct dependencies in go.mod", direct)
	}
}
