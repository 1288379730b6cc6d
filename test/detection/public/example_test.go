package public

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
)

var update = flag.Bool("update", false, "write the report in docs/method/example.md")

// TestExample requires that docs/method/example.md shows the report that the program writes
// about a pair.
func TestExample(t *testing.T) {
	pairs, err := Load(t.Context(), os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	p := pairs[slices.IndexFunc(pairs, func(p *Pair) bool { return p.Name == "hcver" })]
	st, ok := p.Store.(store.Store)
	if !ok {
		t.Fatal("not a store")
	}
	doc, err := judge.Check(t.Context(), st, &judge.CheckRequest{FailOn: "regression:0", ReportRequest: judge.ReportRequest{
		Sides: judge.Sides{Base: "main", Head: "bump"}, Method: "default"}})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := doc.Text(report.Detail{}).Print(&table.Output{W: &text}); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join("..", "..", "..", "docs", "method", "example.md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "```text\n", "```\n"
	before, rest, ok := strings.Cut(string(data), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no block of text", page)
	}
	got, _, _ := strings.Cut(text.String(), "\nparameters\n")
	if shown == got {
		return
	}
	if !*update {
		t.Fatalf("%s differs (-update rewrites it):\n%s", page, got)
	}
	if err := os.WriteFile(page, []byte(before+begin+got+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
