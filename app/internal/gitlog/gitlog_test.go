package gitlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// commit is one commit of a test: when, and which files it writes ("-name" deletes).
type commit struct {
	date  int64
	files []string
}

// repositoryOf makes a repository through git fast-import.
func repositoryOf(t testing.TB, commits ...commit) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var b strings.Builder
	for i, c := range commits {
		fmt.Fprintf(&b, "commit refs/heads/main\nmark :%d\ncommitter T <t@example.org> %d +0000\ndata 1\nm\n", i+1, c.date)
		if i > 0 {
			fmt.Fprintf(&b, "from :%d\n", i)
		}
		for _, f := range c.files {
			if name, ok := strings.CutPrefix(f, "-"); ok {
				fmt.Fprintf(&b, "D %s\n", name)
				continue
			}
			name, text, _ := strings.Cut(f, "=")
			if text == "" {
				text = fmt.Sprint(i)
			}
			fmt.Fprintf(&b, "M 644 inline %s\ndata %d\n%s\n", name, len(text), text)
		}
	}
	c := exec.Command("git", "-C", dir, "fast-import", "--quiet")
	c.Stdin = strings.NewReader(b.String())
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func read(t testing.TB, dir, revision, cache string) *Log {
	t.Helper()
	l, err := Read(context.Background(), dir, revision, cache)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLastChange(t *testing.T) {
	dir := repositoryOf(t,
		commit{1000, []string{"src/main/java/a/b/C.java", "go.mod=module example.com/m\n\ngo 1.26\n", "tree/x.go", "with space/ü.py",
			"old/Gone.java"}},
		commit{2000, []string{"tree/y.go", "-old/Gone.java"}},
		commit{3000, []string{"src/main/java/a/b/C.java", "tree/y_test.go"}})
	l := read(t, dir, "", "")
	if len(l.kept.Files) != 6 || l.Date.Unix() != 3000 || len(l.Commit) != 40 {
		t.Errorf("%d files of %s at %s", len(l.kept.Files), l.Commit, l.Date)
	}
	for name, want := range map[string]int64{
		"a.b.C.m": 3000, "a.b.C$Inner.m": 3000, "a.b.D.m": 0, "example.com/m/tree.(*T).f": 2000, "example.com/mtree.f": 0,
		"f (with space/ü.py)": 1000, "old.Gone.m": 0,
	} {
		when, _, known := l.LastChange(&profile.Function{Name: name})
		if known != (want != 0) || known && when.Unix() != want {
			t.Errorf("%s: %v, %v; want %d", name, when, known, want)
		}
	}
	if l := read(t, dir, "main~1", ""); l.Date.Unix() != 2000 {
		t.Errorf("the commit before is of %s", l.Date)
	}
}

func TestHorizon(t *testing.T) {
	const day = 24 * 3600
	dir := repositoryOf(t, commit{1_600_000_000, []string{"a/A.java"}}, commit{1_600_000_000 + 100*day, []string{"a/B.java"}},
		commit{1_600_000_000 + 400*day, []string{"a/C.java"}})
	l := read(t, dir, "", "")
	if _, _, known := l.LastChange(&profile.Function{Name: "a.A.m"}); known {
		t.Error("a change of 400 days ago is known")
	}
	if when, _, _ := l.LastChange(&profile.Function{Name: "a.B.m"}); when.Unix() != 1_600_000_000+100*day {
		t.Errorf("B changed at %s", when)
	}
}

func TestShallow(t *testing.T) {
	dir := repositoryOf(t, commit{1000, []string{"a/A.java", "a/B.java"}}, commit{2000, []string{"a/A.java"}},
		commit{3000, []string{"a/B.java"}})
	clone := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.Command("git", "clone", "-q", "--depth", "2", "file://"+dir, clone).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cache := t.TempDir()
	l := read(t, clone, "", cache)
	if _, file, known := l.LastChange(&profile.Function{Name: "a.A.m"}); known || file != "a/A.java" {
		t.Errorf("what was changed before the history begins: %q, known: %v; want the file alone", file, known)
	}
	if when, _, _ := l.LastChange(&profile.Function{Name: "a.B.m"}); when.Unix() != 3000 {
		t.Errorf("B changed at %s", when)
	}
	if out, err := exec.Command("git", "-C", clone, "fetch", "-q", "--unshallow").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if when, _, known := read(t, clone, "", cache).LastChange(&profile.Function{Name: "a.A.m"}); !known || when.Unix() != 2000 {
		t.Errorf("after --unshallow A changed at %s, known: %v", when, known)
	}
}

func TestCache(t *testing.T) {
	dir := repositoryOf(t, commit{1000, []string{"a/A.java"}}, commit{2000, []string{"a/B.java"}})
	cache := filepath.Join(t.TempDir(), "deep", "cache")
	read(t, dir, "", cache)
	list, err := os.ReadDir(cache)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v: %v", list, err)
	}
	name := filepath.Join(cache, list[0].Name())
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// It is the cache that answers: it says something else now.
	if err := os.WriteFile(name, []byte(strings.Replace(string(data), "1000", "1234", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if when, _, _ := read(t, dir, "", cache).LastChange(&profile.Function{Name: "a.A.m"}); when.Unix() != 1234 {
		t.Errorf("A changed at %d", when.Unix())
	}
	// A broken one does not; another commit has its own.
	if err := os.WriteFile(name, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(cache, "00-11.json")
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*cacheAge)); err != nil {
		t.Fatal(err)
	}
	if when, _, _ := read(t, dir, "", cache).LastChange(&profile.Function{Name: "a.A.m"}); when.Unix() != 1000 {
		t.Errorf("A changed at %d", when.Unix())
	}
	read(t, dir, "HEAD~1", cache)
	if list, _ := os.ReadDir(cache); len(list) != 2 {
		t.Errorf("the cache holds %v", list)
	}
	// A cache that cannot be written is no error.
	read(t, dir, "", filepath.Join(name, "below a file"))
}

func TestErrors(t *testing.T) {
	dir := repositoryOf(t, commit{1000, []string{"a"}})
	for name, c := range map[string]struct{ dir, revision, want string }{
		"no commit":      {dir, "nowhere", `there is no commit "nowhere"`},
		"an option":      {dir, "--all", `there is no commit "--all"`},
		"no repository":  {t.TempDir(), "", "not a git repository"},
		"no such folder": {filepath.Join(dir, "none"), "", "none"},
	} {
		if _, err := Read(context.Background(), c.dir, c.revision, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Read(context.Background(), dir, "", ""); !errors.Is(err, ErrNoGit) {
		t.Errorf("without git: %v", err)
	}
}

func TestNames(t *testing.T) {
	files := map[string]int64{}
	for _, f := range []string{
		"core/src/main/java/org/x/store/Page.java", "other/src/main/java/org/y/store/Page.java", "src/main/scala/store/Cache.scala",
		"src/main/scala/org/x/plan/package.scala", "src/main/scala/org/x/plan/rules.scala", "app/src/main/kotlin/org/x/Cart.kt",
		"main.go", "calltree/merge.go", "calltree/diff.go", "calltree/diff_test.go", "tools/lint/lint.go",
		"shop/cart.py", "shop/db/__init__.py", "tests/shop/cart.py", "src/db/page_cache.cc", "src/db/page_cache.h", "src/net/PageCache.hpp",
		"src/vector.h", "web/src/cart.js",
	} {
		files[f] = 1
	}
	x := newIndex(files, map[string]string{"example.com/m": "", "example.com/m/tools": "tools"})
	for _, c := range []struct{ name, file, want string }{
		{"org.x.store.Page.get", "", "core/src/main/java/org/x/store/Page.java"},
		{"org/x/store/Page.get", "", "core/src/main/java/org/x/store/Page.java"},
		{"org.x.store.Page$Header$$Lambda.apply", "", "core/src/main/java/org/x/store/Page.java"},
		{"org.z.store.Page.get", "", ""}, // another package's class
		{"java.util.HashMap.get", "", ""},
		{"org.x.store.Cache$.MODULE$", "", "src/main/scala/store/Cache.scala"}, // a directory without the common root
		{"org.x.plan.Rewrite.apply", "", "src/main/scala/org/x/plan/package.scala src/main/scala/org/x/plan/rules.scala"},
		{"org.x.CartKt.total", "", "app/src/main/kotlin/org/x/Cart.kt"},
		{"org.x.Cart.total", "", "app/src/main/kotlin/org/x/Cart.kt"},
		{"example.com/m/calltree.(*Tree).Merge", "", "calltree/diff.go calltree/merge.go"},
		{"example.com/m/calltree.Merge[...].func1", "", "calltree/diff.go calltree/merge.go"},
		{"example.com/m.init", "", "main.go"},
		{"example.com/m/tools/lint.Run", "", "tools/lint/lint.go"},
		{"encoding/json.Marshal", "", ""},
		{"calltree.Merge", "/home/me/m/calltree/merge.go", "calltree/merge.go"},
		{"main.main", "/home/me/m/main.go", "main.go"},
		{"vector.at", "/usr/include/c++/vector.h", ""},
		{"at", "src/vector.h", "src/vector.h"},
		{"at", `C:\build\src\vector.h`, "src/vector.h"},
		{"shop.cart.Cart.total", "", "shop/cart.py tests/shop/cart.py"},
		{"shop.db.connect", "", "shop/db/__init__.py"},
		{"total (shop/cart.py)", "", "shop/cart.py tests/shop/cart.py"},
		{"total (/srv/app/tests/shop/cart.py)", "", "tests/shop/cart.py"},
		{"(anonymous) (src/cart.js)", "", "web/src/cart.js"},
		{"db::PageCache::get(int, std::vector<int>) const", "", "src/db/page_cache.cc src/db/page_cache.h"},
		{"std::unique_ptr<db::Page> net::PageCache::find<int>(int)", "", "src/net/PageCache.hpp"},
		{"(anonymous namespace)::helper(int)", "", ""},
		{"malloc", "", ""},
		{"", "", ""},
		{"$$Lambda.run", "", ""},
		{"a.", "", ""},
		{".b", "", ""},
		{"::", "", ""},
	} {
		got := x.files(&profile.Function{Name: c.name, File: c.file})
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q (%q): %q, want %q", c.name, c.file, got, c.want)
		}
	}
}

// BenchmarkRead reads a history of 50,000 commits and 20,000 files.
func BenchmarkRead(b *testing.B) {
	var commits []commit
	for i := range 50_000 {
		c := commit{date: int64(1_000_000 + i*600)}
		for k := range 3 {
			n := (i*7919 + k*104729) % 20_000
			c.files = append(c.files, fmt.Sprintf("src/m%d/p%d/C%d.java", n%20, n%400, n))
		}
		commits = append(commits, c)
	}
	dir := repositoryOf(b, commits...)
	cache := b.TempDir()
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			read(b, dir, "", "")
		}
	})
	read(b, dir, "", cache)
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			read(b, dir, "", cache)
		}
	})
}
