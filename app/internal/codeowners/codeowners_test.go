package codeowners

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// rules has a line for each kind of pattern that GitHub's page shows.
const rules = `
# Everything else.
*       @all @org/every-one

*.js    @js-owner #inline
*.go docs@example.com
/build/logs/ @logs
docs/*  @docs-flat
apps/ @apps
/scripts/ @scripts @org/tools
**/cache @cache
/apps/github
lib/**/gen.txt @gen
with\ blank/ @blank
[Section] @gitlab
!negated.txt @nobody
a?c.txt @one
`

func TestOf(t *testing.T) {
	o := Parse(rules)
	for _, c := range []struct{ file, want string }{
		{"README", "@all @org/every-one"},
		{"deep/er/README", "@all @org/every-one"},
		{"web/app.js", "@js-owner"},
		{"a/b.go", "docs@example.com"},
		{"build/logs/x/y", "@logs"},
		{"x/build/logs/y", "@all @org/every-one"}, // anchored by its slash
		{"docs/start.md", "@docs-flat"},
		{"docs/build/start.md", "@all @org/every-one"}, // not nested
		{"x/docs/start.md", "@all @org/every-one"},
		{"x/apps/y", "@apps"},
		{"apps", "@all @org/every-one"}, // a file, not a folder
		{"scripts/run", "@scripts @org/tools"},
		{"x/scripts/run", "@all @org/every-one"},
		{"x/y/cache/z", "@cache"},
		{"cache", "@cache"},
		{"apps/github/x", ""}, // owners taken away
		{"lib/gen.txt", "@gen"},
		{"lib/a/b/gen.txt", "@gen"},
		{"with blank/x", "@blank"},
		{"negated.txt", "@all @org/every-one"},
		{"abc.txt", "@one"},
		{"a/c.txt", "@all @org/every-one"},
		{"/README", "@all @org/every-one"},
	} {
		if got := strings.Join(o.Of(c.file), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.file, got, c.want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if o, err := Read(dir); err != nil || o.Of("x") != nil {
		t.Error(o.Of("x"), err)
	}
	write("docs/CODEOWNERS", "* @docs")
	write("CODEOWNERS", "* @root")
	o, err := Read(dir)
	if err != nil || !slices.Equal(o.Of("x"), []string{"@root"}) {
		t.Fatal(o.Of("x"), err)
	}
	write(".github/CODEOWNERS", "* @github")
	if o, _ = Read(dir); !slices.Equal(o.Of("x"), []string{"@github"}) {
		t.Error(o.Of("x"))
	}
	write(".github/CODEOWNERS", "* @github\n#"+strings.Repeat("x", maxSize))
	if o, err = Read(dir); err != nil || o.Of("x") != nil {
		t.Error("of a file that GitHub would not load:", o.Of("x"), err)
	}
}

// TestReadNothingElse: what is no file of the repository is an error, and is not waited for.
func TestReadNothingElse(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("* secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(name string) error{
		"link out": func(name string) error { return os.Symlink(secret, name) },
		"device":   func(name string) error { return os.Symlink("/dev/zero", name) },
		"pipe":     func(name string) error { return syscall.Mkfifo(name, 0o600) },
	} {
		dir := t.TempDir()
		if err := make(filepath.Join(dir, "CODEOWNERS")); err != nil {
			t.Fatal(err)
		}
		if o, err := Read(dir); err == nil {
			t.Errorf("%s: owners %q", name, o.Of("x"))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(rules, "a/b.go")
	f.Add("/** @x\n**/a/** @y\n// @z", "a//b")
	f.Fuzz(func(t *testing.T, text, file string) {
		Parse(text).Of(file) // never panics
	})
}
