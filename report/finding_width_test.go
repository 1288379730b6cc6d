package report

import (
	"strings"
	"testing"
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
