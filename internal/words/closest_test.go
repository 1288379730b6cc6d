package words

import (
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	names := []string{"checkout", "report", "search", "regexp.Compile", "regexp/syntax.compile", "main.(*Server).handle", "--benchmark",
		"--branch", "Checkout"}
	for text, want := range map[string]string{
		"chekout":        "Checkout checkout",
		"repotr":         "report",
		"--benchmrk":     "--benchmark",
		"compile":        "regexp.Compile regexp/syntax.compile",
		"regexp.compile": "regexp.Compile",
		"server":         "main.(*Server).handle",
		"--bench":        "--benchmark --branch",
		"zzz":            "",
		"":               "",
		"s":              "",

		strings.Repeat("checkout", 100): "",
	} {
		if got := strings.Join(Closest(text, names, 2), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := DidYouMean("chekout", names[1:]); got != "; did you mean Checkout?" {
		t.Error(got)
	}
	if got := DidYouMean("zzz", names); got != "" {
		t.Error(got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1}, {"kitten", "sitting", 3}, {"wrok", "work", 1},
		{"abcdefgh", "hgfedcba", 6}} {
		if got := distance(c.a, c.b, 5); got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
