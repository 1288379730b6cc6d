package gitlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// TestKindsOfRepositories: whatever git can make of a repository, the answers about it stay.
func TestKindsOfRepositories(t *testing.T) {
	for name, make := range map[string]func(x *trap) string{
		"plain": func(x *trap) string { return x.dir },
		"folder": func(x *trap) string {
			x.write(filepath.Join(x.dir, "folder", "new.txt"), "")
			return filepath.Join(x.dir, "folder")
		},
		"linked worktree": func(x *trap) string {
			x.git(x.dir, "checkout", "-q", "--detach")
			dir := filepath.Join(x.outside, "linked")
			x.git(x.dir, "worktree", "add", "-q", dir, "main")
			return dir
		},
		"separate git directory": func(x *trap) string {
			dir := filepath.Join(x.outside, "clone")
			x.git(x.dir, "clone", "-q", "--separate-git-dir", filepath.Join(x.outside, "separate"), x.dir, dir)
			return dir
		},
		"clone that borrows objects": func(x *trap) string {
			dir := filepath.Join(x.outside, "clone")
			x.git(x.dir, "clone", "-q", "--reference", x.dir, "file://"+x.dir, dir)
			return dir
		},
		"clone without blobs": func(x *trap) string {
			x.git(x.dir, "config", "uploadpack.allowFilter", "true")
			dir := filepath.Join(x.outside, "clone")
			x.git(x.dir, "clone", "-q", "--filter=blob:none", "file://"+x.dir, dir)
			return dir
		},
		"submodule": func(x *trap) string {
			other := repositoryOf(x.t, commit{1e9, []string{"b.go=1\n"}})
			x.git(other, "checkout", "-q", "main")
			x.git(other, "submodule", "--quiet", "add", x.dir, "sub")
			return filepath.Join(other, "sub")
		},
		"packed, with a commit graph": func(x *trap) string {
			x.git(x.dir, "pack-refs", "--all")
			x.git(x.dir, "gc", "-q")
			x.git(x.dir, "commit-graph", "write", "--reachable")
			return x.dir
		},
		"split index": func(x *trap) string {
			x.git(x.dir, "update-index", "--split-index")
			return x.dir
		},
		"sparse": func(x *trap) string {
			x.git(x.dir, "sparse-checkout", "set", "--cone", "--sparse-index", "folder")
			return x.dir
		},
		"a name for the branch that needs quotes": func(x *trap) string {
			x.git(x.dir, "branch", "-q", `quo"te;#=x`)
			x.git(x.dir, "branch", "-q", "--set-upstream-to=main", `quo"te;#=x`)
			return x.dir
		},
		"a filter": func(x *trap) string { // as Git LFS: what is in the index is not the file
			dir := filepath.Join(x.outside, "clone")
			x.write(filepath.Join(x.dir, ".gitattributes"), "*.bin filter=x\n")
			x.write(filepath.Join(x.dir, "large.bin"), "large\n")
			x.git(x.dir, "-c", "filter.x.clean=echo pointer", "add", ".")
			x.git(x.dir, "commit", "-qm", "m", "--date", "@2000000000 +0000")
			x.git(x.dir, "-c", "filter.x.smudge=echo large", "clone", "-q", x.dir, dir)
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTrap(t)
			dir := make(x)
			top, err := Root(dir)
			if err != nil {
				t.Fatal(err)
			}
			want := x.git(top, "log", "-1", "--format=%H %ct")
			h, err := ReadHead(t.Context(), dir)
			if got := fmt.Sprint(h.Commit, " ", h.Date.Unix()); err != nil || got != want || h.Branch != "main" || h.Dirty {
				t.Fatalf("%+v, %v; want %s", h, err, want)
			}
			log := read(t, dir, "", "")
			if _, file, known := log.LastChange(&profile.Function{Name: "f", File: "/src/a.go"}); file != "a.go" || !known {
				t.Errorf("%q %v", file, known)
			}
			if a, err := ReadAncestors(t.Context(), dir, "main"); err != nil || !a.Has(h.Commit) || len(a.commits) < 2 {
				t.Errorf("%+v, %v", a, err)
			}
			c, err := ReadChanges(t.Context(), dir, "main~1", "main", []string{"a.go", ".gitattributes"}, nil)
			if name == "clone without blobs" {
				if !errors.Is(err, errMissing) {
					t.Errorf("changes: %+v, %v", c, err)
				}
			} else if err != nil || c == nil || len(c.Lines) == 0 || len(c.Commits) != 1 {
				t.Errorf("changes: %+v, %v", c, err)
			}
			s, err := OpenSources(t.Context(), top)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if lines := s.Lines(&profile.Function{Name: "f", File: "/src/a.go"}); len(lines) != 1 || lines[0] != "2" {
				t.Errorf("lines %q", lines)
			}
			for _, change := range []string{"a.go", "staged"} {
				x.git(top, "checkout", "-q", "-f", "HEAD", "--", "a.go")
				if change == "staged" {
					x.write(filepath.Join(top, "new.go"), "new\n")
					x.git(top, "add", "--sparse", "new.go")
				} else {
					x.touch(filepath.Join(top, change))
				}
				if h, err := ReadHead(t.Context(), dir); err != nil || !h.Dirty {
					t.Errorf("%s changed: %+v, %v", change, h, err)
				}
			}
		})
	}
}

