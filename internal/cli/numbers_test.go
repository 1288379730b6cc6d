package cli

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/expansion"
)

func TestAmount(t *testing.T) {
	for _, tt := range []struct {
		v     int64
		unit  string
		scale int
		want  string
	}{
		{5120, "count", 0, "5,120 samples"}, {1_280_000_000, "nanoseconds", 0, "1.28 s"}, {-25, "watts", 1, "-2.5 watts"},
		{7, "\x1b[31mx", 0, `7 \x1b[31mx`}, // what a profile says must not reach the terminal
	} {
		if got := amount(tt.v, tt.unit, tt.scale); got != tt.want {
			t.Errorf("%d %s: %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}

// TestExpandedIsClean wants no name of a program to reach the terminal as it is.
func TestExpandedIsClean(t *testing.T) {
	x := &expanded{Benchmark: "\x1b[1m", Warnings: []string{"\x1b[2m"}, Expansions: []expansion.Expansion{{Function: "\x1b[3m"}}}
	var b strings.Builder
	if x.print(&b); strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", &b)
	}
}
