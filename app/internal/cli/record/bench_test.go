package record

import "testing"

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"attr.side=2026-11-25T22:10:00Z-base": "attr.side=2026-11-25T22:10:00Z-base",
		"my runs.duckdb":                      "'my runs.duckdb'",
		"a'; rm -rf /; '":                     `'a'\''; rm -rf /; '\'''`,
		"$(x)":                                "'$(x)'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestUsualCount: without --count, both sides of a comparison have runs enough for a verdict.
func TestUsualCount(t *testing.T) {
	o := benchOptions{}
	if n := o.usualCount(); n != 2 {
		t.Error(n)
	}
	o.base = "main"
	if n := o.usualCount(); n <= leastSide {
		t.Error(n)
	}
}
