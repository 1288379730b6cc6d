package render

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/table"
)

// TestSpanNames wants names unchanged for programs, and harmless ones for people.
func TestSpanNames(t *testing.T) {
	result := &tasks.TaskSpansResult{Rows: []tasks.TaskSpan{{Segment: "s", Depth: 1, Operation: "a\x1bb"}}}
	for format, want := range map[string]string{"csv": ",a\x1bb", "text": `    a\x1bb`, "tsv": `a\x1bb`, "md": `a\x1bb`} {
		var out strings.Builder
		if err := Result(&table.Output{W: &out, Err: &out, Format: format}, result); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %q, %v", format, &out, err)
		}
	}
}
