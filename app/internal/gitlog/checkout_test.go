package gitlog

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckout(t *testing.T) {
	dir := repositoryOf(t, commit{1e9, []string{"a.go=1\n", "lib/b.go=b\n", ".gitattributes=*.go text\n"}},
		commit{2e9, []string{"a.go=2\n", "-lib/b.go"}})
	for revision, want := range map[string]map[string]string{
		"main":   {"a.go": "2\n", "lib/b.go": ""},
		"main~1": {"a.go": "1\n", "lib/b.go": "b\n"},
	} {
		to := t.TempDir()
		h, err := Checkout(t.Context(), dir, revision, to)
		if err != nil || len(h.Commit) != 40 || h.Date.IsZero() {
			t.Fatal(h, err)
		}
		for name, text := range want {
			if got, _ := os.ReadFile(filepath.Join(to, name)); string(got) != text {
				t.Errorf("%s of %s: %q, want %q", name, revision, got, text)
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the repository has files: %v, %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "index")); err == nil {
		t.Error("the repository got an index")
	}
	if _, err := Checkout(t.Context(), dir, "nosuch", t.TempDir()); err == nil {
		t.Error("a revision that does not exist")
	}
}

// TestMergeBaseOfClone: a CI clones one branch, often a few commits of it, and has the others as origin/… only.
func TestMergeBaseOfClone(t *testing.T) {
	dir, commit := branches(t)
	clone := func(arguments ...string) string {
		to := filepath.Join(t.TempDir(), "clone")
		args := append(append([]string{"clone", "-q"}, arguments...), "--branch", "topic", "file://"+dir, to)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return to
	}
	whole := clone()
	if got, err := MergeBase(t.Context(), whole, "main", "HEAD"); err != nil || got != commit["m2"] {
		t.Errorf("%s, %v; want %s", got, err, commit["m2"])
	}
	if !IsBranch(t.Context(), whole, "main") {
		t.Error("main is no branch of the clone")
	}
	if got, err := MergeBase(t.Context(), clone("--depth", "1", "--no-single-branch"), "main", "HEAD"); err == nil ||
		!strings.Contains(err.Error(), "the clone is shallow") {
		t.Errorf("of a shallow clone: %s, %v", got, err)
	}
}

func TestMergeBase(t *testing.T) {
	dir, commit := branches(t)
	for _, c := range []struct{ a, b, want string }{{"main", "topic", "m2"}, {"topic", "main", "m2"}, {"main~1", "topic", "m2"},
		{"main", "main", "m3"}} {
		if got, err := MergeBase(t.Context(), dir, c.a, c.b); err != nil || got != commit[c.want] {
			t.Errorf("%s and %s: %s, %v", c.a, c.b, got, err)
		}
	}
	if !IsBranch(t.Context(), dir, "topic") || IsBranch(t.Context(), dir, "main~1") {
		t.Error("branches")
	}
}
