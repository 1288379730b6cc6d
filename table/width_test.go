package table

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/words"
)

// TestWidth: lines of a table fit a terminal, and names keep their end.
func TestWidth(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "self", Right: true}, {Name: "function"}, {Name: "run"}}}
	table.Add("12.5%", "github.com/dendroprof/dendro/test/demo/workload/checkout.(*Service).receiptStage", "run-001")
	table.Add("1.5%", "main.main", "run-002")
	for _, width := range []int{0, 40, 60, 79, 200} {
		var b strings.Builder
		if err := table.Write(&Output{W: &b, Format: "text", Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width >= 60 && n > width {
				t.Errorf("width %d: %d columns: %s", width, n, line)
			}
		}
		if short := width > 0 && width < 100; !strings.Contains(b.String(), ".receiptStage  run-001") ||
			strings.Contains(b.String(), "…") != short {
			t.Errorf("width %d:\n%s", width, b.String())
		}
	}
	if got := words.Shorten("abcdefghij", 7); got != "ab…ghij" {
		t.Error(got)
	}
}
