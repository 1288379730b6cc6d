package report

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
)

func TestBreakLine(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"short", "short"},
		{"one two three four", "one two|three four"},
		{"main → parse → scan", "main|→ parse|→ scan"},
		{"a_word_that_is_longer x", "a_word_that_is_longer|x"},
	} {
		var lines []string
		for rest := tt.text; rest != ""; {
			var line string
			line, rest = breakLine(rest, 10)
			lines = append(lines, line)
		}
		if got := strings.Join(lines, "|"); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestWhole: the change of the whole program is said where it is not about that of the finding.
func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		program, explains float64
		want              string
	}{
		{1, 0.03, "; the whole program changed by +100.0%, 3.0% of that is this change"},
		{0.2, 0.95, ""},
		{0.2, 0, ""},
		{0.2, 2, "; the whole program changed by +20.0%"},
		{-0.2, -0.5, "; the whole program changed by -20.0%"},
	} {
		if got := whole(&regression.Lasting{Program: &regression.Estimate{Value: tt.program}, Explains: tt.explains}); got != tt.want {
			t.Errorf("%g of %g: %q, want %q", tt.explains, tt.program, got, tt.want)
		}
	}
	if got := whole(nil) + whole(&regression.Lasting{}); got != "" {
		t.Errorf("unknown: %q", got)
	}
}

// TestLife: a change that is over names the run with which it ended.
func TestLife(t *testing.T) {
	var c Change
	c.Since, c.Score = regression.Since{Run: "r9", Commit: "0123456789abcdef", LastGood: "r8"}, 6
	for end, want := range map[string]string{
		"":    "r9 (0123456789), last good r8; score 6.0",
		"r15": "r9 (0123456789), last good r8, ended with r15; score 6.0",
	} {
		c.Finding.Change = &regression.Lasting{}
		if end != "" {
			c.Finding.Change.End = &regression.Moment{Run: end}
		}
		if got := c.life(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLabelFile: a label has the file of the headline once, with the line of the call where it is known.
func TestLabelFile(t *testing.T) {
	for want, h := range map[string]regression.Headline{
		"(anonymous) (lib/parse.js:6)":                 {Function: "(anonymous) (lib/parse.js)", File: "lib/parse.js", Line: 6},
		"total (lib/parse.js)":                         {Function: "total (lib/parse.js)", File: "lib/parse.js", Line: 6},
		"shop.price → regexp.MustCompile (rule.go:35)": {Function: "shop.price", Calls: "regexp.MustCompile", File: "src/rule.go", Call: 35},
		"shop.price (rule.go)":                         {Function: "shop.price", File: "rule.go"},
		"read (src/work.py:7) → parse (lib/a.py)":      {Function: "read (src/work.py)", Calls: "parse (lib/a.py)", File: "/w/src/work.py", Call: 7},
		"(anonymous) (stringify.js:1)":                 {Function: "(anonymous) (stringify.js)", File: "stringify.js", Call: 1},
		"label (work.cjs)":                             {Function: "label (work.cjs)", File: "work.cjs"},
		"label (network.cjs) (work.cjs)":               {Function: "label (network.cjs)", File: "work.cjs"},
		"label (work.cjs) (new)":                       {Function: "label (work.cjs)", File: "work.cjs", New: true},
	} {
		if got := Label(&regression.Finding{Function: "f", Headline: &h}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
