package render

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/internal/query"
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
		if got := Amount(query.Number{Int: tt.v, Scale: tt.scale}, tt.unit); got != tt.want {
			t.Errorf("%d %s: %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}

// TestContextsAreClean wants no name of a program to reach the terminal as it is.
func TestContextsAreClean(t *testing.T) {
	x := &query.Expanded{Benchmark: "\x1b[1m", Warnings: []string{"\x1b[2m"}, Expansions: []expansion.Expansion{{Function: "\x1b[3m"}}}
	var b strings.Builder
	if err := contexts(&b, []*query.Expanded{x}); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q, %v", &b, err)
	}
}
