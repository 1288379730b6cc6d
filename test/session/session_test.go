package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a|b", "a|b", true},
		{"a|b", "a|c", false},
		{"a|b", "a", false},
		{"a", "a|b", false},
		{"a|…", "a|b|c", true},
		{"…|c", "a|b|c", true},
		{"a|…|c", "a|c", true},
		{"a|…|d", "a|b|c", false},
		{"took … ms", "took 12 ms", true},
		{"took … ms", "took 12 s", false},
		{"a…b…c", "a1c2b3c", true},
		{"a…b…c", "a1c", false},
	} {
		if got := matches(strings.Split(c.want, "|"), strings.Split(c.got, "|")); got != c.ok {
			t.Errorf("%q shows %q: %v, want %v", c.want, c.got, got, c.ok)
		}
	}
}

func TestParse(t *testing.T) {
	page := strings.Split("text\n```console\n$ a \\\n  b\nout\n\n$ c \"\nc\"\n```\n```console x\n$ d\n```\n```console y\n$ e\n```\n```sh\nf\n```\n"+
		"```yaml file=.github/workflows/w.yml\njobs:\n  j:\n    steps:\n      - uses: z\n      - run: g\n```", "\n")
	list, err := parse(page, t.TempDir(), []string{"x"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range list {
		got = append(got, fmt.Sprintf("%d %q %q", c.line, c.text, c.want))
	}
	want := []string{`3 "a \\\n  b" ["out"]`, `7 "c \"\nc\"" []`, `11 "d" []`, `19 "( set -e\ng\n)" []`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := parse([]string{"```console", "a", "```"}, t.TempDir(), nil); err == nil {
		t.Error("a session without a command is not refused")
	}
}
