package gitlog

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

func TestSources(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.go")
	for name, text := range map[string]string{filepath.Join(dir, "a", "one.go"): "x\r\ny\n", filepath.Join(dir, "a", "two.go"): "a\n",
		filepath.Join(dir, "b", "two.go"): "b\n", filepath.Join(dir, ".hidden", "three.go"): "c\n", outside: "secret\n"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a", "link.go")); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSources(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.index = newIndex(map[string]int64{"a/one.go": 0, "a/two.go": 0, "b/two.go": 0, "a/link.go": 0, "../secret.go": 0}, nil)
	for file, want := range map[string][]string{
		"/build/x/a/one.go": {"x", "y"}, "/build/x/b/two.go": {"b"}, "two.go": nil, "a/link.go": nil, "../secret.go": nil, "": nil,
		"a/none.go":                   nil,
		"example.com/a@v1.2.0/one.go": {"x", "y"},
	} {
		for range 2 { // the second answer is from memory
			if got := s.Lines(&profile.Function{Name: "f", File: file}); !slices.Equal(got, want) {
				t.Errorf("%q: %q, want %q", file, got, want)
			}
		}
	}
	if got := s.Lines(&profile.Function{Name: "f (/srv/a/one.go)"}); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("%q", got)
	}
}

func TestSourcesListed(t *testing.T) {
	for name, dir := range map[string]string{"repository": repositoryOf(t, commit{1, []string{"a/one.go", "two.go"}}),
		"directory": t.TempDir()} {
		if name == "repository" {
			if out, err := exec.Command("git", "-C", dir, "checkout", "-q", "main").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		} else if err := os.WriteFile(filepath.Join(dir, "one.go"), []byte("0"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenSources(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Lines(&profile.Function{File: "/srv/x/one.go"}); len(got) != 0 && name == "repository" {
			t.Errorf("%s: x/one.go is %q", name, got) // another directory
		}
		if got := s.Lines(&profile.Function{File: "one.go"}); !slices.Equal(got, []string{"0"}) {
			t.Errorf("%s: %q", name, got)
		}
		s.Close()
	}
	if _, err := OpenSources(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a directory that does not exist has sources")
	}
}