func TestUpstream(t *testing.T) {
	x := newTrap(t)
	clone := filepath.Join(x.outside, "clone")
	x.git(x.dir, "clone", "-q", x.dir, clone)
	x.git(clone, "commit", "-q", "--allow-empty", "-m", "m")
	want := x.git(x.dir, "rev-parse", "main")
	for _, revision := range []string{"main@{upstream}", "origin/main", "HEAD~1", "HEAD@{1}"} {
		if a, err := ReadAncestors(t.Context(), clone, revision); err != nil || a.Commit != want {
			t.Errorf("%s: %+v, %v; want %s", revision, a, err, want)
		}
	}
}

func TestSHA256(t *testing.T) {
	x := newTrap(t)
	dir := filepath.Join(x.outside, "sha256")
	x.git(x.dir, "init", "-q", "-b", "main", "--object-format=sha256", dir)
	if _, err := ReadHead(t.Context(), dir); !errors.Is(err, ErrNoCommit) {
		t.Errorf("before the first commit: %v", err)
	}
	x.git(dir, "commit", "-q", "--allow-empty", "-m", "m")
	if h, err := ReadHead(t.Context(), dir); err != nil || len(h.Commit) != 64 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestNoRepository(t *testing.T) {
	if _, err := ReadHead(t.Context(), t.TempDir()); !errors.Is(err, ErrNoRepository) {
		t.Error(err)
	}
	x := newTrap(t)
	bare := filepath.Join(x.outside, "bare")
	x.git(x.dir, "clone", "-q", "--bare", x.dir, bare)
	if h, err := ReadHead(t.Context(), bare); err != nil || h.Branch != "main" || h.Dirty {
		t.Errorf("a bare repository that was named: %+v, %v", h, err)
	}
	if _, err := Root(bare); err == nil {
		t.Error("a bare repository has a working tree")
	}
}

// TestNothingIsLeft: the views are removed, and the repository is as it was.
func TestNothingIsLeft(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	x := newTrap(t)
	state := func() string {
		var b bytes.Buffer
		c := exec.Command("find", x.dir, "-printf", "%p %s %T@ %i\n")
		c.Stdout = &b
		if err := c.Run(); err != nil {
			t.Skip(err)
		}
		return b.String()
	}
	x.touch(filepath.Join(x.dir, "a.go"))
	then := time.Now().Add(-time.Hour) // the file that is not changed looks changed: git would write that into the index
	if err := os.Chtimes(filepath.Join(x.dir, "go.mod"), then, then); err != nil {
		t.Fatal(err)
	}
	before := state()
	x.ask(t.Context(), x.dir)
	if after := state(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "dendro-git-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// bomb commits nine levels of trees with ten entries each, that are one tree: as many files
// as no memory holds.
func (x *trap) bomb() {
	entry := "100644 blob " + x.git(x.dir, "rev-parse", "HEAD:a.go")
	for range 9 {
		var tree strings.Builder
		for i := range 10 {
			fmt.Fprintf(&tree, "%s\tf%d\n", entry, i)
		}
		c := exec.Command("git", "-C", x.dir, "mktree")
		c.Stdin = strings.NewReader(tree.String())
		out, err := c.Output()
		if err != nil {
			x.t.Fatal(err)
		}
		entry = "040000 tree " + strings.TrimSpace(string(out))
	}
	x.commitTree(strings.TrimPrefix(entry, "040000 tree "))
}

// commitTree commits a tree to main, and leaves the index and the files.
func (x *trap) commitTree(tree string) {
	hash := x.git(x.dir, "commit-tree", "-m", "m", "-p", "HEAD", tree)
	x.git(x.dir, "update-ref", "refs/heads/main", hash)
}

func TestBomb(t *testing.T) {
	x := newTrap(t)
	x.bomb()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if h, err := ReadHead(ctx, x.dir); err != nil || !h.Dirty {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := Read(ctx, x.dir, "", ""); err == nil || !strings.Contains(err.Error(), "more than 1048576 files") {
		t.Error(err)
	}
	if a, err := ReadAncestors(ctx, x.dir, "HEAD"); err != nil || len(a.commits) != 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestBombInHistory: what was committed once and taken out again ends git, and nothing else.
func TestBombInHistory(t *testing.T) {
	x := newTrap(t)
	small := x.git(x.dir, "rev-parse", "HEAD^{tree}")
	x.bomb()
	x.commitTree(small)
	if h, err := ReadHead(t.Context(), x.dir); err != nil || h.Dirty {
		t.Errorf("%+v, %v", h, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Read(ctx, x.dir, "", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	err := with(t.Context(), x.dir, func(r *repository) error {
		r.memory = 64 << 20
		_, err := r.walk(x.git(x.dir, "rev-parse", "HEAD"), false)
		return err
	})
	if err == nil || runtime.GOOS == "linux" && !strings.Contains(err.Error(), "memory") {
		t.Errorf("git had as much memory as it liked: %v", err)
	}
}
