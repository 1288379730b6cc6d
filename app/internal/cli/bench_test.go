package cli

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
