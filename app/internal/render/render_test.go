package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/report"
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
		if got := document.Whole(tt.v, tt.scale).Amount(tt.unit); got != tt.want {
			t.Errorf("%d %s: %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}

// TestBrief: a failed check is red on a terminal, and its table fits.
func TestBrief(t *testing.T) {
	failed := &report.Brief{Headline: "failed: 1 regression", Failed: true, Changes: []report.BriefChange{{Change: "FAIL confirmed regression",
		Benchmark: "shop/checkout", Since: "run-1", Label: "a/package/of/many/parts.(*Type).method → another/package.Function"}}}
	var b, passed strings.Builder
	if err := Brief(&Output{W: &b, Format: "text", Colour: true, Width: 100}, failed); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.Count(text, "\x1b[31m") != 2 || !strings.HasPrefix(text, "\x1b[31mfailed") || !strings.Contains(text, "Function\n") {
		t.Errorf("%q", text)
	}
	for line := range strings.Lines(strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(text)) {
		if n := utf8.RuneCountInString(line); n > 101 {
			t.Errorf("%d columns: %s", n-1, line)
		}
	}
	if err := Brief(&Output{W: &passed, Format: "text"}, &report.Brief{Headline: "passed: no change", Passed: true}); err != nil ||
		passed.String() != "passed: no change\n" {
		t.Errorf("%q, %v", passed.String(), err)
	}
}

// TestContextsAreClean wants no name of a program to reach the terminal as it is.
func TestContextsAreClean(t *testing.T) {
	x := &judge.Expanded{Benchmark: "\x1b[1m", Warnings: []string{"\x1b[2m"}, Expansions: []expansion.Expansion{{Function: "\x1b[3m"}}}
	var b strings.Builder
	if err := contexts(&Output{W: &b, Format: "text"}, []*judge.Expanded{x}); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q, %v", &b, err)
	}
}

// A share does not depend on whether the numbers are the store's or were read from a document,
// which omits zeros.
func TestShareOfDocument(t *testing.T) {
	part, whole := document.Whole(34_340_657, 6), document.Whole(1_000_000_000, 6)
	var read [2]document.Number
	for i, n := range []document.Number{part, whole} {
		if err := read[i].UnmarshalJSON([]byte(n.String())); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := part.Of(whole), read[0].Of(read[1]); a != b {
		t.Errorf("%v of the store, %v of the document", a, b)
	}
}
