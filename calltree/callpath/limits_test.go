package callpath_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree/callpath"
)

// TestGlobIsItsRegularExpression compares globs with what they mean as regular expressions.
func TestGlobIsItsRegularExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab*?ü]{0,8}`).Draw(t, "glob")
		text := rapid.StringMatching(`[abü\n]{0,10}`).Draw(t, "text")
		re := regexp.MustCompile(`(?s)\A` + strings.NewReplacer("*", ".*", "?", ".").Replace(glob) + `\z`)
		if got, want := callpath.Glob(glob)(text), re.MatchString(text); got != want {
			t.Fatalf("%q on %q: %v, want %v", glob, text, got, want)
		}
	})
}

// TestLimits: a pattern has a length and a cost, and no text of a client can make matching
// it expensive or panic.
func TestLimits(t *testing.T) {
	for name, text := range map[string]string{
		"4 MB of stars":             strings.Repeat("*", 4<<20),
		"8,000 stars and letters":   strings.Repeat("*a", 4000),
		"a long name":               strings.Repeat("a", 4<<20),
		"counted repetitions":       "/" + strings.Repeat(".{1000}", 100) + "/",
		"repetitions of repetition": "/((a{10}){10}){10}b{100}/",
		"many costly pieces":        strings.Repeat("/.{60}/;", 20) + "a",
	} {
		if p, err := callpath.Parse(text); err == nil {
			t.Errorf("%s: accepted as %.20v…", name, p)
		} else if len(err.Error()) > 400 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
	p, err := callpath.Parse("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Calling(strings.Repeat("b", 5000)); err == nil {
		t.Error("a long callee is accepted")
	}
	for _, text := range []string{`/^(get|set|is)[A-Z]\w*Handler(Impl)?$/`, "/" + strings.Repeat("a", 800) + "/", strings.Repeat("a", 4000)} {
		if _, err := callpath.Parse(text); err != nil {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

// TestHostileGlob: globs that backtracking engines need exponential time for.
func TestHostileGlob(t *testing.T) {
	text := strings.Repeat("a", 4000)
	for _, glob := range []string{strings.Repeat("a*", 1000) + "b", strings.Repeat("?*", 1000) + "b", strings.Repeat("*", 4<<20) + "b"} {
		if callpath.Glob(glob)(text) {
			t.Errorf("%.20s… matches", glob)
		}
	}
}

// TestStop: matching ends when it is told to.
func TestStop(t *testing.T) {
	p, err := callpath.Parse("a*|b*|c*")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 100_000)
	for i := range names {
		names[i] = "a"
	}
	calls := 0
	p.StopWhen(func() bool { calls++; return true })
	if got := p.Functions(names); got[0][99_999] || calls == 0 || calls > 3 {
		t.Errorf("matched to the end with %d calls", calls)
	}
}
