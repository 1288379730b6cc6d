package render

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/table"
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

// TestContextsAreClean wants no name of a program to reach the terminal as it is.
func TestContextsAreClean(t *testing.T) {
	x := &judge.Expanded{Benchmark: "\x1b[1m", Warnings: []string{"\x1b[2m"}, Expansions: []expansion.Expansion{{Function: "\x1b[3m"}}}
	var b strings.Builder
	if err := contexts(&table.Output{W: &b, Format: "text"}, []*judge.Expanded{x}); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q, %v", &b, err)
	}
}

// TestContradictions: what a server says of its lists need not be true of them.
func TestContradictions(t *testing.T) {
	var b strings.Builder
	o := &table.Output{W: &b, Format: "text"}
	for _, shown := range [][3]int{{5, 5, 0}, {-1, 2, 0}} {
		if err := DiffFunctions(o, &trees.DiffFunctionsResult{Shown: shown}); err != nil {
			t.Error(err)
		}
	}
	b.Reset()
	plots(o, &bottleneck.Row{Score: 1, Plots: []bottleneck.Plot{{Group: "g", Benchmark: "b"}}}, profile.ValueType{})
	if b.Len() > 0 {
		t.Errorf("a plot without points: %s", &b)
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

// TestDiffTints wants what grew in red and what shrank in green, and neither within noise.
func TestDiffTints(t *testing.T) {
	for _, tt := range []struct {
		delta int64
		noise float64
		want  table.Tint
	}{{5, 4, table.Red}, {-5, 4, table.Green}, {0, 0, table.Faint}, {5, 5, table.Faint}, {-5, 6, table.Faint}} {
		row := trees.DiffRow{Function: "main", Noise: tt.noise, Total: trees.Change{Delta: document.Whole(tt.delta, 0)}}
		var b strings.Builder
		w := diffList(&table.Output{W: &b, Format: "text", Colour: true})
		line(w, &row, "count")
		if err := w.Flush(); err != nil || !strings.Contains(b.String(), "\x1b["+string(tt.want)+"m") {
			t.Errorf("%d within %v: %q, want the colour %s", tt.delta, tt.noise, &b, tt.want)
		}
	}
}
