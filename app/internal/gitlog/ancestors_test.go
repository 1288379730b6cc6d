package gitlog

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// branches makes a repository in which topic left main after m2:
//
//	m1 ── m2 ── m3   main
//	       └── t1    topic
func branches(t *testing.T) (dir string, commit map[string]string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir = t.TempDir()
	commit = map[string]string{}
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", dir}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	add := func(name string) {
		git("commit", "-q", "--allow-empty", "-m", name)
		commit[name] = git("rev-parse", "HEAD")
	}
	add("m1")
	add("m2")
	git("switch", "-q", "-c", "topic")
	add("t1")
	git("switch", "-q", "main")
	add("m3")
	return dir, commit
}

func TestAncestors(t *testing.T) {
	dir, commit := branches(t)
	a, err := ReadAncestors(context.Background(), dir, "topic")
	if err != nil || a.Commit != commit["t1"] || a.Shallow {
		t.Fatal(a, err)
	}
	for name, want := range map[string]bool{"m1": true, "m2": true, "t1": true, "m3": false} {
		if a.Has(commit[name]) != want || a.Has(commit[name][:7]) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
	for _, none := range []string{"", "1234567", commit["m1"][:6]} {
		if a.Has(none) {
			t.Errorf("has %q", none)
		}
	}
	if _, err := ReadAncestors(context.Background(), dir, "nothing"); err == nil {
		t.Error("a revision that is not there, and no error")
	}
	if _, err := ReadAncestors(context.Background(), dir, "--help"); err == nil {
		t.Error("an option is no revision")
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if root, err := Root(filepath.Join(dir, "sub")); err != nil || filepath.Base(root) != filepath.Base(dir) {
		t.Error(root, err)
	}
}

func TestAncestorsOfShallowClone(t *testing.T) {
	dir, _ := branches(t)
	clone := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.Command("git", "clone", "-q", "--depth", "1", "--branch", "topic", "file://"+dir, clone).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a, err := ReadAncestors(context.Background(), clone, "HEAD")
	if err != nil || !a.Shallow {
		t.Error(a, err)
	}
}
