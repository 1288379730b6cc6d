package gitlog

import (
	"fmt"
	"strings"
	"testing"
)

// resolve returns the full hash of a revision.
func resolve(t *testing.T, dir, revision string) string {
	t.Helper()
	var hash string
	if err := with(t.Context(), dir, func(r *repository) (err error) {
		hash, err = r.commit(revision)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestReadChanges(t *testing.T) {
	dir := repositoryOf(t, commit{1e9, []string{"rule.go=a\nb\nc\n", "other.go=x\n"}}, commit{2e9, []string{"other.go=y\n"}},
		commit{3e9, []string{"rule.go=a\nB\nB2\nc\n-- d\n++ e\n"}})
	first, last := resolve(t, dir, "main~2"), resolve(t, dir, "main")
	c, err := ReadChanges(t.Context(), dir, first[:10], last, []string{"rule.go"}, nil)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	got := ""
	for _, l := range c.Lines {
		got += fmt.Sprintf("%s:%d %s%s\n", l.File, l.Line, l.Sign, l.Text)
	}
	if want := "rule.go:2 -b\nrule.go:2 +B\nrule.go:3 +B2\nrule.go:5 +-- d\nrule.go:6 +++ e\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if len(c.Commits) != 1 || c.Commits[0].Commit != last || c.Commits[0].Author == "" || c.Commits[0].Subject == "" || c.From != first ||
		c.More != 0 {
		t.Errorf("%+v", c)
	}
	if c, err := ReadChanges(t.Context(), dir, first, last, []string{"other.go"}, nil); err != nil || len(c.Lines) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	kept := func(l Line) bool { return l.File == "rule.go" && l.Text != "B2" }
	if c, err := ReadChanges(t.Context(), dir, first, last, []string{"other.go", "rule.go"}, kept); err != nil || len(c.Lines) != 4 ||
		len(c.Commits) != 1 {
		t.Errorf("a part of the lines: %+v, %v", c, err) // and only the commits of files with such lines
	}
	for _, x := range []struct{ from, to, file string }{{"0123456789", last, "rule.go"}, {first, "", "rule.go"}, {first, first, "rule.go"},
		{first, last, "none.go"}, {"--all", last, "rule.go"}} {
		if c, err := ReadChanges(t.Context(), dir, x.from, x.to, []string{x.file}, nil); err != nil || c != nil {
			t.Errorf("%+v: %+v, %v", x, c, err)
		}
	}
}

func TestChangesAreBounded(t *testing.T) {
	commits := []commit{{1e9, []string{"f.go=0\n"}}}
	for i := range 7 {
		commits = append(commits, commit{int64(2e9) + int64(i),
			[]string{"f.go=" + strings.Repeat(fmt.Sprintf("%d%s\n", i, strings.Repeat("x", 9000)), 30)}})
	}
	dir := repositoryOf(t, commits...)
	c, err := ReadChanges(t.Context(), dir, "main~7", "main", []string{"f.go"}, nil)
	if err != nil || len(c.Lines) != mostLines || c.MoreLines != 11 || len(c.Commits) != mostCommits || c.More != 2 ||
		len(c.Lines[1].Text) != longestLine {
		t.Errorf("%v, %+v", err, c)
	}
}

func TestWeb(t *testing.T) {
	for origin, want := range map[string]string{
		"git@github.com:acme/shop.git":               "https://github.com/acme/shop/blob/c1/a%20b.go#L7",
		"https://github.com/acme/shop":               "https://github.com/acme/shop/blob/c1/a%20b.go#L7",
		"ssh://git@gitlab.example.org:2222/g/s/shop": "https://gitlab.example.org/g/s/shop/-/blob/c1/a%20b.go#L7",
		"/srv/github/shop.git":                       "",
		"https://example.org/shop.git":               "",
		"":                                           "",
	} {
		if got := WebOf(origin).File("c1", "a b.go", 7); got != want {
			t.Errorf("%s: %s, want %s", origin, got, want)
		}
	}
	if got := WebOf("https://gitlab.com/a/b.git").Compare("x", "y"); got != "https://gitlab.com/a/b/-/compare/x...y" {
		t.Error(got)
	}
}
